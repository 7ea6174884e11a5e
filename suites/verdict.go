package suites

import (
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/spec/rules"
)

// judge holds what was recorded to the duties, one scenario after the other, and
// then to what was promised.
func (t *Target) judge(parts []Part) []Part {
	heard := make([]spec.Hearing, len(parts))
	for i, p := range parts {
		if heard[i] = p.Hearing; len(heard[i].Results) == 0 { // else it was heard already
			heard[i] = t.hearing(&parts[i])
		}
	}
	if why := spec.Unmeasured(heard); errors.Is(why, spec.ErrNotHTTP) {
		for i := range parts {
			if parts[i].Err == nil && len(parts[i].Trace.Exchanges) > 0 {
				parts[i].Err = why
			}
		}
	}
	// A target that never completed an exchange has broken every promise; where it is
	// known which MUST it breaks, that is enough to say.
	spoke := slices.ContainsFunc(heard, func(h spec.Hearing) bool { return h.Whole })
	faulty := slices.ContainsFunc(heard, func(h spec.Hearing) bool {
		return slices.ContainsFunc(h.Results, func(r spec.Result) bool { return r.Verdict == spec.Failed })
	})
	for i, h := range spec.SpeakFirst(heard) {
		parts[i].Hearing = h
		s := parts[i].Scenario
		owes := t.promises(s) && (spoke || !faulty && s.Name == "text")
		if owes && s.Name == "text" && parts[i].Err == nil {
			owes = !t.judgeText(parts[i])
		}
		for j := range h.Results {
			t.overrule(parts[i], &h.Results[j], owes)
		}
	}
	return parts
}

// hearing holds one conversation to the duties.
func (t *Target) hearing(p *Part) spec.Hearing {
	events := t.Dialect.Tell(p.Trace.All(), dialect.Known{Scripted: p.Trace.Scripted, Streams: p.Trace.Streams}, t.maxEvent())
	return p.judged(t.duties(p.Scenario), events)
}

// judged holds the events of the part's conversation to duties, and keeps their outline.
func (p *Part) judged(duties spec.Duties, events iter.Seq[spec.Event]) spec.Hearing {
	p.outlines = nil
	return spec.Run(duties, outlined(p.Dialect, p.Trace, events, &p.outlines), nil)
}

// Recorded is a part that was not played but read, judged.
func Recorded(s Scenario, d *dialect.Dialect, t spec.Trace, known dialect.Known, maxEvent int) Part {
	p := Part{Scenario: s, Dialect: d, Trace: t}
	p.Hearing = p.judged(d.Duties(rules.All), d.Tell(t.All(), known, maxEvent))
	return p
}

func (t *Target) maxEvent() int {
	if t.MaxEvent > 0 {
		return t.MaxEvent
	}
	return dialect.MaxEvent
}

// promises reports whether silence in a scenario breaks a promise. Text is promised by
// every target, and so are the operations that the document demands; a claim promises
// what an agent says only where it is asked for in words that have one meaning.
func (t *Target) promises(s Scenario) bool {
	if t.told(s) != "" || s.Denied == spec.DeniedCrowd && !t.scripted { // whose runs may end at once
		return false
	}
	if s.Name == "text" || s.Expected {
		return true
	}
	if _, said := natural[s.Name]; said && t.Prompts == Natural {
		return false
	}
	return slices.Contains(t.Claims, s.capability()) || slices.Contains(t.Claims, "all")
}

// overrule says what the evidence alone does not. owes is whether silence breaks a
// promise.
func (t *Target) overrule(p Part, r *spec.Result, owes bool) {
	id := r.Duty.Check.ID
	proves := slices.Contains(p.Scenario.Proves, id)
	switch {
	case t.lacks(p.Scenario.capability()):
		if proves || id == "script."+p.Scenario.Name {
			r.Overrule(spec.Skipped, "the target lacks "+p.Scenario.capability())
		}
	case t.told(p.Scenario) != "" && proves:
		r.Overrule(spec.Silent, t.told(p.Scenario))
	case t.lacks("scripted") && needsScript(id):
		r.Overrule(spec.Skipped, "the target lacks scripted")
	case p.Err != nil && len(r.Findings) == 0:
		r.Overrule(spec.Error, "could not tell: "+p.Err.Error())
	case r.Verdict == spec.Silent && proves && owes && (t.scripted || !needsScript(id)):
		r.BreakPromise(t.unexercised(p))
	}
}

// needsScript reports whether a check judges only what a scripted target says.
func needsScript(id string) bool {
	return strings.HasPrefix(id, "script.") || id == rules.Flushes.ID
}
