package suites

import (
	"errors"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// A Cause is a reason why all or part of a target could not be tested.
type Cause struct {
	Kind      string // one of the symptoms in docs/report.md, such as "unreachable"
	Message   string // description of the problem, in one line
	Advice    string // what the user can do about it; "": no advice
	Fatal     bool   // because of the cause, almost no check could be evaluated
	Scenario  string // name of the first scenario that shows the cause
	Exchange  int    // index of the first exchange of Scenario that shows the cause; -1: no exchange does
	Operation string // the operation of that exchange, such as "POST /runs"; "" if there is none
	Checks    int    // number of checks that failed or could not be evaluated only because of the cause

	reason   string          // text of the error that prevented scenarios from being completed, if Exchange is -1
	exchange exchangeSummary // the exchange with the index Exchange
}

// A CauseAnalysis contains the causes of the problems in a test run, and the check results that
// each cause explains.
type CauseAnalysis struct {
	Causes  []Cause        // the most severe first
	causeOf map[[2]int]int // maps the two arguments of CauseOf to an index in Causes
}

// CauseOf returns the index, in d.Causes, of the cause that explains a check result. The argument
// part is the index of a scenario result in the argument of [Diagnose], and result is the index of
// the check result in its Evaluation.Results. ok is false if no cause explains the check result.
func (d CauseAnalysis) CauseOf(part, result int) (cause int, ok bool) {
	cause, ok = d.causeOf[[2]int{part, result}]
	return cause, ok
}

// Diagnose returns the causes that prevented checks from judging the target or made them fail. The
// argument parts contains the results of all scenarios that [Run] played against target t. Diagnose
// does not modify parts.
func Diagnose(t Target, parts []ScenarioResult) CauseAnalysis {
	d := CauseAnalysis{causeOf: map[[2]int]int{}}
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

// causeRank returns the sort key of a cause, which is lower for more severe causes.
func causeRank(c Cause) int {
	switch {
	case c.Fatal:
		return 0
	case c.Kind == symptomNotScripted:
		return 2
	}
	return 1
}

// unplayedCauses returns one cause for each distinct error that prevented scenarios in parts from
// being completed. The causes are fatal if the server never responded. unplayedCauses ignores
// [spec.ErrNotHTTP]: the exchanges with this error have a symptom; see [fatalCauses].
func unplayedCauses(parts []ScenarioResult) (all []Cause) {
	answered := anyExchange(parts, func(o exchangeSummary) bool { return o.status > 0 })
	for _, p := range parts {
		if p.Err == nil || errors.Is(p.Err, spec.ErrNotHTTP) {
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

// classifyError classifies err, an error that prevented a scenario from being completed. kind is
// [symptomNotSent], [symptomInterrupted] or [symptomUnreachable]. why is the text of err for
// reports.
func classifyError(err error) (kind, why string) {
	w, ok := errors.AsType[*wire.ClientSideError](err)
	switch {
	case !ok:
		return symptomNotSent, err.Error()
	case strings.HasPrefix(w.Reason, "the exchange was cancelled"):
		return symptomInterrupted, w.Reason
	}
	return symptomUnreachable, w.Error()
}

// fatalCauses returns a slice with one fatal cause, or nil if the exchanges in parts show none.
// There is a fatal cause if each request that starts a run has a symptom, such as
// [symptomNotFound], or else if each request that only requests a stream has one. The kind of the
// cause is the most frequent of these symptoms. Only valid requests of [spec.PrimaryUser] are
// considered.
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

// newCause returns a cause of the given kind whose evidence is the exchange with index i in p.
func newCause(kind string, p ScenarioResult, i int) Cause {
	o := p.summaries[i]
	return Cause{Kind: kind, Scenario: p.Scenario.Name, Exchange: i, Operation: o.operation, exchange: o}
}

// findCause returns a cause of the given kind whose evidence is the first exchange in parts for
// which matches returns true. The function matches receives the exchange o and the result p of its
// scenario. If there is no such exchange, findCause returns false.
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

// findNotScripted returns a cause if the agent does not follow the test prompts (docs/prompts.md).
// Its kind is [symptomNoText] if no response contains text, and [symptomNotScripted] otherwise. Its
// evidence is the first stream without a symptom in the scenario "text". findNotScripted returns
// false if the agent follows the prompts, if it need not follow them, or if there is no such
// stream. If the agent follows the prompts, but no stream is a run that can be read, so that nothing
// is judged, the cause has the kind [symptomNoText].
func findNotScripted(t Target, parts []ScenarioResult) (Cause, bool) {
	isScripted := slices.ContainsFunc(parts, func(p ScenarioResult) bool { return p.Trace.Scripted })
	isUnreadable := !slices.ContainsFunc(parts, func(p ScenarioResult) bool { return p.Evaluation.Complete })
	if t.PromptStyle == NaturalPrompts || t.lacksCapability("scripted") || isScripted && !isUnreadable {
		return Cause{}, false
	}
	kind := symptomNoText
	if !isScripted && anyExchange(parts, func(o exchangeSummary) bool { return o.hasText }) {
		kind = symptomNotScripted
	}
	return findCause(kind, parts, func(p ScenarioResult, o exchangeSummary) bool {
		return p.Scenario.Name == "text" && o.isPlain && o.isStream && o.symptom == ""
	})
}

// findEncoded returns a cause of kind [symptomContentCoding] if the server sent a stream with a
// content coding that the request does not accept. Checks can still judge the stream, but other
// clients may be unable to read it. findEncoded returns false if there is no such stream.
func findEncoded(parts []ScenarioResult) (Cause, bool) {
	return findCause(symptomContentCoding, parts, func(_ ScenarioResult, o exchangeSummary) bool {
		return o.isPlain && o.isStream && o.symptom == "" && o.frames > 0 && o.header.ContentCoding() != ""
	})
}

// attribute sets d.causeOf: each check result in parts is attributed to the first cause in d.Causes
// that explains it. It also sets the field Checks of each cause to the number of distinct checks
// with results that are attributed to the cause.
func (d *CauseAnalysis) attribute(parts []ScenarioResult) {
	judged := map[string]bool{}
	for _, p := range parts {
		for _, r := range p.Evaluation.Results {
			judged[r.PlannedCheck.Check.ID] = judged[r.PlannedCheck.Check.ID] || r.Judged > 0 || len(r.Findings) > 0
		}
	}
	checks := make([]map[string]bool, len(d.Causes))
	for i, p := range parts {
		for k, r := range p.Evaluation.Results {
			for n, c := range d.Causes {
				if c.explainsResult(p, r, judged[r.PlannedCheck.Check.ID]) {
					d.causeOf[[2]int{i, k}] = n
					if checks[n] == nil {
						checks[n] = map[string]bool{}
					}
					checks[n][r.PlannedCheck.Check.ID] = true
					break
				}
			}
		}
	}
	for n := range d.Causes {
		d.Causes[n].Checks = len(checks[n])
	}
}

// dropUnused removes the causes that explain no check result from d.Causes, and adjusts the indexes
// in d.causeOf. It keeps fatal causes and those of kind [symptomContentCoding]; see [findEncoded].
func (d *CauseAnalysis) dropUnused() {
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

// explainsResult reports whether the cause alone explains why r, a check result of p, did not pass.
// The argument judged states whether the check of r judged anything in any scenario of the test
// run.
func (c Cause) explainsResult(p ScenarioResult, r spec.CheckResult, judged bool) bool {
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
// exchange that is the evidence of the cause. It returns false if no exchange is the evidence.
func (c Cause) matchesSymptom(o exchangeSummary) bool {
	return c.Exchange >= 0 && o.symptom == c.Kind && o.status == c.exchange.status
}

// affectsEvent reports whether a finding in p can be a consequence of the cause. The argument e is
// the event to which the finding refers. affectsEvent returns false if the exchange of e does not
// match the cause (see [Cause.matchesSymptom]), or if the symptom does not affect events of e's
// kind.
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
