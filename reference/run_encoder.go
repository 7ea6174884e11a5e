package reference

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// A runEncoder turns the events of an agent into the events of one run in a dialect: it
// maps them to kinds that the dialect has, and adds ids, sequence numbers, timestamps
// and the complete messages that the dialect repeats.
type runEncoder struct {
	*capabilities
	thread, run string
	now         func() time.Time
	emit        func(*spec.Event) // receives each encoded event and must not retain it
	messages    messageRecorder
	last        spec.Event // the latest event of the agent
	next, out   spec.Event // scratch: fields rather than locals, because events are large

	created        string // start time of the run, as the dialect formats it
	seq            int64
	started, ended bool
	openMessages   []*openMessage
	completed      []spec.Event           // messages completed so far, in order
	pendingCalls   map[string]*spec.Event // incomplete tool calls by id, if not streamedCalls
}

// An openMessage is a message that was started and has not ended yet.
type openMessage struct {
	start   spec.Event
	parts   []spec.Event    // its complete content parts
	text    strings.Builder // the text part that is not complete yet
	hasText bool            // there is such a part
}

// newEncoder returns an encoder for the events of one run. It passes each event that the dialect
// sends to add, which must not retain it.
func (v *capabilities) newEncoder(thread, run string, now func() time.Time, add func(*spec.Event)) *runEncoder {
	return &runEncoder{
		capabilities: v, thread: thread, run: run, now: now, emit: add,
		messages: messageRecorder{run: run, now: now},
	}
}

// encode adds an event of the agent, for which it emits none, one or several events of the
// dialect. It ignores events after the end of the run.
func (t *runEncoder) encode(e spec.Event) { t.encodeInPlace(&e) }

// encodeInPlace does what encode does, without copying e, which it may change.
func (t *runEncoder) encodeInPlace(e *spec.Event) {
	if t.ended {
		return
	}
	if !t.started {
		t.start()
	}
	if e.Kind.Subject() == "reasoning" && !t.reasoning {
		e.Kind = spec.Kind("message." + e.Kind.Phase())
	}
	switch e.Kind {
	case spec.MessageStart, spec.ReasoningStart:
		t.messageFor(e.Kind, e.Message, e.Role, e.Type)
	case spec.MessageDelta, spec.ReasoningDelta:
		t.addDelta(e)
	case spec.ContentPart, spec.ContentEnd:
		t.addContent(e)
	case spec.MessageEnd, spec.ReasoningEnd:
		t.endMessage(t.messageFor(e.Kind, e.Message, e.Role, e.Type))
	case spec.ToolStart, spec.ToolDelta, spec.ToolEnd:
		t.addToolEvent(e)
	case spec.ToolResult:
		t.messages.addResult(e)
		t.emitContained(e, t.resultContainer)
	case spec.Interrupt:
		t.addInterrupt(e)
	case spec.RunEnd, spec.RunError:
		t.endRun(e)
	case spec.Undecodable: // encoded already
		t.emit(e)
	case spec.RunProgress, spec.StepStart, spec.StepEnd:
		if t.op.CanEncode(*e) {
			t.emitEvent(e)
		}
	}
}

// emitEvent emits a copy of e, to which it adds the ids, the sequence number and the creation time
// that events of a run have.
func (t *runEncoder) emitEvent(e *spec.Event) {
	t.out = *e
	t.out.Thread, t.out.Run = t.thread, t.run
	t.out.Seq = strconv.FormatInt(t.seq, 10)
	if t.out.Kind.Subject() == "run" {
		t.out.Created = t.created
	}
	t.seq++
	t.emit(&t.out)
}

// start emits the events with which a run begins in the dialect.
func (t *runEncoder) start() {
	t.started = true
	t.created = t.op.FormatTime(spec.RunStart, "created", t.now())
	start := spec.Event{Kind: spec.RunStart}
	if t.op.CanEncode(start) {
		for range t.startCount {
			t.seq = 0 // the repeated event is identical
			t.emitEvent(&start)
		}
	}
	if t.runProgress {
		t.emitEvent(&spec.Event{Kind: spec.RunProgress})
	}
}

// messageFor returns the open message with the given id. If there is none, it starts one with the
// given role and type (kind); k tells whether that is a message or reasoning.
func (t *runEncoder) messageFor(k spec.Kind, id, role, kind string) *openMessage {
	i := slices.IndexFunc(t.openMessages, func(m *openMessage) bool { return m.start.Message == id })
	if i >= 0 {
		return t.openMessages[i]
	}
	starts := spec.MessageStart
	if k.Subject() == "reasoning" {
		starts = spec.ReasoningStart
	}
	m := &openMessage{start: spec.Event{Kind: starts, Message: id, Role: role, Type: kind}}
	t.openMessages = append(t.openMessages, m)
	if t.messageStart {
		t.emitEvent(&m.start)
	}
	return m
}

// initContent sets e to an empty event of the kind k about the content part of the message that
// follows those completed so far.
func (m *openMessage) initContent(e *spec.Event, k spec.Kind) {
	*e = spec.Event{Kind: k, Message: m.start.Message, Index: strconv.Itoa(len(m.parts))}
}

func (t *runEncoder) addDelta(e *spec.Event) { t.addText(e.Kind, e.Message, e.Role, e.Text) }

// addText adds a delta to the message or, if k is a kind of reasoning, to the reasoning with this
// id.
func (t *runEncoder) addText(k spec.Kind, id, role, text string) {
	m := t.messageFor(k, id, role, "")
	m.hasText = true
	m.text.WriteString(text)
	if k.Subject() == "message" {
		t.messages.addText(id, text)
	}
	m.initContent(&t.next, k)
	t.next.Text = text
	t.emitEvent(&t.next)
}

// endText completes the text that is being sent in deltas as a content part of the message m. It
// does nothing if there is none.
func (t *runEncoder) endText(m *openMessage) {
	if !m.hasText {
		return
	}
	var text spec.Event
	m.initContent(&text, spec.ContentEnd)
	text.Type, text.Text = "text", m.text.String()
	if t.completeText {
		t.emitEvent(&text)
	}
	if t.messageStart { // else texts are not part of a message
		m.parts = append(m.parts, text)
	}
	m.text.Reset()
	m.hasText = false
}

// addContent adds a complete content part. If the dialect cannot send parts of this type, the URL
// of the part is sent as text on a line of its own.
func (t *runEncoder) addContent(e *spec.Event) {
	m := t.messageFor(spec.MessageStart, e.Message, e.Role, "")
	if e.Type == "" || e.Type == "text" {
		t.addText(spec.MessageDelta, e.Message, "", e.Text)
		return
	}
	kind := t.capabilities.contentKind(e.Type)
	if kind == "" {
		t.addText(spec.MessageDelta, e.Message, "", "\n"+e.Text)
		return
	}
	t.endText(m)
	t.messages.addText(e.Message, "\n"+e.Text)
	var part spec.Event
	m.initContent(&part, kind)
	part.Type, part.Text = e.Type, e.Text
	t.emitEvent(&part)
	part.Kind = spec.ContentEnd
	m.parts = append(m.parts, part)
}

// endMessage ends a message. In dialects without an event for the start of a message, the end
// event is sent only if the message has content parts.
func (t *runEncoder) endMessage(m *openMessage) {
	t.endText(m)
	t.messages.endMessage(m.start.Message)
	t.openMessages = slices.DeleteFunc(t.openMessages, func(o *openMessage) bool { return o == m })
	end := m.start
	end.Kind = spec.Kind(m.start.Kind.Subject() + ".end")
	end.Parts = m.parts
	if t.messageEnd && (t.messageStart || len(m.parts) > 0) {
		t.emitEvent(&end)
		t.completed = append(t.completed, end)
	}
}

// addToolEvent adds an event of a tool call. If the dialect does not stream tool calls, the call
// is sent when it is complete.
func (t *runEncoder) addToolEvent(e *spec.Event) {
	t.messages.addCallEvent(e)
	if t.streamedCalls {
		t.emitEvent(e)
		return
	}
	call := t.pendingCalls[e.Call]
	if call == nil {
		call = &spec.Event{Kind: spec.ToolCall, Message: e.Message, Call: e.Call, Name: e.Name}
		if t.pendingCalls == nil {
			t.pendingCalls = map[string]*spec.Event{}
		}
		t.pendingCalls[e.Call] = call
	}
	call.Text += e.Text
	switch {
	case e.Kind == spec.ToolEnd:
		delete(t.pendingCalls, e.Call)
		t.emitContained(call, t.capabilities.callContainer)
	case t.callSnapshots:
		in := t.capabilities.callContainer
		m := t.messageFor(spec.MessageStart, call.Message, in.role, in.kind)
		var part spec.Event
		m.initContent(&part, spec.ToolCall)
		part.Call, part.Name, part.Text, part.Status = call.Call, call.Name, call.Text, "in_progress"
		t.emitEvent(&part)
	}
}

// emitContained emits a tool call or a tool result in the way of the dialect, which in describes:
// as an event of its own, as part of a message, or both.
func (t *runEncoder) emitContained(e *spec.Event, in container) {
	if !in.exists {
		if in.standalone {
			t.emitEvent(e)
		}
		return
	}
	m := t.messageFor(spec.MessageStart, e.Message, in.role, in.kind)
	var part spec.Event
	m.initContent(&part, e.Kind)
	part.Call, part.Name, part.Text = e.Call, e.Name, e.Text
	if in.standalone {
		t.emitEvent(&part)
	}
	m.parts = append(m.parts, part)
	t.endMessage(m)
}

// addInterrupt adds an interrupt. If the dialect has no interrupts, the payload is sent as the
// text of a message.
func (t *runEncoder) addInterrupt(e *spec.Event) {
	if t.interrupt {
		t.emitEvent(e)
		return
	}
	id := cmp.Or(e.Message, e.ID)
	t.addText(spec.MessageDelta, id, "", e.Text)
	t.endMessage(t.messageFor(spec.MessageEnd, id, "", ""))
}

// endRun ends the run. A successful end ends the open messages; a failure leaves them
// open.
func (t *runEncoder) endRun(final *spec.Event) {
	t.ended = true
	e := spec.Event{Kind: final.Kind, Text: final.Text, Code: final.Code, Status: final.Status}
	if e.Kind == spec.RunEnd {
		for len(t.openMessages) > 0 {
			t.endMessage(t.openMessages[0])
		}
		e.Completed = t.op.FormatTime(spec.RunEnd, "completed", t.now())
	}
	e.Parts = t.completed
	if t.op.CanEncode(e) {
		t.emitEvent(&e)
	}
	if e.Kind == spec.RunEnd && t.op.WritesSentinel() {
		t.emit(&spec.Event{Kind: spec.Done})
	}
}
