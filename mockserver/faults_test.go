package mockserver_test

import (
	"context"
	"maps"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamassay/streamassay/internal/transcript"
	"github.com/streamassay/streamassay/mockserver"
	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/spec/rules"
	"github.com/streamassay/streamassay/suites"
)

// Where each fault can be seen: scenarios that make a server say everything, and none
// that only wait.
var telling = []string{"text", "messages", "contents", "reasoning", "tool", "tools", "interrupt", "error", "error-mid", "two-runs", "resume"}

// waiting are those for faults that only show when something takes its time.
var waiting = map[string][]string{
	"gathered": {"slow"}, "no-keep-alive": {"text", "idle-limit"}, "other-keep-alive": {"text", "idle-limit"},
}

// verdicts are the checks that are red after a target was held to its dialect: as it was
// heard, and as it was written down and read again.
func verdicts(t *testing.T, d *dialect.Dialect, m *mockserver.Server, only []string) (live, read map[string]bool) {
	t.Helper()
	srv := httptest.NewServer(m)
	defer srv.Close()
	base, err := url.Parse(srv.URL + d.Base)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := suites.Run(context.WithoutCancel(t.Context()), suites.Target{
		Dialect: d, Base: base, ClaimedCapabilities: []string{"all"}, LackedCapabilities: []string{"second-user"}, Only: only, Timeout: 20 * time.Second, Limits: suites.Limits{IdleTimeout: 3 * time.Second},
		Header: bearer("token-of-ann"),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	live, read = map[string]bool{}, map[string]bool{}
	for _, p := range parts {
		red(live, p.Evaluation)
		file, err := transcript.Parse(p.Scenario.Name, transcript.Format(&transcript.Transcript{Dialect: d.Name, Trace: p.Trace}))
		if err != nil {
			t.Fatalf("%s cannot be read again: %v", p.Scenario.Name, err)
		}
		file.Trace.Scripted = p.Trace.Scripted
		red(read, spec.Run(d.Plan(rules.All), d.Events(file.Trace), nil))
	}
	return live, read
}

func red(found map[string]bool, h spec.Evaluation) {
	for _, r := range h.Results {
		if r.Verdict == spec.Failed && len(r.Findings) > 0 || r.Verdict == spec.Warned {
			found[r.Obligation.Check.ID] = true
		}
	}
}

// possible says whether a dialect has the words for a fault, and what its catalogue would
// say of it.
func possible(d *dialect.Dialect, f *fault.Fault) (checks []string) {
	kinds := d.Kinds()
	for _, k := range f.RequiredKinds {
		if !slices.Contains(kinds, k) {
			return nil
		}
	}
	for _, duty := range d.Plan(rules.All).Obligations {
		binding := duty.Level() != spec.May
		if binding && slices.Contains(f.Checks, duty.Check.ID) {
			checks = append(checks, duty.Check.ID)
		}
	}
	return checks
}

// Every fault is seen by the checks that its entry names: in each dialect by one of them
// at least, live and in the recording, and each of them in one dialect at least.
func TestEveryFaultIsSeen(t *testing.T) {
	all, err := dialect.All()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen := map[string]map[string]bool{} // by fault and check
	t.Run("faults", func(t *testing.T) {
		for _, f := range fault.All {
			if len(f.Checks) == 0 {
				continue
			}
			seen[f.Name] = map[string]bool{}
			for _, d := range all {
				want := possible(d, f)
				if len(want) == 0 {
					continue
				}
				t.Run(f.Name+"/"+d.Name, func(t *testing.T) {
					t.Parallel()
					use, err := fault.FromYAML(f.Name, nil)
					if err != nil {
						t.Fatal(err)
					}
					seed := uint64(1)
					m := made(t, mockserver.Config{Seed: &seed, Server: reference.Config{PollInterval: 200 * time.Millisecond}, Defaults: mockserver.Defaults{Faults: []fault.Spec{use}}}, d.Name)
					only := telling
					if w, ok := waiting[f.Name]; ok {
						only = w
					}
					live, read := verdicts(t, d, m, only)
					hit := slices.DeleteFunc(slices.Clone(want), func(c string) bool { return !live[c] })
					if len(hit) == 0 {
						t.Errorf("%s in %s: none of %v is red, live; red are %v", f.Name, d.Name, want, sorted(live))
					}
					for _, c := range hit {
						if !read[c] {
							t.Errorf("%s in %s: %s is red live, and not in the recording", f.Name, d.Name, c)
						}
					}
					mu.Lock()
					defer mu.Unlock()
					for _, c := range hit {
						seen[f.Name][c] = true
					}
				})
			}
		}
	})
	for _, f := range fault.All {
		for _, c := range f.Checks {
			if !seen[f.Name][c] {
				t.Errorf("%s never turns %s red", f.Name, c)
			}
		}
	}
}

func sorted(set map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(set)), " ") }
