package suites

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/spec"
)

// Limits on the effort that a test run spends on shrinking sequences. Each try plays a simpler
// sequence as a new conversation. The last two limits also apply to simplifying combinations.
const (
	maxTries       = 60                // maximum number of tries for one sequence
	maxShrinkTries = 300               // maximum number of tries for all sequences together
	maxShrinkTime  = 150 * time.Second // time after which no further try is started
)

// MaxSequences is the largest valid value of [Target.Sequences]. It limits the memory for the
// conversations of all sequences, which are retained until the end of the test run.
const MaxSequences = 1000

// A generatedSequence is a sequence of actions and its result.
type generatedSequence struct {
	actions []action
	rng     *rand.Rand     // source of the seeds of ids; independent of the sources of other sequences
	result  ScenarioResult // only the field Scenario is set before the sequence has been played
}

// selectedSequences generates t.Sequences sequences, without playing them, and returns those that
// t.Only and t.Skip select. It returns nil if the dialect cannot send prompts.
func (t *Target) selectedSequences() (all []*generatedSequence) {
	s := sequenceScenario("", nil)
	if !s.AppliesTo(t.Dialect) {
		return nil
	}
	some := len(t.Only) == 0 || len(t.plan(s).PlannedChecks) > 0
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

// sequenceScenarios returns a scenario for each of the [Target.selectedSequences]; see
// [sequenceScenario].
func (t *Target) sequenceScenarios() (all []Scenario) {
	for _, o := range t.selectedSequences() {
		all = append(all, o.result.Scenario)
	}
	return all
}

// SequenceName returns the scenario name of sequence n, counted from 1, such as "sequence-1".
func SequenceName(n int) string { return fmt.Sprint(sequencePrefix, n) }

// sequencePrefix begins the scenario name of each sequence. A number follows.
const sequencePrefix = "sequence-"

// IsSequence reports whether name begins like the scenario names of sequences, as do "sequence-1"
// and the glob "sequence-*".
func IsSequence(name string) bool { return strings.HasPrefix(name, sequencePrefix) }

// sequenceScenario returns a scenario with the given name that represents a sequence of the given
// actions. It has no Run function and no expected checks.
func sequenceScenario(name string, actions []action) Scenario {
	return Scenario{Name: name, Doc: describeActions(actions), Capability: "text", Templates: promptTemplates}
}

// playSequences plays the sequences in all and returns parts with their results appended. The
// argument parts contains the results of the scenarios played before. After each sequence,
// playSequences calls played with the name of the sequence, possibly concurrently. If a sequence
// has findings that are not in earlier results, playSequences tries to find a shorter sequence with
// the same findings.
func (t *Target) playSequences(
	ctx context.Context, all []*generatedSequence, parts []ScenarioResult, played func(name string),
) []ScenarioResult {
	if conv, err := t.newConversation(ctx, t.idSeed()); err == nil {
		t.collectFaults(conv)
	}
	limit := make(chan struct{}, t.sequenceConcurrency())
	var wait sync.WaitGroup
	for _, o := range all {
		wait.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			o.result = t.playSequence(ctx, o.result.Scenario.Name, o.actions, o.rng.Uint64())
			t.evaluateOnce(&o.result)
			played(o.result.Scenario.Name)
		})
	}
	wait.Wait()
	known := map[findingKey]bool{}
	for i := range parts {
		t.recordFindings(known, &parts[i])
	}
	tries, until := maxShrinkTries, time.Now().Add(maxShrinkTime)
	for _, o := range all { // not concurrently, so that the same seed shrinks to the same sequence
		if !hasCheck(known, rules.DeltasArriveIncrementally) {
			t.retryLateDeltas(ctx, &o.result, func(uint64) ScenarioResult {
				return t.playSequence(ctx, o.result.Scenario.Name, o.actions, o.rng.Uint64())
			})
		}
		if fresh := t.newFindings(known, &o.result); len(fresh) > 0 {
			tries -= t.shrinkSequence(ctx, o, fresh, min(maxTries, tries), until)
		}
		t.recordFindings(known, &o.result)
		parts = append(parts, o.result)
	}
	return parts
}

// sequenceConcurrency returns the number of sequences to play at the same time, which is at least
// 1. It is t.Parallel, but at most half of [Target.StreamLimit] if that is known, because each
// sequence may have two open streams.
func (t *Target) sequenceConcurrency() int {
	if t.StreamLimit > 0 {
		return max(1, min(t.Parallel, t.StreamLimit/2))
	}
	return max(1, t.Parallel)
}

// playSequence plays the actions as one conversation and returns the result. The argument name is
// the scenario name of the sequence, and ids is the seed of the thread and run ids. If the target
// lacks the capability "text", playSequence sends nothing, and the result has no exchanges.
func (t *Target) playSequence(ctx context.Context, name string, actions []action, ids uint64) ScenarioResult {
	part := ScenarioResult{Scenario: sequenceScenario(name, actions), Dialect: t.Dialect}
	if t.lacksCapability(part.Scenario.capabilityName()) {
		return part
	}
	conv, err := t.newConversation(ctx, ids)
	if err != nil {
		part.Err = err
		return part
	}
	conv.concurrent = true
	newSequencePlayer(conv).play(actions)
	return t.finishConversation(conv, part)
}

// A findingKey identifies findings with the same check and the same violated requirement. Its
// fields are ids.
type findingKey struct{ check, requirement string }

// idOf returns the key of f, a finding of the check result r.
func idOf(r spec.CheckResult, f spec.Finding) findingKey {
	return findingKey{r.PlannedCheck.Check.ID, r.PlannedCheck.Requirement(f).ID}
}

// findingIDs returns the keys of the findings in p, without duplicates. It evaluates p if that has
// not been done before.
func (t *Target) findingIDs(p *ScenarioResult) (all []findingKey) {
	t.evaluateOnce(p)
	for _, r := range p.Evaluation.Results {
		for _, f := range r.Findings {
			if d := idOf(r, f); !slices.Contains(all, d) {
				all = append(all, d)
			}
		}
	}
	return all
}

// recordFindings adds the keys of the findings in p to known. It evaluates p if that has not been
// done before.
func (t *Target) recordFindings(known map[findingKey]bool, p *ScenarioResult) {
	for _, d := range t.findingIDs(p) {
		known[d] = true
	}
}

// hasCheck reports whether known contains the key of a finding of the given check.
func hasCheck(known map[findingKey]bool, check *spec.Check) bool {
	for id := range known {
		if id.check == check.ID {
			return true
		}
	}
	return false
}

// newFindings returns the keys of the findings in p that are not in known, without duplicates. It
// evaluates p if that has not been done before.
func (t *Target) newFindings(known map[findingKey]bool, p *ScenarioResult) []findingKey {
	return slices.DeleteFunc(t.findingIDs(p), func(d findingKey) bool { return known[d] })
}

// shrinkSequence looks for a shorter or simpler sequence that also has the findings in fresh. If it
// finds one, it replaces the actions and the result of o. It plays at most tries sequences, and
// starts none after the time until. It returns the number of sequences that it played, which it
// also states in o.result.Scenario.Doc.
func (t *Target) shrinkSequence(
	ctx context.Context, o *generatedSequence, fresh []findingKey, tries int, until time.Time,
) (tried int) {
	was := len(o.actions)
	try := func(actions []action) bool {
		if tried >= tries || len(actions) == 0 || ctx.Err() != nil || time.Now().After(until) {
			return false
		}
		tried++
		part := t.playSequence(ctx, o.result.Scenario.Name, actions, o.rng.Uint64())
		got := t.findingIDs(&part)
		if slices.ContainsFunc(fresh, func(d findingKey) bool { return !slices.Contains(got, d) }) {
			return false
		}
		o.actions, o.result = actions, part
		return true
	}
	for size := (was + 1) / 2; size > 0; { // try to remove halves, then quarters, and finally single actions
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
	if len(o.actions) < was {
		o.result.Scenario.Doc += fmt.Sprintf(" (shrunk from %d actions in %d tries)", was, tried)
	} else {
		o.result.Scenario.Doc += fmt.Sprintf(" (no shorter sequence found in %d tries)", tried)
	}
	return tried
}

// removeChunks tries to remove chunks of size actions from sequence o, one after the other,
// beginning with the last chunk. For each chunk, it calls try with those of the other actions that
// are possible without the chunk. The function try must report whether a sequence of these actions
// also has the findings and, if so, set o.actions to its argument. removed reports whether a call
// of try returned true.
func (t *Target) removeChunks(o *generatedSequence, size int, try func([]action) bool) (removed bool) {
	// The last chunk is the first, because few actions refer to its actions.
	for end := len(o.actions); end > 0; end -= size {
		end = min(end, len(o.actions))
		rest := t.dropImpossible(slices.Concat(o.actions[:max(0, end-size)], o.actions[end:]))
		removed = len(rest) < len(o.actions) && try(rest) || removed
	}
	return removed
}
