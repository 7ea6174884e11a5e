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

// A runEncoder converts the events of an agent into the events of one run in a dialect.
// It maps the events to kinds that the dialect has. It adds ids, sequence numbers and
// timestamps, and the complete messages that the dialect repeats at the end of a run.
type runEncoder struct {
	*eventFeatures
	thread, run string
	now         func() time.Time
	emit        func(*spec.Event) // receives each event of the dialect; must not retain it
	messages    messageRecorder
	last        spec.Event // the latest event of the agent
	next, out   spec.Event // temporary values of addText and emitEvent; as local variables they would use much stack

	created        string // start time of the run, as the dialect formats it
	seq            int64  // sequence number of the next event
	started, ended bool
	openMessages   []*openMessage
	completed      []spec.Event           // messages completed so far, in order
	pendingCalls   map[string]*spec.Event // incomplete tool calls by id; not used if streamedCalls is true
	held           []spec.Event           // events to be sent as parts of later events
	calls          []string               // ids of tool calls, in order; only used if streamedCalls is true
}

// An openMessage is a message or a section of reasoning that has started and has not ended yet.
type openMessage struct {
	start   spec.Event      // the event that started it
	parts   []spec.Event    // its complete content parts
	text    strings.Builder // the text part that is not complete yet
	hasText bool            // whether there is an incomplete text part, which may be empty
}

// newEncoder returns an encoder for the events of one run. The arguments thread and run are the ids
// that the client knows. The encoder passes each event of the dialect to add, which must not retain
// it. It calls now for the timestamps in events.
func (v *eventFeatures) newEncoder(thread, run string, now func() time.Time, add func(*spec.Event)) *runEncoder {
	return &runEncoder{
		eventFeatures: v, thread: thread, run: run, now: now, emit: add,
		messages: messageRecorder{run: run, now: now},
	}
}

// encode converts e, an event of the agent, to zero or more events of the dialect and emits them.
// It does nothing after the end of the run. It may modify e.
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

// addOther emits e, an event of a kind for which encode has no special case, if the dialect can
// encode it. Otherwise it ignores e or, if a run cannot contain events of that kind (see
// spec.Kind.InRun), ends the run with an error event.
func (t *runEncoder) addOther(e *spec.Event) {
	switch {
	case t.op.CanEncode(*e):
		t.emitEvent(e)
	case !e.Kind.InRun():
		t.endRun(&spec.Event{Kind: spec.RunError, Text: fmt.Sprintf("the agent sent an event of the kind %q", e.Kind)})
	}
}

// emitEvent emits a copy of e with the ids of the thread and the run, the next sequence number and,
// if the dialect requires it, the start time of the run. If the dialect sends e only as a part of
// events of another kind (its carrier), emitEvent does not emit e but adds it to all later events
// of that kind. It does not modify e.
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

// start emits the events with which a run begins in the dialect: run.start, as often as the dialect
// repeats it, and run.progress. It omits those that the dialect does not have.
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

// messageFor returns the open message with the given id. If there is none, it starts one with the
// given role and type and emits the corresponding events. If k is a kind of reasoning event, the
// new message is a section of reasoning.
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

// initContent sets *e to an event of kind k, without content, for the next content part of m. The
// Index of the event is the number of complete parts.
func (m *openMessage) initContent(e *spec.Event, k spec.Kind) {
	*e = spec.Event{Kind: k, Message: m.start.Message, Index: strconv.Itoa(len(m.parts))}
}

// addText emits text as a delta of kind k of the open message with the given id. If no message with
// that id is open, it starts one with the given role; see messageFor.
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

// endText completes the text part of m that is being sent in deltas. If the dialect repeats
// complete texts, endText emits the text. It does nothing if m has no incomplete text part.
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

// addContent adds e, a complete content part, to its message. It emits text as a delta, and a part
// of another type as an event. If the dialect has no event for that type, it emits the URL of the
// part as a line of text.
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

// endMessage ends the message m. It emits an end event if the dialect has one. If the dialect has
// no event for the start of a message, it emits the end event only if m has content parts.
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

// emitSpan emits an event of kind k, the start or the end of the step that encloses m. It does
// nothing if m is not reasoning or the dialect does not enclose reasoning in steps.
func (t *runEncoder) emitSpan(m *openMessage, k spec.Kind) {
	if t.reasoningSpans && m.start.Kind == spec.ReasoningStart {
		t.emitEvent(&spec.Event{Kind: k, Type: "reasoning", Message: m.start.Message})
	}
}

// addToolEvent adds e, an event of a tool call, to the output of the run. If the dialect cannot
// stream tool calls, addToolEvent emits the whole call when e completes it. For each earlier event
// of the call, it emits a snapshot if the dialect has snapshots, and otherwise nothing.
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

// emitEnclosed emits e, a tool call or a tool result, in the ways that enclosing allows: in its own
// event, as a part of a message, which then ends, or both. It does nothing if enclosing allows
// neither way.
func (t *runEncoder) emitEnclosed(e *spec.Event, enclosing toolEventPlacement) {
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

// addInterrupt emits e, an interrupt. If the dialect has no interrupts, it emits the payload of e
// as the text of a message.
func (t *runEncoder) addInterrupt(e *spec.Event) {
	if t.interrupt {
		t.emitEvent(e)
		return
	}
	id := cmp.Or(e.Message, e.ID)
	t.addText(spec.MessageDelta, id, "", e.Text)
	t.endMessage(t.messageFor(spec.MessageEnd, id, "", ""))
}

// endRun ends the run with the terminal event final. If the run was successful, endRun first ends
// the open messages.
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
