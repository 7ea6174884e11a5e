package script

import (
	"cmp"
	"slices"
	"time"

	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A ConformanceCheckFunc runs the checks of dialect d against a server that runs the given agent.
// It returns a message for each violation of the protocol, or nil if there is none.
type ConformanceCheckFunc func(d *dialect.Dialect, agent reference.Agent) []string

// CheckReplies runs check on the reply of each rule, in every dialect that the mock serves and to
// which the rule applies. It returns one error for each rule whose reply violates the protocol,
// sorted by file and position. It skips rules that have no reply in the script or set "violates:
// true", and replies whose templates fail for a minimal request; see exampleReply.
//
// To save time, CheckReplies skips a reply if it has already checked one with the same kinds of
// steps, in the same order, in the same dialect. A server encodes both in the same way. This does
// not apply to replies with "raw" steps, whose frames are sent as written in the script.
func (s *RuleSet) CheckReplies(check ConformanceCheckFunc) []Problem {
	var problems []Problem
	checked := map[string]bool{}
	for _, r := range s.Rules() {
		if r.Reply == nil || r.Violates {
			continue
		}
		for _, d := range r.applicableDialects(s.dialects) {
			shape := d.Name + "\x00" + stepSignature(r.Reply)
			if checked[shape] && !r.hasRawFrames() {
				continue
			}
			reply := r.exampleReply(d)
			if reply.Agent == nil {
				continue // its templates need a real request
			}
			checked[shape] = true
			if p, ok := r.checkReply(d, reply, check); !ok {
				problems = append(problems, p)
				break // one problem per rule is enough
			}
		}
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return cmp.Or(cmp.Compare(a.File, b.File), a.compare(b)) })
	return problems
}

// stepSignature returns the kinds of the steps as one string, such as
// "message(text()image())wait()". The parentheses contain the kinds of the parts of a step.
func stepSignature(steps []step) (text string) {
	for _, s := range steps {
		text += s.name + "(" + stepSignature(s.children) + ")"
	}
	return text
}

// checkReply runs check on reply, the reply of the rule in dialect d. If the reply violates the
// protocol, p is the problem to report, and ok is false. Otherwise ok is true.
func (r *Rule) checkReply(d *dialect.Dialect, reply Reply, check ConformanceCheckFunc) (p Problem, ok bool) {
	violations := check(d, reply.Agent(reply.Pace.Chunk, func(time.Duration) {}))
	if len(violations) == 0 {
		return p, true
	}
	at := filePosition{r.Line, r.column}
	for _, s := range r.Reply {
		if s.name == "raw" {
			at = positionOf(s.node)
			break
		}
	}
	text := "the reply violates " + d.Name + ": " + violations[0]
	if r.hasRawFrames() {
		text += "; set violates: true if that is intended"
	}
	return Problem{r.File, at.line, at.column, Error, text}, false
}

// exampleReply returns the reply of the rule to a minimal request in dialect d. Each capture group
// of the rule's regular expressions has the value "1". If a template fails, for example because it
// needs the first bytes of the user's message, which is empty, the reply has no agent.
func (r *Rule) exampleReply(d *dialect.Dialect) Reply {
	match := map[string]string{}
	for group := range r.groups {
		match[group] = "1"
	}
	return r.renderReply(&matchContext{
		request: &RequestContext{
			Dialect: d, Operation: runOperation, Parsed: &spec.Event{Thread: "thread", Run: "run"},
			Now: time.Unix(0, 0), analyzed: true, turn: 1, lastInput: lastUser,
		},
		state:  NewState(),
		groups: match,
	})
}
