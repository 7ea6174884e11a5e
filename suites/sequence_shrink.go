package suites

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// What is spent on making sequences shorter that draw findings: each try is another
// conversation with the target.
const (
	maxTries       = 60  // for one sequence
	maxShrinkTries = 300 // for all together

	maxShrinkTime = 150 * time.Second // likewise
)

// MaxSequences bounds how many are played: all that they say is kept until it is reported.
const MaxSequences = 1000

// An generatedSequence is one sequence on its way: what was planned, and what came of it.
type generatedSequence struct {
	actions []action
	rng     *rand.Rand // its own: which others are played changes nothing
	result  ScenarioResult
}

// selectedSequences are those that are in the selection.
func (t *Target) selectedSequences() (all []*generatedSequence) {
	s := sequenceScenario("", nil)
	if !s.AppliesTo(t.Dialect) {
		return nil
	}
	some := len(t.Only) == 0 || len(t.plan(s).Obligations) > 0
	for n := range t.Sequences {
		if name := SequenceName(n + 1); !matchesAny(t.Skip, name) && (some || matchesAny(t.Only, name)) {
			stream := 1<<32 + uint64(n)
			o := &generatedSequence{rng: rand.New(rand.NewPCG(t.idSeed(), stream))}
			o.actions = t.generateActions(rand.New(rand.NewPCG(t.Seed, stream)))
			o.result.Scenario = sequenceScenario(name, o.actions)
			all = append(all, o)
		}
	}
	return all
}

// sequenceScenarios are those sequences as scenarios.
func (t *Target) sequenceScenarios() (all []Scenario) {
	for _, o := range t.selectedSequences() {
		all = append(all, o.result.Scenario)
	}
	return all
}

// SequenceName is what a report calls the nth sequence, from 1.
func SequenceName(n int) string { return fmt.Sprint("sequence-", n) }

// sequenceScenario is a sequence as a scenario. Nothing is proved by it: what it does not exercise
// is no broken promise.
func sequenceScenario(name string, steps []action) Scenario {
	return Scenario{Name: name, Doc: describeActions(steps), Capability: "text", Templates: promptTemplates}
}

// playSequences plays all of them, and makes those shorter that draw findings which are not in
// parts already: there, fewer requests show them.
func (t *Target) playSequences(ctx context.Context, all []*generatedSequence, parts []ScenarioResult, played func(name string)) []ScenarioResult {
	if talk, err := t.newConversation(ctx, t.idSeed()); err == nil {
		t.collectFaults(talk)
	}
	limit := make(chan struct{}, t.sequenceConcurrency())
	var wait sync.WaitGroup
	for _, o := range all {
		wait.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			o.result = t.playSequence(ctx, o.result.Scenario.Name, o.actions, o.rng.Uint64())
			played(o.result.Scenario.Name)
		})
	}
	wait.Wait()
	known := map[findingID]bool{}
	for i := range parts {
		t.recordFindings(known, &parts[i])
	}
	tries, until := maxShrinkTries, time.Now().Add(maxShrinkTime)
	for _, o := range all { // one after the other, so that the same seed shortens the same
		if fresh := t.newFindings(known, &o.result); len(fresh) > 0 {
			tries -= t.shrinkSequence(ctx, o, fresh, min(maxTries, tries), until)
		}
		t.recordFindings(known, &o.result)
		parts = append(parts, o.result)
	}
	return parts
}

// sequenceConcurrency is how many sequences are played at once: each may hold two streams.
func (t *Target) sequenceConcurrency() int {
	if t.StreamLimit > 0 {
		return max(1, min(t.Parallel, t.StreamLimit/2))
	}
	return max(1, t.Parallel)
}

// playSequence plays one sequence.
func (t *Target) playSequence(ctx context.Context, name string, steps []action, ids uint64) ScenarioResult {
	part := ScenarioResult{Scenario: sequenceScenario(name, steps), Dialect: t.Dialect}
	if t.lacksCapability(part.Scenario.capabilityName()) {
		return part
	}
	talk, err := t.newConversation(ctx, ids)
	if err != nil {
		part.Err = err
		return part
	}
	newSequencePlayer(talk).play(steps)
	talk.concurrent = true
	return t.finishConversation(talk, part)
}

// A findingID is a finding by what it is about: the check, and the requirement that is broken.
type findingID struct{ check, requirement string }

// findingIDs are the findings of a conversation, each once.
func (t *Target) findingIDs(p *ScenarioResult) (all []findingID) {
	if len(p.Evaluation.Results) == 0 {
		p.Evaluation = t.evaluate(p)
	}
	for _, r := range p.Evaluation.Results {
		for _, f := range r.Findings {
			if d := (findingID{r.Obligation.Check.ID, r.Obligation.Requirement(f).ID}); !slices.Contains(all, d) {
				all = append(all, d)
			}
		}
	}
	return all
}

func (t *Target) recordFindings(known map[findingID]bool, p *ScenarioResult) {
	for _, d := range t.findingIDs(p) {
		known[d] = true
	}
}

// newFindings are the findings that are not known.
func (t *Target) newFindings(known map[findingID]bool, p *ScenarioResult) []findingID {
	return slices.DeleteFunc(t.findingIDs(p), func(d findingID) bool { return known[d] })
}

// shrinkSequence looks for a shorter sequence that draws the same findings, and says how many it
// tried. Steps are left out in halves, then in quarters, down to single ones, as long as
// that succeeds; then what is left is made as plain as it can be. What is known of the
// sequence is always what was really played.
func (t *Target) shrinkSequence(ctx context.Context, o *generatedSequence, fresh []findingID, tries int, until time.Time) (tried int) {
	was := len(o.actions)
	try := func(steps []action) bool {
		if tried >= tries || len(steps) == 0 || ctx.Err() != nil || time.Now().After(until) {
			return false
		}
		tried++
		part := t.playSequence(ctx, o.result.Scenario.Name, steps, o.rng.Uint64())
		got := t.findingIDs(&part)
		if slices.ContainsFunc(fresh, func(d findingID) bool { return !slices.Contains(got, d) }) {
			return false
		}
		o.actions, o.result = steps, part
		return true
	}
	for size := (was + 1) / 2; size > 0; {
		if !t.removeChunks(o, size, try) {
			size /= 2
		}
	}
	for i := range o.actions {
		if plain := slices.Clone(o.actions); plain[i].choice != 0 {
			plain[i].choice = 0
			try(plain)
		}
	}
	o.result.Scenario.Doc += fmt.Sprintf(" (the shortest in %d tries of %d steps that drew this)", tried, was)
	return tried
}

// removeChunks tries the sequence without each run of so many steps, the last first: little
// goes on with those. It says whether any could be spared.
func (t *Target) removeChunks(o *generatedSequence, size int, try func([]action) bool) (spared bool) {
	for end := len(o.actions); end > 0; end -= size {
		end = min(end, len(o.actions))
		rest := t.dropImpossible(slices.Concat(o.actions[:max(0, end-size)], o.actions[end:]))
		spared = len(rest) < len(o.actions) && try(rest) || spared
	}
	return spared
}
