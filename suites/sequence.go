package suites

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// An action is one step of a generated sequence.
type action struct {
	number   int    // position in the generated sequence, counted from 1; unchanged if other actions are removed
	typeName string // name of its [actionType]
	subject  int    // number of the thread, counted from 1, or of the earlier action to which the action refers
	choice   uint64 // selects one of the forms of the action; 0 selects the simplest form
}

// maxActions is the maximum number of actions in a sequence.
const maxActions = 12

// threadCount is the number of threads that a sequence uses.
const threadCount = 2

// A sequenceBuilder builds a sequence of actions. It records the runs, tool calls, interrupts and
// files to which later actions can refer.
type sequenceBuilder struct {
	target         *Target
	actionTypes    []actionType
	actions        []action
	runs           []int        // numbers of the actions that start runs
	observedRuns   map[int]bool // set of the elements of runs whose streams are read, at least in part
	serverRequests []int        // numbers of the actions that elicit a tool call or interrupt without a reply so far
	uploads        []int        // numbers of the actions that upload files
}

// newSequenceBuilder returns a builder for sequences of the actions that the target supports.
func newSequenceBuilder(t *Target) *sequenceBuilder {
	return &sequenceBuilder{target: t, actionTypes: t.supportedActions(), observedRuns: map[int]bool{}}
}

// supports reports whether scenario s can be played against the target, that is, whether s applies
// to the dialect, the target does not lack the capability of s, and no setting that s needs is
// missing.
func (t *Target) supports(s Scenario) bool {
	return s.AppliesTo(t.Dialect) && !t.lacksCapability(s.capabilityName()) && t.MissingSetup(s) == ""
}

// supportedActions returns the elements of [actionTypes] that the dialect and the target support.
func (t *Target) supportedActions() (can []actionType) {
	for _, d := range actionTypes {
		if t.supports(d.needs) && !(d.twoStreams && t.StreamLimit == 1) {
			can = append(can, d)
		}
	}
	return can
}

// add appends action s to the sequence and returns true. If s is not possible at this position, add
// returns false. An action is possible if its type is supported and s.subject is one of the numbers
// that the function subjects of the type returns.
func (p *sequenceBuilder) add(s action) bool {
	i := slices.IndexFunc(p.actionTypes, func(d actionType) bool { return d.name == s.typeName })
	if i < 0 || !slices.Contains(p.actionTypes[i].subjects(p), s.subject) {
		return false
	}
	p.actions = append(p.actions, s)
	if effect := p.actionTypes[i].recordEffect; effect != nil {
		effect(p, s)
	}
	return true
}

// generateActions returns a random sequence of 4 to [maxActions] actions, or fewer if no more
// actions are possible. Each action is possible at its position; for example, a cancel action
// refers to a run that an earlier action starts. The target and the state of rng determine the
// result.
func (t *Target) generateActions(rng *rand.Rand) []action {
	p := newSequenceBuilder(t)
	for n, last := 1, 4+rng.IntN(maxActions-3); n <= last; n++ {
		type choice struct {
			actionType actionType
			subjects   []int
		}
		var open []choice
		total := 0
		for _, d := range p.actionTypes {
			if subjects := d.subjects(p); len(subjects) > 0 {
				open = append(open, choice{d, subjects})
				total += d.weight
			}
		}
		if total == 0 {
			break
		}
		at := rng.IntN(total)
		for _, c := range open {
			if at -= c.actionType.weight; at < 0 {
				subject := c.subjects[rng.IntN(len(c.subjects))]
				p.add(action{number: n, typeName: c.actionType.name, subject: subject, choice: rng.Uint64()})
				break
			}
		}
	}
	return p.actions
}

// dropImpossible returns a copy of actions without those that are not possible, for example because
// the action that started their run was removed.
func (t *Target) dropImpossible(actions []action) []action {
	p := newSequenceBuilder(t)
	for _, s := range actions {
		p.add(s)
	}
	return p.actions
}

// describeActions returns a description of a sequence for reports, such as "1. send a message on
// thread 1, and read the reply; 2. cancel the run of action 1".
func describeActions(actions []action) string {
	var words []string
	for _, s := range actions {
		words = append(words, fmt.Sprintf("%d. %s", s.number, s))
	}
	return strings.Join(words, "; ")
}

// String returns a description of the action: the doc of its [actionType] with the number of the
// subject in place of %. If the type is unknown, String returns the name of the type.
func (s action) String() string {
	i := slices.IndexFunc(actionTypes, func(d actionType) bool { return d.name == s.typeName })
	if i < 0 {
		return s.typeName
	}
	return strings.ReplaceAll(actionTypes[i].doc, "%", fmt.Sprint(s.subject))
}
