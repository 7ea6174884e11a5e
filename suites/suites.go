// Package suites tests a server: it plays the scenarios and generated sequences of a dialect,
// records the conversations and evaluates them with the checks of the dialect. The entry point is
// [Run], or [Test] in a Go test and [Declare] in a Ginkgo suite. A [Target] may add scenarios and
// checks. Package reports writes the reports.
package suites

import (
	"context"
	"crypto/x509"
	"fmt"
	"math/rand/v2"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A PromptStyle selects the wording of the prompts that scenarios send. The zero value means
// [ConformancePrompts].
type PromptStyle string

// The styles of the prompts that scenarios send.
const (
	ConformancePrompts PromptStyle = "conformance" // the test prompts of docs/prompts.md
	NaturalPrompts     PromptStyle = "natural"     // plain sentences; the contents of replies are not judged
)

// A Target describes a server under test and how to test it. Dialect and Base are required; the
// zero value of any other field selects its default.
type Target struct {
	Dialect     *dialect.Dialect
	Base        *url.URL    // URL to which the paths in the dialect's document are appended
	Header      spec.Header // fields of every request of the primary user; secret
	OtherHeader spec.Header // fields of every request of the other user; secret
	StreamLimit int         // how many streams a user may have open at once, at most [MaxStreamLimit]; 0: unknown

	PromptStyle         PromptStyle
	PromptOverrides     map[string]string // by scenario name: prompt to send in place of the usual one
	ClaimedCapabilities []string          // names of capabilities that the server promises; "all" stands for all
	LackedCapabilities  []string          // names of capabilities that the server does not have
	Only                []string          // globs of check ids, requirement ids and scenario names to test; empty: all
	Skip                []string          // globs of check ids, requirement ids and scenario names not to test
	RefusalsAbout       []string          // ids of the requirements about which invalid requests are sent; empty: all

	// Scenarios are played in addition to [Scenarios], in dialects that have what they need. A
	// scenario must have a Run function, and a name that no other scenario has.
	Scenarios []Scenario

	// Checks are applied to all conversations, in addition to the checks of the dialect. Each check
	// must have an id that no other check has. The requirements of an obligation state the levels
	// and the texts for reports. An obligation without requirements gets one of level MUST, with
	// the id and the title of the check.
	Checks []spec.Obligation

	Confirm       bool          // repeat scenarios that have findings, to mark intermittent findings
	Sequences     int           // number of generated sequences to play, at most [MaxSequences]
	Deep          bool          // play all combinations, not only the first few; make some scenarios longer
	Timeout       time.Duration // time limit of one complete exchange; 0: [DefaultTimeout]
	Limits        Limits
	Parallel      int            // number of scenarios to play at the same time; 0: [DefaultParallel]
	Seed          uint64         // seed of all random choices
	Salt          uint64         // changes the ids, such as those of threads; 0: a new salt in each run
	Round         int            // index of the round of a repeated run, from 0; changes only the ids
	CA            *x509.CertPool // trusted certificate authorities; nil: those of the system
	Insecure      bool           // do not verify the server's certificate
	MaxEventBytes int            // maximum size of one event, in bytes; 0: [dialect.MaxEventBytes]

	// BeforeTrim is called with the result of each conversation that is not kept in full, because it
	// is too large, or because it is a combination without findings. The call comes after the
	// evaluation of the conversation, and before everything but the beginnings of its bodies is
	// dropped. Several goroutines may call it at the same time. It may be nil.
	BeforeTrim func(ScenarioResult)

	isScripted bool                // the agent follows the test prompts; set by Run and Rejudge
	faultNames map[string][]string // by template: names of invalid requests; see collectFaults
	resources  *sharedRunState     // set by Check
}

// A ScenarioResult is the recorded conversation of one scenario and its evaluation.
type ScenarioResult struct {
	Scenario   Scenario
	Dialect    *dialect.Dialect
	Trace      spec.Trace
	Evaluation spec.Evaluation
	Err        error // error of the client or the network that kept the scenario from being played; nil: none

	summaries []exchangeSummary // summaries of the exchanges, set by the evaluation

	// IncompleteReason is nil, or the reason why the scenario was not played, or not to its end: the
	// run was cancelled or took too long, the server exceeded limits too often, or it was busy (see
	// [IsInconclusive]). It is not a finding.
	IncompleteReason error
	Trimmed          bool // Trace has only the beginnings of the bodies; see [Target.BeforeTrim]
}

// A ProgressFunc is called after each scenario, sequence or combination has been played. The
// arguments are its name, the number of scenarios, sequences and combinations played so far, and
// their total number. Calls do not overlap.
type ProgressFunc func(scenario string, played, of int)

// Run plays the selected scenarios of the target's dialect, the generated sequences and the
// combinations. It returns their evaluated results: first those of [Scenarios] in the same order,
// then those of t.Scenarios, of the sequences and of the combinations. After playing each of them,
// Run calls progress, unless it is nil. An error means that the target is invalid. Failures of the
// server or the network are in the results. If ctx ends, the remaining scenarios are not played.
func Run(ctx context.Context, t Target, progress ProgressFunc) ([]ScenarioResult, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	if t.Limits.RunTimeout > 0 {
		var stop func()
		ctx, stop = context.WithTimeoutCause(ctx, t.Limits.RunTimeout, runTimeoutError{t.Limits.RunTimeout})
		defer stop()
	}
	var stop func()
	t.resources.judgeCtx, stop = newJudgeContext(ctx)
	defer stop()
	list := slices.DeleteFunc(t.scenarios(), func(s Scenario) bool {
		return !s.AppliesTo(t.Dialect) || !t.isScenarioSelected(s)
	})
	t.isScripted = t.detectScripted(ctx)
	parts := make([]ScenarioResult, len(list))
	limit := make(chan struct{}, max(1, t.Parallel))
	var wait sync.WaitGroup
	var mu sync.Mutex
	sequences, combinations := t.selectedSequences(), t.combinations()
	count, of := 0, len(list)+len(sequences)+len(combinations)
	played := func(name string) {
		mu.Lock()
		defer mu.Unlock()
		if count++; progress != nil {
			progress(name, count, of)
		}
	}
	play := func(i int) {
		parts[i] = t.playScenario(ctx, list[i], t.idSeed()+uint64(i)+1)
		played(list[i].Name)
	}
	for _, i := range concurrentOrder(list) {
		limit <- struct{}{} // started in order, so that an interrupted run has the first ones
		wait.Go(func() {
			defer func() { <-limit }()
			play(i)
		})
	}
	wait.Wait()
	for i, s := range list {
		if s.Exclusive {
			play(i)
		}
	}
	t.retryTiming(ctx, parts)
	if len(sequences) > 0 {
		parts = t.playSequences(ctx, sequences, parts, played)
	}
	if len(combinations) > 0 {
		parts = t.playCombinations(ctx, combinations, parts, played)
	}
	parts = t.evaluateAll(parts)
	if t.Confirm {
		t.confirmFindings(ctx, parts[:len(list)])
	}
	return parts, nil
}

// concurrentOrder returns the indexes in list of the scenarios that may be played at the same time,
// in the order in which to start them. Scenarios that send no prompt come first, so that, if the
// server never responds to one of them, the wait for its timeout overlaps with all other scenarios.
func concurrentOrder(list []Scenario) (order []int) {
	for _, opens := range []bool{false, true} {
		for i, s := range list {
			if !s.Exclusive && slices.Contains(s.Templates, "prompt") == opens {
				order = append(order, i)
			}
		}
	}
	return order
}

// scenarioNames returns the names of the scenarios, in the same order.
func scenarioNames(list []Scenario) (all []string) {
	for _, s := range list {
		all = append(all, s.Name)
	}
	return all
}

// Capabilities returns the sorted names of all capabilities that a target can claim or lack, except
// those of [Target.Scenarios].
func Capabilities() []string { return capabilityNames(Scenarios()) }

// capabilityNames returns the names of the capabilities that a target can claim or lack if it is
// tested with the scenarios in list. The names are sorted, and each occurs once.
func capabilityNames(list []Scenario) []string {
	all := []string{"scripted", "history", "attachments", "transcribe", "second-user"}
	for _, s := range list {
		all = append(all, s.capabilityName())
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// wireConfig returns the configuration of the HTTP clients without the header fields, because these
// depend on the principal.
func (t *Target) wireConfig() wire.Config {
	return wire.Config{
		Base: t.Base, IsEndpoint: t.Dialect.IsEndpoint, IdleTimeout: t.Limits.IdleTimeout, TotalTimeout: t.Timeout,
		MaxBodyBytes: t.Limits.MaxBytes, MaxEvents: t.Limits.MaxEvents,
		CA: t.CA, Insecure: t.Insecure, MaxEventBytes: t.MaxEventBytes, Memory: t.resources.memory,
	}
}

// lacksCapability reports whether the target is declared to lack the capability with the given
// name.
func (t *Target) lacksCapability(capability string) bool {
	return slices.Contains(t.LackedCapabilities, capability)
}

// matchesAny reports whether id matches one of the globs, in the syntax of [path.Match].
func matchesAny(globs []string, id string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { ok, _ := path.Match(g, id); return ok })
}

// isScenarioSelected reports whether t.Only and t.Skip select scenario s, either by its name or
// because they select a check or requirement that may be judged in it.
func (t *Target) isScenarioSelected(s Scenario) bool {
	if matchesAny(t.Skip, s.Name) {
		return false
	}
	return len(t.Only) == 0 || matchesAny(t.Only, s.Name) || len(t.plan(s).Obligations) > 0
}

// plan returns the plan for scenario s. It contains those obligations of the dialect and of
// t.Checks that t.Only and t.Skip select.
func (t *Target) plan(s Scenario) spec.Plan {
	all := t.Dialect.Plan(rules.All)
	all.Obligations = append(all.Obligations, t.ownObligations()...)
	all.Obligations = slices.DeleteFunc(all.Obligations, func(d spec.Obligation) bool {
		return t.isSkipped(d) || len(t.Only) > 0 && !matchesAny(t.Only, s.Name) && !t.isSelected(d)
	})
	return all
}

// isSelected reports whether t.Only matches the check of obligation o or one of its requirements.
// It returns false if t.Only is empty.
func (t *Target) isSelected(o spec.Obligation) bool {
	return matchesAny(t.Only, o.Check.ID) ||
		slices.ContainsFunc(o.Requirements, func(r spec.Requirement) bool { return matchesAny(t.Only, r.ID) })
}

// isSkipped reports whether t.Skip matches the check of obligation o or all of its requirements.
func (t *Target) isSkipped(o spec.Obligation) bool {
	keeps := func(r spec.Requirement) bool { return !matchesAny(t.Skip, r.ID) }
	return matchesAny(t.Skip, o.Check.ID) || len(t.Skip) > 0 && !slices.ContainsFunc(o.Requirements, keeps)
}

// promptText returns the prompt for the named scenario. This is the prompt in t.PromptOverrides, if
// there is one. Otherwise, it is a plain sentence if t.PromptStyle is [NaturalPrompts], or else the
// test prompt of the scenario with words as its arguments, such as "conformance:slow 5 200".
func (t *Target) promptText(scenario, words string) string {
	if own, ok := t.PromptOverrides[scenario]; ok {
		return own
	}
	if t.PromptStyle == NaturalPrompts {
		return naturalPrompts[scenario]
	}
	return strings.TrimSuffix("conformance:"+scenario+" "+words, " ")
}

// NewSalt returns a random value for [Target.Salt]. It is never 0, which has a special meaning
// there, and it is small enough to be represented exactly as a JSON number.
func NewSalt() uint64 { return rand.Uint64()>>11 | 1 }

// idSeed returns the first seed for the thread and run ids of this round. It depends on the salt,
// so that a server that remembers the threads of an earlier test run does not see their ids again.
// Each round has its own range of seeds, with room for all scenarios and sequences.
func (t *Target) idSeed() uint64 {
	return rand.New(rand.NewPCG(t.Seed, t.Salt)).Uint64() + uint64(t.Round)<<24
}

// newConversation returns a conversation on a new thread, without sending anything. All ids in the
// conversation depend on seed. An error means that the target's configuration is invalid.
func (t *Target) newConversation(ctx context.Context, seed uint64) (*Conversation, error) {
	conv := &Conversation{ctx: ctx, target: t, dialect: t.Dialect, rng: rand.New(rand.NewPCG(seed, 0))}
	conv.Thread = conv.NewID()
	var err error
	conv.clients, err = t.newClients(t.wireConfig(), rand.New(rand.NewPCG(seed, 1)))
	return conv, err
}

// playScenario plays scenario s and returns the result, which contains the recorded conversation.
// Conversations are usually evaluated at the end of the test run. playScenario evaluates this one
// immediately if the recording is too large to be kept until then, or if a response has a content
// coding. If the target lacks the capability or a setting that s needs, the conversation is empty.
// The same seed leads to the same requests, as long as the server gives the same responses.
func (t *Target) playScenario(ctx context.Context, s Scenario, seed uint64) ScenarioResult {
	part := ScenarioResult{Scenario: s, Dialect: t.Dialect}
	if !t.supports(s) {
		return part
	}
	conv, err := t.newConversation(ctx, seed)
	if err != nil {
		part.Err = err
		return part
	}
	conv.concurrent = !s.Exclusive
	s.Run(conv)
	return t.finishConversation(conv, part)
}

// detectScripted reports whether the agent follows the test prompts. If the configuration of the
// target does not say whether it does, detectScripted asks the agent to reply with a randomly
// chosen word, and returns true only if the reply is exactly that word. It returns false if the
// request fails.
func (t *Target) detectScripted(ctx context.Context) bool {
	switch {
	case t.PromptStyle == NaturalPrompts || t.lacksCapability("scripted"):
		return false
	case slices.Contains(t.ClaimedCapabilities, "scripted") || slices.Contains(t.ClaimedCapabilities, "all"):
		return true
	}
	bounded := *t
	bounded.Timeout = min(t.Timeout, t.Limits.IdleTimeout) // enough for one word
	conv, err := bounded.newConversation(ctx, t.idSeed())
	if err != nil {
		return false
	}
	defer conv.releaseMemory()
	conv.SendAndRead("prompt", spec.Event{Text: fmt.Sprintf("conformance:text probe-%x", conv.rng.Uint32())})
	trace := conv.finalTrace()
	trace.Scripted = true
	plan := spec.Plan{Obligations: []spec.Obligation{
		{Check: rules.ScriptText, Requirements: []spec.Requirement{{Level: spec.Must}}},
	}}
	return spec.Run(plan, t.Dialect.Events(trace), nil).Results[0].Verdict == spec.Passed
}

// HasObligations reports whether t.Only and t.Skip leave anything to run: at least one check in a
// scenario, or a generated sequence. It also returns true if t.Only names a combination, even if
// that combination does not exist.
func (t *Target) HasObligations() bool {
	if len(t.selectedSequences()) > 0 || slices.ContainsFunc(t.Only, IsCombination) {
		return true
	}
	return slices.ContainsFunc(t.scenarios(), func(s Scenario) bool {
		return s.AppliesTo(t.Dialect) && t.isScenarioSelected(s) && len(t.plan(s).Obligations) > 0
	})
}
