// Package reports says what was concluded: to people, programs and CI jobs. It
// does not judge, and it does not know where the conversations came from, which
// dialects there are, or what any check means.
package reports

import (
	"time"

	"github.com/streamassay/streamassay/spec"
)

// A Report is one run or lint, in the shape of the JSON report.
type Report struct {
	Tool       string          `json:"tool"`
	Version    string          `json:"version"`
	Started    time.Time       `json:"started"` // written as RFC 3339, UTC, whole seconds
	DurationMS int64           `json:"duration_ms"`
	Target     string          `json:"target"`
	Seed       uint64          `json:"seed,omitempty"`   // of a run: makes the same random choices again
	Salt       uint64          `json:"salt,omitempty"`   // of a run: names conversations and the like as this run did
	Strict     bool            `json:"strict,omitempty"` // a broken SHOULD fails
	Rounds     int             `json:"rounds,omitempty"` // how often the suite was played, if more than once
	Verdict    spec.Verdict    `json:"verdict"`
	Exit       int             `json:"exit"`
	Counts     Counts          `json:"counts"`
	Incomplete string          `json:"incomplete,omitempty"` // why the run was broken off
	Dialects   []DialectReport `json:"dialects"`
	Harness    []string        `json:"harness,omitempty"` // what the harness itself got wrong
}

// Counts are numbers by verdict: of checks entries, or of the rounds of one.
type Counts struct {
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Warned  int `json:"warned"`
	Silent  int `json:"silent"`
	Skipped int `json:"skipped"`
	Error   int `json:"error"`
}

// A DialectReport is what came of one dialect.
type DialectReport struct {
	Dialect      string              `json:"dialect"`
	Causes       []Cause             `json:"causes"`
	Notes        []string            `json:"notes,omitempty"` // what was not asked, and why
	Requirements []RequirementResult `json:"requirements"`
	Checks       []Check             `json:"checks"`
}

// A Cause is one thing that kept the target from being judged, wholly or in part.
type Cause struct {
	Kind         string `json:"kind"`
	Message      string `json:"message"`             // what was seen
	Advice       string `json:"advice,omitempty"`    // what to do about it
	Fatal        bool   `json:"fatal,omitempty"`     // next to nothing else could be judged
	Scenario     string `json:"scenario"`            // where it was seen first
	Exchange     *int   `json:"exchange,omitempty"`  // of that conversation, from 0; none: nothing was exchanged
	Operation    string `json:"operation,omitempty"` // as of a [Finding], and so on
	Request      string `json:"request,omitempty"`
	Response     string `json:"response,omitempty"`
	Curl         string `json:"curl,omitempty"`
	Consequences int    `json:"consequences"` // checks that came out as they did because of it alone
}

// A RequirementResult is one obligation and the verdict on it.
type RequirementResult struct {
	Dialect    string          `json:"dialect,omitempty"` // where requirements of several are listed
	ID         string          `json:"id"`
	Level      spec.Level      `json:"level"`
	Verdict    spec.Verdict    `json:"verdict"`
	Quote      string          `json:"quote"`
	English    string          `json:"english,omitempty"` // a rendering of Quote where that is not English
	Source     string          `json:"source"`
	Checks     []string        `json:"checks"`
	Excluded   *spec.Exclusion `json:"excluded,omitempty"`
	Convention bool            `json:"convention,omitempty"` // of the test prompts, not of the protocol
	Flaky      *Counts         `json:"flaky,omitempty"`      // how many rounds came out how, where not all alike
}

// A Check is what one check concluded in one scenario.
type Check struct {
	ID           string       `json:"id"`
	Title        string       `json:"title"`
	Level        spec.Level   `json:"level"`
	Scenario     string       `json:"scenario"`
	Verdict      spec.Verdict `json:"verdict"`
	Judged       int          `json:"judged"`         // 0 only with silent, skipped and error
	Note         string       `json:"note,omitempty"` // why, where no finding says it
	Findings     []Finding    `json:"findings"`
	Dropped      int          `json:"dropped,omitempty"` // findings that were not kept
	Requirements []string     `json:"requirements"`
	Cause        *int         `json:"cause,omitempty"`    // the one of [Dialect.Causes] that this follows from
	Advice       string       `json:"advice,omitempty"`   // what to do about it
	Rerun        string       `json:"rerun,omitempty"`    // a command that plays the scenario again
	Requests     int          `json:"requests,omitempty"` // how many the scenario took
	Curl         string       `json:"curl"`               // "" where there is no request to show
	Transcript   string       `json:"transcript"`         // "" where nothing was written down
	Flaky        *Counts      `json:"flaky,omitempty"`    // how many rounds came out how, where not all alike
	Round        int          `json:"round,omitempty"`    // then: the one told of here, from 1
}

// A Finding is one broken judgement and the bytes that prove it.
type Finding struct {
	Message     string `json:"message"`
	Requirement string `json:"requirement,omitempty"` // the one that it breaks
	Operation   string `json:"operation,omitempty"`   // "POST /runs"
	Exchange    int    `json:"exchange"`              // of the conversation, from 0
	Event       *int   `json:"event,omitempty"`       // of the exchange, from 0; none: it is not about a frame
	Line        int    `json:"line"`                  // of the body, from 1; 0: it is not about the body
	Offset      int    `json:"offset"`                // of the body in bytes, from 0
	Raw         string `json:"raw"`                   // as text, and no more than [MostRaw]
	Request     string `json:"request,omitempty"`     // what was sent: request line, fields that are not usual, body
	Response    string `json:"response,omitempty"`    // what was answered: status line, fields, body unless it is Raw
	Pointer     string `json:"pointer"`               // JSON Pointer into the frame or body, where it is known
	Seen        int    `json:"seen,omitempty"`        // in how many of Plays it was found, where not in all
	Plays       int    `json:"plays,omitempty"`       // how often its scenario was played, then
}

// Exit codes that a report can come to. What is not here (2, 4) is decided before
// or after there is one.
const (
	ExitPassed       = 0 // every MUST that was judged holds, and something was judged
	ExitFailed       = 1 // a MUST is broken; strict: or a SHOULD
	ExitInconclusive = 3 // nothing was judged, or it could not be told
	ExitInternal     = 5 // the harness itself failed

	ExitInterrupted = 130 // by SIGINT
	ExitTerminated  = 143 // by SIGTERM
)

// ConcludeOptions say how a report is concluded.
type ConcludeOptions struct {
	Strict bool // a broken SHOULD fails
}

// Conclude counts the entries, and finds the verdict (the worst of theirs) and the
// exit code: 3 where nothing at all was judged, else 1 where something is broken,
// else 3 where something could not be told or the run was broken off, else 0. An
// [ExitHarness] that the caller has set stays: no conclusion of a broken harness is
// worth anything. So does the code of a signal.
func (r *Report) Conclude(o ConcludeOptions) {
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

func (c *Counts) add(v spec.Verdict) {
	switch v {
	case spec.Passed:
		c.Passed++
	case spec.Failed:
		c.Failed++
	case spec.Warned:
		c.Warned++
	case spec.Silent:
		c.Silent++
	case spec.Skipped:
		c.Skipped++
	case spec.Error:
		c.Error++
	}
}
