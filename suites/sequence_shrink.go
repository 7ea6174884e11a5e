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
	mostTries  = 60  // for one sequence
	mostShrink = 300 // for all together

	maxShrinking = 150 * time.Second // likewise
)

// MostSequences bounds how many are played: all that they say is kept until it is reported.
const MostSequences = 1000

// An odyssey is one sequence on its way: what was planned, and what came of it.
type odyssey struct {
	steps []step
	luck  *rand.Rand // its own: which others are played changes nothing
	part  Part
}

// wantedSequences are those that are in the selection.
func (t *Target) wantedSequences() (all []*odyssey) {
	s := sequence("", nil)
	if !s.Applies(t.Dialect) {
		return nil
	}
	some := len(t.Only) == 0 || len(t.duties(s).Obligations) > 0
	for n := range t.Sequences {
		if name := SequenceName(n + 1); !matches(t.Skip, name) && (some || matches(t.Only, name)) {
			stream := 1<<32 + uint64(n)
			o := &odyssey{luck: rand.New(rand.NewPCG(t.ids(), stream))}
			o.steps = t.compose(rand.New(rand.NewPCG(t.Seed, stream)))
			o.part.Scenario = sequence(name, o.steps)
			all = append(all, o)
		}
	}
	return all
}

// ventures are those sequences as scenarios.
func (t *Target) ventures() (all []Scenario) {
	for _, o := range t.wantedSequences() {
		all = append(all, o.part.Scenario)
	}
	return all
}

// SequenceName is what a report calls the nth sequence, from 1.
func SequenceName(n int) string { return fmt.Sprint("sequence-", n) }

// sequence is a sequence as a scenario. Nothing is proved by it: what it does not exercise
// is no broken promise.
func sequence(name string, steps []step) Scenario {
	return Scenario{Name: name, Doc: told(steps), Capability: "text", Says: prompts}
}

// sequences plays all of them, and makes those shorter that draw findings which are not in
// parts already: there, fewer requests show them.
func (t *Target) sequences(ctx context.Context, all []*odyssey, parts []Part, played func(name string)) []Part {
	if talk, err := t.talk(ctx, t.ids()); err == nil {
		t.findFaults(talk)
	}
	limit := make(chan struct{}, t.abreast())
	var wait sync.WaitGroup
	for _, o := range all {
		wait.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			o.part = t.venture(ctx, o.part.Scenario.Name, o.steps, o.luck.Uint64())
			played(o.part.Scenario.Name)
		})
	}
	wait.Wait()
	known := map[drawn]bool{}
	for i := range parts {
		t.note(known, &parts[i])
	}
	tries, until := mostShrink, time.Now().Add(maxShrinking)
	for _, o := range all { // one after the other, so that the same seed shortens the same
		if fresh := t.fresh(known, &o.part); len(fresh) > 0 {
			tries -= t.shrink(ctx, o, fresh, min(mostTries, tries), until)
		}
		t.note(known, &o.part)
		parts = append(parts, o.part)
	}
	return parts
}

// abreast is how many sequences are played at once: each may hold two streams.
func (t *Target) abreast() int {
	if t.Streams > 0 {
		return max(1, min(t.Parallel, t.Streams/2))
	}
	return max(1, t.Parallel)
}

// venture plays one sequence.
func (t *Target) venture(ctx context.Context, name string, steps []step, ids uint64) Part {
	part := Part{Scenario: sequence(name, steps), Dialect: t.Dialect}
	if t.lacks(part.Scenario.capability()) {
		return part
	}
	talk, err := t.talk(ctx, ids)
	if err != nil {
		part.Err = err
		return part
	}
	newActor(talk).play(steps)
	talk.shared = true
	return t.finish(talk, part)
}

// A drawn is a finding by what it is about: the check, and the requirement that is broken.
type drawn struct{ check, law string }

// draws are the findings of a conversation, each once.
func (t *Target) draws(p *Part) (all []drawn) {
	if len(p.Hearing.Results) == 0 {
		p.Hearing = t.hearing(p)
	}
	for _, r := range p.Hearing.Results {
		for _, f := range r.Findings {
			if d := (drawn{r.Obligation.Check.ID, r.Obligation.Requirement(f).ID}); !slices.Contains(all, d) {
				all = append(all, d)
			}
		}
	}
	return all
}

func (t *Target) note(known map[drawn]bool, p *Part) {
	for _, d := range t.draws(p) {
		known[d] = true
	}
}

// fresh are the findings that are not known.
func (t *Target) fresh(known map[drawn]bool, p *Part) []drawn {
	return slices.DeleteFunc(t.draws(p), func(d drawn) bool { return known[d] })
}

// shrink looks for a shorter sequence that draws the same findings, and says how many it
// tried. Steps are left out in halves, then in quarters, down to single ones, as long as
// that succeeds; then what is left is made as plain as it can be. What is known of the
// sequence is always what was really played.
func (t *Target) shrink(ctx context.Context, o *odyssey, fresh []drawn, tries int, until time.Time) (tried int) {
	was := len(o.steps)
	try := func(steps []step) bool {
		if tried >= tries || len(steps) == 0 || ctx.Err() != nil || time.Now().After(until) {
			return false
		}
		tried++
		part := t.venture(ctx, o.part.Scenario.Name, steps, o.luck.Uint64())
		got := t.draws(&part)
		if slices.ContainsFunc(fresh, func(d drawn) bool { return !slices.Contains(got, d) }) {
			return false
		}
		o.steps, o.part = steps, part
		return true
	}
	for size := (was + 1) / 2; size > 0; {
		if !t.leaveOut(o, size, try) {
			size /= 2
		}
	}
	for i := range o.steps {
		if plain := slices.Clone(o.steps); plain[i].luck != 0 {
			plain[i].luck = 0
			try(plain)
		}
	}
	o.part.Scenario.Doc += fmt.Sprintf(" (the shortest in %d tries of %d steps that drew this)", tried, was)
	return tried
}

// leaveOut tries the sequence without each run of so many steps, the last first: little
// goes on with those. It says whether any could be spared.
func (t *Target) leaveOut(o *odyssey, size int, try func([]step) bool) (spared bool) {
	for end := len(o.steps); end > 0; end -= size {
		end = min(end, len(o.steps))
		rest := t.possible(slices.Concat(o.steps[:max(0, end-size)], o.steps[end:]))
		spared = len(rest) < len(o.steps) && try(rest) || spared
	}
	return spared
}
