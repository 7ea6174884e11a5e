package suites

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// evaluateAll evaluates the conversations in parts that have not been evaluated yet. Then it
// adjusts the verdicts to facts that a single conversation does not show: whether the server
// completed any exchange, and which capabilities the target promises. It modifies and returns
// parts.
func (t *Target) evaluateAll(parts []ScenarioResult) []ScenarioResult {
	t.evaluateEach(parts)
	all := make([]spec.Evaluation, len(parts))
	for i := range parts {
		all[i] = parts[i].Evaluation
	}
	if why := spec.WhyUnjudgeable(all); errors.Is(why, spec.ErrNotHTTP) {
		for i := range parts {
			if parts[i].Err == nil && len(parts[i].Trace.Exchanges) > 0 {
				parts[i].Err = why
			}
		}
	}
	// A server that completed no exchange breaks every promise. Where findings say which MUST it
	// violates, the promises are not reported too.
	hasComplete := slices.ContainsFunc(all, func(h spec.Evaluation) bool { return h.Complete })
	hasFailed := slices.ContainsFunc(all, func(h spec.Evaluation) bool {
		return slices.ContainsFunc(h.Results, func(r spec.CheckResult) bool { return r.Verdict == spec.Failed })
	})
	hasText := anyExchange(parts, func(o exchangeSummary) bool { return o.responseText != "" })
	for i, h := range spec.RequireCompleteExchange(all) {
		parts[i].Evaluation = h
		s := parts[i].Scenario
		promised := t.isPromised(s) && (hasComplete || !hasFailed && s.Name == "text")
		readsRuns := slices.Contains(s.Templates, "prompt") || slices.Contains(s.Templates, "listen")
		if t.noReplay && readsRuns {
			promised = false // streams that lack the start of their run are not judged
		}
		if promised && s.Name == "text" && parts[i].Err == nil && parts[i].IncompleteReason == nil {
			promised = !t.requireText(parts[i])
		}
		for j := range h.Results {
			needsText := h.Results[j].PlannedCheck.Check == rules.HistoryHasResponse // else requireText reports it
			t.adjustVerdict(parts[i], &h.Results[j], promised && (hasText || !needsText))
		}
	}
	return parts
}

// evaluateEach calls evaluateOnce concurrently for each element of parts and waits for all calls to
// return. If any of them panicked, it then panics with the value of one of those panics.
func (t *Target) evaluateEach(parts []ScenarioResult) {
	limit, panicked := make(chan struct{}, runtime.GOMAXPROCS(0)), make([]any, len(parts))
	var wait sync.WaitGroup
	for i := range parts {
		limit <- struct{}{}
		wait.Go(func() {
			defer func() { panicked[i] = recover(); <-limit }()
			t.evaluateOnce(&parts[i])
		})
	}
	wait.Wait()
	if i := slices.IndexFunc(panicked, func(v any) bool { return v != nil }); i >= 0 {
		panic(panicked[i])
	}
}

// evaluateOnce evaluates the conversation of p with the selected checks and stores the evaluation
// in p, unless p already has one. If the context for evaluations (see [newJudgeContext]) is done
// before the evaluation ends, no check judges anything, and evaluateOnce sets p.IncompleteReason to
// the cause of the context. It does not replace an IncompleteReason that is already set.
func (t *Target) evaluateOnce(p *ScenarioResult) {
	if len(p.Evaluation.Results) > 0 {
		return
	}
	events := t.Dialect.DecodeExchanges(p.Trace.All(), p.Trace.TargetFacts, t.MaxEventBytes)
	var complete bool
	p.Evaluation, complete = p.evaluate(t.resources.judgeCtx, t.plan(p.Scenario), events)
	if !complete && p.IncompleteReason == nil {
		p.IncompleteReason = context.Cause(t.resources.judgeCtx)
	}
}

// evaluate runs the checks of plan on events, the decoded events of p's conversation. It returns
// the evaluation without storing it, and sets p.summaries. If ctx is done before the evaluation
// ends, complete is false and no check has judged anything. If a check panics, evaluate panics with
// the same value.
func (p *ScenarioResult) evaluate(
	ctx context.Context, plan spec.Plan, events iter.Seq[spec.Event],
) (h spec.Evaluation, complete bool) {
	type outcome struct {
		evaluation spec.Evaluation
		summaries  []exchangeSummary
		panicked   any
	}
	p.summaries = nil
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			o.panicked = recover()
			done <- o
		}()
		o.evaluation = spec.Run(plan, summarizeExchanges(p.Dialect, p.Trace, spec.UntilDone(ctx, events), &o.summaries), nil)
	}()
	select {
	case o := <-done:
		if o.panicked != nil {
			panic(o.panicked)
		}
		if ctx.Err() == nil {
			p.summaries = o.summaries
			return o.evaluation, true
		}
	case <-ctx.Done():
	}
	return spec.Run(plan, func(func(spec.Event) bool) {}, nil), false
}

// EvaluateTrace evaluates t, a recording of scenario s, with all checks of dialect d. The argument
// info describes the recorded server, and maxEvent is the maximum size of one event in bytes. If
// ctx is done before the evaluation ends, complete is false and no check has judged anything.
func EvaluateTrace(
	ctx context.Context, s Scenario, d *dialect.Dialect, t spec.Trace, info spec.TargetFacts, maxEvent int,
) (p ScenarioResult, complete bool) {
	p = ScenarioResult{Scenario: s, Dialect: d, Trace: t}
	p.Evaluation, complete = p.evaluate(ctx, d.Plan(rules.All), d.DecodeExchanges(t.All(), info, maxEvent))
	return p, complete
}

// isPromised reports whether the target promises the capability of scenario s, so that an expected
// check that judges nothing in s fails. Every target promises replies with text, and each
// capability that the document of its dialect requires. It promises other capabilities by claiming
// them. With natural prompts, however, claims do not apply to scenarios that expect particular
// replies. isPromised returns false if a setting that s needs is missing, or if s can exercise only
// some of its checks: the scenario "refusals" if t.RefusalsAbout is set, and the stream-limit
// scenario if the agent does not follow the test prompts.
func (t *Target) isPromised(s Scenario) bool {
	if s.Name == "refusals" && len(t.RefusalsAbout) > 0 { // only some invalid requests are sent
		return false
	}
	// Runs of an agent that is not scripted may end before the stream limit is reached.
	if t.MissingSetup(s) != "" || s.Denial == spec.DeniedStreamLimit && !t.isScripted {
		return false
	}
	if s.Name == "text" || s.Required {
		return true
	}
	if _, isPrompt := naturalPrompts[s.Name]; isPrompt && t.PromptStyle == NaturalPrompts {
		return false
	}
	isInAll := !s.ClaimedByName && slices.Contains(t.ClaimedCapabilities, "all")
	return isInAll || slices.Contains(t.ClaimedCapabilities, s.capabilityName())
}

// adjustVerdict changes the verdict of r, a check result of p, in the first of these cases that
// applies:
//   - The target lacks the capability of the scenario. If the scenario expects the check or has the
//     same name, the verdict becomes [spec.Skipped].
//   - A setting that the scenario needs is missing, and the scenario expects the check. The verdict
//     becomes [spec.Silent].
//   - The target lacks the capability "scripted", which the check needs. The verdict becomes
//     [spec.Skipped].
//   - The conversation is incomplete. The verdict does not change.
//   - The check judged nothing because of p.Err. The verdict becomes [spec.Error].
//   - The scenario is stream-limit and expects the check, but the check judged nothing. The verdict
//     remains [spec.Silent].
//   - The scenario expects the check, but the check judged nothing, and promised is true; see
//     [Target.isPromised]. adjustVerdict calls [spec.CheckResult.BreakPromise], unless the check
//     judges only agents that follow the test prompts and the agent does not, or the check judges
//     texts and the agent sends none that the dialect's document describes.
func (t *Target) adjustVerdict(p ScenarioResult, r *spec.CheckResult, promised bool) {
	id := r.PlannedCheck.Check.ID
	expected := slices.Contains(p.Scenario.ExpectedChecks, id)
	switch {
	case t.lacksCapability(p.Scenario.capabilityName()):
		if expected || id == "script."+p.Scenario.Name {
			r.Overrule(spec.Skipped, "the server lacks "+p.Scenario.capabilityName())
		}
	case t.MissingSetup(p.Scenario) != "" && expected:
		r.Overrule(spec.Silent, t.MissingSetup(p.Scenario))
	case t.lacksCapability("scripted") && requiresScripted(id):
		r.Overrule(spec.Skipped, "the server lacks scripted")
	case p.IncompleteReason != nil && r.Verdict == spec.Silent:
		r.Overrule(spec.Silent, p.IncompleteReason.Error())
	case p.IncompleteReason != nil:
	case p.Err != nil && len(r.Findings) == 0 && r.Judged == 0:
		r.Overrule(spec.Error, "not judged: "+p.Err.Error())
	case r.Verdict == spec.Silent && expected && p.Scenario.Denial == spec.DeniedStreamLimit:
		r.Overrule(spec.Silent, t.explainUnreachedLimit(p))
	case r.Verdict == spec.Silent && p.Scenario.Required && !t.isScripted && !p.hasText() &&
		slices.Contains(r.PlannedCheck.Check.Needs, spec.MessageDelta):
	case r.Verdict == spec.Silent && expected && promised && (t.isScripted || !requiresScripted(id)):
		r.BreakPromise(t.explainUnexercised(p))
	}
}

// hasText reports whether a response in the scenario contains text of the agent.
func (p ScenarioResult) hasText() bool {
	return slices.ContainsFunc(p.summaries, func(o exchangeSummary) bool { return o.responseText != "" })
}

// requiresScripted reports whether the check with the given id judges only agents that follow the
// test prompts of docs/prompts.md.
func requiresScripted(id string) bool {
	return strings.HasPrefix(id, "script.") || id == rules.DeltasArriveIncrementally.ID
}
