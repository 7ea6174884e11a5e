package suites

import (
	"context"
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
	heard := make([]spec.Evaluation, len(parts))
	for i, p := range parts {
		if heard[i] = p.Hearing; len(heard[i].Results) == 0 { // else it was heard already
			heard[i] = t.hearing(&parts[i])
		}
	}
	if why := spec.WhyUnjudgeable(heard); errors.Is(why, spec.ErrNotHTTP) {
		for i := range parts {
			if parts[i].Err == nil && len(parts[i].Trace.Exchanges) > 0 {
				parts[i].Err = why
			}
		}
	}
	// A target that never completed an exchange has broken every promise; where it is
	// known which MUST it breaks, that is enough to say.
	spoke := slices.ContainsFunc(heard, func(h spec.Evaluation) bool { return h.Complete })
	faulty := slices.ContainsFunc(heard, func(h spec.Evaluation) bool {
		return slices.ContainsFunc(h.Results, func(r spec.Result) bool { return r.Verdict == spec.Failed })
	})
	for i, h := range spec.RequireCompleteExchange(heard) {
		parts[i].Hearing = h
		s := parts[i].Scenario
		owes := t.promises(s) && (spoke || !faulty && s.Name == "text")
		if owes && s.Name == "text" && parts[i].Err == nil && parts[i].Unplayed == nil {
			owes = !t.judgeText(parts[i])
		}
		for j := range h.Results {
			t.overrule(parts[i], &h.Results[j], owes)
		}
	}
	return parts
}

// hearing holds one conversation to the duties. A judgement that was broken off is worth
// nothing: then nothing was judged.
func (t *Target) hearing(p *Part) spec.Evaluation {
	events := t.Dialect.Tell(p.Trace.All(), dialect.Known{Scripted: p.Trace.Scripted, Streams: p.Trace.StreamLimit}, t.maxEvent())
	h, whole := p.judged(t.budget.judge, t.duties(p.Scenario), events)
	if !whole && p.Unplayed == nil {
		p.Unplayed = context.Cause(t.budget.judge)
	}
	return h
}

// judged holds the events of the part's conversation to duties, and keeps their outline,
// unless the context ends first. Nobody waits then for a judgement that takes long.
func (p *Part) judged(ctx context.Context, duties spec.Plan, events iter.Seq[spec.Event]) (h spec.Evaluation, whole bool) {
	type judgement struct {
		hearing  spec.Evaluation
		outlines []outline
		panicked any
	}
	p.outlines = nil
	done := make(chan judgement, 1)
	go func() {
		var j judgement
		defer func() {
			j.panicked = recover()
			done <- j
		}()
		j.hearing = spec.Run(duties, outlined(p.Dialect, p.Trace, spec.UntilDone(ctx, events), &j.outlines), nil)
	}()
	select {
	case j := <-done:
		if j.panicked != nil {
			panic(j.panicked)
		}
		if ctx.Err() == nil {
			p.outlines = j.outlines
			return j.hearing, true
		}
	case <-ctx.Done():
	}
	return spec.Run(duties, func(func(spec.Event) bool) {}, nil), false
}

// Recorded is a part that was not played but read, judged. It is not whole if the context
// ended before it was judged.
func Recorded(ctx context.Context, s Scenario, d *dialect.Dialect, t spec.Trace, known dialect.Known, maxEvent int) (p Part, whole bool) {
	p = Part{Scenario: s, Dialect: d, Trace: t}
	p.Hearing, whole = p.judged(ctx, d.Duties(rules.All), d.Tell(t.All(), known, maxEvent))
	return p, whole
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
	if t.told(s) != "" || s.Denied == spec.DeniedStreamLimit && !t.scripted { // whose runs may end at once
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
	id := r.Obligation.Check.ID
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
	case p.Unplayed != nil && r.Verdict == spec.Silent:
		r.Overrule(spec.Silent, p.Unplayed.Error())
	case p.Unplayed != nil:
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
