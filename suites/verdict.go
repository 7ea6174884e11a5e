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

// evaluateAll holds what was recorded to the duties, one scenario after the other, and
// then to what was promised.
func (t *Target) evaluateAll(parts []ScenarioResult) []ScenarioResult {
	heard := make([]spec.Evaluation, len(parts))
	for i, p := range parts {
		if heard[i] = p.Evaluation; len(heard[i].Results) == 0 { // else it was heard already
			heard[i] = t.evaluate(&parts[i])
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
	hasComplete := slices.ContainsFunc(heard, func(h spec.Evaluation) bool { return h.Complete })
	hasFailed := slices.ContainsFunc(heard, func(h spec.Evaluation) bool {
		return slices.ContainsFunc(h.Results, func(r spec.Result) bool { return r.Verdict == spec.Failed })
	})
	for i, h := range spec.RequireCompleteExchange(heard) {
		parts[i].Evaluation = h
		s := parts[i].Scenario
		promised := t.isPromised(s) && (hasComplete || !hasFailed && s.Name == "text")
		if promised && s.Name == "text" && parts[i].Err == nil && parts[i].IncompleteReason == nil {
			promised = !t.requireText(parts[i])
		}
		for j := range h.Results {
			t.adjustVerdict(parts[i], &h.Results[j], promised)
		}
	}
	return parts
}

// evaluate holds one conversation to the duties. A judgement that was broken off is worth
// nothing: then nothing was judged.
func (t *Target) evaluate(p *ScenarioResult) spec.Evaluation {
	events := t.Dialect.DecodeExchanges(p.Trace.All(), dialect.TargetInfo{Scripted: p.Trace.Scripted, StreamLimit: p.Trace.StreamLimit}, t.maxEventBytes())
	h, complete := p.evaluate(t.budget.judgeCtx, t.plan(p.Scenario), events)
	if !complete && p.IncompleteReason == nil {
		p.IncompleteReason = context.Cause(t.budget.judgeCtx)
	}
	return h
}

// evaluate holds the events of the part's conversation to duties, and keeps their outline,
// unless the context ends first. Nobody waits then for a judgement that takes long.
func (p *ScenarioResult) evaluate(ctx context.Context, duties spec.Plan, events iter.Seq[spec.Event]) (h spec.Evaluation, complete bool) {
	type judgement struct {
		hearing  spec.Evaluation
		outlines []exchangeSummary
		panicked any
	}
	p.summaries = nil
	done := make(chan judgement, 1)
	go func() {
		var j judgement
		defer func() {
			j.panicked = recover()
			done <- j
		}()
		j.hearing = spec.Run(duties, summarizeExchanges(p.Dialect, p.Trace, spec.UntilDone(ctx, events), &j.outlines), nil)
	}()
	select {
	case j := <-done:
		if j.panicked != nil {
			panic(j.panicked)
		}
		if ctx.Err() == nil {
			p.summaries = j.outlines
			return j.hearing, true
		}
	case <-ctx.Done():
	}
	return spec.Run(duties, func(func(spec.Event) bool) {}, nil), false
}

// EvaluateTrace is a part that was not played but read, judged. It is not whole if the context
// ended before it was judged.
func EvaluateTrace(ctx context.Context, s Scenario, d *dialect.Dialect, t spec.Trace, known dialect.TargetInfo, maxEvent int) (p ScenarioResult, whole bool) {
	p = ScenarioResult{Scenario: s, Dialect: d, Trace: t}
	p.Evaluation, whole = p.evaluate(ctx, d.Plan(rules.All), d.DecodeExchanges(t.All(), known, maxEvent))
	return p, whole
}

func (t *Target) maxEventBytes() int {
	if t.MaxEventBytes > 0 {
		return t.MaxEventBytes
	}
	return dialect.MaxEventBytes
}

// isPromised reports whether silence in a scenario breaks a promise. Text is promised by
// every target, and so are the operations that the document demands; a claim promises
// what an agent says only where it is asked for in words that have one meaning.
func (t *Target) isPromised(s Scenario) bool {
	if t.missingSetup(s) != "" || s.Denial == spec.DeniedStreamLimit && !t.isScripted { // whose runs may end at once
		return false
	}
	if s.Name == "text" || s.Required {
		return true
	}
	if _, said := naturalPrompts[s.Name]; said && t.PromptStyle == NaturalPrompts {
		return false
	}
	return slices.Contains(t.ClaimedCapabilities, s.capabilityName()) || slices.Contains(t.ClaimedCapabilities, "all")
}

// adjustVerdict says what the evidence alone does not. owes is whether silence breaks a
// promise.
func (t *Target) adjustVerdict(p ScenarioResult, r *spec.Result, promised bool) {
	id := r.Obligation.Check.ID
	proves := slices.Contains(p.Scenario.ExpectedChecks, id)
	switch {
	case t.lacksCapability(p.Scenario.capabilityName()):
		if proves || id == "script."+p.Scenario.Name {
			r.Overrule(spec.Skipped, "the server lacks "+p.Scenario.capabilityName())
		}
	case t.missingSetup(p.Scenario) != "" && proves:
		r.Overrule(spec.Silent, t.missingSetup(p.Scenario))
	case t.lacksCapability("scripted") && requiresScripted(id):
		r.Overrule(spec.Skipped, "the server lacks scripted")
	case p.IncompleteReason != nil && r.Verdict == spec.Silent:
		r.Overrule(spec.Silent, p.IncompleteReason.Error())
	case p.IncompleteReason != nil:
	case p.Err != nil && len(r.Findings) == 0:
		r.Overrule(spec.Error, "not judged: "+p.Err.Error())
	case r.Verdict == spec.Silent && proves && promised && (t.isScripted || !requiresScripted(id)):
		r.BreakPromise(t.explainUnexercised(p))
	}
}

// requiresScripted reports whether a check judges only what a scripted target says.
func requiresScripted(id string) bool {
	return strings.HasPrefix(id, "script.") || id == rules.DeltasArriveIncrementally.ID
}
