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

var messages = []*spec.Check{
	MessageStartsFirst, MessageAnnounced, MessageClosed, MessageKnown, MessageUnambiguous, MessagesAllEnd, MessageIDsUnique, MessageContentEquals,
}

// ofMessage says that an event is a piece of a message: a delta or a content.
func ofMessage(e spec.Event) bool {
	switch e.Kind {
	case spec.MessageDelta, spec.ReasoningDelta, spec.ContentPart, spec.ContentEnd:
		return true
	case spec.ToolCall, spec.ToolResult:
		return e.Index != ""
	}
	return false
}

// aboutMessage says that an event tells how a message stands.
func aboutMessage(e spec.Event) bool {
	thing := e.Kind.Thing()
	return (thing == "message" || thing == "reasoning") && e.Kind.Phase() != "delta"
}

// placed lets a rule hear a content that names no message as one of the message that
// is open, if just one is: there is nothing else it could belong to.
func placed(w func(p *spec.Pass, ask spec.Event) func(spec.Event)) watch {
	return tellings(func(p *spec.Pass, ask spec.Event) func(spec.Event) {
		var at placer
		hear := w(p, ask)
		return func(e spec.Event) { hear(at.place(e)) }
	})
}

// A placer knows which messages of a stream are open.
type placer struct {
	open  list.List // of their ids
	where map[string]*list.Element
}

func (at *placer) place(e spec.Event) spec.Event {
	switch {
	case aboutMessage(e) && e.Message != "":
		if at.where == nil {
			at.where = map[string]*list.Element{}
		}
		place, open := at.where[e.Message]
		if ended := e.Kind.Phase() == "end"; ended && open {
			at.open.Remove(place)
			delete(at.where, e.Message)
		} else if !ended && !open {
			at.where[e.Message] = at.open.PushBack(e.Message)
		}
	case ofMessage(e) && e.Message == "" && at.open.Len() == 1:
		e.Message = at.open.Front().Value.(string)
	}
	return e
}

// A block is a message as far as a stream has told it.
type block struct{ opened, ended bool }

func (b *block) open() bool { return b.opened && !b.ended }

// stands are the messages of a stream as far as it has told them.
type stands struct {
	of   map[string]*block
	open int // how many of them are open
}

// blocks lets a rule see, for each event of a stream, how the messages stand
// before it.
func blocks(judge func(p *spec.Pass, e spec.Event, stand *stands)) watch {
	return tellings(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		stand := &stands{of: map[string]*block{}}
		return func(e spec.Event) {
			judge(p, e, stand)
			if aboutMessage(e) && e.Message != "" {
				stand.hear(e)
			}
		}
	})
}

func (s *stands) hear(e spec.Event) {
	b := s.of[e.Message]
	if b == nil {
		b = &block{}
		s.of[e.Message] = b
	}
	was := b.open()
	if e.Kind.Phase() == "end" {
		b.ended = true
	} else {
		b.opened = true
	}
	switch is := b.open(); {
	case is && !was:
		s.open++
	case was && !is:
		s.open--
	}
}

// MessageStartsFirst judges what is told of a message first.
var MessageStartsFirst = &spec.Check{
	ID: "message.starts-first",
	Doc: `what is told of a message first is that it starts

Not that it is under way, or has ended.`,
	Needs: []spec.Kind{spec.SlotMessage, spec.MessageStart, spec.MessageEnd},
	Watch: blocks(func(p *spec.Pass, e spec.Event, stand *stands) {
		if aboutMessage(e) && e.Message != "" && stand.of[e.Message] == nil {
			p.Judge(e, e.Kind.Phase() == "start", "what is told of message %q first is %s", e.Message, e.What())
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
	Watch: blocks(func(p *spec.Pass, e spec.Event, stand *stands) {
		if ofMessage(e) && e.Message != "" {
			b := stand.of[e.Message]
			p.Judge(e, b != nil, "a piece of message %q, which has not started", e.Message)
		}
	}),
}

// MessageClosed judges what comes for a message that has ended.
var MessageClosed = &spec.Check{
	ID:    "message.closed",
	Doc:   "no content or delta comes for a message that has ended",
	Needs: []spec.Kind{spec.SlotMessage, spec.MessageEnd},
	Watch: blocks(func(p *spec.Pass, e spec.Event, stand *stands) {
		if ofMessage(e) && e.Message != "" {
			b := stand.of[e.Message]
			p.Judge(e, b == nil || !b.ended, "a piece of message %q, which has ended", e.Message)
		}
	}),
}

// MessageKnown judges whether the message of a content appears at all.
var MessageKnown = &spec.Check{
	ID:    "message.known",
	Doc:   "the message that contents name appears in the stream, before or after them",
	Needs: []spec.Kind{spec.SlotMessage, spec.MessageDelta},
	Watch: tellings(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		known := map[string]bool{}
		named, keep := map[string]*spec.Event{}, keeper(p)
		var order []string
		return func(e spec.Event) {
			switch {
			case aboutMessage(e):
				known[e.Message] = true
			case ofMessage(e) && e.Message != "":
				if _, ok := named[e.Message]; !ok {
					order = append(order, e.Message)
					named[e.Message] = keep(e)
				}
			case whole(e):
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
	Watch: blocks(func(p *spec.Pass, e spec.Event, stand *stands) {
		if !ofMessage(e) {
			return
		}
		if e.Message != "" {
			p.Judge(e, true, "")
			return
		}
		p.Judge(e, stand.open == 1, "it names no message, and %d are open", stand.open)
	}),
}

// MessagesAllEnd judges whether messages are closed.
var MessagesAllEnd = &spec.Check{
	ID: "message.all-end",
	Doc: `every message that started ends before its run ends well

A message left open leaves the client's view of it undefined.`,
	Needs: []spec.Kind{spec.MessageEnd, spec.RunEnd},
	Watch: tellings(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var order []string
		opened, ended, keep := map[string]*spec.Event{}, map[string]bool{}, keeper(p)
		return func(e spec.Event) {
			switch {
			case aboutMessage(e) && e.Kind.Phase() == "end":
				if ended[e.Message] = true; opened[e.Message] == nil {
					order, opened[e.Message] = append(order, e.Message), keep(e)
				}
			case aboutMessage(e):
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
	Watch: blocks(func(p *spec.Pass, e spec.Event, stand *stands) {
		if aboutMessage(e) && e.Message != "" {
			b := stand.of[e.Message]
			p.Judge(e, b == nil || !b.ended, "message %q had ended, and comes again as %s", e.Message, e.What())
		}
	}),
}

// MessageContentEquals judges the contents that the end of a message repeats.
var MessageContentEquals = &spec.Check{
	ID:    "message.content-equals",
	Doc:   "the contents that the end of a message repeats are the ones that were told",
	Needs: []spec.Kind{spec.SlotMessage, spec.MessageEnd},
	Watch: placed(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		told := map[string]*told{}
		return func(e spec.Event) {
			switch {
			case ofMessage(e) && e.Message != "":
				if told[e.Message] == nil {
					told[e.Message] = newTold()
				}
				told[e.Message].hear(e)
			case aboutMessage(e) && e.Kind.Phase() == "end" && len(e.Parts) > 0 && told[e.Message] != nil:
				want, got := told[e.Message].values(), partValues(e.Parts)
				p.Judge(e, slices.EqualFunc(want, got, sameValue), "the contents %q were told, the message repeats %q", want, got)
				delete(told, e.Message)
			}
		}
	}),
}

// told is what a stream has told of one message's contents, by slot.
type told struct {
	order []string
	text  map[string]*strings.Builder
	value map[string]string // what replaces the joined deltas
}

func newTold() *told {
	return &told{text: map[string]*strings.Builder{}, value: map[string]string{}}
}

func (t *told) hear(e spec.Event) {
	if t.text[e.Index] == nil {
		t.order = append(t.order, e.Index)
		t.text[e.Index] = &strings.Builder{}
	}
	switch {
	case e.Kind == spec.MessageDelta || e.Kind == spec.ReasoningDelta:
		t.text[e.Index].WriteString(e.Text)
	case value(e) != "":
		t.value[e.Index] = value(e)
	}
}

func (t *told) values() (all []string) {
	slices.SortStableFunc(t.order, byNumber)
	for _, slot := range t.order {
		if v, ok := t.value[slot]; ok {
			all = append(all, v)
		} else {
			all = append(all, t.text[slot].String())
		}
	}
	return all
}

// byNumber puts slots in order: 10 comes after 2.
func byNumber(a, b string) int {
	x, err := strconv.Atoi(a)
	y, err2 := strconv.Atoi(b)
	if err != nil || err2 != nil {
		return strings.Compare(a, b)
	}
	return x - y
}

// value is what a content says, whatever its type. A result may leave out whose it is:
// its call says that.
func value(e spec.Event) string {
	name := e.Name
	if e.Kind == spec.ToolResult {
		name = ""
	}
	if e.Call == "" && name == "" {
		return e.Text
	}
	return strings.TrimSpace(name + " " + e.Call + " " + e.Text)
}

func partValues(parts []spec.Event) (all []string) {
	for _, part := range parts {
		all = append(all, value(part))
	}
	return all
}

// sameValue compares contents; what is JSON is compared as JSON.
func sameValue(a, b string) bool { return a == b || sameJSON(a, b) }

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

func describe(e spec.Event) string {
	return fmt.Sprintf("%s %s %q", e.Role, e.Type, partValues(e.Parts))
}

func ids(names []string) string { return "[" + strings.Join(names, " ") + "]" }

// sameFrame compares the bytes of two frames by what they say: the data as JSON,
// and no matter how its lines are ended.
func sameFrame(a, b []byte) bool {
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
