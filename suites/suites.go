// Package suites makes a server talk and lets the rules listen. It is the only
// package that knows ginkgo. It does not judge, and it does not know what a report
// looks like.
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

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/spec/rules"
)

// PromptStyle says in which words a target is asked.
type PromptStyle string

// The ways to ask.
const (
	ConformancePrompts PromptStyle = "conformance" // the prompts that scripted targets understand
	NaturalPrompts     PromptStyle = "natural"     // plain words; what is said is not judged
)

// A Target is a server and how it is to be held to its dialect. The zero value of
// everything but Dialect and Base is a sensible default.
type Target struct {
	Dialect     *dialect.Dialect
	Base        *url.URL    // the prefix of the document's paths, whole
	Header      spec.Header // sent with every request of the user; secret
	OtherHeader spec.Header // likewise for a second user; secret
	StreamLimit int         // how many streams at once a user may have open; 0: nobody said

	PromptStyle         PromptStyle
	PromptOverrides     map[string]string // scenario → the words to ask for it with
	ClaimedCapabilities []string          // capabilities that are promised; "all" is every one
	LackedCapabilities  []string          // capabilities that it does not have
	Only                []string          // globs of check, requirement or scenario ids
	Skip                []string

	Confirm       bool          // a scenario with a finding is played again, to tell one that comes and goes
	Sequences     int           // how many sequences of steps are made up and played, too
	Timeout       time.Duration // how long an exchange may take in all; 30 s
	Limits        Limits
	Parallel      int    // how many scenarios are played at once
	Seed          uint64 // of all random choices
	Salt          uint64 // of the names of state, such as the ids of conversations; 0: another one each time
	Round         int    // which time the same is asked, from 0: with other ids, and the same choices
	CA            *x509.CertPool
	Insecure      bool
	MaxEventBytes int // bytes of one event

	// Released is called with a part whose conversation is too large to be kept: when it has
	// been judged, and before all but the beginnings of its bodies are forgotten. It may be
	// called by several goroutines at once.
	BeforeTrim func(ScenarioResult)

	isScripted bool
	faultNames map[string][]string // phrase → what can be wrong with its request
	budget     *budget
}

// A ScenarioResult is one scenario as a target played it.
type ScenarioResult struct {
	Scenario   Scenario
	Dialect    *dialect.Dialect
	Trace      spec.Trace
	Evaluation spec.Evaluation
	Err        error // why it could not be played: nobody's verdict

	summaries []exchangeSummary // of the exchanges, once they were judged

	// Unplayed is why the scenario was not played, or not to its end: the run was broken
	// off, or the target is not asked for more. Nobody's verdict either.
	IncompleteReason error
	Trimmed          bool // the trace has only the beginnings of the bodies: see [Target.Released]
}

// ProgressFunc hears of each scenario when it has been played.
type ProgressFunc func(scenario string, played, of int)

// Run plays every scenario that applies, each once, and judges afterwards. The
// error says that the configuration is wrong; what goes wrong with the target is
// in the parts.
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
	t.budget.judgeCtx, stop = newJudgeContext(ctx)
	defer stop()
	list := slices.DeleteFunc(slices.Clone(Scenarios), func(s Scenario) bool { return !s.AppliesTo(t.Dialect) || !t.isScenarioSelected(s) })
	t.isScripted = t.detectScripted(ctx)
	parts := make([]ScenarioResult, len(list))
	limit := make(chan struct{}, max(1, t.Parallel))
	var wait sync.WaitGroup
	var mu sync.Mutex
	sequences := t.selectedSequences()
	count, of := 0, len(list)+len(sequences)
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
		limit <- struct{}{} // in order: if not all are played, it is the first that are
		wait.Go(func() {
			defer func() { <-limit }()
			play(i)
		})
	}
	wait.Wait()
	t.retryTiming(ctx, parts)
	for i, s := range list {
		if s.Exclusive {
			play(i)
		}
	}
	if len(sequences) > 0 {
		parts = t.playSequences(ctx, sequences, parts, played)
	}
	parts = t.evaluateAll(parts)
	if t.Confirm {
		t.confirmFindings(ctx, parts[:len(list)])
	}
	return parts, nil
}

// concurrentOrder are the scenarios that are played at the same time, by their places in the
// list. Those that open no run come first: an operation that never answers is waited for
// while the others are.
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

// Check finds what is wrong with a target before anything is sent.
func (t *Target) Check() error {
	if t.Parallel == 0 {
		t.Parallel = 16
	}
	if t.Timeout == 0 {
		t.Timeout = DefaultTimeout
	}
	if err := t.Limits.validate(); err != nil {
		return err
	}
	t.Limits = t.Limits.withDefaults(t.Timeout)
	t.budget = newBudget(t.Limits)
	if t.Salt == 0 {
		t.Salt = NewSalt()
	}
	known := Capabilities()
	for _, name := range slices.Concat(t.ClaimedCapabilities, t.LackedCapabilities) {
		if !slices.Contains(known, name) && name != "all" {
			return fmt.Errorf("no capability %q: there are %s", name, strings.Join(known, ", "))
		}
		if (name == "text" || name == "all") && slices.Contains(t.LackedCapabilities, name) {
			return fmt.Errorf("a target cannot lack %q: text is promised by every target", name)
		}
		if slices.Contains(t.ClaimedCapabilities, name) && slices.Contains(t.LackedCapabilities, name) {
			return fmt.Errorf("capability %q is both claimed and lacked", name)
		}
	}
	for name, words := range t.PromptOverrides {
		if strings.TrimSpace(words) == "" {
			return fmt.Errorf("the prompt for scenario %q is empty", name)
		}
		if !slices.ContainsFunc(Scenarios, func(s Scenario) bool { return s.Name == name }) {
			return fmt.Errorf("no scenario %q to ask for with a prompt: there are %s", name, strings.Join(ScenarioNames(), ", "))
		}
	}
	for _, glob := range slices.Concat(t.Only, t.Skip) {
		if _, err := path.Match(glob, ""); err != nil {
			return fmt.Errorf("%q is not a glob: %w", glob, err)
		}
	}
	if t.Sequences < 0 || t.Sequences > MaxSequences {
		return fmt.Errorf("%d sequences: it is a number from 0 to %d", t.Sequences, MaxSequences)
	}
	if t.StreamLimit < 0 || t.StreamLimit > maxStreams {
		return fmt.Errorf("a limit of %d streams: it is a number from 1 to %d", t.StreamLimit, maxStreams)
	}
	if err := t.checkCredentials(); err != nil {
		return err
	}
	_, err := t.newClients(rand.New(rand.NewPCG(0, 0)))
	return err
}

// ScenarioNames lists the scenarios.
func ScenarioNames() (all []string) {
	for _, s := range Scenarios {
		all = append(all, s.Name)
	}
	return all
}

// Capabilities lists what a target can claim or lack.
func Capabilities() []string {
	all := []string{"scripted", "history", "attachments", "transcribe", "second-user"}
	for _, s := range Scenarios {
		all = append(all, s.capabilityName())
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (t *Target) wireConfig() wire.Config {
	return wire.Config{
		Base: t.Base, IdleTimeout: t.Limits.IdleTimeout, TotalTimeout: t.Timeout, MaxBodyBytes: t.Limits.MaxBytes, MaxEvents: t.Limits.MaxEvents,
		CA: t.CA, Insecure: t.Insecure, MaxEventBytes: t.MaxEventBytes, Memory: t.budget.memory,
	}
}

func (t *Target) lacksCapability(capability string) bool {
	return slices.Contains(t.LackedCapabilities, capability)
}

// matchesAny says whether an id fits one of the globs.
func matchesAny(globs []string, id string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { ok, _ := path.Match(g, id); return ok })
}

// isScenarioSelected says whether anything of a scenario can be in the selection: the scenario
// itself, or a check or requirement of the dialect.
func (t *Target) isScenarioSelected(s Scenario) bool {
	if matchesAny(t.Skip, s.Name) {
		return false
	}
	return len(t.Only) == 0 || matchesAny(t.Only, s.Name) || len(t.plan(s).Obligations) > 0
}

// plan are those of the dialect that are selected for a scenario.
func (t *Target) plan(s Scenario) spec.Plan {
	all := t.Dialect.Plan(rules.All)
	all.Obligations = slices.DeleteFunc(all.Obligations, func(d spec.Obligation) bool {
		return t.isSkipped(d) || len(t.Only) > 0 && !matchesAny(t.Only, s.Name) && !t.isSelected(d)
	})
	return all
}

func (t *Target) isSelected(d spec.Obligation) bool {
	return matchesAny(t.Only, d.Check.ID) || slices.ContainsFunc(d.Requirements, func(r spec.Requirement) bool { return matchesAny(t.Only, r.ID) })
}

func (t *Target) isSkipped(d spec.Obligation) bool {
	return matchesAny(t.Skip, d.Check.ID) || len(t.Skip) > 0 && !slices.ContainsFunc(d.Requirements, func(r spec.Requirement) bool { return !matchesAny(t.Skip, r.ID) })
}

func (t *Target) promptText(scenario, words string) string {
	if own, ok := t.PromptOverrides[scenario]; ok {
		return own
	}
	if t.PromptStyle == NaturalPrompts {
		return naturalPrompts[scenario]
	}
	return strings.TrimSuffix("conformance:"+scenario+" "+words, " ")
}

// NewSalt returns a random salt: never 0, and small enough for a JSON number.
func NewSalt() uint64 { return rand.Uint64()>>11 | 1 }

// idSeed returns the seed of the ids of this round. It depends on the salt, so that a server
// which was not restarted since an earlier run does not see an id again: what it remembers
// of a conversation would count against it. The rounds are further apart than the scenarios
// and sequences of one.
func (t *Target) idSeed() uint64 {
	return rand.New(rand.NewPCG(t.Seed, t.Salt)).Uint64() + uint64(t.Round)<<24
}

// newConversation begins a conversation.
func (t *Target) newConversation(ctx context.Context, seed uint64) (*Conversation, error) {
	talk := &Conversation{ctx: ctx, target: t, dialect: t.Dialect, rng: rand.New(rand.NewPCG(seed, 0))}
	talk.Thread = talk.newID()
	var err error
	talk.clients, err = t.newClients(rand.New(rand.NewPCG(seed, 1)))
	return talk, err
}

// playScenario leads the target through one scenario and records what goes over the wire.
// The same seed and salt give the same requests to a target that answers the same.
func (t *Target) playScenario(ctx context.Context, s Scenario, seed uint64) ScenarioResult {
	part := ScenarioResult{Scenario: s, Dialect: t.Dialect}
	if t.lacksCapability(s.capabilityName()) || t.missingSetup(s) != "" {
		return part
	}
	talk, err := t.newConversation(ctx, seed)
	if err != nil {
		part.Err = err
		return part
	}
	s.Run(talk)
	talk.concurrent = !s.Exclusive
	return t.finishConversation(talk, part)
}

// detectScripted finds out whether the target understands the prompts: it is asked for a
// random word, and says exactly that.
func (t *Target) detectScripted(ctx context.Context) bool {
	switch {
	case t.PromptStyle == NaturalPrompts || t.lacksCapability("scripted"):
		return false
	case slices.Contains(t.ClaimedCapabilities, "scripted") || slices.Contains(t.ClaimedCapabilities, "all"):
		return true
	}
	bounded := *t
	bounded.Timeout = min(t.Timeout, t.Limits.IdleTimeout) // who says one word needs no longer
	talk, err := bounded.newConversation(ctx, t.idSeed())
	if err != nil {
		return false
	}
	defer talk.releaseMemory()
	talk.SendAndRead("prompt", spec.Event{Text: fmt.Sprintf("conformance:text probe-%x", talk.rng.Uint32())})
	trace := talk.finalTrace()
	trace.Scripted = true
	duty := spec.Plan{Obligations: []spec.Obligation{{Check: rules.ScriptText, Requirements: []spec.Requirement{{Level: spec.Must}}}}}
	return spec.Run(duty, t.Dialect.Events(trace), nil).Results[0].Verdict == spec.Passed
}

// HasObligations reports whether the selection leaves anything to judge.
func (t *Target) HasObligations() bool {
	return len(t.selectedSequences()) > 0 || slices.ContainsFunc(Scenarios, func(s Scenario) bool {
		return s.AppliesTo(t.Dialect) && t.isScenarioSelected(s) && len(t.plan(s).Obligations) > 0
	})
}
