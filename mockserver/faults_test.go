package mockserver_test

import (
	"context"
	"maps"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/internal/transcript"
	"github.com/streamassay/streamassay/mockserver"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// contentScenarios lists the scenarios that exercise all kinds of content. Together they
// reveal every fault that does not depend on timing.
var contentScenarios = []string{
	"text", "messages", "contents", "reasoning", "tool", "tools", "client-tool", "interrupt", "state", "steps", "error", "error-mid", "two-runs", "resume",
}

// slowScenarios lists the scenarios for faults that only show in slow streams, or after the end of
// a run.
var slowScenarios = map[string][]string{
	"gathered": {"slow"}, "linger": {"closes"}, "no-keep-alive": {"text", "idle-limit"}, "other-keep-alive": {"text", "idle-limit"},
}

// verdicts runs scenarios against the mock m and returns the ids of the checks that fail or warn:
// in live those for the exchanges themselves, in read those for their transcripts. If only is not
// empty, only its scenarios are run.
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
		addFailed(live, p.Evaluation)
		file, err := transcript.Parse(p.Scenario.Name, transcript.Format(&transcript.Transcript{Dialect: d.Name, Trace: p.Trace}))
		if err != nil {
			t.Fatalf("%s cannot be read again: %v", p.Scenario.Name, err)
		}
		file.Trace.Scripted = p.Trace.Scripted
		addFailed(read, spec.Run(d.Plan(rules.All), d.Events(file.Trace), nil))
	}
	return live, read
}

func addFailed(found map[string]bool, e spec.Evaluation) {
	for _, r := range e.Results {
		if r.Verdict == spec.Failed && len(r.Findings) > 0 || r.Verdict == spec.Warned {
			found[r.PlannedCheck.Check.ID] = true
		}
	}
}

// expectedChecks returns the ids of the checks of a dialect that should fail for the fault f. It
// returns none if the dialect lacks a kind of event that the fault requires.
func expectedChecks(d *dialect.Dialect, f *fault.Fault) (checks []string) {
	kinds := d.Kinds()
	for _, k := range f.RequiredKinds {
		if !slices.Contains(kinds, k) {
			return nil
		}
	}
	for _, o := range d.Plan(rules.All).PlannedChecks {
		if o.Level() != spec.May && slices.Contains(f.Checks, o.Check.ID) {
			checks = append(checks, o.Check.ID)
		}
	}
	return checks
}

// isSameInDefault reports whether fault f is expected to fail the same checks in d, which is not the
// default version of its family, as in the default version.
func isSameInDefault(t *testing.T, d *dialect.Dialect, f *fault.Fault) bool {
	family, _, _ := strings.Cut(d.Name, "@")
	latest, err := dialect.Open(family)
	if err != nil {
		t.Fatal(err)
	}
	return latest.Name != d.Name && slices.Equal(expectedChecks(latest, f), expectedChecks(d, f))
}

// dialectsFor returns the dialects in which fault f is tested: at least minDialects of those in all
// in which checks are expected to fail, if there are that many, and among them one for each check and
// those in which streams are requested apart from runs. It leaves out the versions of a protocol in
// which the same checks are expected to fail as in the default one. The argument n, the number of the
// fault, determines with which dialect it begins.
func dialectsFor(t *testing.T, f *fault.Fault, all []*dialect.Dialect, n int) (some []*dialect.Dialect) {
	const minDialects = 2
	covered := map[string]bool{}
	for i := range all {
		d := all[(i+n)%len(all)]
		want := expectedChecks(d, f)
		isNew := slices.ContainsFunc(want, func(c string) bool { return !covered[c] }) || slices.Contains(d.Templates(), "listen")
		if len(want) == 0 || isSameInDefault(t, d, f) || len(some) >= minDialects && !isNew {
			continue
		}
		some = append(some, d)
		for _, c := range want {
			covered[c] = true
		}
	}
	return some
}

// TestEveryFaultIsSeen checks that in each dialect at least one of the checks that a fault
// names fails, live and on the transcript, and that each of them fails in some dialect. Unless the
// environment variable ALL_VERSIONS is set, each fault is tested only in some of the dialects (see
// dialectsFor).
func TestEveryFaultIsSeen(t *testing.T) {
	all, err := dialect.All()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen := map[string]map[string]bool{} // by fault and check
	t.Run("faults", func(t *testing.T) {
		for i, f := range fault.All {
			seen[f.Name] = map[string]bool{}
			dialects := all
			if os.Getenv("ALL_VERSIONS") == "" {
				dialects = dialectsFor(t, f, all, i)
			}
			for _, d := range dialects {
				want := expectedChecks(d, f)
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
					only := contentScenarios
					if w, ok := slowScenarios[f.Name]; ok {
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
