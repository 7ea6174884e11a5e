// Package reports writes the results of the run and lint commands: as text, HTML and Markdown for
// people, as JSON and JUnit XML for programs. A [Report] has the shape of the JSON report
// (docs/report.md).
package reports

import (
	"time"

	"github.com/streamassay/streamassay/internal/exitcode"
	"github.com/streamassay/streamassay/spec"
)

// A Report holds the results of one execution of the run or lint command, in the shape of the JSON
// report.
type Report struct {
	Tool       string           `json:"tool"`
	Version    string           `json:"version"`
	Started    time.Time        `json:"started"` // WriteJSON writes it in UTC, without fractions of a second
	DurationMS int64            `json:"duration_ms"`
	Target     string           `json:"target"`           // URL of the server, without credentials; for lint, the files
	Seed       uint64           `json:"seed,omitempty"`   // for the run command: fixes the random choices
	Salt       uint64           `json:"salt,omitempty"`   // for the run command: with the seed, fixes the ids
	Strict     bool             `json:"strict,omitempty"` // a violated SHOULD fails the run
	Rounds     int              `json:"rounds,omitempty"` // number of rounds, if the run was repeated
	Verdict    spec.Verdict     `json:"verdict"`          // the worst verdict of all checks
	Exit       int              `json:"exit"`             // exit code, such as [ExitPassed]
	Counts     Counts           `json:"counts"`
	Incomplete string           `json:"incomplete,omitempty"` // why the run is incomplete; "" if it is not
	Dialects   []DialectResults `json:"dialects"`
	Harness    []string         `json:"harness,omitempty"` // internal errors of streamassay
}

// A Counts holds one number for each verdict. In [Report], it counts the results with the verdict.
// In the fields named Flaky, it counts the rounds in which one check or requirement had the
// verdict.
type Counts struct {
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Warned  int `json:"warned"`
	Silent  int `json:"silent"`
	Skipped int `json:"skipped"`
	Error   int `json:"error"`
}

// A DialectResults holds the results for one dialect, that is one version of a protocol.
type DialectResults struct {
	Dialect      string              `json:"dialect"`
	Causes       []Cause             `json:"causes"`
	Notes        []string            `json:"notes,omitempty"` // what was not played completely or not judged, and why
	Requirements []RequirementResult `json:"requirements"`
	Checks       []Check             `json:"checks"`
}

// A Cause is one fact that kept the target from being tested, completely or in part.
type Cause struct {
	Kind         string `json:"kind"`                // one of those in docs/report.md, such as "unreachable"
	Message      string `json:"message"`             // what was seen
	Advice       string `json:"advice,omitempty"`    // what to do about it
	Fatal        bool   `json:"fatal,omitempty"`     // the cause kept almost all checks from running
	Scenario     string `json:"scenario"`            // name of the first scenario that shows the cause
	Exchange     *int   `json:"exchange,omitempty"`  // index in that scenario, from 0; nil: no exchange shows it
	Operation    string `json:"operation,omitempty"` // Operation, Request and Response are as in [Finding]
	Request      string `json:"request,omitempty"`
	Response     string `json:"response,omitempty"`
	Curl         string `json:"curl,omitempty"` // command that sends the request
	Consequences int    `json:"consequences"`   // number of checks that failed or could not run only because of the cause
}

// A RequirementResult is one requirement of a protocol with the worst verdict of the checks that
// judge it.
type RequirementResult struct {
	Dialect    string          `json:"dialect,omitempty"` // set only in lists that cover several dialects
	ID         string          `json:"id"`
	Level      spec.Level      `json:"level"`
	Verdict    spec.Verdict    `json:"verdict"`
	Quote      string          `json:"quote"`
	English    string          `json:"english,omitempty"`    // translation of Quote if that is not English
	Source     string          `json:"source"`               // where the requirement is stated
	Checks     []string        `json:"checks"`               // ids of the checks that judge it
	Excluded   *spec.Exclusion `json:"excluded,omitempty"`   // why no check can judge it; nil: checks can
	Convention bool            `json:"convention,omitempty"` // a requirement of the test prompts, not of the protocol
	Flaky      *Counts         `json:"flaky,omitempty"`      // number of rounds by verdict; nil: all agree
}

// A Check is the result of one check (a rule that servers or clients must follow) in one scenario
// (a sequence of requests).
type Check struct {
	ID           string       `json:"id"`
	Title        string       `json:"title"`
	Level        spec.Level   `json:"level"`    // strictest level of the requirements that the check judges
	Scenario     string       `json:"scenario"` // name of the scenario
	Verdict      spec.Verdict `json:"verdict"`
	Judged       int          `json:"judged"`         // judgements; 0 only if Verdict is silent, skipped or error
	Note         string       `json:"note,omitempty"` // the reason for the verdict, if no finding gives it
	Findings     []Finding    `json:"findings"`
	Dropped      int          `json:"dropped,omitempty"`  // number of findings that were not kept
	Requirements []string     `json:"requirements"`       // ids of the requirements that the check judges
	Cause        *int         `json:"cause,omitempty"`    // what explains the result: index in DialectResults.Causes
	Advice       string       `json:"advice,omitempty"`   // what to do about the result
	Rerun        string       `json:"rerun,omitempty"`    // command that plays the scenario again
	Requests     int          `json:"requests,omitempty"` // number of requests of the scenario
	// Curl is a command that sends the request of the first finding or, without findings, the first
	// request of the scenario. It is "" if that request was not recorded.
	Curl       string  `json:"curl"`
	Transcript string  `json:"transcript"`      // path of the recorded conversation; "" if it was not recorded
	Flaky      *Counts `json:"flaky,omitempty"` // number of rounds by verdict; nil: all agree
	Round      int     `json:"round,omitempty"` // if Flaky is set: the round with this result, from 1
}

// A Finding is one failed judgement with the bytes that prove it.
type Finding struct {
	Message     string     `json:"message"`
	Requirement string     `json:"requirement,omitempty"` // id of the violated requirement
	Operation   string     `json:"operation,omitempty"`   // operation of the request, such as "POST /runs"
	Exchange    int        `json:"exchange"`              // index in the conversation, from 0
	Event       *int       `json:"event,omitempty"`       // index of the frame in the exchange, from 0; nil: no frame
	Line        int        `json:"line"`                  // line of the body, from 1; 0: not about the body
	Offset      int        `json:"offset"`                // position in the body in bytes, from 0
	Raw         string     `json:"raw"`                   // frame or body as text, cut after [MaxRaw] bytes
	Level       spec.Level `json:"level,omitempty"`       // level of the requirement, if the finding is about a client
	Where       string     `json:"where,omitempty"`       // such as "query runId", if the finding is about a client
	Request     string     `json:"request,omitempty"`     // request line, unusual header fields and beginning of the body
	// Response has the status line, a few header fields such as Content-Type and, unless Raw has
	// it, the beginning of the body.
	Response string `json:"response,omitempty"`
	Pointer  string `json:"pointer"`        // JSON Pointer into the frame or body, if known
	Seen     int    `json:"seen,omitempty"` // in how many of the Plays the finding was made
	// Plays is the number of times that the scenario was played. It is 0 if the finding was made
	// each time or the scenario was played only once.
	Plays int `json:"plays,omitempty"`
}

// The exit codes that a report can have. A command that fails because of its usage or configuration
// exits with 2 instead and writes no report.
const (
	ExitPassed       = exitcode.Passed       // every MUST that was judged holds, and something was judged
	ExitFailed       = exitcode.Failed       // a MUST is violated or, if strict, a SHOULD
	ExitInconclusive = exitcode.Inconclusive // nothing was judged, or not everything could be
	ExitInternal     = exitcode.Internal     // internal error of streamassay
	ExitInterrupted  = exitcode.Interrupted  // the run was ended by SIGINT
	ExitTerminated   = exitcode.Terminated   // the run was ended by SIGTERM
)

// ExitCodeOptions controls how [Report.Conclude] derives the exit code from the verdicts.
type ExitCodeOptions struct {
	Strict bool // a violated SHOULD fails the run
}

// Conclude sets the fields Counts, Verdict (the worst verdict) and Exit of the report, based on the
// results of its checks. It also sets r.Strict to o.Strict. The exit code is the first of these
// that applies:
//   - the current value of r.Exit, if it is [ExitInternal], [ExitInterrupted] or [ExitTerminated]
//   - [ExitInconclusive] if nothing was judged
//   - [ExitFailed] if a MUST is violated or, with o.Strict, a SHOULD
//   - [ExitInconclusive] if something could not be judged or the run is incomplete
//   - [ExitPassed]
func (r *Report) Conclude(o ExitCodeOptions) {
	r.Strict = o.Strict
	r.Counts, r.Verdict = Counts{}, spec.Silent
	judged := 0
	for _, d := range r.Dialects {
		for _, c := range d.Checks {
			judged += c.Judged
			r.Verdict = max(r.Verdict, c.Verdict)
			r.Counts.add(c.Verdict)
		}
	}
	switch {
	case r.Exit == ExitInternal || r.Exit == ExitInterrupted || r.Exit == ExitTerminated:
	case judged == 0:
		r.Exit = ExitInconclusive
	case r.Counts.Failed > 0 || o.Strict && r.Counts.Warned > 0:
		r.Exit = ExitFailed
	case r.Counts.Error > 0 || r.Incomplete != "":
		r.Exit = ExitInconclusive
	default:
		r.Exit = ExitPassed
	}
}

// of returns a pointer to the number for verdict v.
func (c *Counts) of(v spec.Verdict) *int {
	return [...]*int{
		spec.Passed: &c.Passed, spec.Failed: &c.Failed, spec.Warned: &c.Warned,
		spec.Silent: &c.Silent, spec.Skipped: &c.Skipped, spec.Error: &c.Error,
	}[v]
}

// add increments the number for verdict v.
func (c *Counts) add(v spec.Verdict) { *c.of(v)++ }
