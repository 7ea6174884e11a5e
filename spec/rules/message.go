package rules

import (
	"container/list"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

var messageChecks = []*spec.Check{
	MessageStartsFirst, MessageAnnounced, MessageClosed, MessageAppears, MessageUnambiguous, MessagesAllEnd, MessageIDsUnique, MessageContentEquals,
}

// isMessageContent says that an event is a piece of a message: a delta or a content.
func isMessageContent(e spec.Event) bool {
	switch e.Kind {
	case spec.MessageDelta, spec.ReasoningDelta, spec.ContentPart, spec.ContentEnd:
		return true
	case spec.ToolCall, spec.ToolResult:
		return e.Index != ""
	}
	return false
}

// isMessageStatus says that an event tells how a message stands.
func isMessageStatus(e spec.Event) bool {
	subject := e.Kind.Subject()
	return (subject == "message" || subject == "reasoning") && e.Kind.Phase() != "delta"
}

// eachResolvedStream lets a rule hear a content that names no message as one of the message that
// is open, if just one is: there is nothing else it could belong to.
func eachResolvedStream(w func(p *spec.Pass, request spec.Event) func(spec.Event)) watchFunc {
	return eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
		var tracker messageTracker
		observe := w(p, request)
		return func(e spec.Event) { observe(tracker.resolve(e)) }
	})
}

// A messageTracker knows which messages of a stream are open.
type messageTracker struct {
	openIDs  list.List // of their ids
	elements map[string]*list.Element
}

func (t *messageTracker) resolve(e spec.Event) spec.Event {
	switch {
	case isMessageStatus(e) && e.Message != "":
		if t.elements == nil {
			t.elements = map[string]*list.Element{}
		}
		element, open := t.elements[e.Message]
		if ended := e.Kind.Phase() == "end"; ended && open {
			t.openIDs.Remove(element)
			delete(t.elements, e.Message)
		} else if !ended && !open {
			t.elements[e.Message] = t.openIDs.PushBack(e.Message)
		}
	case isMessageContent(e) && e.Message == "" && t.openIDs.Len() == 1:
		e.Message = t.openIDs.Front().Value.(string)
	}
	return e
}

// A messageState is a message as far as a stream has told it.
type messageState struct{ opened, ended bool }

func (b *messageState) isOpen() bool { return b.opened && !b.ended }

// messageStates are the messages of a stream as far as it has told them.
type messageStates struct {
	byID      map[string]*messageState
	openCount int // how many of them are open
}

// eachMessageEvent lets a rule see, for each event of a stream, how the messages stand
// before it.
func eachMessageEvent(judge func(p *spec.Pass, e spec.Event, states *messageStates)) watchFunc {
	return eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		states := &messageStates{byID: map[string]*messageState{}}
		return func(e spec.Event) {
			judge(p, e, states)
			if isMessageStatus(e) && e.Message != "" {
				states.observe(e)
			}
		}
	})
}

func (s *messageStates) observe(e spec.Event) {
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

// MessageStartsFirst judges what is told of a message first.
var MessageStartsFirst = &spec.Check{
	ID: "message.starts-first",
	Doc: `what is told of a message first is that it starts

Not that it is under way, or has ended.`,
	Needs: []spec.Kind{spec.SlotMessage, spec.MessageStart, spec.MessageEnd},
	Watch: eachMessageEvent(func(p *spec.Pass, e spec.Event, states *messageStates) {
		if isMessageStatus(e) && e.Message != "" && states.byID[e.Message] == nil {
			p.Judge(e, e.Kind.Phase() == "start", "what is told of message %q first is %s", e.Message, e.DisplayName())
		}
	}),
}

// MessageAnnounced judges the order of a message and what is in it.
var MessageAnnounced = &spec.Check{
	ID: "message.announced",
	Doc: `a content or delta comes after the start of the message that it names

A client builds its view by appending to the message that a piece names; one that
never started is nowhere.`,
	Needs: []spec.Kind{spec.SlotMessage, spec.MessageDelta},
	Watch: eachMessageEvent(func(p *spec.Pass, e spec.Event, states *messageStates) {
		if isMessageContent(e) && e.Message != "" {
			b := states.byID[e.Message]
			p.Judge(e, b != nil, "a piece of message %q, which has not started", e.Message)
		}
	}),
}

// MessageClosed judges what comes for a message that has ended.
var MessageClosed = &spec.Check{
	ID:    "message.closed",
	Doc:   "no content or delta comes for a message that has ended",
	Needs: []spec.Kind{spec.SlotMessage, spec.MessageEnd},
	Watch: eachMessageEvent(func(p *spec.Pass, e spec.Event, states *messageStates) {
		if isMessageContent(e) && e.Message != "" {
			b := states.byID[e.Message]
			p.Judge(e, b == nil || !b.ended, "a piece of message %q, which has ended", e.Message)
		}
	}),
}

// MessageAppears judges whether the message of a content appears at all.
var MessageAppears = &spec.Check{
	ID:    "message.known",
	Doc:   "the message that contents name appears in the stream, before or after them",
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
					p.Judge(*named[id], known[id], "a piece of message %q, which never appears", id)
				}
			}
		}
	}),
}

// MessageUnambiguous judges contents that name no message.
var MessageUnambiguous = &spec.Check{
	ID:    "message.unambiguous",
	Doc:   "contents that name no message come while exactly one message is open",
	Needs: []spec.Kind{spec.SlotMessage, spec.MessageDelta},
	Watch: eachMessageEvent(func(p *spec.Pass, e spec.Event, states *messageStates) {
		if !isMessageContent(e) {
			return
		}
		if e.Message != "" {
			p.Judge(e, true, "")
			return
		}
		p.Judge(e, states.openCount == 1, "it names no message, and %d are open", states.openCount)
	}),
}

// MessagesAllEnd judges whether messages are closed.
var MessagesAllEnd = &spec.Check{
	ID: "message.all-end",
	Doc: `every message that started ends before its run ends well

A message left open leaves the client's view of it undefined.`,
	Needs: []spec.Kind{spec.MessageEnd, spec.RunEnd},
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var order []string
		opened, ended, keep := map[string]*spec.Event{}, map[string]bool{}, keeper(p)
		return func(e spec.Event) {
			switch {
			case isMessageStatus(e) && e.Kind.Phase() == "end":
				if ended[e.Message] = true; opened[e.Message] == nil {
					order, opened[e.Message] = append(order, e.Message), keep(e)
				}
			case isMessageStatus(e):
				if opened[e.Message] == nil {
					order, opened[e.Message] = append(order, e.Message), keep(e)
				}
			case e.Kind == spec.RunEnd:
				for _, id := range order {
					p.Judge(*opened[id], ended[id], "message %q never ended", id)
				}
				order = nil
			}
		}
	}),
}

// MessageIDsUnique judges the ids of messages.
var MessageIDsUnique = &spec.Check{
	ID:    "message.ids-unique",
	Doc:   "the id of a message that has ended is not used for another",
	Needs: []spec.Kind{spec.SlotMessage, spec.MessageEnd},
	Watch: eachMessageEvent(func(p *spec.Pass, e spec.Event, states *messageStates) {
		if isMessageStatus(e) && e.Message != "" {
			b := states.byID[e.Message]
			p.Judge(e, b == nil || !b.ended, "message %q had ended, and comes again as %s", e.Message, e.DisplayName())
		}
	}),
}

// MessageContentEquals judges the contents that the end of a message repeats.
var MessageContentEquals = &spec.Check{
	ID:    "message.content-equals",
	Doc:   "the contents that the end of a message repeats are the ones that were told",
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
				p.Judge(e, slices.EqualFunc(want, got, sameValue), "the contents %q were told, the message repeats %q", want, got)
				delete(contents, e.Message)
			}
		}
	}),
}

// messageContents is what a stream has told of one message's contents, by slot.
type messageContents struct {
	order     []string
	deltas    map[string]*strings.Builder
	completed map[string]string // what replaces the joined deltas
}

func newMessageContents() *messageContents {
	return &messageContents{deltas: map[string]*strings.Builder{}, completed: map[string]string{}}
}

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

// compareIndexes puts slots in order: 10 comes after 2.
func compareIndexes(a, b string) int {
	x, err := strconv.Atoi(a)
	y, err2 := strconv.Atoi(b)
	if err != nil || err2 != nil {
		return strings.Compare(a, b)
	}
	return x - y
}

// contentValue is what a content says, whatever its type. A result may leave out whose it is:
// its call says that.
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

func contentValues(parts []spec.Event) (all []string) {
	for _, part := range parts {
		all = append(all, contentValue(part))
	}
	return all
}

// sameValue compares contents; what is JSON is compared as JSON.
func sameValue(a, b string) bool { return a == b || sameJSON(a, b) }

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

func describeMessage(e spec.Event) string {
	return fmt.Sprintf("%s %s %q", e.Role, e.Type, contentValues(e.Parts))
}

func messageIDs(list []spec.Event) string {
	names := []string{}
	for _, e := range list {
		names = append(names, e.Message)
	}
	return "[" + strings.Join(names, " ") + "]"
}

// sameFrameData compares the bytes of two frames by what they say: the data as JSON,
// and no matter how its lines are ended.
func sameFrameData(a, b []byte) bool {
	x, y := frameData(a), frameData(b)
	return x == y || sameJSON(x, y)
}

func frameData(raw []byte) string {
	var lines []string
	for line := range strings.FieldsFuncSeq(string(raw), func(r rune) bool { return r == '\n' || r == '\r' }) {
		if data, ok := strings.CutPrefix(line, "data:"); ok {
			lines = append(lines, strings.TrimPrefix(data, " "))
		}
	}
	return strings.Join(lines, "\n")
}
