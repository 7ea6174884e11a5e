// Package reports says what was concluded: to people, programs and CI jobs. It
// does not judge, and it does not know where the conversations came from.
package reports

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/streamassay/streamassay/spec"
)

// A Report is one run or lint, in the shape of the JSON report.
type Report struct {
	Tool       string       `json:"tool"`
	Version    string       `json:"version"`
	Started    time.Time    `json:"started"`
	DurationMS int64        `json:"duration_ms"`
	Target     string       `json:"target"`
	Seed       uint64       `json:"seed,omitempty"` // of a run: asks the same again
	Verdict    spec.Verdict `json:"verdict"`
	Exit       int          `json:"exit"`
	Counts     Counts       `json:"counts"`
	Dialects   []Dialect    `json:"dialects"`
}

// Counts are numbers of checks entries, by verdict.
type Counts struct {
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Warned  int `json:"warned"`
	Silent  int `json:"silent"`
	Skipped int `json:"skipped"`
	Error   int `json:"error"`
}

// A Dialect is what came of one dialect.
type Dialect struct {
	Dialect      string        `json:"dialect"`
	Requirements []Requirement `json:"requirements"`
	Checks       []Check       `json:"checks"`
}

// A Requirement is one obligation and the verdict on it.
type Requirement struct {
	Dialect  string          `json:"dialect,omitempty"` // where requirements of several are listed
	ID       string          `json:"id"`
	Level    spec.Level      `json:"level"`
	Verdict  spec.Verdict    `json:"verdict"`
	Quote    string          `json:"quote"`
	Source   string          `json:"source"`
	Checks   []string        `json:"checks"`
	Excluded *spec.Exclusion `json:"excluded,omitempty"`
}

// A Check is what one check concluded in one scenario.
type Check struct {
	ID           string       `json:"id"`
	Title        string       `json:"title"`
	Level        spec.Level   `json:"level"`
	Scenario     string       `json:"scenario"`
	Verdict      spec.Verdict `json:"verdict"`
	Judged       int          `json:"judged"`
	Note         string       `json:"note,omitempty"` // why, where no finding says it
	Findings     []Finding    `json:"findings"`
	Dropped      int          `json:"dropped,omitempty"` // findings that were not kept
	Requirements []string     `json:"requirements"`
	Curl         string       `json:"curl,omitempty"`
	Transcript   string       `json:"transcript,omitempty"`
}

// A Finding is one broken judgement and the bytes that prove it.
type Finding struct {
	Message     string `json:"message"`
	Requirement string `json:"requirement,omitempty"` // the one that it breaks
	Exchange    int    `json:"exchange"`
	Event       *int   `json:"event,omitempty"` // none: it is not about a frame
	Line        int    `json:"line"`
	Offset      int    `json:"offset"`
	Raw         string `json:"raw"`
	Pointer     string `json:"pointer,omitempty"`
}

// MostRaw bounds the bytes that a finding shows.
const MostRaw = 4 << 10

// Entry is what one check concluded in one scenario.
func Entry(scenario string, r spec.Result) Check {
	c := Check{
		ID: r.Duty.Check.ID, Title: r.Duty.Check.Title(), Level: r.Duty.Level(), Scenario: scenario,
		Verdict: r.Verdict, Judged: r.Judged, Note: r.Note, Dropped: r.Dropped,
		Findings: []Finding{}, Requirements: []string{},
	}
	for _, law := range r.Duty.Laws {
		c.Requirements = append(c.Requirements, law.ID)
	}
	for _, f := range r.Findings {
		e := f.Event
		found := Finding{
			Message: text([]byte(f.Message), MostRaw), Requirement: r.Duty.Law(f).ID,
			Exchange: e.Exchange, Line: e.Line, Offset: e.Offset, Raw: text(e.Raw, MostRaw),
		}
		if e.Nth >= 0 {
			found.Event = &e.Nth
		}
		if e.Kind != spec.Asked && len(e.Broken) == 1 {
			found.Pointer = e.Broken[0].Pointer
		}
		c.Findings = append(c.Findings, found)
	}
	return c
}

// text makes valid UTF-8 of bytes, and no more than most of them.
func text(b []byte, most int) string {
	left := len(b) - most
	if left > 0 {
		b = b[:most]
		for len(b) > 0 && !utf8.RuneStart(b[len(b)-1]) {
			b = b[:len(b)-1]
		}
	}
	s := strings.ToValidUTF8(string(b), "\ufffd")
	if left > 0 {
		s += fmt.Sprintf(" … (%d more bytes)", left)
	}
	return s
}

// Requirements are a catalogue's, each with the worst verdict that the results
// have on it; silent where none has.
func Requirements(catalogue []spec.Requirement, results []spec.Result) []Requirement {
	worst := map[string]spec.Verdict{}
	for _, r := range results {
		for _, law := range r.Duty.Laws {
			worst[law.ID] = max(worst[law.ID], r.On(law))
		}
	}
	all := []Requirement{}
	for _, law := range catalogue {
		all = append(all, Requirement{
			ID: law.ID, Level: law.Level, Verdict: worst[law.ID], Quote: law.Quote, Source: law.Source,
			Checks: append([]string{}, law.Checks...), Excluded: law.Excluded,
		})
	}
	return all
}

// Options say how a report is concluded.
type Options struct {
	Strict bool // a broken SHOULD fails
}

// Conclude counts the entries, and finds the verdict and the exit code: 1 where a
// MUST is broken, 3 where nothing was judged or it could not be told, 0 otherwise.
func (r *Report) Conclude(o Options) {
	r.Counts, r.Verdict = Counts{}, spec.Silent
	judged := 0
	for _, d := range r.Dialects {
		for _, c := range d.Checks {
			judged += c.Judged
			r.Verdict = max(r.Verdict, c.Verdict)
			switch c.Verdict {
			case spec.Passed:
				r.Counts.Passed++
			case spec.Failed:
				r.Counts.Failed++
			case spec.Warned:
				r.Counts.Warned++
			case spec.Silent:
				r.Counts.Silent++
			case spec.Skipped:
				r.Counts.Skipped++
			case spec.Error:
				r.Counts.Error++
			}
		}
	}
	switch {
	case judged == 0:
		r.Exit = 3
	case r.Counts.Failed > 0 || o.Strict && r.Counts.Warned > 0:
		r.Exit = 1
	case r.Counts.Error > 0:
		r.Exit = 3
	default:
		r.Exit = 0
	}
}

// Redact replaces secrets wherever they occur in the report.
func (r *Report) Redact(secrets []string) {
	secrets = slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return s == "" })
	if len(secrets) == 0 {
		return
	}
	pairs := []string{}
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	for _, s := range secrets {
		pairs = append(pairs, s, "REDACTED")
	}
	plain := strings.NewReplacer(pairs...).Replace
	r.Target = plain(r.Target)
	for _, d := range r.Dialects {
		for i := range d.Checks {
			c := &d.Checks[i]
			c.Note, c.Curl = plain(c.Note), plain(c.Curl)
			for k := range c.Findings {
				f := &c.Findings[k]
				f.Message, f.Raw, f.Pointer = plain(f.Message), plain(f.Raw), plain(f.Pointer)
			}
		}
	}
}
