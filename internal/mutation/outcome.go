package mutation

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
	"sync/atomic"
	"time"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/internal/identity"
	"github.com/streamassay/streamassay/internal/script"
	"github.com/streamassay/streamassay/mockserver"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// An Outcome is the result of running the suite against one mutant in one dialect.
type Outcome struct {
	Mutant   string   // name of the mutant; "" for the correct server
	Dialect  string   // name of the dialect
	KilledBy []string // ids of the checks that killed the mutant, sorted
	// OverKills lists the failures that the defect does not explain, sorted. An element is the id
	// of a check, or a description such as "CHECK for REQUIREMENT" or "SCENARIO could not be
	// played: ERROR".
	OverKills    []string
	FailedChecks map[string]string // id of each failed check → "SCENARIO: MESSAGE" of its first finding
	IsEquivalent bool              // no response had the defect; false unless Mutant.defect is set
}

// IsSurvivor reports whether the mutant survived, that is, whether it was not killed although it is
// not equivalent to the correct server.
func (o Outcome) IsSurvivor() bool { return !o.IsKilled() && !o.IsEquivalent }

// IsKilled reports whether at least one of the checks that must find the mutant did so, with a
// finding at an expected location.
func (o Outcome) IsKilled() bool { return len(o.KilledBy) > 0 }

// isOverKilled reports whether there were failures that the defect of the mutant does not explain.
func (o Outcome) isOverKilled() bool { return len(o.OverKills) > 0 }

// Description describes the outcome:
//   - "killed" if the mutant was killed and OverKills is empty
//   - "over-killed" if the mutant was killed and OverKills is not empty
//   - "killed for another reason" if checks failed but none of them killed the mutant
//   - "equivalent" if no check failed and IsEquivalent is true
//   - "survived" otherwise
func (o Outcome) Description() string {
	switch {
	case o.IsKilled() && o.isOverKilled():
		return "over-killed"
	case o.IsKilled():
		return "killed"
	case len(o.FailedChecks) > 0:
		return "killed for another reason"
	case o.IsEquivalent:
		return "equivalent"
	}
	return "survived"
}

// The settings for the runs of all mutants. The client waits for the end of an exchange for at most
// exchangeTimeout, and for the next bytes of a response for at most idleTimeout. The server looks
// for new events every pollInterval. A user may have at most streamLimit open streams.
const (
	exchangeTimeout = 20 * time.Second
	idleTimeout     = 6 * time.Second
	pollInterval    = 200 * time.Millisecond
	streamLimit     = 40
)

// RunOne runs the suite against mutant m in dialect d, or against the correct server if m is nil.
// The server counts as one that has all optional capabilities, so the checks of a capability fail
// if they find nothing to judge. RunOne returns an error if the server cannot be created or the
// suite does not run to its end, for example because ctx is canceled.
func RunOne(ctx context.Context, d *dialect.Dialect, m *Mutant) (Outcome, error) {
	o, _, err := runSuite(ctx, d, m, nil)
	return o, err
}

// runSuite is like [RunOne], but also returns the results of the scenarios. It plays the scenarios
// whose names match one of the given globs or, if there are none, one of m.scenarios. If both are
// empty, it plays all scenarios. It never plays those that m.skippedScenarios returns.
//
// If globs restrict the scenarios and the check refuse.as-documented must find m, the suite sends
// only those invalid requests whose refusal the requirement of m is about.
func runSuite(
	ctx context.Context, d *dialect.Dialect, m *Mutant, globs []string,
) (Outcome, []suites.ScenarioResult, error) {
	var occurred atomic.Bool
	h, shut, err := newServer(d, m, func() { occurred.Store(true) })
	if err != nil {
		return Outcome{}, nil, err
	}
	defer shut()
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // injected faults are not worth logging
	srv.Start()
	defer srv.Close()
	base, err := url.Parse(srv.URL + d.Base)
	if err != nil {
		return Outcome{}, nil, fmt.Errorf("base URL: %w", err)
	}
	if len(globs) == 0 && m != nil {
		globs = m.scenarios
	}
	target := suites.Target{
		Dialect: d, Base: base, ClaimedCapabilities: []string{"all"}, Timeout: exchangeTimeout,
		Limits: suites.Limits{IdleTimeout: idleTimeout}, StreamLimit: streamLimit, Seed: 1, Salt: 1,
		Header:      spec.Header{{Name: "Authorization", Value: PrimaryUser}},
		OtherHeader: spec.Header{{Name: "Authorization", Value: OtherUser}},
		Only:        globs, Skip: m.skippedScenarios(),
	}
	if len(globs) > 0 && m != nil && m.KilledBy[refusesAsDocumented] != "" {
		target.RefusalsAbout = []string{m.requirement}
	}
	parts, err := suites.Run(ctx, target, nil)
	if err != nil {
		return Outcome{}, nil, fmt.Errorf("suite: %w", err)
	}
	if err := ctx.Err(); err != nil { // an interrupted run was not judged
		return Outcome{}, nil, err
	}
	o := newOutcome(d, m, parts)
	o.IsEquivalent = m != nil && m.defect != nil && !occurred.Load()
	return o, parts, nil
}

// refusals is the name of the scenario that sends invalid requests.
const refusals = "refusals"

// skippedScenarios returns the names of the scenarios that are not played because they cannot find
// the mutant. The only scenario that is ever skipped is the one that sends invalid requests, which
// takes as long as all others together. It is played only if a check whose id begins with "refuse."
// or "accept." must find the mutant. If m is nil, all scenarios are played, and the result is nil.
func (m *Mutant) skippedScenarios() []string {
	if m == nil {
		return nil
	}
	for check := range m.KilledBy {
		if strings.HasPrefix(check, "refuse.") || strings.HasPrefix(check, "accept.") {
			return nil
		}
	}
	return []string{refusals}
}

// newServer returns the handler h of mutant m in dialect d, or of the correct server if m is nil.
// The caller must call shut to shut the server down. If the field defect of m is set, the server
// calls occurred, possibly concurrently, when a response has the defect. If the fault or the script
// of m is invalid, or if the server cannot be created, newServer returns nil, nil and an error.
func newServer(d *dialect.Dialect, m *Mutant, occurred func()) (h http.Handler, shut func(), err error) {
	users := &identity.StaticTokens{}
	for _, pair := range []string{"ann:token-of-ann", "bob:token-of-bob"} {
		if err := users.Add(pair); err != nil {
			return nil, nil, fmt.Errorf("users: %w", err)
		}
	}
	seed := uint64(1)
	cfg := mockserver.Config{
		Dialects: []*dialect.Dialect{d}, Seed: &seed, Clock: &mockserver.Clock{}, // checks compare its times with silences
		Server: reference.Config{Authenticator: users, PollInterval: pollInterval, Limits: reference.Limits{StreamsPerUser: streamLimit}},
	}
	if m != nil {
		if cfg.Defaults.Faults, err = m.faultSpecs(); err != nil {
			return nil, nil, err
		}
		if cfg.Scripts, err = m.loadScript(d); err != nil {
			return nil, nil, err
		}
		if m.Configure != nil {
			m.Configure(&cfg.Server)
		}
	}
	server, err := mockserver.New(cfg)
	if err != nil {
		return nil, nil, fmt.Errorf("mock: %w", err)
	}
	h = server
	switch next := (dialectHandler{server, d}); {
	case m != nil && m.Middleware != nil:
		h = m.Middleware(next)
	case m != nil && m.defect != nil:
		h = m.defect(occurred)(next)
	}
	return h, func() { _ = server.Shutdown(context.Background()) }, nil // errors of the shutdown do not matter
}

// faultSpecs returns the faults that the mock injects for the mutant. These are the faults in
// m.Fault or the one that m.NewEffect describes. If neither field is set, it returns nil. If
// m.Fault is invalid, it returns an error.
func (m *Mutant) faultSpecs() ([]fault.Spec, error) {
	switch {
	case m.Fault != "":
		uses, err := fault.Parse(m.Fault)
		if err != nil {
			return nil, fmt.Errorf("mutant %s: %w", m.Name, err)
		}
		return uses, nil
	case m.NewEffect != nil:
		own := &fault.Fault{Name: m.Name, Doc: m.Doc, Category: fault.CategoryProtocol, NewEffect: m.NewEffect}
		return []fault.Spec{{Fault: own, Trigger: fault.NoTrigger()}}, nil
	}
	return nil, nil
}

// loadScript returns the rules of m.Script for dialect d, or nil if the mutant has no script. It
// returns an error if the script is invalid.
func (m *Mutant) loadScript(d *dialect.Dialect) (*script.RuleSet, error) {
	if m.Script == "" {
		return nil, nil
	}
	set, problems := script.Load([]script.Source{{Name: m.Name, Data: []byte(m.Script)}}, []*dialect.Dialect{d})
	for _, p := range problems {
		if p.Severity == script.Error {
			return nil, fmt.Errorf("mutant %s: %v", m.Name, p)
		}
	}
	return set, nil
}

// newOutcome returns the outcome of running the suite against mutant m in dialect d. It does not
// set the field IsEquivalent. The argument parts contains the results of the scenarios. If m is
// nil, OverKills lists every failed check, because the correct server must pass all checks.
func newOutcome(d *dialect.Dialect, m *Mutant, parts []suites.ScenarioResult) Outcome {
	o := Outcome{Dialect: d.Name, FailedChecks: map[string]string{}}
	killedBy, overKills := map[string]bool{}, map[string]bool{}
	if m != nil {
		o.Mutant = m.Name
	}
	for _, p := range parts {
		if p.Err != nil {
			overKills[p.Scenario.Name+" could not be played: "+p.Err.Error()] = true
		}
		for _, r := range p.Evaluation.Results {
			id := r.PlannedCheck.Check.ID
			if r.Verdict < spec.Warned {
				continue
			}
			if _, known := o.FailedChecks[id]; !known {
				o.FailedChecks[id] = p.Scenario.Name + ": " + firstMessage(r)
			}
			if !failsRequirement(r) {
				overKills[id+" without a requirement"] = true
			}
			if m == nil {
				overKills[id] = true
				continue
			}
			if m.isKill(r) {
				killedBy[id] = true
			}
			for _, other := range m.overKills(r) {
				overKills[other] = true
			}
		}
	}
	o.KilledBy, o.OverKills = slices.Sorted(maps.Keys(killedBy)), slices.Sorted(maps.Keys(overKills))
	return o
}

// failsRequirement reports whether the verdict of r is error, or r makes the verdict on at least
// one requirement warned or worse. The argument r must be the result of a check with the verdict
// warned, failed or error. For such a result, false means that the catalogue of requirements is
// wrong: the requirements that the findings name do not list the check.
func failsRequirement(r spec.CheckResult) bool {
	return r.Verdict == spec.Error || slices.ContainsFunc(r.PlannedCheck.Requirements, func(l spec.Requirement) bool {
		return r.VerdictOn(l) >= spec.Warned
	})
}

// firstMessage returns the message of the first finding in r, or the note of r if there are no
// findings.
func firstMessage(r spec.CheckResult) string {
	if len(r.Findings) > 0 {
		return r.Findings[0].Message
	}
	return r.Note
}

// isKill reports whether the result r kills the mutant. That is so if the check of r is in
// m.KilledBy, and r has a finding at one of the locations that m.KilledBy lists for the check. The
// finding must be about a requirement on which the verdict of r is warned or worse and, if the
// mutant is generated, about the requirement that the mutant violates.
func (m *Mutant) isKill(r spec.CheckResult) bool {
	places, named := m.KilledBy[r.PlannedCheck.Check.ID]
	return named && slices.ContainsFunc(r.Findings, func(f spec.Finding) bool {
		return isAtLocation(f, places) && slices.ContainsFunc(r.PlannedCheck.Requirements, func(l spec.Requirement) bool {
			isAbout := f.Event.Requirement == "" || f.Event.Requirement == l.ID
			return isAbout && (m.requirement == "" || m.requirement == l.ID) && r.VerdictOn(l) >= spec.Warned
		})
	})
}

// overKills returns descriptions of the failures in r, the result of a check that did not pass,
// that the defect does not explain:
//   - If the check is neither in m.KilledBy nor in m.AlsoFails, the result is the id of the check.
//   - If the check is in m.KilledBy and the mutant is generated, the result contains "CHECK for
//     REQUIREMENT" for each finding whose event names a requirement, but for which m.concerns
//     returns false.
//   - Otherwise, the result is nil.
//
// The result is also nil if r has no findings and its verdict is not error. Such a check failed
// only because a claimed capability was not exercised, which is not a defect.
func (m *Mutant) overKills(r spec.CheckResult) (over []string) {
	id := r.PlannedCheck.Check.ID
	if matchesAny(m.AlsoFails, id) || len(r.Findings) == 0 && r.Verdict != spec.Error {
		return nil
	}
	if _, named := m.KilledBy[id]; !named {
		return []string{id}
	}
	for _, f := range r.Findings {
		if m.requirement != "" && f.Event.Requirement != "" && !m.concerns(f.Event) {
			over = append(over, id+" for "+f.Event.Requirement)
		}
	}
	return over
}
