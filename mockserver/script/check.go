package script

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A Judge says what is wrong with what a rule says, spelled in a dialect: the findings, in
// the words of the rules that make them. agent is what [reference.Config] takes.
type Judge func(d *dialect.Dialect, agent reference.Agent) []string

// Check has the replies of a set judged in every dialect that they are for, as a client
// would hear them. Replies that have no raw frame are made by this package, and are only
// judged as examples of the words that they use: once for each. What a rule breaks that
// does not say so is an error: such a set is not to be played.
func (s *Set) Check(judge Judge) []Problem {
	var problems []Problem
	judged := map[string]bool{}
	for _, r := range s.Rules() {
		if !r.does.plays || r.Violates {
			continue
		}
		for _, d := range r.served(s.dialects) {
			shape := d.Name + "\x00" + shape(r.does.steps)
			if judged[shape] && !r.does.raws() {
				continue
			}
			judged[shape] = true
			if p, ok := r.judged(d, judge); !ok {
				problems = append(problems, p)
				break // the other dialects say the same
			}
		}
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return cmp.Or(cmp.Compare(a.File, b.File), a.before(b)) })
	return problems
}

// shape is the words of a reply.
func shape(steps []step) (text string) {
	for _, s := range steps {
		text += s.word + "(" + shape(s.inner) + ")"
	}
	return text
}

// judged plays a rule for a judge.
func (r *Rule) judged(d *dialect.Dialect, judge Judge) (p Problem, ok bool) {
	reply, err := r.example(d)
	if err != nil { // what only works with a request of its own cannot be tried
		return p, true
	}
	found := judge(d, played(reply.Play))
	if len(found) == 0 {
		return p, true
	}
	at := node{line: r.Line, column: r.column}
	for _, s := range r.does.steps {
		if s.word == "raw" {
			at = *s.at
			break
		}
	}
	text := "in " + d.Name + " this breaks the protocol: " + found[0]
	if r.does.raws() {
		text += "; write violates: true if it is meant to"
	}
	return Problem{r.File, at.line, at.column, Error, text}, false
}

// example is a rule's reply to a request that says as little as possible.
func (r *Rule) example(d *dialect.Dialect) (Reply, error) {
	match := map[string]string{}
	for group := range r.when.groups() {
		match[group] = "1"
	}
	p := &probe{
		f:     &Facts{Dialect: d, Op: run, Ask: &spec.Event{Thread: "thread", Run: "run"}, Now: time.Unix(0, 0), known: true, turn: 1, last: lastUser},
		st:    NewState(),
		match: match,
	}
	if _, at, err := bars(r.does.steps, viewOf(p)); err != nil {
		return Reply{}, at.at.flaw("%s: %v", at.word, err)
	}
	return r.reply(p), nil
}

// played is an agent that says what a rule says, without waiting.
func played(play func(context.Context, reference.Turn) iter.Seq[Beat]) reference.Agent {
	return func(ctx context.Context, t reference.Turn) iter.Seq[spec.Event] {
		return func(yield func(spec.Event) bool) {
			for beat := range play(ctx, t) {
				if beat.Event.Kind != "" && !yield(beat.Event) {
					return
				}
			}
		}
	}
}
