package fault

import (
	"cmp"

	"github.com/streamassay/streamassay/spec"
)

// The faults that no function of event_editor.go describes: edits, which are arguments of
// editEvents and emit events with their argument r, and their helpers.

// startLate returns an edit function for editEvents that sends the first event of the run's
// content, such as the start of a message, before the events that start the run. It does not change
// a run without content.
func startLate(r *eventEditor) func(*spec.Event) {
	var held []spec.Event
	released := false
	return func(e *spec.Event) {
		switch {
		case released:
			r.emit(e)
			return
		case e.Kind.Subject() == "run" && !isTerminal(e):
			held = append(held, *e)
			return
		}
		released = true
		early := *e
		if isTerminal(e) { // a run without content stays as it is
			for i := range held {
				r.emit(&held[i])
			}
			r.emit(e)
			return
		}
		if len(held) > 0 {
			r.Applied()
			early.Seq = cmp.Or(held[0].Seq, e.Seq)
		}
		r.emit(&early)
		for i := range held {
			held[i].Seq = addToNumber(held[i].Seq, 1)
			r.emit(&held[i])
		}
	}
}

// repeatAtEnd returns an edit function for editEvents that sends an event again after the last
// event of the run. The repeated event is the last delta or, if the run has no delta, the last
// event before the terminal event.
func repeatAtEnd(r *eventEditor) func(*spec.Event) {
	var last, delta *spec.Event
	seq := ""
	r.atEnd = func() {
		switch {
		case delta != nil:
			r.insert(delta, seq)
		case last != nil:
			r.insert(last, seq)
		}
	}
	return func(e *spec.Event) {
		if e.Seq != "" {
			seq = e.Seq
		}
		if !isFinal(e) {
			if last = new(*e); isDelta(e) {
				delta = last
			}
		}
		r.pass(e)
	}
}

// failAndEnd returns an edit function for editEvents that makes a run both fail and end
// successfully: it sends an error event before the end event, or an end event after the error
// event.
func failAndEnd(r *eventEditor) func(*spec.Event) {
	return func(e *spec.Event) {
		if e.Kind == spec.RunEnd {
			r.insert(newFailure(e), addToNumber(e.Seq, -1))
		}
		r.pass(e)
		if e.Kind == spec.RunError {
			r.insert(&spec.Event{
				Kind: spec.RunEnd, Thread: e.Thread, Run: e.Run, Created: e.Created, Completed: e.Created, Seq: e.Seq,
			}, e.Seq)
		}
	}
}

// newFailure returns an error event with the text "the run failed" for the run to which e belongs.
func newFailure(e *spec.Event) *spec.Event { return newRunError(e, "the run failed", "") }

// newRunError returns an error event with the given text and code. Its run, thread, creation time
// and sequence number are those of e.
func newRunError(e *spec.Event, text, code string) *spec.Event {
	return &spec.Event{
		Kind: spec.RunError, Thread: e.Thread, Run: e.Run, Created: e.Created, Seq: e.Seq, Text: text, Code: code,
	}
}

// stackTrace is the error text that the stack-trace fault sends.
const stackTrace = "boom\n\nTraceback (most recent call last):\n" +
	"  File \"agent.py\", line 7, in run\n    raise RuntimeError('boom')"

// failRun returns a value for [Fault.NewEffect]. The effect sends an error event in place of the
// event at the trigger, and omits all later events. The text of the error event is the argument
// text followed by the fault's parameter "text"; its code is the parameter "code".
//
// If no trigger is set, the error event replaces the second event of the run's content, such as a
// message delta. If the content has fewer events, it replaces the last event of the run.
func failRun(text string) func(Args) Effect {
	return editEvents(func(r *eventEditor) func(*spec.Event) {
		n, contentEvents, failed, created := -1, 0, false, ""
		return func(e *spec.Event) {
			n++
			if failed {
				return
			}
			if e.Created != "" {
				created = e.Created
			}
			if e.Kind.Subject() != "run" {
				contentEvents++
			}
			if r.Trigger.Event >= 0 {
				failed = n >= r.Trigger.Event
			} else {
				failed = contentEvents > 1 || isFinal(e)
			}
			if !failed {
				r.emit(e)
				return
			}
			failure := newRunError(e, text+r.Strings["text"], r.Strings["code"])
			failure.Created = created
			r.replace(failure)
		}
	})
}

// repeatMessage returns an edit function for editEvents that repeats the start and end events of a
// message after the message has ended, so that they look like another message with the same id. The
// message is the first one that ends at or after the trigger.
func repeatMessage(r *eventEditor) func(*spec.Event) {
	var start *spec.Event
	isAffected := r.first(isMessageEnd)
	return func(e *spec.Event) {
		if isMessageStart(e) {
			start = new(*e)
		}
		r.pass(e)
		if !isAffected(e) {
			return
		}
		if start != nil && start.Message == e.Message {
			r.insert(start, e.Seq)
		}
		r.insert(e, e.Seq)
	}
}

// breakArguments returns an edit function for editEvents that appends a brace to the arguments of
// tool calls, so that they are not valid JSON. It changes each tool call that is a single event or
// a part of another event. Of the tool calls that are streamed as several events, it changes one:
// the first that ends at or after the trigger.
func breakArguments(r *eventEditor) func(*spec.Event) {
	isAffected := r.first(OfKind(spec.ToolEnd))
	breakCalls := r.changeParts(spec.ToolCall, func(p *spec.Event) (keep bool) {
		p.Text += "}"
		return true
	})
	return func(e *spec.Event) {
		if isAffected(e) {
			r.insert(&spec.Event{
				Kind: spec.ToolDelta, Thread: e.Thread, Run: e.Run,
				Message: e.Message, Call: e.Call, Text: "}", Seq: e.Seq,
			}, addToNumber(e.Seq, -1))
		}
		breakCalls(e)
	}
}

// dropResults returns an edit function for editEvents that drops all tool results, both events of
// the kind spec.ToolResult and parts of other events.
func dropResults(r *eventEditor) func(*spec.Event) {
	drop := r.changeParts(spec.ToolResult, func(*spec.Event) (keep bool) { return false })
	return func(e *spec.Event) {
		if e.Kind == spec.ToolResult {
			r.drop(e)
			return
		}
		drop(e)
	}
}

// renameResults returns an edit function for editEvents that changes the call id of each tool
// result to an id that no tool call has.
func renameResults(r *eventEditor) func(*spec.Event) {
	return r.changeParts(spec.ToolResult, func(p *spec.Event) (keep bool) {
		p.Call = unknownID
		return true
	})
}

// changeParts returns an edit function for editEvents that edits all tool calls, if kind is
// spec.ToolCall, or all tool results, if kind is spec.ToolResult. A tool call or result is an event
// or a part of an event. The edit function calls change with a copy p, which change may modify, and
// sends p instead of the original. If p is a part and change returns false, the part is left out.
// If p is an event, the result of change is ignored.
func (r *eventEditor) changeParts(kind spec.Kind, change func(p *spec.Event) (keep bool)) func(*spec.Event) {
	return func(e *spec.Event) {
		r.pass(mapEvent(e, func(p *spec.Event) bool {
			if p.Kind != kind {
				return true
			}
			r.Applied()
			return change(p)
		}))
	}
}

// shiftNumbers returns a value for [Fault.NewEffect]. The effect adds delta, which must be 1 or -1,
// to the sequence numbers of all events from the trigger on. If no trigger is set, it begins with
// the first text delta. If the first of these numbers is 0 and delta is -1, the effect changes
// nothing.
func shiftNumbers(delta int64) func(Args) Effect {
	return editEvents(func(r *eventEditor) func(*spec.Event) {
		isAffected := r.first(func(e *spec.Event) bool { return e.Seq != "" && r.isTarget(e) })
		return func(e *spec.Event) {
			if isAffected(e) && addToNumber(e.Seq, delta) != "-1" {
				r.Applied()
				r.shift += delta
			}
			r.pass(e)
		}
	})
}

// sendTwice returns an edit function for editEvents that sends one event twice with the same
// sequence number. That event is the first one, at or after the trigger, for which r.isTarget
// returns true.
func sendTwice(r *eventEditor) func(*spec.Event) {
	isAffected := r.first(r.isTarget)
	return func(e *spec.Event) {
		r.emit(e)
		if isAffected(e) {
			r.replace(e)
		}
	}
}

// lose returns an edit function for editEvents that omits the first event, at or after the trigger,
// for which r.isTarget returns true. The other events keep their sequence numbers, so that the
// number of the omitted event is missing.
func lose(r *eventEditor) func(*spec.Event) {
	isAffected := r.first(r.isTarget)
	return func(e *spec.Event) {
		if isAffected(e) {
			r.Applied()
			return
		}
		r.emit(e)
	}
}

// unknownID is an id that belongs to no message and no tool call. Faults use it in events that
// refer to a message or tool call that does not exist.
const unknownID = "nobody-told-of-this"

// similarID returns an id of the same form as id that differs from it in one letter or digit, so
// that a server or client must compare the whole ids to tell them apart. If id has no character
// that can be changed, similarID appends an "x" to it.
func similarID(id string) string {
	b := []byte(id)
	for i := len(b) - 1; i >= 0; i-- {
		switch {
		case b[i] >= '0' && b[i] < '9', b[i] >= 'a' && b[i] < 'f', b[i] >= 'g' && b[i] < 'z', b[i] >= 'A' && b[i] < 'Z':
			b[i]++
			return string(b)
		case b[i] == '9':
			b[i] = '0'
			return string(b)
		}
	}
	return id + "x"
}

// changeTexts appends a question mark to the text of each part of e that has a text, including
// parts of parts. It replaces e.Parts with a changed copy, so that other events with the same parts
// are not affected.
func changeTexts(e *spec.Event) {
	e.Parts = mapParts(e.Parts, func(p *spec.Event) (keep bool) {
		if p.Text != "" {
			p.Text += "?"
		}
		return true
	})
}

// mapEvent returns a copy of e that was edited by change. It calls change with the copy and with a
// copy of each of its parts, including parts of parts. A part for which keep is false is left out;
// for the event itself, keep is ignored. If e has no parts and is neither a tool call nor a tool
// result, mapEvent returns e without calling change.
func mapEvent(e *spec.Event, change func(p *spec.Event) (keep bool)) *spec.Event {
	if e.Parts == nil && e.Kind != spec.ToolCall && e.Kind != spec.ToolResult {
		return e
	}
	other := *e
	change(&other)
	other.Parts = mapParts(other.Parts, change)
	return &other
}

// mapParts returns a copy of list, a list of content parts, that was edited by change. It calls
// change with a copy of each part, including parts of parts, and leaves out the parts for which
// keep is false. If list is nil, the result is nil.
func mapParts(list []spec.Event, change func(p *spec.Event) (keep bool)) []spec.Event {
	if list == nil {
		return nil
	}
	out := make([]spec.Event, 0, len(list))
	for _, p := range list {
		if change(&p) {
			p.Parts = mapParts(p.Parts, change)
			out = append(out, p)
		}
	}
	return out
}
