package rules

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/streamassay/streamassay/spec"
)

var inTurnChecks = []*spec.Check{
	RunOpensOrFails, RunStartsInTurn, RunEndsInTurn, MessageInTurn, ToolStartsInTurn, StepPairs, StepsAllEnd,
}

// RunOpensOrFails judges whether the first event of a stream starts the run or reports that the run
// failed.
var RunOpensOrFails = firstFrameCheck("run.opens-or-fails",
	"the first event of a stream starts the run, or reports that it failed", []spec.Kind{spec.RunStart, spec.RunError},
	func(k spec.Kind) bool { return k == spec.RunStart || k == spec.RunError },
	func(request spec.Event) eventLabel {
		return kindName(request, spec.RunStart, "the start of the run")
	})

// RunStartsInTurn judges whether a run starts only after all earlier runs of the stream have ended.
var RunStartsInTurn = &spec.Check{
	ID: "run.starts-in-turn",
	Doc: `a run starts only while no other run of the stream is open

A stream may have several runs, one after the other.`,
	Needs: []spec.Kind{spec.RunStart, spec.RunEnd},
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var open spec.Event
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.RunStart:
				if open.Raw != nil && open.Run == e.Run {
					p.Judge(e, false, "%s comes again for run %q, which started at line %d and has not ended; expected it once",
						displayName(e), e.Run, open.Line)
				} else {
					p.Judge(e, open.Raw == nil, "%s comes while run %q is open; expected the end of that run first",
						displayName(e), open.Run)
				}
				open = e
			case isTerminal(e):
				open = spec.Event{}
			}
		}
	}),
}

// RunEndsInTurn judges the first event after the terminal event of a run. That event must start
// another run. If the terminal event was run.end, a failure (run.error) may follow it, too.
var RunEndsInTurn = &spec.Check{
	ID: "run.ends-in-turn",
	Doc: `the event after the end of a run starts another run, or reports that the finished run failed

Only the first event after the end is judged. Events that cannot be decoded are skipped.`,
	Needs: []spec.Kind{spec.RunStart, spec.RunEnd, spec.RunError},
	Watch: eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
		var end spec.Event // the terminal event, until another event follows it
		return func(e spec.Event) {
			switch {
			case e.IsFrame() && e.Kind != spec.Undecodable:
				if end.Raw != nil {
					allowed := kindName(request, spec.RunStart, "the start of another run").String()
					if end.Kind == spec.RunEnd {
						allowed += ", " + kindName(request, spec.RunError, "the failure of the run").String()
					}
					mayFail := end.Kind == spec.RunEnd && e.Kind == spec.RunError
					p.Judge(e, e.Kind == spec.RunStart || mayFail, "%s comes after %s; expected %s or the end of the stream",
						displayName(e), displayName(end), allowed)
				}
				if end = (spec.Event{}); isTerminal(e) {
					end = e
				}
			case isCleanEnd(e) && end.Raw != nil && !errors.Is(e.Err, spec.ErrLeftAfterEnd):
				p.Judge(end, true, "")
			}
		}
	}),
}

// A spanKey identifies something that starts and ends in a stream: a message, a section of
// reasoning, a tool call or a step. The field subject states which of these it is; see
// [spec.Kind.Subject].
//
// A step is identified by its name, its message or its id. A step with a name also has a lane (see
// [spec.Event.Lane]): steps with the same name in different lanes are different steps.
type spanKey struct{ subject, name, message, id, lane string }

// pairKeyOf returns the key of the message, section of reasoning, call or step that e starts,
// continues or ends. If e is an event of another kind, or lacks the id or name that the key needs,
// ok is false.
func pairKeyOf(e spec.Event) (key spanKey, ok bool) {
	if !slices.Contains([]string{"start", "delta", "end"}, e.Kind.Phase()) {
		return spanKey{}, false
	}
	switch key.subject = e.Kind.Subject(); key.subject {
	case "message", "reasoning":
		key.message = e.Message
	case "tool":
		key.id = e.Call
	case "step":
		if key.name, key.message, key.id = e.Name, e.Message, e.ID; e.Name != "" {
			key.lane = e.Lane
		}
	}
	return key, key.text() != ""
}

// spanKeyOf is like pairKeyOf, but also returns a key, without an id and a name, for an event about
// a section of reasoning or a step whose schema has neither. Only one of these can then be open.
func spanKeyOf(e spec.Event) (key spanKey, ok bool) {
	key, ok = pairKeyOf(e)
	isNameless := (key.subject == "reasoning" || key.subject == "step") && !e.IsChunk && len(e.Violations) == 0
	return key, ok || isNameless
}

// ended returns the key of the open message, section of reasoning, call or step that an event with
// the key k ends. The map open contains the value true for each key that is open.
//
// The result differs from k only for a step whose end does not name its lane (see
// [spec.Event.Lane]): if k is not open, but a step with the same name is open in another lane, the
// result is the key of that step.
func (k spanKey) ended(open map[spanKey]bool) spanKey {
	if open[k] {
		return k
	}
	for other, isOpen := range open {
		inLane := k
		inLane.lane = other.lane
		if isOpen && k.name != "" && other == inLane {
			return other
		}
	}
	return k
}

// text returns k.id or, if that is "", k.message or, if that is "" as well, k.name.
func (k spanKey) text() string { return cmp.Or(k.id, k.message, k.name) }

// String describes what k identifies, for the message of a finding, such as `step "search"` or
// `message "m1"`. A step that is identified by its id, as a subagent is, is only the quoted id.
func (k spanKey) String() string {
	isStep := k.subject == "step"
	switch {
	case k.text() == "" && isStep:
		return "a section without a name"
	case k.text() == "":
		return k.subject
	case isStep && k.name == "":
		return strconv.Quote(k.text())
	}
	return fmt.Sprintf("%s %q", k.subject, k.text())
}

// noun returns a word for what the key identifies: "message", "reasoning", "call" or "step".
func (k spanKey) noun() string {
	if k.subject == "tool" {
		return "call"
	}
	return k.subject
}

// eachPairEvent returns a newWatcherFunc that calls judge with each event e that starts, continues
// or ends a message, a section of reasoning, a tool call or a step. Only events with one of the
// given subjects are included; see [spec.Kind.Subject]. The argument key identifies the message,
// section, call or step, and isOpen reports whether it was open before e.
//
// The end of a run closes everything that is still open. Events between the end of a run and the
// start of the next one are left out because RunEndsInTurn reports them.
func eachPairEvent(
	judge func(p *spec.Pass, e spec.Event, key spanKey, isOpen bool), subjects ...string,
) newWatcherFunc {
	return eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		open, ended := map[spanKey]bool{}, false
		return func(e spec.Event) {
			key, ok := spanKeyOf(e)
			switch {
			case e.Kind == spec.RunStart:
				ended = false
			case isTerminal(e):
				ended = true
				clear(open)
			case ok && !ended && slices.Contains(subjects, key.subject):
				phase := e.Kind.Phase()
				if phase == "end" {
					key = key.ended(open)
				}
				judge(p, e, key, open[key])
				if phase == "end" {
					delete(open, key)
				} else if phase == "start" {
					open[key] = true
				}
			}
		}
	})
}

// MessageInTurn judges whether a message or section of reasoning is started only once before it
// ends, and whether its deltas and its end come only while it is open.
var MessageInTurn = &spec.Check{
	ID: "message.in-turn",
	Doc: `a message does not start while it is open, and has deltas and an end only while it is open

The same is required of sections of reasoning. The id of a message that has ended may be used again.`,
	Needs: []spec.Kind{spec.SlotMessage, spec.MessageStart, spec.MessageDelta, spec.MessageEnd},
	Watch: eachPairEvent(func(p *spec.Pass, e spec.Event, key spanKey, isOpen bool) {
		switch {
		case e.Implied:
		case e.Kind.Phase() == "start":
			p.Judge(e, !isOpen, "%s comes while %s is already open; expected its end first",
				displayName(e), key)
		case e.Kind.Phase() == "end":
			p.Judge(e, isOpen, "%s comes while %s is not open; expected one start before it, and no other end",
				displayName(e), key)
		default:
			p.Judge(e, isOpen, "%s comes while %s is not open; expected it after the start and before the end",
				displayName(e), key)
		}
	}, "message", "reasoning"),
}

// ToolStartsInTurn judges whether a tool call starts only while no call with the same id is open.
var ToolStartsInTurn = &spec.Check{
	ID:    "tool.starts-in-turn",
	Doc:   "a tool call starts only while no call with its id is open",
	Needs: []spec.Kind{spec.ToolStart, spec.ToolEnd},
	Watch: eachPairEvent(func(p *spec.Pass, e spec.Event, key spanKey, isOpen bool) {
		if e.Kind == spec.ToolStart && !e.Implied {
			p.Judge(e, !isOpen, "%s comes while call %q is already open; expected the call to end first",
				displayName(e), key.id)
		}
	}, "tool"),
}

// StepPairs judges whether a step starts only while no step with the same key is open, and ends
// only while it is open. For keys, see [spanKey].
var StepPairs = &spec.Check{
	ID: "step.pairs",
	Doc: `a step does not start while it is open, and ends only while it is open

Steps are identified by name or id. Steps with the same name are different steps if their events name
different subagents. Steps may be nested, may overlap, and may be repeated.`,
	Needs: []spec.Kind{spec.StepStart, spec.StepEnd},
	Watch: eachPairEvent(func(p *spec.Pass, e spec.Event, key spanKey, isOpen bool) {
		if e.Kind == spec.StepStart {
			p.Judge(e, !isOpen, "%s comes while %s is already open; expected its end first", displayName(e), key)
		} else {
			p.Judge(e, isOpen, "%s comes while %s is not open; expected its start first", displayName(e), key)
		}
	}, "step"),
}

// StepsAllEnd judges whether all steps of a run end before the run finishes.
var StepsAllEnd = &spec.Check{
	ID:    "step.all-end",
	Doc:   "every step ends before its run finishes, unless the run fails",
	Needs: []spec.Kind{spec.StepStart, spec.StepEnd, spec.RunEnd},
	Watch: eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
		var order []spanKey // the steps of the run, in order of their first start
		open := map[spanKey]bool{}
		return func(e spec.Event) {
			key, ok := spanKeyOf(e)
			switch {
			case e.Kind == spec.StepStart && ok:
				if _, known := open[key]; !known {
					order = append(order, key)
				}
				open[key] = true
			case e.Kind == spec.StepEnd && ok:
				if key = key.ended(open); open[key] {
					open[key] = false
				}
			case e.Kind == spec.RunEnd:
				for _, key := range order {
					p.Judge(e, !open[key], "run finished while %s was open; expected its end first", key)
				}
			}
			if isTerminal(e) {
				order = nil
				clear(open)
			}
		}
	}),
}
