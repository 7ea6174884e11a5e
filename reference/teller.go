package reference

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// A teller tells one run in the words of a dialect: it turns what an agent says
// into what there are words for, and adds what agents need not think of: ids,
// numbers, times, and what is told again as a whole.
type teller struct {
	*voice
	thread, run string
	now         func() time.Time
	add         func(*spec.Event) // tells one event, which it does not keep
	said        recorder
	in          spec.Event // what was said last
	next, out   spec.Event // what is told next, and as it is told: here, for they are large

	created     string // when the run began, as the dialect spells it
	seq         int64
	begun, over bool
	open        []*message
	done        []spec.Event // messages that were completed, in order
	pending     map[string]*spec.Event
}

// A message is one that is open.
type message struct {
	start spec.Event
	parts []spec.Event    // its contents so far
	text  strings.Builder // the text content under way
	under bool            // there is one
}

func (v *voice) teller(thread, run string, now func() time.Time, add func(*spec.Event)) *teller {
	return &teller{
		voice: v, thread: thread, run: run, now: now, add: add,
		said: recorder{run: run, now: now},
	}
}

// hear takes what the agent says. Nothing counts after the end.
func (t *teller) hear(e spec.Event) { t.listen(&e) }

func (t *teller) listen(e *spec.Event) {
	if t.over {
		return
	}
	if !t.begun {
		t.begin()
	}
	if thing := e.Kind.Subject(); thing == "reasoning" && !t.reasoning {
		e.Kind = spec.Kind("message." + e.Kind.Phase())
	}
	switch e.Kind {
	case spec.MessageStart, spec.ReasoningStart:
		t.message(e.Kind, e.Message, e.Role, e.Type)
	case spec.MessageDelta, spec.ReasoningDelta:
		t.delta(e)
	case spec.ContentPart, spec.ContentEnd:
		t.content(e)
	case spec.MessageEnd, spec.ReasoningEnd:
		t.end(t.message(e.Kind, e.Message, e.Role, e.Type))
	case spec.ToolStart, spec.ToolDelta, spec.ToolEnd:
		t.invoke(e)
	case spec.ToolResult:
		t.said.result(e)
		t.inside(e, t.result)
	case spec.Interrupt:
		t.interrupted(e)
	case spec.RunEnd, spec.RunError:
		t.finish(e)
	case spec.Undecodable: // a frame as it is
		t.add(e)
	case spec.RunProgress, spec.StepStart, spec.StepEnd:
		if t.op.CanEncode(*e) {
			t.say(e)
		}
	}
}

// say tells an event with what all events carry.
func (t *teller) say(e *spec.Event) {
	t.out = *e
	t.out.Thread, t.out.Run = t.thread, t.run
	t.out.Seq = strconv.FormatInt(t.seq, 10)
	if t.out.Kind.Subject() == "run" {
		t.out.Created = t.created
	}
	t.seq++
	t.add(&t.out)
}

func (t *teller) begin() {
	t.begun = true
	t.created = t.op.FormatTime(spec.RunStart, "created", t.now())
	start := spec.Event{Kind: spec.RunStart}
	if t.op.CanEncode(start) {
		for range t.times {
			t.seq = 0 // it is the same event each time
			t.say(&start)
		}
	}
	if t.progress {
		t.say(&spec.Event{Kind: spec.RunProgress})
	}
}

// message is the open message that e is about; it is opened if there is none.
func (t *teller) message(k spec.Kind, id, role, kind string) *message {
	i := slices.IndexFunc(t.open, func(m *message) bool { return m.start.Message == id })
	if i >= 0 {
		return t.open[i]
	}
	starts := spec.MessageStart
	if k.Subject() == "reasoning" {
		starts = spec.ReasoningStart
	}
	m := &message{start: spec.Event{Kind: starts, Message: id, Role: role, Type: kind}}
	t.open = append(t.open, m)
	if t.opens {
		t.say(&m.start)
	}
	return m
}

// about makes e an event of a kind about a content of the message, the next one.
func (m *message) about(e *spec.Event, k spec.Kind) {
	*e = spec.Event{Kind: k, Message: m.start.Message, Index: strconv.Itoa(len(m.parts))}
}

func (t *teller) delta(e *spec.Event) { t.piece(e.Kind, e.Message, e.Role, e.Text) }

func (t *teller) piece(k spec.Kind, id, role, text string) {
	m := t.message(k, id, role, "")
	m.under = true
	m.text.WriteString(text)
	if k.Subject() == "message" {
		t.said.text(id, text)
	}
	m.about(&t.next, k)
	t.next.Text = text
	t.say(&t.next)
}

// settle ends the text under way. Where messages are not announced their texts
// stand in none.
func (t *teller) settle(m *message) {
	if !m.under {
		return
	}
	var whole spec.Event
	m.about(&whole, spec.ContentEnd)
	whole.Type, whole.Text = "text", m.text.String()
	if t.whole {
		t.say(&whole)
	}
	if t.opens {
		m.parts = append(m.parts, whole)
	}
	m.text.Reset()
	m.under = false
}

// content takes a content in one piece. What is no text, and has no word, is
// answered as text: its address, on a line of its own.
func (t *teller) content(e *spec.Event) {
	m := t.message(spec.MessageStart, e.Message, e.Role, "")
	if e.Type == "" || e.Type == "text" {
		t.piece(spec.MessageDelta, e.Message, "", e.Text)
		return
	}
	kind := t.voice.content(e.Type)
	if kind == "" {
		t.piece(spec.MessageDelta, e.Message, "", "\n"+e.Text)
		return
	}
	t.settle(m)
	t.said.text(e.Message, "\n"+e.Text)
	var told spec.Event
	m.about(&told, kind)
	told.Type, told.Text = e.Type, e.Text
	t.say(&told)
	told.Kind = spec.ContentEnd
	m.parts = append(m.parts, told)
}

// end ends a message. Where messages are not announced only those are told, whole,
// that hold something.
func (t *teller) end(m *message) {
	t.settle(m)
	t.said.end(m.start.Message)
	t.open = slices.DeleteFunc(t.open, func(o *message) bool { return o == m })
	end := m.start
	end.Kind = spec.Kind(m.start.Kind.Subject() + ".end")
	end.Parts = m.parts
	if t.closes && (t.opens || len(m.parts) > 0) {
		t.say(&end)
		t.done = append(t.done, end)
	}
}

// invoke takes the events of a call. Where calls are told in one piece the pieces
// are put together first.
func (t *teller) invoke(e *spec.Event) {
	t.said.call(e)
	if t.calls {
		t.say(e)
		return
	}
	whole := t.pending[e.Call]
	if whole == nil {
		whole = &spec.Event{Kind: spec.ToolCall, Message: e.Message, Call: e.Call, Name: e.Name}
		if t.pending == nil {
			t.pending = map[string]*spec.Event{}
		}
		t.pending[e.Call] = whole
	}
	whole.Text += e.Text
	switch {
	case e.Kind == spec.ToolEnd:
		delete(t.pending, e.Call)
		t.inside(whole, t.voice.call)
	case t.growing:
		in := t.voice.call
		m := t.message(spec.MessageStart, whole.Message, in.role, in.kind)
		var part spec.Event
		m.about(&part, spec.ToolCall)
		part.Call, part.Name, part.Text, part.Status = whole.Call, whole.Name, whole.Text, "in_progress"
		t.say(&part)
	}
}

// inside tells a call or a result: by itself, or in a message of its own where
// everything stands in messages.
func (t *teller) inside(e *spec.Event, in around) {
	if !in.there {
		if in.told {
			t.say(e)
		}
		return
	}
	m := t.message(spec.MessageStart, e.Message, in.role, in.kind)
	var told spec.Event
	m.about(&told, e.Kind)
	told.Call, told.Name, told.Text = e.Call, e.Name, e.Text
	if in.told {
		t.say(&told)
	}
	m.parts = append(m.parts, told)
	t.end(m)
}

// interrupted takes an interrupt; where there is no word for it its payload is
// answered as text.
func (t *teller) interrupted(e *spec.Event) {
	if t.interrupt {
		t.say(e)
		return
	}
	id := cmp.Or(e.Message, e.ID)
	t.piece(spec.MessageDelta, id, "", e.Text)
	t.end(t.message(spec.MessageEnd, id, "", ""))
}

// finish ends the run. What a failure leaves open stays open.
func (t *teller) finish(final *spec.Event) {
	t.over = true
	e := spec.Event{Kind: final.Kind, Text: final.Text, Code: final.Code, Status: final.Status}
	if e.Kind == spec.RunEnd {
		for len(t.open) > 0 {
			t.end(t.open[0])
		}
		e.Completed = t.op.FormatTime(spec.RunEnd, "completed", t.now())
	}
	e.Parts = t.done
	if t.op.CanEncode(e) {
		t.say(&e)
	}
	if e.Kind == spec.RunEnd && t.op.WritesSentinel() {
		t.add(&spec.Event{Kind: spec.Done})
	}
}
