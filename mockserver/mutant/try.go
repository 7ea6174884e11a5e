package mutant

import (
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/streamassay/streamassay/mockserver"
	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/mockserver/script"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/reference/identity"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// An Outcome is what the suite said of one mutant in one dialect.
type Outcome struct {
	Mutant  string
	Dialect string
	By      []string          // the checks that killed it: expected, for the reason expected
	Over    []string          // what is red besides, and should not be
	Red     map[string]string // each red check, and what it said first
}

// Killed says that the fault was seen for what it is.
func (o Outcome) Killed() bool { return len(o.By) > 0 }

// Fate is the outcome in words.
func (o Outcome) Fate() string {
	switch {
	case o.Killed() && len(o.Over) > 0:
		return "over-killed"
	case o.Killed():
		return "killed"
	case len(o.Red) > 0:
		return "killed for another reason"
	}
	return "survived"
}

// What every mutant is held with: how long an exchange may take, and be silent, how often the server
// looks for events, and how many streams it grants a user.
const (
	timeout = 20 * time.Second
	idle    = 3 * time.Second
	poll    = 200 * time.Millisecond
	streams = 40
)

// Try holds a mutant to everything that a dialect can be held to. Without a mutant it is
// the server as it should be.
func Try(ctx context.Context, d *dialect.Dialect, m *Mutant) (Outcome, error) {
	h, shut, err := serve(d, m)
	if err != nil {
		return Outcome{}, err
	}
	defer shut()
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // what it has to say of its own faults
	srv.Start()
	defer srv.Close()
	base, err := url.Parse(srv.URL + d.Base)
	if err != nil {
		return Outcome{}, fmt.Errorf("base URL: %w", err)
	}
	parts, err := suites.Run(ctx, suites.Target{
		Dialect: d, Base: base, ClaimedCapabilities: []string{"all"}, Timeout: timeout, Limits: suites.Limits{IdleTimeout: idle}, StreamLimit: streams, Seed: 1, Salt: 1,
		Header: bearer("token-of-ann"), OtherHeader: bearer("token-of-bob"), Skip: m.unaffected(),
	}, nil)
	if err != nil {
		return Outcome{}, fmt.Errorf("suite: %w", err)
	}
	if err := ctx.Err(); err != nil { // what was broken off was not judged
		return Outcome{}, err
	}
	return conclude(d, m, parts), nil
}

// unaffected are the scenarios that cannot show a mutant. That of all the requests that
// are refused takes as long as all the others: it is played where a refusal, or what should
// be none, is what has to turn red.
func (m *Mutant) unaffected() []string {
	if m == nil {
		return nil
	}
	for check := range m.Kills {
		if strings.HasPrefix(check, "refuse.") || strings.HasPrefix(check, "accept.") {
			return nil
		}
	}
	return []string{"refusals"}
}

func bearer(token string) spec.Header {
	return spec.Header{{Name: "Authorization", Value: "Bearer " + token}}
}

// serve makes the server that a mutant is.
func serve(d *dialect.Dialect, m *Mutant) (h http.Handler, shut func(), err error) {
	users := &identity.Tokens{}
	for _, pair := range []string{"ann:token-of-ann", "bob:token-of-bob"} {
		if err := users.Add(pair); err != nil {
			return nil, nil, fmt.Errorf("users: %w", err)
		}
	}
	seed := uint64(1)
	cfg := mockserver.Config{
		Dialects: []*dialect.Dialect{d}, Seed: &seed,
		Server: reference.Config{Users: users, Poll: poll, Limits: reference.Limits{Streams: streams}},
	}
	if m != nil {
		if cfg.Manners.Faults, err = m.faults(); err != nil {
			return nil, nil, err
		}
		if cfg.Scripts, err = m.script(d); err != nil {
			return nil, nil, err
		}
		if m.Server != nil {
			m.Server(&cfg.Server)
		}
	}
	server, err := mockserver.New(cfg)
	if err != nil {
		return nil, nil, fmt.Errorf("mock: %w", err)
	}
	h = server
	if m != nil && m.Twist != nil {
		h = m.Twist(server)
	}
	return h, func() { _ = server.Shutdown(context.Background()) }, nil // nothing that it has still to say is of use
}

// faults are what a mutant does to the streams of the mock.
func (m *Mutant) faults() ([]fault.Use, error) {
	switch {
	case m.Fault != "":
		uses, err := fault.Parse(m.Fault)
		if err != nil {
			return nil, fmt.Errorf("mutant %s: %w", m.Name, err)
		}
		return uses, nil
	case m.Play != nil:
		own := &fault.Fault{Name: m.Name, Doc: m.Doc, Family: fault.Protocol, Begin: m.Play}
		return []fault.Use{{Fault: own, At: fault.Nowhere()}}, nil
	}
	return nil, nil
}

// script are the answers of a mutant that answers otherwise.
func (m *Mutant) script(d *dialect.Dialect) (*script.Set, error) {
	if m.Script == "" {
		return nil, nil
	}
	set, problems := script.Load([]script.Source{{Name: m.Name, Data: []byte(m.Script)}}, []*dialect.Dialect{d})
	for _, p := range problems {
		if p.Level == script.Error {
			return nil, fmt.Errorf("mutant %s: %v", m.Name, p)
		}
	}
	return set, nil
}

// conclude compares what was said of a mutant with what should be.
func conclude(d *dialect.Dialect, m *Mutant, parts []suites.ScenarioResult) Outcome {
	o := Outcome{Dialect: d.Name, Red: map[string]string{}}
	by, over := map[string]bool{}, map[string]bool{}
	if m != nil {
		o.Mutant = m.Name
	}
	for _, p := range parts {
		if p.Err != nil {
			over[p.Scenario.Name+" could not be played: "+p.Err.Error()] = true
		}
		for _, r := range p.Evaluation.Results {
			id := r.Obligation.Check.ID
			if r.Verdict < spec.Warned {
				continue
			}
			if _, told := o.Red[id]; !told {
				o.Red[id] = p.Scenario.Name + ": " + first(r)
			}
			if m == nil {
				over[id] = true
				continue
			}
			if m.kills(r) {
				by[id] = true
			}
			for _, other := range m.besides(r) {
				over[other] = true
			}
		}
	}
	o.By, o.Over = slices.Sorted(maps.Keys(by)), slices.Sorted(maps.Keys(over))
	return o
}

// first is the first thing that there is to say of a red result.
func first(r spec.Result) string {
	if len(r.Findings) > 0 {
		return r.Findings[0].Message
	}
	return r.Note
}

// kills reports whether a failed result is the one that is wanted: a check that has to fail
// has a finding at the right place about a requirement that the mutant breaks.
func (m *Mutant) kills(r spec.Result) bool {
	places, named := m.Kills[r.Obligation.Check.ID]
	return named && slices.ContainsFunc(r.Findings, func(f spec.Finding) bool {
		law := r.Obligation.Requirement(f)
		return at(f, places) && (m.breaks(law.ID) && r.VerdictOn(law) >= spec.Warned || m.shares(r, f))
	})
}

// shares says whether a finding that names no requirement is about one that the mutant
// breaks: it is about all that the check serves.
func (m *Mutant) shares(r spec.Result, f spec.Finding) bool {
	return f.Event.Requirement == "" && slices.ContainsFunc(r.Obligation.Requirements, func(law spec.Requirement) bool {
		return m.breaks(law.ID) && r.VerdictOn(law) >= spec.Warned
	})
}

// besides is what of a red result should not be: a check that nobody expected, or one that
// names a requirement which the mutant keeps. A check that had nothing to judge, because of
// the fault, accuses nobody of anything: that a promise was not kept is true.
func (m *Mutant) besides(r spec.Result) (over []string) {
	id := r.Obligation.Check.ID
	if matches(m.Also, id) || len(r.Findings) == 0 && r.Verdict != spec.Error {
		return nil
	}
	if _, named := m.Kills[id]; !named {
		return []string{id}
	}
	for _, f := range r.Findings {
		if law := f.Event.Requirement; law != "" && !m.breaks(law) {
			over = append(over, id+" for "+law)
		}
	}
	return over
}
