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
	Base        *url.URL    // base URL of the paths in the dialect's document
	Header      spec.Header // header fields of every request of [spec.PrimaryUser], including its credentials
	OtherHeader spec.Header // header fields of every request of [spec.OtherUser], including its credentials
	StreamLimit int         // maximum number of open streams of a user, at most [MaxStreamLimit]; 0: unknown

	PromptStyle         PromptStyle
	PromptOverrides     map[string]string // by scenario name: prompt that replaces the one of PromptStyle
	ClaimedCapabilities []string          // names of capabilities that the server promises; "all" stands for all
	LackedCapabilities  []string          // names of capabilities that the server does not have
	Only                []string          // globs of check ids, requirement ids and scenario names to test; empty: all
	Skip                []string          // globs of check ids, requirement ids and scenario names not to test
	RefusalsAbout       []string          // ids of the requirements to test with invalid requests; empty: all

	// Scenarios are played in addition to [Scenarios], if they apply to the dialect. Each must have
	// a Run function and a unique name.
	Scenarios []Scenario

	// Checks judge all conversations, in addition to the checks of the dialect. The id of each
	// check must be unique. The requirements of a planned check contain the levels and the texts
	// for reports. A planned check without requirements gets one of level MUST, with the id and the
	// title of the check.
	Checks []spec.PlannedCheck

	Confirm       bool          // repeat scenarios that have findings, to mark intermittent findings
	Sequences     int           // number of generated sequences to play, at most [MaxSequences]
	Deep          bool          // play up to [MaxCombinations] combinations, and longer forms of some scenarios
	Timeout       time.Duration // maximum duration of one exchange; 0: [DefaultTimeout]
	Limits        Limits
	Parallel      int            // number of scenarios to play at the same time; 0: [DefaultParallel]
	Seed          uint64         // seed of all random choices
	Salt          uint64         // changes the ids of threads and runs; 0: a new random salt in each test run
	Round         int            // index of the round if the test run is repeated, from 0; changes only the ids
	CA            *x509.CertPool // trusted certificate authorities; nil: those of the system
	Insecure      bool           // do not verify the server's certificate
	MaxEventBytes int            // maximum size of one event, in bytes; 0: [dialect.MaxEventBytes]

	// BeforeTrim, if not nil, is called with each result before it is trimmed, that is, reduced to
	// the beginnings of its bodies. Results of large conversations and of combinations without
	// findings are trimmed after their evaluation. BeforeTrim may be called concurrently.
	BeforeTrim func(ScenarioResult)

	isScripted bool                // the agent follows the test prompts; set by Run and Rejudge
	noReplay   bool                // see [spec.TargetFacts]; set by Run and Rejudge
	faultNames map[string][]string // by template: names of invalid requests; see collectFaults
	resources  *sharedRunState     // set by Check
}

// A ScenarioResult is the recorded conversation of one scenario and its evaluation.
type ScenarioResult struct {
	Scenario   Scenario
	Dialect    *dialect.Dialect
	Trace      spec.Trace
	Evaluation spec.Evaluation
	Err        error // error of the client or the network that prevented the scenario from being completed; nil: none

	summaries []exchangeSummary // summaries of the exchanges, set by the evaluation

	// IncompleteReason is the reason why the scenario was not played or not completed; nil: it was
	// completed. Either the test run was cancelled or took too long, or too many responses exceeded
	// limits, or the server was too busy; see [IsInconclusive]. It is not a finding.
	IncompleteReason error
	Trimmed          bool // Trace has only the beginnings of the bodies; see [Target.BeforeTrim]
}

// A ProgressFunc is called after each scenario, sequence or combination. The argument scenario is
// its name, played is the number of scenarios, sequences and combinations played so far, and of is
// their total number. Calls are not concurrent.
type ProgressFunc func(scenario string, played, of int)

// Run plays the selected scenarios, sequences and combinations against target t. It returns their
// evaluated results: first those of [Scenarios], then those of t.Scenarios, of the sequences and of
// the combinations. Unless progress is nil, Run calls progress after each scenario, sequence and
// combination. When ctx is done, Run plays no further ones. Run returns an error only if the target
// is invalid; the results contain the failures of the server and the network.
func Run(ctx context.Context, t Target, progress ProgressFunc) ([]ScenarioResult, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	if t.Limits.RunTimeout > 0 {
		var stop func()
		limit := t.Limits.RunTimeout
		ctx, stop = context.WithTimeoutCause(ctx, limit-t.Limits.RunElapsed, suiteTimeoutError{limit})
		defer stop()
	}
	var stop func()
	t.resources.judgeCtx, stop = newJudgeContext(ctx)
	defer stop()
	list := slices.DeleteFunc(t.scenarios(), func(s Scenario) bool {
		return !s.AppliesTo(t.Dialect) || !t.isScenarioSelected(s)
	})
	t.noReplay = t.detectNoReplay(ctx)
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
		limit <- struct{}{} // started in order, so that an interrupted test run has results of the first ones
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

// concurrentOrder returns the indexes in list of the scenarios that may be played concurrently, in
// the order in which to start them. Scenarios without prompts are first.
func concurrentOrder(list []Scenario) (order []int) {
	// If the server does not respond to a scenario without prompts, the others are played
	// meanwhile.
	for _, opens := range []bool{false, true} {
		for i, s := range list {
			if !s.Exclusive && slices.Contains(s.Templates, "prompt") == opens {
				order = append(order, i)
			}
		}
	}
	return order
}

// scenarioNames returns the names of the scenarios in list, in the same order.
func scenarioNames(list []Scenario) (all []string) {
	for _, s := range list {
		all = append(all, s.Name)
	}
	return all
}

// Capabilities returns the sorted names of all capabilities that a target can claim or lack, except
// those of [Target.Scenarios].
func Capabilities() []string { return capabilityNames(Scenarios()) }

// HasCapability reports whether a target can have the capability with the given name in dialect d:
// whether a scenario that depends on it applies to d. It returns true for "scripted" and "all".
func HasCapability(d *dialect.Dialect, name string) bool {
	return name == "scripted" || name == "all" || slices.ContainsFunc(Scenarios(), func(s Scenario) bool {
		return s.capabilityName() == name && s.AppliesTo(d)
	})
}

// capabilityNames returns the names of the capabilities on which the scenarios in list depend,
// sorted and without duplicates.
func capabilityNames(list []Scenario) []string {
	all := []string{"scripted", "history", "attachments", "transcribe", "second-user"}
	for _, s := range list {
		all = append(all, s.capabilityName())
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// wireConfig returns the configuration of the HTTP clients, without the header fields, which depend
// on the principal.
func (t *Target) wireConfig() wire.Config {
	return wire.Config{
		Base: t.Base, IsEndpoint: t.Dialect.IsEndpoint, IdleTimeout: t.Limits.IdleTimeout, TotalTimeout: t.Timeout,
		MaxBodyBytes: t.Limits.MaxBytes, MaxEvents: t.Limits.MaxEvents,
		CA: t.CA, Insecure: t.Insecure, TrustFlags: []string{"--ca", "--insecure"},
		MaxEventBytes: t.MaxEventBytes, Memory: t.resources.memory,
	}
}

// Reach connects to the target and closes the connection, without sending a request. It returns an
// error if the target is invalid (see [Target.Check]) or if the connection, with TLS for an https
// URL, cannot be established.
func Reach(ctx context.Context, t Target) error {
	if err := t.Check(); err != nil {
		return err
	}
	client, err := wire.NewClient(t.wireConfig())
	if err != nil {
		return err
	}
	return client.Reach(ctx)
}

// lacksCapability reports whether t.LackedCapabilities contains the capability.
func (t *Target) lacksCapability(capability string) bool {
	return slices.Contains(t.LackedCapabilities, capability)
}

// LackedCapability returns the capability that the target needs for scenario s if
// t.LackedCapabilities contains it, and "" otherwise.
func (t *Target) LackedCapability(s Scenario) string {
	if name := s.capabilityName(); t.lacksCapability(name) {
		return name
	}
	return ""
}

// matchesAny reports whether id matches one of the globs, in the syntax of [path.Match].
func matchesAny(globs []string, id string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { ok, _ := path.Match(g, id); return ok })
}

// isScenarioSelected reports whether scenario s is to be played. It returns false if t.Skip matches
// the name of s. Otherwise, it returns true if t.Only is empty or matches the name, or if t.Only
// and t.Skip select at least one check; see [Target.plan].
func (t *Target) isScenarioSelected(s Scenario) bool {
	if matchesAny(t.Skip, s.Name) {
		return false
	}
	return len(t.Only) == 0 || matchesAny(t.Only, s.Name) || len(t.plan(s).PlannedChecks) > 0
}

// plan returns the planned checks of the dialect and of t.Checks to evaluate in scenario s. It
// omits those that t.Skip matches. If t.Only is not empty and does not match the name of s, plan
// returns only the planned checks that t.Only matches.
func (t *Target) plan(s Scenario) spec.Plan {
	all := t.Dialect.Plan(rules.All)
	all.PlannedChecks = append(all.PlannedChecks, t.ownPlannedChecks()...)
	all.PlannedChecks = slices.DeleteFunc(all.PlannedChecks, func(d spec.PlannedCheck) bool {
		return t.isSkipped(d) || len(t.Only) > 0 && !matchesAny(t.Only, s.Name) && !t.isSelected(d)
	})
	return all
}

// isSelected reports whether t.Only matches the ID of the check in o, or of one of the requirements
// in o. It returns false if t.Only is empty.
func (t *Target) isSelected(o spec.PlannedCheck) bool {
	return matchesAny(t.Only, o.Check.ID) ||
		slices.ContainsFunc(o.Requirements, func(r spec.Requirement) bool { return matchesAny(t.Only, r.ID) })
}

// isSkipped reports whether t.Skip matches the ID of the check in o, or of all requirements in o.
func (t *Target) isSkipped(o spec.PlannedCheck) bool {
	keeps := func(r spec.Requirement) bool { return !matchesAny(t.Skip, r.ID) }
	return matchesAny(t.Skip, o.Check.ID) || len(t.Skip) > 0 && !slices.ContainsFunc(o.Requirements, keeps)
}

// promptText returns the prompt for the scenario with the given name: the one in t.PromptOverrides,
// if any, or else the one in the style t.PromptStyle. A test prompt has words as its arguments, as
// in "conformance:slow 5 200", unless it has none.
func (t *Target) promptText(scenario, words string) string {
	if own, ok := t.PromptOverrides[scenario]; ok {
		return own
	}
	if t.PromptStyle == NaturalPrompts {
		return naturalPrompts[scenario]
	}
	if slices.Contains(promptsWithoutArguments, scenario) {
		words = ""
	}
	if words == "" {
		return "conformance:" + scenario
	}
	return "conformance:" + scenario + " " + words
}

// promptsWithoutArguments lists the names of the test prompts that have no arguments
// (docs/prompts.md).
var promptsWithoutArguments = []string{"empty", "messages", "contents", "tools", "recall", "steps"}

// NewSalt returns a random value for [Target.Salt]. It is not 0, and a JSON number can represent it
// exactly.
func NewSalt() uint64 { return rand.Uint64()>>11 | 1 }

// idSeed returns the first of the seeds for the thread and run ids of the round t.Round. It depends
// on t.Salt, because the server may still store threads of an earlier test run, whose ids must not
// be used again. The seeds of different rounds do not overlap.
func (t *Target) idSeed() uint64 {
	return rand.New(rand.NewPCG(t.Seed, t.Salt)).Uint64() + uint64(t.Round)<<24
}

// newConversation returns a conversation in a new thread, without sending anything. The seed
// determines all ids in the conversation. newConversation returns an error if the configuration of
// the target is invalid.
func (t *Target) newConversation(ctx context.Context, seed uint64) (*Conversation, error) {
	conv := &Conversation{ctx: ctx, target: t, dialect: t.Dialect, rng: rand.New(rand.NewPCG(seed, 0))}
	conv.Thread = conv.NewID()
	var err error
	conv.clients, err = t.newClients(t.wireConfig(), rand.New(rand.NewPCG(seed, 1)))
	return conv, err
}

// playScenario plays scenario s and returns the result, which may not be evaluated yet; see
// finishConversation. If the target does not support s, it sends nothing and the result has no
// exchanges. The seed determines the ids in the requests.
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

// detectScripted reports whether the agent follows the test prompts of docs/prompts.md. It returns
// false if the prompts are [NaturalPrompts] or the target lacks the capability "scripted", and true
// if the target claims that capability. Otherwise, it sends a test prompt that asks for a random
// word, and reports whether the reply is that word; see repeatsOnly.
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
	word := fmt.Sprintf("probe-%x", conv.rng.Uint32())
	conv.SendAndRead("prompt", spec.Event{Text: "conformance:text " + word})
	trace := conv.finalTrace()
	trace.Scripted = true
	plan := spec.Plan{PlannedChecks: []spec.PlannedCheck{
		{Check: rules.ScriptText, Requirements: []spec.Requirement{{Level: spec.Must}}},
	}}
	if spec.Run(plan, t.Dialect.Events(trace), nil).Results[0].Verdict == spec.Passed {
		return true
	}
	var reply strings.Builder
	for e := range t.Dialect.Events(trace) {
		if e.Kind == spec.MessageDelta || e.Kind == spec.ContentEnd {
			reply.WriteString(e.Text)
		}
	}
	return repeatsOnly(reply.String(), word)
}

// repeatsOnly reports whether reply is word followed only by a part of word, or by nothing. So is
// the reply of an agent that follows the test prompts, but whose server, for example, sends a
// completed text that differs from the deltas. An agent that talks about the prompt says more.
func repeatsOnly(reply, word string) bool {
	rest, ok := strings.CutPrefix(reply, word)
	return ok && strings.Contains(word, rest)
}

// HasPlannedChecks reports whether t.Only and t.Skip select anything to test: a scenario with at
// least one check, or a sequence. It also returns true if t.Only contains the name of a
// combination, even of one that does not exist.
func (t *Target) HasPlannedChecks() bool {
	if len(t.selectedSequences()) > 0 || slices.ContainsFunc(t.Only, IsCombination) {
		return true
	}
	return slices.ContainsFunc(t.scenarios(), func(s Scenario) bool {
		return s.AppliesTo(t.Dialect) && t.isScenarioSelected(s) && len(t.plan(s).PlannedChecks) > 0
	})
}
