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

// A ConformanceCheck says what is wrong with what a rule says, spelled in a dialect: the findings, in
// the words of the rules that make them. agent is what [reference.Config] takes.
type ConformanceCheck func(d *dialect.Dialect, agent reference.Agent) []string

// CheckReplies has the replies of a set judged in every dialect that they are for, as a client
// would hear them. Replies that have no raw frame are made by this package, and are only
// judged as examples of the words that they use: once for each. What a rule breaks that
// does not say so is an error: such a set is not to be played.
func (s *RuleSet) CheckReplies(check ConformanceCheck) []Problem {
	var problems []Problem
	checked := map[string]bool{}
	for _, r := range s.Rules() {
		if !r.action.hasReply || r.Violates {
			continue
		}
		for _, d := range r.applicableDialects(s.dialects) {
			shape := d.Name + "\x00" + stepSignature(r.action.steps)
			if checked[shape] && !r.action.hasRawFrames() {
				continue
			}
			checked[shape] = true
			if p, ok := r.checkReply(d, check); !ok {
				problems = append(problems, p)
				break // the other dialects say the same
			}
		}
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return cmp.Or(cmp.Compare(a.File, b.File), a.compare(b)) })
	return problems
}

// stepSignature is the words of a reply.
func stepSignature(steps []step) (text string) {
	for _, s := range steps {
		text += s.name + "(" + stepSignature(s.children) + ")"
	}
	return text
}

// checkReply plays a rule for a judge.
func (r *Rule) checkReply(d *dialect.Dialect, check ConformanceCheck) (p Problem, ok bool) {
	reply, err := r.exampleReply(d)
	if err != nil { // what only works with a request of its own cannot be tried
		return p, true
	}
	violations := check(d, replyAgent(reply.Play))
	if len(violations) == 0 {
		return p, true
	}
	at := yamlNode{line: r.Line, column: r.column}
	for _, s := range r.action.steps {
		if s.name == "raw" {
			at = *s.node
			break
		}
	}
	text := "in " + d.Name + " this breaks the protocol: " + violations[0]
	if r.action.hasRawFrames() {
		text += "; write violates: true if it is meant to"
	}
	return Problem{r.File, at.line, at.column, Error, text}, false
}

// exampleReply is a rule's reply to a request that says as little as possible.
func (r *Rule) exampleReply(d *dialect.Dialect) (Reply, error) {
	match := map[string]string{}
	for group := range r.conditions.captureGroups() {
		match[group] = "1"
	}
	p := &matchContext{
		request: &RequestContext{Dialect: d, Operation: runOperation, Parsed: &spec.Event{Thread: "thread", Run: "run"}, Now: time.Unix(0, 0), analyzed: true, turn: 1, lastInput: lastUser},
		state:   NewState(),
		groups:  match,
	}
	if _, at, err := renderSteps(r.action.steps, newTemplateData(p)); err != nil {
		return Reply{}, at.node.errorf("%s: %v", at.name, err)
	}
	return r.renderReply(p), nil
}

// replyAgent is an agent that says what a rule says, without waiting.
func replyAgent(play func(context.Context, reference.Turn) iter.Seq[TimedEvent]) reference.Agent {
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
