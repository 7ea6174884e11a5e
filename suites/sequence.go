package suites

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// A action is one thing that is done in a sequence.
type action struct {
	number   int    // its number, which it keeps when others are left out
	typeName string // the name of a deed
	subject  int    // the conversation it belongs to (from 1), or the number of the step that it goes on with
	choice   uint64 // what the deed leaves open; 0 is the plainest choice
}

// maxActions is how many steps a sequence has at most.
const maxActions = 12

// conversationCount is how many conversations a sequence is about.
const conversationCount = 2

// A sequencePlan is what can be said of a sequence before it is played: what there will be to
// go on with, if the server does what it is asked.
type sequencePlan struct {
	target         *Target
	actionTypes    []actionType
	actions        []action
	runs           []int        // the steps that opened one
	observedRuns   map[int]bool // runs of which some was heard
	serverRequests []int        // the steps by which the server asked for something
	uploads        []int        // uploads
}

func newSequencePlan(t *Target) *sequencePlan {
	return &sequencePlan{target: t, actionTypes: t.supportedActions(), observedRuns: map[int]bool{}}
}

// supportedActions are those that the dialect has words for, and that the target does not lack.
func (t *Target) supportedActions() (can []actionType) {
	for _, d := range actionTypes {
		if d.isSupported(t) {
			can = append(can, d)
		}
	}
	return can
}

// add plans one more step, unless there is nothing that it could go on with.
func (p *sequencePlan) add(s action) bool {
	i := slices.IndexFunc(p.actionTypes, func(d actionType) bool { return d.name == s.typeName })
	if i < 0 || !slices.Contains(p.actionTypes[i].subjects(p), s.subject) {
		return false
	}
	p.actions = append(p.actions, s)
	if then := p.actionTypes[i].recordEffect; then != nil {
		then(p, s)
	}
	return true
}

// generateActions makes a sequence up. Only what can be done is: who cancels has opened a run.
func (t *Target) generateActions(luck *rand.Rand) []action {
	p := newSequencePlan(t)
	for n, last := 1, 4+luck.IntN(maxActions-3); n <= last; n++ {
		type choice struct {
			deed actionType
			on   []int
		}
		var open []choice
		total := 0
		for _, d := range p.actionTypes {
			if on := d.subjects(p); len(on) > 0 {
				open = append(open, choice{d, on})
				total += d.weight
			}
		}
		if total == 0 {
			break
		}
		at := luck.IntN(total)
		for _, c := range open {
			if at -= c.deed.weight; at < 0 {
				p.add(action{number: n, typeName: c.deed.name, subject: c.on[luck.IntN(len(c.on))], choice: luck.Uint64()})
				break
			}
		}
	}
	return p.actions
}

// dropImpossible is what is left of steps when those are left out that have nothing to go on
// with any more.
func (t *Target) dropImpossible(steps []action) []action {
	p := newSequencePlan(t)
	for _, s := range steps {
		p.add(s)
	}
	return p.actions
}

// describeActions is a sequence in words.
func describeActions(steps []action) string {
	var words []string
	for _, s := range steps {
		words = append(words, fmt.Sprintf("%d. %s", s.number, s))
	}
	return strings.Join(words, "; ")
}

func (s action) String() string {
	i := slices.IndexFunc(actionTypes, func(d actionType) bool { return d.name == s.typeName })
	if i < 0 {
		return s.typeName
	}
	return strings.ReplaceAll(actionTypes[i].doc, "%", fmt.Sprint(s.subject))
}
