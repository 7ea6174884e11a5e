package suites

import (
	"errors"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// A Cause is one reason why a target could not be tested, or could be tested only in part.
type Cause struct {
	Kind      string // one of the symptoms in docs/report.md, such as "unreachable"
	Message   string // what was seen, in one line
	Advice    string // what to do about it; "": no advice
	Fatal     bool   // the cause kept almost all checks from running
	Scenario  string // name of the first scenario that shows the cause
	Exchange  int    // index of the first exchange of Scenario that shows the cause; -1: no exchange does
	Operation string // the operation of that exchange, such as "POST /runs"; "" if there is none
	Checks    int    // how many checks could not run, or failed, only because of the cause

	reason   string          // text of the error that kept scenarios from being played, if Exchange is -1
	exchange exchangeSummary // of the exchange that Exchange refers to
}

// A Diagnosis holds the causes found in the results of a run, and which check results each cause
// explains.
type Diagnosis struct {
	Causes  []Cause        // the most severe first
	causeOf map[[2]int]int // indexes of scenario result and check result → index in Causes
}

// CauseOf returns the index, in d.Causes, of the cause that explains a check result. The argument
// part is the index of the scenario result in the argument of [Diagnose], and result is the index
// of the check result in Evaluation.Results of that scenario result. ok is false if no cause
// explains the check result.
func (d Diagnosis) CauseOf(part, result int) (cause int, ok bool) {
	cause, ok = d.causeOf[[2]int{part, result}]
	return cause, ok
}

// Diagnose returns the causes that kept checks from judging the target, or that made checks fail.
// The argument parts holds the results of all scenarios that were played against target t, as
// returned by [Run]. Diagnose does not modify parts.
func Diagnose(t Target, parts []ScenarioResult) Diagnosis {
	d := Diagnosis{causeOf: map[[2]int]int{}}
	d.Causes = unplayedCauses(parts)
	if !slices.ContainsFunc(d.Causes, func(c Cause) bool { return c.Fatal }) {
		d.Causes = append(d.Causes, fatalCauses(t, parts)...)
	}
	whole := slices.ContainsFunc(d.Causes, func(c Cause) bool { return c.Fatal })
	for _, kind := range []string{symptomClosed, symptomNotEnded, symptomNoResponse} {
		isKind := func(c Cause) bool { return c.Kind == kind }
		hasKind := func(_ ScenarioResult, o exchangeSummary) bool { return o.symptom == kind }
		if c, ok := findCause(kind, parts, hasKind); ok && !slices.ContainsFunc(d.Causes, isKind) {
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

// causeRank returns the sort key of a cause. More severe causes have lower keys.
func causeRank(c Cause) int {
	switch {
	case c.Fatal:
		return 0
	case c.Kind == symptomNotScripted:
		return 2
	}
	return 1
}

// unplayedCauses returns one cause for each distinct error, from the network or from streamassay
// itself, that kept scenarios in parts from being played to their end. The causes are fatal if the
// server responded to no request at all. The errors [spec.ErrNotHTTP] and [spec.ErrOtherEncoding]
// are ignored, because the exchange itself shows them as a symptom.
func unplayedCauses(parts []ScenarioResult) (all []Cause) {
	answered := anyExchange(parts, func(o exchangeSummary) bool { return o.status > 0 })
	for _, p := range parts {
		isSymptom := errors.Is(p.Err, spec.ErrNotHTTP) || errors.Is(p.Err, spec.ErrOtherEncoding) // of the exchanges
		if p.Err == nil || isSymptom {
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

// classifyError classifies err, an error that kept a scenario from being played. kind is one of
// [symptomNotSent], [symptomInterrupted] and [symptomUnreachable]. why is the text of err for
// reports.
func classifyError(err error) (kind, why string) {
	w, ok := errors.AsType[*wire.MeasurementError](err)
	switch {
	case !ok:
		return symptomNotSent, err.Error()
	case strings.HasPrefix(w.Reason, "the exchange was cancelled"):
		return symptomInterrupted, w.Reason
	}
	return symptomUnreachable, w.Error()
}

// fatalCauses returns a slice with the one fatal cause that the exchanges in parts show, or nil if
// they show none. It considers only valid requests of the primary user, in two groups: first those
// that start runs, then those that request a stream without starting a run. If all requests of a
// group show a symptom, nothing could be judged, and the most frequent symptom of that group is the
// cause.
func fatalCauses(t Target, parts []ScenarioResult) []Cause {
	for _, role := range []func(exchangeSummary) bool{
		func(o exchangeSummary) bool { return o.startsRun },
		func(o exchangeSummary) bool { return o.isStream && !o.startsRun },
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
					c := newCause(o.symptom, p, i)
					first = &c
				}
			}
		}
		if first != nil && !healthy {
			c, _ := findCause(first.Kind, parts, func(_ ScenarioResult, o exchangeSummary) bool {
				return o.symptom == first.Kind && o.operation == first.Operation && o.isPlain
			})
			c.Fatal = true
			return []Cause{c}
		}
	}
	return nil
}

// newCause returns a cause of the given kind. Its evidence is the exchange with index i in scenario
// result p.
func newCause(kind string, p ScenarioResult, i int) Cause {
	o := p.summaries[i]
	return Cause{Kind: kind, Scenario: p.Scenario.Name, Exchange: i, Operation: o.operation, exchange: o}
}

// findCause returns a cause of the given kind. Its evidence is the first exchange in parts for
// which matches returns true. The argument p of matches is the result of the scenario to which the
// exchange o belongs. If there is no such exchange, the second result is false.
func findCause(
	kind string, parts []ScenarioResult, matches func(p ScenarioResult, o exchangeSummary) bool,
) (Cause, bool) {
	for _, p := range parts {
		if i := slices.IndexFunc(p.summaries, func(o exchangeSummary) bool { return matches(p, o) }); i >= 0 {
			return newCause(kind, p, i), true
		}
	}
	return Cause{}, false
}

// anyExchange reports whether matches returns true for any exchange in parts.
func anyExchange(parts []ScenarioResult, matches func(exchangeSummary) bool) bool {
	return slices.ContainsFunc(parts, func(p ScenarioResult) bool { return slices.ContainsFunc(p.summaries, matches) })
}

// findNotScripted returns a cause if the agent does not follow the test prompts. The kind of the
// cause is [symptomNoText] if no response has any text, and [symptomNotScripted] otherwise. The
// evidence is an exchange of the scenario "text". The second result is false if the agent follows
// the prompts, if the target is not expected to follow them, or if no exchange can serve as
// evidence.
func findNotScripted(t Target, parts []ScenarioResult) (Cause, bool) {
	isScripted := func(p ScenarioResult) bool { return p.Trace.Scripted }
	if t.PromptStyle == NaturalPrompts || t.lacksCapability("scripted") || slices.ContainsFunc(parts, isScripted) {
		return Cause{}, false
	}
	kind := symptomNoText
	if anyExchange(parts, func(o exchangeSummary) bool { return o.hasText }) {
		kind = symptomNotScripted
	}
	return findCause(kind, parts, func(p ScenarioResult, o exchangeSummary) bool {
		return p.Scenario.Name == "text" && o.isPlain && o.isStream && o.symptom == ""
	})
}

// findEncoded returns a cause of kind [symptomContentCoding] if the server sent a stream with a
// content coding, although no request allows one. The second result is false if there is no such
// stream. The stream is decoded and judged nevertheless, but other clients may be unable to read
// it.
func findEncoded(parts []ScenarioResult) (Cause, bool) {
	return findCause(symptomContentCoding, parts, func(_ ScenarioResult, o exchangeSummary) bool {
		return o.isPlain && o.isStream && o.symptom == "" && o.frames > 0 && o.header.ContentCoding() != ""
	})
}

// attribute records in d.causeOf, for each check result in parts, the first cause in d.Causes that
// alone explains the result, if there is one. It also sets the field Checks of each cause to the
// number of different checks with at least one result for which it recorded that cause.
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

// dropUnused removes from d.Causes the causes that explain no check result, and adjusts the indexes
// in d.causeOf. It keeps fatal causes, and causes of kind [symptomContentCoding], because other
// clients may be unable to read a stream with a content coding.
func (d *Diagnosis) dropUnused() {
	at := make([]int, len(d.Causes))
	var kept []Cause
	for i, c := range d.Causes {
		if at[i] = len(kept); c.Checks > 0 || c.Fatal || c.Kind == symptomContentCoding {
			kept = append(kept, c)
		}
	}
	d.Causes = kept
	for key, n := range d.causeOf {
		d.causeOf[key] = at[n]
	}
}

// explainsResult reports whether the cause alone explains why r, a check result of scenario result
// p, did not pass. The argument judged states whether the check of r judged anything in any scenario
// of the run.
func (c Cause) explainsResult(p ScenarioResult, r spec.Result, judged bool) bool {
	switch {
	case r.Verdict == spec.Skipped || r.Verdict == spec.Passed:
		return false
	case c.Kind == symptomNotScripted || c.Kind == symptomNoText:
		return r.Verdict == spec.Silent && !judged
	case c.Kind == symptomContentCoding && !c.Fatal:
		return false // reported by a finding that cites the requirement
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

// matchesSymptom reports whether exchange o has the same symptom and the same status as the
// exchange that is the evidence of the cause. It returns false if the evidence is not an exchange.
func (c Cause) matchesSymptom(o exchangeSummary) bool {
	return c.Exchange >= 0 && o.symptom == c.Kind && o.status == c.exchange.status
}

// affectsEvent reports whether a finding about event e of scenario result p is a consequence of the
// cause. It returns true if the exchange of e matches the cause (see [Cause.matchesSymptom]) and
// the symptom affects events of the same kind as e.
func (c Cause) affectsEvent(p ScenarioResult, e spec.Event) bool {
	if e.Exchange >= len(p.summaries) || !c.matchesSymptom(p.summaries[e.Exchange]) {
		return false
	}
	switch c.Kind {
	case symptomRunFailed:
		return false
	case symptomNotEnded:
		return slices.Contains([]spec.Kind{spec.BodyEnd, spec.Incomplete, spec.HTTPResponse, spec.HTTPRequest}, e.Kind)
	}
	return true
}
