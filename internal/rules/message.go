package rules

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

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
	order []string            // ids in the order in which the messages started; some may no longer be open
}

// resolve updates the tracker with e and returns e, with its message id filled in if possible: if e
// has content but names no message, and exactly one message is open, the returned event has the id
// of that message.
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
	case isMessageContent(e) && e.Message == "" && len(t.open) == 1:
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

// A messageState tells whether a message has started and whether it has ended, at a certain point
// of its stream.
type messageState struct{ opened, ended bool }

// isOpen reports whether the message has started and has not ended.
func (b *messageState) isOpen() bool { return b.opened && !b.ended }

// A messageStates holds the state of each message of the current stream, and the number of open
// messages, as they were before the current event.
type messageStates struct {
	byID      map[string]*messageState
	openCount int

	streams *streamAccount
	pending spec.Event // the current event, if it is about the status of a message
}

// messageStatesOf returns the states of the messages in the conversation to which p applies. All
// passes over that conversation get the same value; see [spec.Shared].
func messageStatesOf(p *spec.Pass) *messageStates {
	streams := streamsOf(p)
	return spec.Shared(p, "message states", func() (*messageStates, func(spec.Event)) {
		s := &messageStates{streams: streams}
		return s, s.observe
	})
}

// observe updates the states with the previous event and makes e the current event. At the start of
// a stream, it removes all states.
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

// eachMessageEvent returns a checkFunc that calls judge with each event e of a stream. The argument
// states holds the states of the messages before e. All checks share it, so judge must not modify
// it.
func eachMessageEvent(judge func(p *spec.Pass, e spec.Event, states *messageStates)) checkFunc {
	return func(p *spec.Pass) func(spec.Event) {
		states := messageStatesOf(p)
		return eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
			return func(e spec.Event) { judge(p, e, states) }
		})(p)
	}
}

// update updates the state of the message that e names, and s.openCount. The event e must be about
// the status of a message.
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

// MessageStartsFirst judges whether the first event about the status of each message (see
// isMessageStatus) is the start of the message.
var MessageStartsFirst = &spec.Check{
	ID: "message.starts-first",
	Doc: `the first status event of a message is its start

It does not begin in progress or ended.`,
	Needs: []spec.Kind{spec.SlotMessage, spec.MessageStart, spec.MessageEnd},
	Watch: eachMessageEvent(func(p *spec.Pass, e spec.Event, states *messageStates) {
		if isMessageStatus(e) && e.Message != "" && states.byID[e.Message] == nil {
			p.Judge(e, e.Kind.Phase() == "start",
				"first status event of message %q is %s; expected its start", e.Message, displayName(e).quoted())
		}
	}),
}

// MessageAnnounced judges whether each delta or other content of a message comes after an event
// that announces the message. Any event about the status of the message (see isMessageStatus)
// announces it; MessageStartsFirst judges whether the first such event is its start.
var MessageAnnounced = &spec.Check{
	ID: "message.announced",
	Doc: `a content or delta comes after the start of the message that it names

Clients append it to that message and have nothing to append to before.`,
	Needs: []spec.Kind{spec.SlotMessage, spec.MessageDelta},
	Watch: eachMessageEvent(func(p *spec.Pass, e spec.Event, states *messageStates) {
		if isMessageContent(e) && e.Message != "" {
			b := states.byID[e.Message]
			p.Judge(e, b != nil, "%s comes before message %q started; expected the start first", displayName(e), e.Message)
		}
	}),
}

// MessageClosed judges whether all content of a message comes before the end of the message.
var MessageClosed = &spec.Check{
	ID:    "message.closed",
	Doc:   "a message that has ended gets no further content or delta",
	Needs: []spec.Kind{spec.SlotMessage, spec.MessageEnd},
	Watch: eachMessageEvent(func(p *spec.Pass, e spec.Event, states *messageStates) {
		if isMessageContent(e) && e.Message != "" {
			b := states.byID[e.Message]
			p.Judge(e, b == nil || !b.ended,
				"%s comes after message %q ended; expected no further content", displayName(e), e.Message)
		}
	}),
}

// MessageAppears judges whether each message that some content names also has an event about its
// status (see isMessageStatus) in the stream, before or after that content.
var MessageAppears = &spec.Check{
	ID:    "message.known",
	Doc:   "every message that a content names appears in the stream, before or after it",
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
						"%s names message %q; expected that message in the stream", displayName(*named[id]), id)
				}
			}
		}
	}),
}

// MessageUnambiguous judges whether content that names no message is sent only while exactly one
// message is open.
var MessageUnambiguous = &spec.Check{
	ID:    "message.unambiguous",
	Doc:   "a content that names no message is sent only while exactly one message is open",
	Needs: []spec.Kind{spec.SlotMessage, spec.MessageDelta},
	Watch: eachMessageEvent(func(p *spec.Pass, e spec.Event, states *messageStates) {
		if !isMessageContent(e) {
			return
		}
		if e.Message != "" {
			p.Judge(e, true, "")
			return
		}
		p.Judge(e, states.openCount == 1, "%s names no message while %d are open; expected exactly one open message",
			displayName(e), states.openCount)
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
					p.Judge(e, ended[key], "run finished while message %q was open; expected the message to end first", key.message)
				}
				order = nil
				clear(ended)
			}
		}
	}),
}

// MessageIDsUnique judges whether the id of a message that has ended is not used again.
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
			p.Judge(e, false, "%s repeats the end of message %q; expected one end per message", displayName(e), e.Message)
			return
		}
		p.Judge(e, isNew, "%s reuses the id %q of a message that has already ended; expected a new id",
			displayName(e), e.Message)
	}),
}

// MessageContentEquals judges whether the content parts that the end of a message repeats equal
// those that were streamed.
var MessageContentEquals = &spec.Check{
	ID:    "message.content-equals",
	Doc:   "the contents that the end of a message repeats equal the streamed ones",
	Needs: []spec.Kind{spec.SlotMessage, spec.MessageEnd},
	Watch: eachResolvedStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		contents := map[string]*messageContents{}
		return func(e spec.Event) {
			switch {
			case isMessageContent(e) && e.Message != "":
				if contents[e.Message] == nil {
					contents[e.Message] = newMessageContents()
				}
				contents[e.Message].observe(e)
			case isMessageStatus(e) && e.Kind.Phase() == "end" && len(e.Parts) > 0 && contents[e.Message] != nil:
				want, got := contents[e.Message].values(), contentValues(e.Parts)
				same, repeated, streamed := slices.EqualFunc(want, got, sameValue), "", ""
				if !same {
					repeated, streamed = quotePairs(got, want)
				}
				p.Judge(e, same, "%s repeats the contents %s; expected %s, as they were streamed",
					displayName(e), repeated, streamed)
				delete(contents, e.Message)
			}
		}
	}),
}

// A messageContents collects the content parts of one message as they are streamed. It identifies
// them by their index.
type messageContents struct {
	order     []string                    // indexes, in order of appearance
	deltas    map[string]*strings.Builder // by index: the joined deltas
	completed map[string]string           // by index: a complete content, used in place of the joined deltas
}

// newMessageContents returns an empty messageContents.
func newMessageContents() *messageContents {
	return &messageContents{deltas: map[string]*strings.Builder{}, completed: map[string]string{}}
}

// observe adds the content of e, which must be an event for which isMessageContent returns true.
func (t *messageContents) observe(e spec.Event) {
	if t.deltas[e.Index] == nil {
		t.order = append(t.order, e.Index)
		t.deltas[e.Index] = &strings.Builder{}
	}
	switch {
	case e.Kind == spec.MessageDelta || e.Kind == spec.ReasoningDelta:
		t.deltas[e.Index].WriteString(e.Text)
	case contentValue(e) != "":
		t.completed[e.Index] = contentValue(e)
	}
}

// values returns the value of each content part, in the order of the indexes. The value of a part
// is the complete content if there was one, and otherwise the joined deltas. As a side effect,
// values sorts t.order.
func (t *messageContents) values() (all []string) {
	slices.SortStableFunc(t.order, compareIndexes)
	for _, index := range t.order {
		if v, ok := t.completed[index]; ok {
			all = append(all, v)
		} else {
			all = append(all, t.deltas[index].String())
		}
	}
	return all
}

// compareIndexes compares two indexes of content parts, as numbers or, if either of them is not a
// number, as text. The result is negative if a comes first, positive if b comes first, and 0 if
// they are equal.
func compareIndexes(a, b string) int {
	x, err := strconv.Atoi(a)
	y, err2 := strconv.Atoi(b)
	if err != nil || err2 != nil {
		return strings.Compare(a, b)
	}
	return x - y
}

// contentValue returns the value of e, a content part of any type, as text. The value of a tool
// call consists of the name of the tool, the call id and the arguments. The value of a tool result
// consists of the call id and the result, but not the name of the tool, which is optional. The
// value of any other content part is its text.
func contentValue(e spec.Event) string {
	name := e.Name
	if e.Kind == spec.ToolResult {
		name = ""
	}
	if e.Call == "" && name == "" {
		return e.Text
	}
	return strings.TrimSpace(name + " " + e.Call + " " + e.Text)
}

// contentValues returns the result of contentValue for each part, in order.
func contentValues(parts []spec.Event) (all []string) {
	for _, part := range parts {
		all = append(all, contentValue(part))
	}
	return all
}

// sameValue reports whether a and b, the values of two content parts, are equal as text or as JSON.
func sameValue(a, b string) bool { return a == b || sameJSON(a, b) }

// sameJSON reports whether a and b are valid JSON texts with equal values. White space and the
// order of members do not matter.
func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// describeMessage returns role, kind and contents, separated by spaces, as the description of a
// message for a finding. The argument kind is the type of the message, and contents describes its
// content parts. Empty arguments are left out.
func describeMessage(role, kind, contents string) string {
	return strings.Join(slices.DeleteFunc([]string{role, kind, contents}, func(s string) bool { return s == "" }), " ")
}

// describeMessageIDs returns the message ids as a comma-separated list for a finding. Each id is
// quoted and listed once, in the order of first appearance. An id that occurs several times is
// followed by the number of times.
func describeMessageIDs(ids []string) string {
	counts := map[string]int{}
	for _, id := range ids {
		counts[id]++
	}
	var texts []string
	for _, id := range ids {
		switch n := counts[id]; {
		case n == 1:
			texts = append(texts, strconv.Quote(id))
		case n > 1:
			texts = append(texts, fmt.Sprintf("%q (%d times)", id, n))
		}
		delete(counts, id)
	}
	return strings.Join(texts, ", ")
}

// sameFrameData reports whether two frames carry the same data. The arguments are the bytes of the
// frames. If the data of both are JSON, their values are compared, and otherwise their lines,
// regardless of how these end.
func sameFrameData(a, b []byte) bool {
	x, y := frameData(a), frameData(b)
	return x == y || sameJSON(x, y)
}

// frameData returns the data of the frame with the bytes raw: the values of its data lines, joined
// by newlines.
func frameData(raw []byte) string {
	var lines []string
	for line := range strings.FieldsFuncSeq(string(raw), func(r rune) bool { return r == '\n' || r == '\r' }) {
		if data, ok := strings.CutPrefix(line, "data:"); ok {
			lines = append(lines, strings.TrimPrefix(data, " "))
		}
	}
	return strings.Join(lines, "\n")
}
