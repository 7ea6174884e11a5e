package suites

import (
	"errors"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// A Cause is one thing that kept a target from being judged, wholly or in part.
type Cause struct {
	Kind      string // one of the symptoms
	Message   string // what was seen, in one line
	Advice    string // what to do about it
	Fatal     bool   // next to nothing else could be judged
	Scenario  string // where it was seen first
	Exchange  int    // likewise; -1: nothing was exchanged
	Operation string // what was asked for there
	Checks    int    // how many checks came out as they did because of it alone

	status int
	why    string // of what is no exchange
	like   outline
}

// A Diagnosis is why a target was not judged further than it was: the causes, and
// which results follow from which of them.
type Diagnosis struct {
	Causes  []Cause
	follows map[[2]int]int // part and result → cause
}

// Of returns the cause that a result follows from.
func (d Diagnosis) Of(part, result int) (cause int, ok bool) {
	cause, ok = d.follows[[2]int{part, result}]
	return cause, ok
}

// Diagnose finds the causes in parts that were judged. The worst comes first.
func Diagnose(t Target, parts []Part) Diagnosis {
	d := Diagnosis{follows: map[[2]int]int{}}
	d.Causes = unplayed(parts)
	if !slices.ContainsFunc(d.Causes, func(c Cause) bool { return c.Fatal }) {
		d.Causes = append(d.Causes, fatal(t, parts)...)
	}
	whole := slices.ContainsFunc(d.Causes, func(c Cause) bool { return c.Fatal })
	for _, kind := range []string{SymptomClosed, SymptomNotEnded, SymptomNoAnswer} {
		if c, ok := seen(parts, kind); ok && !slices.ContainsFunc(d.Causes, func(o Cause) bool { return o.Kind == kind }) {
			d.Causes = append(d.Causes, c)
		}
	}
	if c, ok := encoded(parts); ok && !whole {
		d.Causes = append(d.Causes, c)
	}
	if c, ok := notScripted(t, parts); ok && !whole {
		d.Causes = append(d.Causes, c)
	}
	slices.SortStableFunc(d.Causes, func(a, b Cause) int { return order(a) - order(b) })
	d.attribute(parts)
	d.drop()
	for i := range d.Causes {
		d.Causes[i].word(t, parts)
	}
	return d
}

func order(c Cause) int {
	switch {
	case c.Fatal:
		return 0
	case c.Kind == SymptomNotScripted:
		return 2
	}
	return 1
}

// unplayed are the causes of scenarios that could not be played to their end.
func unplayed(parts []Part) (all []Cause) {
	answered := slices.ContainsFunc(parts, func(p Part) bool {
		return slices.ContainsFunc(p.outlines, func(o outline) bool { return o.status > 0 })
	})
	for _, p := range parts {
		if p.Err == nil || errors.Is(p.Err, spec.ErrNotHTTP) { // of which the exchanges tell
			continue
		}
		kind, why := kindOf(p.Err)
		if slices.ContainsFunc(all, func(c Cause) bool { return c.Kind == kind && c.why == why }) {
			continue
		}
		all = append(all, Cause{Kind: kind, why: why, Fatal: !answered, Scenario: p.Scenario.Name, Exchange: -1})
	}
	return all
}

// kindOf says what an error is, which was nobody's answer.
func kindOf(err error) (kind, why string) {
	w, ok := errors.AsType[*wire.Error](err)
	switch {
	case !ok:
		return SymptomHarness, err.Error()
	case strings.HasPrefix(w.Why, "the exchange was called off"):
		return SymptomInterrupted, w.Why
	}
	return SymptomUnreachable, w.Error()
}

// fatal is the symptom that every plain request for a run shows, or every plain
// request for its stream.
func fatal(t Target, parts []Part) []Cause {
	for _, role := range []func(outline) bool{
		func(o outline) bool { return o.asks }, func(o outline) bool { return o.streams && !o.asks },
	} {
		var first *Cause
		healthy, count := false, map[string]int{}
		for _, p := range parts {
			for i, o := range p.outlines {
				if !o.plain || !role(o) || errors.Is(o.end, spec.ErrClientLeft) && o.symptom == "" && o.frames == 0 {
					continue
				}
				healthy = healthy || o.symptom == ""
				if count[o.symptom]++; first == nil || count[o.symptom] > count[first.Kind] {
					first = &Cause{Kind: o.symptom, Fatal: true, Scenario: p.Scenario.Name, Exchange: i, Operation: o.op, status: o.status, like: o}
				}
			}
		}
		if first != nil && !healthy {
			c, _ := firstOf(parts, *first)
			return []Cause{c}
		}
	}
	return nil
}

// firstOf is a cause as it was seen first, in a plain request.
func firstOf(parts []Part, c Cause) (Cause, bool) {
	for _, p := range parts {
		for i, o := range p.outlines {
			if o.symptom == c.Kind && o.op == c.Operation && o.plain {
				c.Scenario, c.Exchange, c.status, c.like = p.Scenario.Name, i, o.status, o
				return c, true
			}
		}
	}
	return c, false
}

// seen is a cause that some exchanges show.
func seen(parts []Part, kind string) (Cause, bool) {
	for _, p := range parts {
		for i, o := range p.outlines {
			if o.symptom == kind {
				return Cause{Kind: kind, Scenario: p.Scenario.Name, Exchange: i, Operation: o.op, status: o.status, like: o}, true
			}
		}
	}
	return Cause{}, false
}

// notScripted is that a target which answers was asked in test prompts that it does
// not follow, or that its answers have no text at all.
func notScripted(t Target, parts []Part) (Cause, bool) {
	if t.Prompts == Natural || t.lacks("scripted") {
		return Cause{}, false
	}
	for _, p := range parts {
		if p.Trace.Scripted {
			return Cause{}, false
		}
	}
	answered := slices.ContainsFunc(parts, func(p Part) bool {
		return slices.ContainsFunc(p.outlines, func(o outline) bool { return o.text })
	})
	for _, p := range parts {
		for i, o := range p.outlines {
			if p.Scenario.Name == "text" && o.plain && o.streams && o.symptom == "" {
				c := Cause{Kind: SymptomNotScripted, Scenario: p.Scenario.Name, Exchange: i, Operation: o.op, status: o.status, like: o}
				if !answered {
					c.Kind = SymptomNoText
				}
				return c, true
			}
		}
	}
	return Cause{}, false
}

// encoded returns the cause that a stream came in a content coding that could be undone:
// it is judged, and no client that did not ask for the coding can read it.
func encoded(parts []Part) (Cause, bool) {
	for _, p := range parts {
		for i, o := range p.outlines {
			if o.plain && o.streams && o.symptom == "" && o.frames > 0 && coded(o.header) {
				return Cause{Kind: SymptomCoding, Scenario: p.Scenario.Name, Exchange: i, Operation: o.op, status: o.status, like: o}, true
			}
		}
	}
	return Cause{}, false
}

// attribute finds the results that follow from a cause alone.
func (d *Diagnosis) attribute(parts []Part) {
	judged := map[string]bool{}
	for _, p := range parts {
		for _, r := range p.Hearing.Results {
			judged[r.Obligation.Check.ID] = judged[r.Obligation.Check.ID] || r.Judged > 0 || len(r.Findings) > 0
		}
	}
	checks := make([]map[string]bool, len(d.Causes))
	for i, p := range parts {
		for k, r := range p.Hearing.Results {
			for n, c := range d.Causes {
				if c.explains(p, r, judged[r.Obligation.Check.ID]) {
					d.follows[[2]int{i, k}] = n
					if checks[n] == nil {
						checks[n] = map[string]bool{}
					}
					checks[n][r.Obligation.Check.ID] = true
					break
				}
			}
		}
	}
	for n := range d.Causes {
		d.Causes[n].Checks = len(checks[n])
	}
}

// drop forgets the causes that nothing follows from, and that hinder no client.
func (d *Diagnosis) drop() {
	at := make([]int, len(d.Causes))
	var kept []Cause
	for i, c := range d.Causes {
		if at[i] = len(kept); c.Checks > 0 || c.Fatal || c.Kind == SymptomCoding {
			kept = append(kept, c)
		}
	}
	d.Causes = kept
	for key, n := range d.follows {
		d.follows[key] = at[n]
	}
}

// explains reports whether a result follows from the cause alone. judged is whether its
// check judged anything of the target in any scenario.
func (c Cause) explains(p Part, r spec.Result, judged bool) bool {
	switch {
	case r.Verdict == spec.Skipped || r.Verdict == spec.Passed:
		return false
	case c.Kind == SymptomNotScripted || c.Kind == SymptomNoText:
		return r.Verdict == spec.Silent && !judged
	case c.Kind == SymptomCoding && !c.Fatal:
		return false // its own finding names the clause
	case len(r.Findings) > 0:
		return !slices.ContainsFunc(r.Findings, func(f spec.Finding) bool { return !c.broke(p, f.Event) })
	case r.Verdict == spec.Silent:
		return c.Fatal
	case p.Err != nil && c.Exchange < 0:
		kind, why := kindOf(p.Err)
		return kind == c.Kind && why == c.why
	}
	return c.Fatal || slices.ContainsFunc(p.outlines, c.shows)
}

// shows reports whether an exchange has the symptom.
func (c Cause) shows(o outline) bool {
	return c.Exchange >= 0 && o.symptom == c.Kind && o.status == c.status
}

// broke reports whether the cause is what is wrong with the exchange of an event, as
// far as the event shows it.
func (c Cause) broke(p Part, e spec.Event) bool {
	if e.Exchange >= len(p.outlines) || !c.shows(p.outlines[e.Exchange]) {
		return false
	}
	switch c.Kind {
	case SymptomRunFailed:
		return false
	case SymptomNotEnded:
		return e.Kind == spec.BodyEnd || e.Kind == spec.Incomplete || e.Kind == spec.HTTPResponse || e.Kind == spec.HTTPRequest
	}
	return true
}
