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

	status   int
	reason   string // of what is no exchange
	exchange exchangeSummary
}

// A Diagnosis is why a target was not judged further than it was: the causes, and
// which results follow from which of them.
type Diagnosis struct {
	Causes  []Cause
	causeOf map[[2]int]int // part and result → cause
}

// CauseOf returns the cause that a result follows from.
func (d Diagnosis) CauseOf(part, result int) (cause int, ok bool) {
	cause, ok = d.causeOf[[2]int{part, result}]
	return cause, ok
}

// Diagnose finds the causes in parts that were judged. The worst comes first.
func Diagnose(t Target, parts []ScenarioResult) Diagnosis {
	d := Diagnosis{causeOf: map[[2]int]int{}}
	d.Causes = unplayedCauses(parts)
	if !slices.ContainsFunc(d.Causes, func(c Cause) bool { return c.Fatal }) {
		d.Causes = append(d.Causes, fatalCauses(t, parts)...)
	}
	whole := slices.ContainsFunc(d.Causes, func(c Cause) bool { return c.Fatal })
	for _, kind := range []string{SymptomClosed, SymptomNotEnded, SymptomNoResponse} {
		if c, ok := findSymptom(parts, kind); ok && !slices.ContainsFunc(d.Causes, func(o Cause) bool { return o.Kind == kind }) {
			d.Causes = append(d.Causes, c)
		}
	}
	if c, ok := findEncoded(parts); ok && !whole {
		d.Causes = append(d.Causes, c)
	}
	if c, ok := findNotScripted(t, parts); ok && !whole {
		d.Causes = append(d.Causes, c)
	}
	slices.SortStableFunc(d.Causes, func(a, b Cause) int { return causeRank(a) - causeRank(b) })
	d.attribute(parts)
	d.dropUnused()
	for i := range d.Causes {
		d.Causes[i].setText(t, parts)
	}
	return d
}

func causeRank(c Cause) int {
	switch {
	case c.Fatal:
		return 0
	case c.Kind == SymptomNotScripted:
		return 2
	}
	return 1
}

// unplayedCauses are the causes of scenarios that could not be played to their end.
func unplayedCauses(parts []ScenarioResult) (all []Cause) {
	answered := slices.ContainsFunc(parts, func(p ScenarioResult) bool {
		return slices.ContainsFunc(p.summaries, func(o exchangeSummary) bool { return o.status > 0 })
	})
	for _, p := range parts {
		if p.Err == nil || errors.Is(p.Err, spec.ErrNotHTTP) { // of which the exchanges tell
			continue
		}
		kind, why := classifyError(p.Err)
		if slices.ContainsFunc(all, func(c Cause) bool { return c.Kind == kind && c.reason == why }) {
			continue
		}
		all = append(all, Cause{Kind: kind, reason: why, Fatal: !answered, Scenario: p.Scenario.Name, Exchange: -1})
	}
	return all
}

// classifyError says what an error is, which was nobody's answer.
func classifyError(err error) (kind, why string) {
	w, ok := errors.AsType[*wire.Error](err)
	switch {
	case !ok:
		return SymptomNotSent, err.Error()
	case strings.HasPrefix(w.Reason, "the exchange was cancelled"):
		return SymptomInterrupted, w.Reason
	}
	return SymptomUnreachable, w.Error()
}

// fatalCauses is the symptom that every plain request for a run shows, or every plain
// request for its stream.
func fatalCauses(t Target, parts []ScenarioResult) []Cause {
	for _, role := range []func(exchangeSummary) bool{
		func(o exchangeSummary) bool { return o.startsRun }, func(o exchangeSummary) bool { return o.isStream && !o.startsRun },
	} {
		var first *Cause
		healthy, count := false, map[string]int{}
		for _, p := range parts {
			for i, o := range p.summaries {
				if !o.isPlain || !role(o) || errors.Is(o.end, spec.ErrClientLeft) && o.symptom == "" && o.frames == 0 {
					continue
				}
				healthy = healthy || o.symptom == ""
				if count[o.symptom]++; first == nil || count[o.symptom] > count[first.Kind] {
					first = &Cause{Kind: o.symptom, Fatal: true, Scenario: p.Scenario.Name, Exchange: i, Operation: o.operation, status: o.status, exchange: o}
				}
			}
		}
		if first != nil && !healthy {
			c, _ := firstOccurrence(parts, *first)
			return []Cause{c}
		}
	}
	return nil
}

// firstOccurrence is a cause as it was seen first, in a plain request.
func firstOccurrence(parts []ScenarioResult, c Cause) (Cause, bool) {
	for _, p := range parts {
		for i, o := range p.summaries {
			if o.symptom == c.Kind && o.operation == c.Operation && o.isPlain {
				c.Scenario, c.Exchange, c.status, c.exchange = p.Scenario.Name, i, o.status, o
				return c, true
			}
		}
	}
	return c, false
}

// findSymptom is a cause that some exchanges show.
func findSymptom(parts []ScenarioResult, kind string) (Cause, bool) {
	for _, p := range parts {
		for i, o := range p.summaries {
			if o.symptom == kind {
				return Cause{Kind: kind, Scenario: p.Scenario.Name, Exchange: i, Operation: o.operation, status: o.status, exchange: o}, true
			}
		}
	}
	return Cause{}, false
}

// findNotScripted is that a target which answers was asked in test prompts that it does
// not follow, or that its answers have no text at all.
func findNotScripted(t Target, parts []ScenarioResult) (Cause, bool) {
	if t.PromptStyle == NaturalPrompts || t.lacksCapability("scripted") {
		return Cause{}, false
	}
	for _, p := range parts {
		if p.Trace.Scripted {
			return Cause{}, false
		}
	}
	answered := slices.ContainsFunc(parts, func(p ScenarioResult) bool {
		return slices.ContainsFunc(p.summaries, func(o exchangeSummary) bool { return o.hasText })
	})
	for _, p := range parts {
		for i, o := range p.summaries {
			if p.Scenario.Name == "text" && o.isPlain && o.isStream && o.symptom == "" {
				c := Cause{Kind: SymptomNotScripted, Scenario: p.Scenario.Name, Exchange: i, Operation: o.operation, status: o.status, exchange: o}
				if !answered {
					c.Kind = SymptomNoText
				}
				return c, true
			}
		}
	}
	return Cause{}, false
}

// findEncoded returns the cause that a stream came in a content coding that could be undone:
// it is judged, and no client that did not ask for the coding can read it.
func findEncoded(parts []ScenarioResult) (Cause, bool) {
	for _, p := range parts {
		for i, o := range p.summaries {
			if o.isPlain && o.isStream && o.symptom == "" && o.frames > 0 && isEncoded(o.header) {
				return Cause{Kind: SymptomContentCoding, Scenario: p.Scenario.Name, Exchange: i, Operation: o.operation, status: o.status, exchange: o}, true
			}
		}
	}
	return Cause{}, false
}

// attribute finds the results that follow from a cause alone.
func (d *Diagnosis) attribute(parts []ScenarioResult) {
	judged := map[string]bool{}
	for _, p := range parts {
		for _, r := range p.Evaluation.Results {
			judged[r.Obligation.Check.ID] = judged[r.Obligation.Check.ID] || r.Judged > 0 || len(r.Findings) > 0
		}
	}
	checks := make([]map[string]bool, len(d.Causes))
	for i, p := range parts {
		for k, r := range p.Evaluation.Results {
			for n, c := range d.Causes {
				if c.explainsResult(p, r, judged[r.Obligation.Check.ID]) {
					d.causeOf[[2]int{i, k}] = n
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

// dropUnused forgets the causes that nothing follows from, and that hinder no client.
func (d *Diagnosis) dropUnused() {
	at := make([]int, len(d.Causes))
	var kept []Cause
	for i, c := range d.Causes {
		if at[i] = len(kept); c.Checks > 0 || c.Fatal || c.Kind == SymptomContentCoding {
			kept = append(kept, c)
		}
	}
	d.Causes = kept
	for key, n := range d.causeOf {
		d.causeOf[key] = at[n]
	}
}

// explainsResult reports whether a result follows from the cause alone. judged is whether its
// check judged anything of the target in any scenario.
func (c Cause) explainsResult(p ScenarioResult, r spec.Result, judged bool) bool {
	switch {
	case r.Verdict == spec.Skipped || r.Verdict == spec.Passed:
		return false
	case c.Kind == SymptomNotScripted || c.Kind == SymptomNoText:
		return r.Verdict == spec.Silent && !judged
	case c.Kind == SymptomContentCoding && !c.Fatal:
		return false // its own finding names the clause
	case len(r.Findings) > 0:
		return !slices.ContainsFunc(r.Findings, func(f spec.Finding) bool { return !c.affectsEvent(p, f.Event) })
	case r.Verdict == spec.Silent:
		return c.Fatal
	case p.Err != nil && c.Exchange < 0:
		kind, why := classifyError(p.Err)
		return kind == c.Kind && why == c.reason
	}
	return c.Fatal || slices.ContainsFunc(p.summaries, c.matchesSymptom)
}

// matchesSymptom reports whether an exchange has the symptom.
func (c Cause) matchesSymptom(o exchangeSummary) bool {
	return c.Exchange >= 0 && o.symptom == c.Kind && o.status == c.status
}

// affectsEvent reports whether the cause is what is wrong with the exchange of an event, as
// far as the event shows it.
func (c Cause) affectsEvent(p ScenarioResult, e spec.Event) bool {
	if e.Exchange >= len(p.summaries) || !c.matchesSymptom(p.summaries[e.Exchange]) {
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
