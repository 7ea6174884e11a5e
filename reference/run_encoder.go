package reference

import (
	"cmp"
	"fmt"
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
	*dialectFeatures
	thread, run string
	now         func() time.Time
	emit        func(*spec.Event) // is called with each event of the dialect, which it must not retain
	messages    messageRecorder
	last        spec.Event // the latest event of the agent
	next, out   spec.Event // scratch: fields rather than locals, because events are large

	created        string // start time of the run, as the dialect formats it
	seq            int64  // sequence number of the next event
	started, ended bool
	openMessages   []*openMessage
	completed      []spec.Event           // messages completed so far, in order
	pendingCalls   map[string]*spec.Event // incomplete tool calls by id, if not streamedCalls
	held           []spec.Event           // events to be sent as parts of later events
	calls          []string               // ids of tool calls, in order, if streamedCalls
}

// An openMessage is a message that was started and has not ended yet.
type openMessage struct {
	start   spec.Event      // the event that started it
	parts   []spec.Event    // its complete content parts
	text    strings.Builder // the text part that is not complete yet
	hasText bool            // whether there is an incomplete text part, which may be empty
}

// newEncoder returns an encoder for the events of one run, where thread and run are the ids that
// the client uses. The encoder calls add with each event that the dialect sends; add must not
// retain the event. It calls now to get the current time, for the times that events state.
func (v *dialectFeatures) newEncoder(thread, run string, now func() time.Time, add func(*spec.Event)) *runEncoder {
	return &runEncoder{
		dialectFeatures: v, thread: thread, run: run, now: now, emit: add,
		messages: messageRecorder{run: run, now: now},
	}
}

// encode converts e, an event of the agent, to zero or more events of the dialect and emits them. It
// ignores events after the end of the run. It may modify e.
func (t *runEncoder) encode(e *spec.Event) {
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
	case spec.RunStart: // the first event of the agent has started the run, whatever its kind
	case spec.MessageStart, spec.ReasoningStart:
		t.messageFor(e.Kind, e.Message, e.Role, e.Type)
	case spec.MessageDelta, spec.ReasoningDelta:
		t.addText(e.Kind, e.Message, e.Role, e.Text)
	case spec.ContentPart, spec.ContentEnd:
		t.addContent(e)
	case spec.MessageEnd, spec.ReasoningEnd:
		t.endMessage(t.messageFor(e.Kind, e.Message, e.Role, e.Type))
	case spec.ToolStart, spec.ToolDelta, spec.ToolEnd:
		t.addToolEvent(e)
	case spec.ToolResult:
		t.messages.addResult(e)
		t.emitEnclosed(e, t.resultMessage)
	case spec.Interrupt:
		t.addInterrupt(e)
	case spec.RunEnd, spec.RunError:
		t.endRun(e)
	case spec.Undecodable: // encoded already
		t.emit(e)
	default:
		t.addOther(e)
	}
}

// addOther emits e, an event such as the start of a step, if the dialect has a frame for it. If the
// dialect has none, addOther drops an event of a kind that may occur in runs. An event of any other
// kind is an error of the agent: addOther ends the run with an error event that names the kind.
func (t *runEncoder) addOther(e *spec.Event) {
	switch {
	case t.op.CanEncode(*e):
		t.emitEvent(e)
	case !e.Kind.InRun():
		t.endRun(&spec.Event{Kind: spec.RunError, Text: fmt.Sprintf("the agent sent an event of the kind %q", e.Kind)})
	}
}

// emitEvent emits a copy of e with the ids of the thread and the run and the next sequence number.
// An event about the run itself, or any event if the dialect sends envelopes, also gets the time at
// which the run was created. If the dialect sends e only within frames of another kind, emitEvent
// does not emit e but adds it to the parts of all later events of that kind. It does not modify e.
func (t *runEncoder) emitEvent(e *spec.Event) {
	if t.op.Carrier(e.Kind) != "" {
		t.held = append(t.held, *e)
		return
	}
	t.out = *e
	for _, h := range t.held {
		if t.op.Carrier(h.Kind) == e.Kind {
			t.out.Parts = append(slices.Clip(t.out.Parts), h)
		}
	}
	t.out.Thread, t.out.Run = t.thread, t.run
	t.out.Seq = strconv.FormatInt(t.seq, 10)
	if t.out.Kind.Subject() == "run" || t.enveloped {
		t.out.Created = t.created
	}
	t.seq++
	t.emit(&t.out)
}

// start emits the events with which a run begins in the dialect.
func (t *runEncoder) start() {
	t.started = true
	start := spec.Event{Kind: spec.RunStart}
	t.created = t.op.FormatTime(start.Kind, "created", t.now())
	if t.enveloped {
		t.created = t.op.FormatTime(spec.RunEnd, "created", t.now())
	}
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

// messageFor returns the open message or reasoning with the given id. If there is none, it starts
// one with that id and the given role and type, emits the events with which it begins in the
// dialect, and returns it. What it starts is reasoning if k is a kind of reasoning event, and
// otherwise a message.
func (t *runEncoder) messageFor(k spec.Kind, id, role, messageType string) *openMessage {
	i := slices.IndexFunc(t.openMessages, func(m *openMessage) bool { return m.start.Message == id })
	if i >= 0 {
		return t.openMessages[i]
	}
	starts := spec.MessageStart
	if k.Subject() == "reasoning" {
		starts = spec.ReasoningStart
	}
	m := &openMessage{start: spec.Event{Kind: starts, Message: id, Role: role, Type: messageType}}
	t.openMessages = append(t.openMessages, m)
	t.emitSpan(m, spec.StepStart)
	if t.messageStart {
		t.emitEvent(&m.start)
	}
	return m
}

// initContent sets *e to an event of kind k about the next content part of m, the one after the
// parts that are complete. The event has no content yet.
func (m *openMessage) initContent(e *spec.Event, k spec.Kind) {
	*e = spec.Event{Kind: k, Message: m.start.Message, Index: strconv.Itoa(len(m.parts))}
}

// addText emits text as a delta of kind k, which belongs to the open message or reasoning with the
// given id. If none with that id is open, addText first starts one with the given role: reasoning
// if k is a kind of reasoning event, and otherwise a message. If one is open, role is ignored.
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

// endText completes the text part of the message m that is being sent in deltas. It emits the full
// text if the dialect repeats texts in full. It does nothing if m has no such part.
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

// addContent adds e, a complete content part. Text is sent as a delta. A part of any other type is
// sent as an event of its own or, if the dialect has no event for that type, as a line of text with
// the URL of the part.
func (t *runEncoder) addContent(e *spec.Event) {
	m := t.messageFor(spec.MessageStart, e.Message, e.Role, "")
	if e.Type == "" || e.Type == "text" {
		t.addText(spec.MessageDelta, e.Message, "", e.Text)
		return
	}
	kind := t.contentKind(e.Type)
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

// endMessage ends the message m. It emits an end event if the dialect has one. In dialects without
// an event for the start of a message, however, it does so only if m has content parts.
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
	t.emitSpan(m, spec.StepEnd)
}

// emitSpan emits an event of kind k, the start or the end of the span that encloses the reasoning
// m. It does nothing if m is not reasoning or the dialect has no such spans.
func (t *runEncoder) emitSpan(m *openMessage, k spec.Kind) {
	if t.reasoningSpans && m.start.Kind == spec.ReasoningStart {
		t.emitEvent(&spec.Event{Kind: k, Type: "reasoning", Message: m.start.Message})
	}
}

// addToolEvent adds e, an event of a tool call. If the dialect does not stream tool calls, the call
// is sent when it is complete, preceded by snapshots of the incomplete call if the dialect has
// those.
func (t *runEncoder) addToolEvent(e *spec.Event) {
	t.messages.addCallEvent(e)
	if t.streamedCalls {
		i := slices.Index(t.calls, e.Call)
		if i < 0 {
			i, t.calls = len(t.calls), append(t.calls, e.Call)
		}
		if e.Index = strconv.Itoa(i); t.op.CanEncode(*e) {
			t.emitEvent(e)
		}
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
		t.emitEnclosed(call, t.callMessage)
	case t.snapshotStatus != "":
		m := t.messageFor(spec.MessageStart, call.Message, t.callMessage.role, t.callMessage.kind)
		var part spec.Event
		m.initContent(&part, spec.ToolCall)
		part.Call, part.Name, part.Text, part.Status = call.Call, call.Name, call.Text, t.snapshotStatus
		t.emitEvent(&part)
	}
}

// emitEnclosed emits e, a tool call or a tool result: as an event of its own, as part of a message,
// or both. It ends the message that contains e. The parameter enclosing states which of these the
// dialect has; if it has none, emitEnclosed emits nothing.
func (t *runEncoder) emitEnclosed(e *spec.Event, enclosing enclosingMessageType) {
	if !enclosing.exists {
		if enclosing.standalone {
			t.emitEvent(e)
		}
		return
	}
	m := t.messageFor(spec.MessageStart, e.Message, enclosing.role, enclosing.kind)
	var part spec.Event
	m.initContent(&part, e.Kind)
	part.Call, part.Name, part.Text = e.Call, e.Name, e.Text
	if enclosing.standalone {
		t.emitEvent(&part)
	}
	m.parts = append(m.parts, part)
	t.endMessage(m)
}

// addInterrupt adds e, an interrupt. If the dialect has no interrupts, the payload of e is sent as
// the text of a message.
func (t *runEncoder) addInterrupt(e *spec.Event) {
	if t.interrupt {
		t.emitEvent(e)
		return
	}
	id := cmp.Or(e.Message, e.ID)
	t.addText(spec.MessageDelta, id, "", e.Text)
	t.endMessage(t.messageFor(spec.MessageEnd, id, "", ""))
}

// endRun ends the run with the terminal event final. A successful end first ends the open messages;
// a failure leaves them open.
func (t *runEncoder) endRun(final *spec.Event) {
	t.ended = true
	e := spec.Event{Kind: final.Kind, Text: final.Text, Code: final.Code, Status: final.Status}
	if e.Code == "" && e.Status != "" {
		e.Code = t.op.FailureCode(e.Status)
	}
	if e.Kind == spec.RunEnd {
		for len(t.openMessages) > 0 {
			t.endMessage(t.openMessages[0])
		}
		e.Status = cmp.Or(e.Status, t.op.EndStatus(func(k spec.Kind) bool { return k == spec.ToolStart && len(t.calls) > 0 }))
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
