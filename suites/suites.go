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

// Prompts says in which words a target is asked.
type Prompts string

// The ways to ask.
const (
	Conformance Prompts = "conformance" // the prompts that scripted targets understand
	Natural     Prompts = "natural"     // plain words; what is said is not judged
)

// A Target is a server and how it is to be held to its dialect. The zero value of
// everything but Dialect and Base is a sensible default.
type Target struct {
	Dialect *dialect.Dialect
	Base    *url.URL    // the prefix of the document's paths, whole
	Header  spec.Header // sent with every request of the user; secret
	Other   spec.Header // likewise for a second user; secret
	Streams int         // how many streams at once a user may have open; 0: nobody said

	Prompts Prompts
	Prompt  map[string]string // scenario → the words to ask for it with
	Claims  []string          // capabilities that are promised; "all" is every one
	Lacks   []string          // capabilities that it does not have
	Only    []string          // globs of check, requirement or scenario ids
	Skip    []string

	Confirm   bool          // a scenario with a finding is played again, to tell one that comes and goes
	Sequences int           // how many sequences of steps are made up and played, too
	Timeout   time.Duration // how long an exchange may take in all; 30 s
	Limits    Limits
	Parallel  int    // how many scenarios are played at once
	Seed      uint64 // of all random choices
	Salt      uint64 // of the names of state, such as the ids of conversations; 0: another one each time
	Round     int    // which time the same is asked, from 0: with other ids, and the same choices
	CA        *x509.CertPool
	Insecure  bool
	MaxEvent  int // bytes of one event

	// Released is called with a part whose conversation is too large to be kept: when it has
	// been judged, and before all but the beginnings of its bodies are forgotten. It may be
	// called by several goroutines at once.
	Released func(Part)

	scripted bool
	faults   map[string][]string // phrase → what can be wrong with its request
	budget   *budget
}

// A Part is one scenario as a target played it.
type Part struct {
	Scenario Scenario
	Dialect  *dialect.Dialect
	Trace    spec.Trace
	Hearing  spec.Evaluation
	Err      error // why it could not be played: nobody's verdict

	outlines []outline // of the exchanges, once they were judged

	// Unplayed is why the scenario was not played, or not to its end: the run was broken
	// off, or the target is not asked for more. Nobody's verdict either.
	Unplayed error
	Released bool // the trace has only the beginnings of the bodies: see [Target.Released]
}

// Progress hears of each scenario when it has been played.
type Progress func(scenario string, played, of int)

// Hear plays every scenario that applies, each once, and judges afterwards. The
// error says that the configuration is wrong; what goes wrong with the target is
// in the parts.
func Hear(ctx context.Context, t Target, progress Progress) ([]Part, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	if t.Limits.Run > 0 {
		var stop func()
		ctx, stop = context.WithTimeoutCause(ctx, t.Limits.Run, timeUp{t.Limits.Run})
		defer stop()
	}
	var stop func()
	t.budget.judge, stop = judging(ctx)
	defer stop()
	list := slices.DeleteFunc(slices.Clone(Scenarios), func(s Scenario) bool { return !s.Applies(t.Dialect) || !t.wanted(s) })
	t.scripted = t.probe(ctx)
	parts := make([]Part, len(list))
	limit := make(chan struct{}, max(1, t.Parallel))
	var wait sync.WaitGroup
	var mu sync.Mutex
	sequences := t.wantedSequences()
	count, of := 0, len(list)+len(sequences)
	played := func(name string) {
		mu.Lock()
		defer mu.Unlock()
		if count++; progress != nil {
			progress(name, count, of)
		}
	}
	play := func(i int) {
		parts[i] = t.play(ctx, list[i], t.ids()+uint64(i)+1)
		played(list[i].Name)
	}
	for _, i := range together(list) {
		limit <- struct{}{} // in order: if not all are played, it is the first that are
		wait.Go(func() {
			defer func() { <-limit }()
			play(i)
		})
	}
	wait.Wait()
	t.listenAgain(ctx, parts)
	for i, s := range list {
		if s.Alone {
			play(i)
		}
	}
	if len(sequences) > 0 {
		parts = t.sequences(ctx, sequences, parts, played)
	}
	parts = t.judge(parts)
	if t.Confirm {
		t.confirm(ctx, parts[:len(list)])
	}
	return parts, nil
}

// together are the scenarios that are played at the same time, by their places in the
// list. Those that open no run come first: an operation that never answers is waited for
// while the others are.
func together(list []Scenario) (order []int) {
	for _, opens := range []bool{false, true} {
		for i, s := range list {
			if !s.Alone && slices.Contains(s.Says, "prompt") == opens {
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
	if err := t.Limits.check(); err != nil {
		return err
	}
	t.Limits = t.Limits.withDefaults(t.Timeout)
	t.budget = newBudget(t.Limits)
	if t.Salt == 0 {
		t.Salt = NewSalt()
	}
	known := Capabilities()
	for _, name := range slices.Concat(t.Claims, t.Lacks) {
		if !slices.Contains(known, name) && name != "all" {
			return fmt.Errorf("no capability %q: there are %s", name, strings.Join(known, ", "))
		}
		if (name == "text" || name == "all") && slices.Contains(t.Lacks, name) {
			return fmt.Errorf("a target cannot lack %q: text is promised by every target", name)
		}
		if slices.Contains(t.Claims, name) && slices.Contains(t.Lacks, name) {
			return fmt.Errorf("capability %q is both claimed and lacked", name)
		}
	}
	for name, words := range t.Prompt {
		if strings.TrimSpace(words) == "" {
			return fmt.Errorf("the prompt for scenario %q is empty", name)
		}
		if !slices.ContainsFunc(Scenarios, func(s Scenario) bool { return s.Name == name }) {
			return fmt.Errorf("no scenario %q to ask for with a prompt: there are %s", name, strings.Join(Names(), ", "))
		}
	}
	for _, glob := range slices.Concat(t.Only, t.Skip) {
		if _, err := path.Match(glob, ""); err != nil {
			return fmt.Errorf("%q is not a glob: %w", glob, err)
		}
	}
	if t.Sequences < 0 || t.Sequences > MostSequences {
		return fmt.Errorf("%d sequences: it is a number from 0 to %d", t.Sequences, MostSequences)
	}
	if t.Streams < 0 || t.Streams > mostStreams {
		return fmt.Errorf("a limit of %d streams: it is a number from 1 to %d", t.Streams, mostStreams)
	}
	if err := t.checkUsers(); err != nil {
		return err
	}
	_, err := t.clients(rand.New(rand.NewPCG(0, 0)))
	return err
}

// Names lists the scenarios.
func Names() (all []string) {
	for _, s := range Scenarios {
		all = append(all, s.Name)
	}
	return all
}

// Capabilities lists what a target can claim or lack.
func Capabilities() []string {
	all := []string{"scripted", "history", "attachments", "transcribe", "second-user"}
	for _, s := range Scenarios {
		all = append(all, s.capability())
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (t *Target) wire() wire.Config {
	return wire.Config{
		Base: t.Base, Timeout: t.Limits.Idle, Total: t.Timeout, MaxBody: t.Limits.Bytes, MaxEvents: t.Limits.Events,
		CA: t.CA, Insecure: t.Insecure, MaxEvent: t.MaxEvent, Room: t.budget.room,
	}
}

func (t *Target) lacks(capability string) bool { return slices.Contains(t.Lacks, capability) }

// matches says whether an id fits one of the globs.
func matches(globs []string, id string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { ok, _ := path.Match(g, id); return ok })
}

// wanted says whether anything of a scenario can be in the selection: the scenario
// itself, or a check or requirement of the dialect.
func (t *Target) wanted(s Scenario) bool {
	if matches(t.Skip, s.Name) {
		return false
	}
	return len(t.Only) == 0 || matches(t.Only, s.Name) || len(t.duties(s).Obligations) > 0
}

// duties are those of the dialect that are selected for a scenario.
func (t *Target) duties(s Scenario) spec.Plan {
	all := t.Dialect.Duties(rules.All)
	all.Obligations = slices.DeleteFunc(all.Obligations, func(d spec.Obligation) bool {
		return t.dropped(d) || len(t.Only) > 0 && !matches(t.Only, s.Name) && !t.picked(d)
	})
	return all
}

func (t *Target) picked(d spec.Obligation) bool {
	return matches(t.Only, d.Check.ID) || slices.ContainsFunc(d.Requirements, func(r spec.Requirement) bool { return matches(t.Only, r.ID) })
}

func (t *Target) dropped(d spec.Obligation) bool {
	return matches(t.Skip, d.Check.ID) || len(t.Skip) > 0 && !slices.ContainsFunc(d.Requirements, func(r spec.Requirement) bool { return !matches(t.Skip, r.ID) })
}

func (t *Target) prompt(scenario, words string) string {
	if own, ok := t.Prompt[scenario]; ok {
		return own
	}
	if t.Prompts == Natural {
		return natural[scenario]
	}
	return strings.TrimSuffix("conformance:"+scenario+" "+words, " ")
}

// NewSalt returns a random salt: never 0, and small enough for a JSON number.
func NewSalt() uint64 { return rand.Uint64()>>11 | 1 }

// ids returns the seed of the ids of this round. It depends on the salt, so that a server
// which was not restarted since an earlier run does not see an id again: what it remembers
// of a conversation would count against it. The rounds are further apart than the scenarios
// and sequences of one.
func (t *Target) ids() uint64 {
	return rand.New(rand.NewPCG(t.Seed, t.Salt)).Uint64() + uint64(t.Round)<<24
}

// talk begins a conversation.
func (t *Target) talk(ctx context.Context, seed uint64) (*Talk, error) {
	talk := &Talk{ctx: ctx, target: t, dialect: t.Dialect, ids: rand.New(rand.NewPCG(seed, 0))}
	talk.Thread = talk.id()
	var err error
	talk.clients, err = t.clients(rand.New(rand.NewPCG(seed, 1)))
	return talk, err
}

// play leads the target through one scenario and records what goes over the wire.
// The same seed and salt give the same requests to a target that answers the same.
func (t *Target) play(ctx context.Context, s Scenario, seed uint64) Part {
	part := Part{Scenario: s, Dialect: t.Dialect}
	if t.lacks(s.capability()) || t.told(s) != "" {
		return part
	}
	talk, err := t.talk(ctx, seed)
	if err != nil {
		part.Err = err
		return part
	}
	s.Lead(talk)
	talk.shared = !s.Alone
	return t.finish(talk, part)
}

// probe finds out whether the target understands the prompts: it is asked for a
// random word, and says exactly that.
func (t *Target) probe(ctx context.Context) bool {
	switch {
	case t.Prompts == Natural || t.lacks("scripted"):
		return false
	case slices.Contains(t.Claims, "scripted") || slices.Contains(t.Claims, "all"):
		return true
	}
	patient := *t
	patient.Timeout = min(t.Timeout, t.Limits.Idle) // who says one word needs no longer
	talk, err := patient.talk(ctx, t.ids())
	if err != nil {
		return false
	}
	defer talk.release()
	talk.Say("prompt", spec.Event{Text: fmt.Sprintf("conformance:text probe-%x", talk.ids.Uint32())})
	trace := talk.recorded()
	trace.Scripted = true
	duty := spec.Plan{Obligations: []spec.Obligation{{Check: rules.ScriptText, Requirements: []spec.Requirement{{Level: spec.Must}}}}}
	return spec.Run(duty, t.Dialect.Events(trace), nil).Results[0].Verdict == spec.Passed
}

// Judges reports whether the selection leaves anything to judge.
func (t *Target) Judges() bool {
	return len(t.wantedSequences()) > 0 || slices.ContainsFunc(Scenarios, func(s Scenario) bool {
		return s.Applies(t.Dialect) && t.wanted(s) && len(t.duties(s).Obligations) > 0
	})
}
