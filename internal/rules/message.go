package rules

import (
	"github.com/streamassay/streamassay/spec"
)

var messageChecks = []*spec.Check{
	MessageStartsFirst, MessageAnnounced, MessageClosed, MessageAppears, MessageUnambiguous, MessagesAllEnd,
	MessageIDsUnique, MessageIDsFresh, MessageContentEquals, MessageKeepsRoleAndType,
}

// isMessageContent reports whether e belongs to the content of a message: a delta, a content part,
// or a tool call or tool result that has an index in a message.
func isMessageContent(e spec.Event) bool {
	switch e.Kind {
	case spec.MessageDelta, spec.ReasoningDelta, spec.ContentPart, spec.ContentEnd:
		return true
	case spec.ToolCall, spec.ToolResult:
		return e.Index != ""
	}
	return false
}

// isMessageStatus reports whether e is about the status of a message or of a section of reasoning:
// its start, progress or end.
func isMessageStatus(e spec.Event) bool {
	subject := e.Kind.Subject()
	return (subject == "message" || subject == "reasoning") && e.Kind.Phase() != "delta"
}

// A messageTracker tracks which messages of a stream are open. The zero value is ready to use.
type messageTracker struct {
	open  map[string]struct{} // by message id
	order []string            // ids of the open messages, and of some that have ended, in order of their start
}

// resolve updates the tracker with e, the next event of the stream, and returns e. If e has
// content of a message but no message id, and exactly one message is open, the result has the id of
// that message. Reasoning without an id may come while a message is open, and does not belong to it.
func (t *messageTracker) resolve(e spec.Event) spec.Event {
	switch {
	case isMessageStatus(e) && e.Message != "":
		if t.open == nil {
			t.open = map[string]struct{}{}
		}
		if e.Kind.Phase() == "end" {
			delete(t.open, e.Message)
		} else if _, isOpen := t.open[e.Message]; !isOpen {
			t.open[e.Message] = struct{}{}
			t.order = append(t.order, e.Message)
		}
	case isMessageContent(e) && e.Message == "" && e.Kind.Subject() != "reasoning" && len(t.open) == 1:
		for {
			if _, isOpen := t.open[t.order[0]]; isOpen {
				break
			}
			t.order = t.order[1:]
		}
		e.Message = t.order[0]
	}
	return e
}

// A messageState records whether a message has started and whether it has ended.
type messageState struct{ opened, ended bool }

// isOpen reports whether the message has started and has not ended.
func (b *messageState) isOpen() bool { return b.opened && !b.ended }

// A messageStates holds the state of each message of the current stream. It does not yet include
// the current event.
type messageStates struct {
	byID      map[string]*messageState // by message id
	openCount int                      // number of open messages

	streams *initialStreamTracker // determines which event opens a stream, and which events belong to it
	pending spec.Event            // a status event that the states do not yet include; its Kind is "" if there is none
}

// messageStatesOf returns the states of the messages in the conversation. All checks share the
// value, so they must not modify it.
func messageStatesOf(p *spec.Pass) *messageStates {
	streams := streamsOf(p)
	return spec.Shared(p, "message states", func() (*messageStates, func(spec.Event)) {
		s := &messageStates{streams: streams}
		return s, s.observe
	})
}

// observe makes e the current event: it adds the previous event to the states. At the start of a
// stream, it removes all states.
func (s *messageStates) observe(e spec.Event) {
	if s.pending.Kind != "" {
		s.update(s.pending)
		s.pending.Kind = ""
	}
	switch {
	case s.streams.opens:
		s.byID, s.openCount = map[string]*messageState{}, 0
	case s.streams.sees(e) && isMessageStatus(e) && e.Message != "":
		s.pending = e
	}
}

// eachMessageEvent returns a newWatcherFunc that calls judge with each event e of a stream. The
// argument states holds the states of the messages and does not yet include e. All checks share
// it, so judge must not modify it.
func eachMessageEvent(judge func(p *spec.Pass, e spec.Event, states *messageStates)) newWatcherFunc {
	return func(p *spec.Pass) func(spec.Event) {
		states := messageStatesOf(p)
		return eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
			return func(e spec.Event) { judge(p, e, states) }
		})(p)
	}
}

// update adds e, an event about the status of a message, to the states.
func (s *messageStates) update(e spec.Event) {
	b := s.byID[e.Message]
	if b == nil {
		b = &messageState{}
		s.byID[e.Message] = b
	}
	wasOpen := b.isOpen()
	if e.Kind.Phase() == "end" {
		b.ended = true
	} else {
		b.opened = true
	}
	switch isOpen := b.isOpen(); {
	case isOpen && !wasOpen:
		s.openCount++
	case wasOpen && !isOpen:
		s.openCount--
	}
}

// MessageStartsFirst judges whether the first event about the status of each message (its start,
// progress or end) is the start of the message.
var MessageStartsFirst = &spec.Check{
	ID: "message.starts-first",
	Doc: `the first status event of a message is its start

The first status of a message must not be in progress or ended.`,
	Needs: []spec.Kind{spec.SlotMessage, spec.MessageStart, spec.MessageEnd},
	Watch: eachMessageEvent(func(p *spec.Pass, e spec.Event, states *messageStates) {
		if isMessageStatus(e) && e.Message != "" && states.byID[e.Message] == nil {
			p.Judge(e, e.Kind.Phase() == "start",
				"first status event of %s is %s; expected the one that starts it", messageName(e.Message), displayName(e).quoted())
		}
	}),
}

// MessageAnnounced judges whether each delta or other content of a message comes after an event
// that announces the message. Any event about the status of the message (its start, progress or
// end) announces it; MessageStartsFirst judges whether the first such event is its start.
var MessageAnnounced = &spec.Check{
	ID: "message.announced",
	Doc: `a content part or delta comes after the start of the message that it names

Clients create a message at its start, and then append content parts and deltas to it.`,
	Needs: []spec.Kind{spec.SlotMessage, spec.MessageDelta},
	Watch: eachMessageEvent(func(p *spec.Pass, e spec.Event, states *messageStates) {
		if isMessageContent(e) && e.Message != "" {
			b := states.byID[e.Message]
			p.Judge(e, b != nil, "%s is of message %q, which has not started in this stream; expected its start first",
				displayName(e), e.Message)
		}
	}),
}

// MessageClosed judges whether all content of a message comes before the end of the message.
var MessageClosed = &spec.Check{
	ID:    "message.closed",
	Doc:   "no content part or delta of a message comes after the end of the message",
	Needs: []spec.Kind{spec.SlotMessage, spec.MessageEnd},
	Watch: eachMessageEvent(func(p *spec.Pass, e spec.Event, states *messageStates) {
		if isMessageContent(e) && e.Message != "" {
			b := states.byID[e.Message]
			p.Judge(e, b == nil || !b.ended,
				"%s comes after %s ended; expected no further content", displayName(e), messageName(e.Message))
		}
	}),
}

// MessageAppears judges whether each message that a content part or delta names also has an event
// about its status (its start, progress or end) anywhere in the stream.
var MessageAppears = &spec.Check{
	ID:    "message.known",
	Doc:   "every message that a content part or delta names is started, continued or ended in the same stream",
	Needs: []spec.Kind{spec.SlotMessage, spec.MessageDelta},
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		known := map[string]bool{}
		named, keep := map[string]*spec.Event{}, keeper(p)
		var order []string
		return func(e spec.Event) {
			switch {
			case isMessageStatus(e):
				known[e.Message] = true
			case isMessageContent(e) && e.Message != "":
				if _, ok := named[e.Message]; !ok {
					order = append(order, e.Message)
					named[e.Message] = keep(e)
				}
			case isCleanEnd(e):
				for _, id := range order {
					p.Judge(*named[id], known[id],
						"%s names message %q, which is not in the stream; expected that message before the end", displayName(*named[id]), id)
				}
			}
		}
	}),
}

// MessageUnambiguous judges whether content that names no message is sent only while exactly one
// message is open.
var MessageUnambiguous = &spec.Check{
	ID:    "message.unambiguous",
	Doc:   "a content part or delta that names no message is sent only while exactly one message is open",
	Needs: []spec.Kind{spec.SlotMessage, spec.MessageDelta},
	Watch: eachMessageEvent(func(p *spec.Pass, e spec.Event, states *messageStates) {
		if isMessageContent(e) {
			p.Judge(e, e.Message != "" || states.openCount == 1,
				"%s names no message while %d are open; expected exactly one open message", displayName(e), states.openCount)
		}
	}),
}

// MessagesAllEnd judges whether all messages of a run end before the run finishes.
var MessagesAllEnd = &spec.Check{
	ID: "message.all-end",
	Doc: `every message ends before its run finishes

A client cannot tell whether a message that is left open is complete.`,
	Needs: []spec.Kind{spec.MessageEnd, spec.RunEnd},
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var order []spanKey         // the messages since the last end of a run, in order of appearance
		ended := map[spanKey]bool{} // those in order
		return func(e spec.Event) {
			switch key := (spanKey{subject: e.Kind.Subject(), message: e.Message}); {
			case isMessageStatus(e):
				if _, known := ended[key]; !known {
					order = append(order, key)
				}
				ended[key] = (ended[key] || e.Kind.Phase() == "end") && e.Kind.Phase() != "start"
			case e.Kind == spec.RunEnd:
				for _, key := range order {
					p.Judge(e, ended[key],
						"run finished while %s was open; expected the message to end first", messageName(key.message))
				}
				order = nil
				clear(ended)
			}
		}
	}),
}

// MessageIDsUnique judges whether the id of a message that has ended is never used again.
var MessageIDsUnique = &spec.Check{
	ID:    "message.ids-unique",
	Doc:   "the id of a message that has ended is not used again",
	Needs: []spec.Kind{spec.SlotMessage, spec.MessageEnd},
	Watch: eachMessageEvent(func(p *spec.Pass, e spec.Event, states *messageStates) {
		if !isMessageStatus(e) || e.Message == "" {
			return
		}
		b := states.byID[e.Message]
		isNew := b == nil || !b.ended
		if !isNew && e.Kind.Phase() == "end" {
			p.Judge(e, false, "%s ends %s again; expected one end, or a new id if this is another message",
				displayName(e), messageName(e.Message))
			return
		}
		p.Judge(e, isNew, "%s reuses the id %q of a message that has already ended; expected a new id",
			displayName(e), e.Message)
	}),
}
