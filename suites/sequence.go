package suites

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// A step is one thing that is done in a sequence.
type step struct {
	n    int    // its number, which it keeps when others are left out
	does string // the name of a deed
	on   int    // the conversation it belongs to (from 1), or the number of the step that it goes on with
	luck uint64 // what the deed leaves open; 0 is the plainest choice
}

// longest is how many steps a sequence has at most.
const longest = 12

// conversations is how many conversations a sequence is about.
const conversations = 2

// A plan is what can be said of a sequence before it is played: what there will be to
// go on with, if the server does what it is asked.
type plan struct {
	target *Target
	deeds  []deed
	steps  []step
	runs   []int        // the steps that opened one
	heard  map[int]bool // runs of which some was heard
	asks   []int        // the steps by which the server asked for something
	stored []int        // uploads
}

func newPlan(t *Target) *plan { return &plan{target: t, deeds: t.deeds(), heard: map[int]bool{}} }

// deeds are those that the dialect has words for, and that the target does not lack.
func (t *Target) deeds() (can []deed) {
	for _, d := range deeds {
		if d.can(t) {
			can = append(can, d)
		}
	}
	return can
}

// add plans one more step, unless there is nothing that it could go on with.
func (p *plan) add(s step) bool {
	i := slices.IndexFunc(p.deeds, func(d deed) bool { return d.name == s.does })
	if i < 0 || !slices.Contains(p.deeds[i].on(p), s.on) {
		return false
	}
	p.steps = append(p.steps, s)
	if then := p.deeds[i].then; then != nil {
		then(p, s)
	}
	return true
}

// compose makes a sequence up. Only what can be done is: who cancels has opened a run.
func (t *Target) compose(luck *rand.Rand) []step {
	p := newPlan(t)
	for n, last := 1, 4+luck.IntN(longest-3); n <= last; n++ {
		type choice struct {
			deed deed
			on   []int
		}
		var open []choice
		total := 0
		for _, d := range p.deeds {
			if on := d.on(p); len(on) > 0 {
				open = append(open, choice{d, on})
				total += d.often
			}
		}
		if total == 0 {
			break
		}
		at := luck.IntN(total)
		for _, c := range open {
			if at -= c.deed.often; at < 0 {
				p.add(step{n: n, does: c.deed.name, on: c.on[luck.IntN(len(c.on))], luck: luck.Uint64()})
				break
			}
		}
	}
	return p.steps
}

// possible is what is left of steps when those are left out that have nothing to go on
// with any more.
func (t *Target) possible(steps []step) []step {
	p := newPlan(t)
	for _, s := range steps {
		p.add(s)
	}
	return p.steps
}

// told is a sequence in words.
func told(steps []step) string {
	var words []string
	for _, s := range steps {
		words = append(words, fmt.Sprintf("%d. %s", s.n, s))
	}
	return strings.Join(words, "; ")
}

func (s step) String() string {
	i := slices.IndexFunc(deeds, func(d deed) bool { return d.name == s.does })
	if i < 0 {
		return s.does
	}
	return strings.ReplaceAll(deeds[i].doc, "%", fmt.Sprint(s.on))
}
