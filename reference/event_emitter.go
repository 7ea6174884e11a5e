package reference

import (
	"context"
	"iter"
	"strconv"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// An EventEmitter emits the events of one turn of an agent and generates their ids. It stops, and
// emits nothing more, when the server no longer accepts events, the context is done or Fail is
// called. It must not be used concurrently.
type EventEmitter struct {
	ctx     context.Context
	run     string                // id of the run, with which generated ids begin
	yield   func(spec.Event) bool // emits an event; false: the server accepts no more events
	stopped bool

	messages, calls, interrupts int // numbers of generated ids
}

// NewEventEmitter returns an emitter for the run with the given id. The emitter passes each event
// to yield, the function that an [iter.Seq] receives from its caller, and stops when yield returns
// false.
func NewEventEmitter(ctx context.Context, run string, yield func(spec.Event) bool) *EventEmitter {
	return &EventEmitter{ctx: ctx, run: run, yield: yield}
}

// NewAgent returns an agent that calls respond for each turn. The agent emits the start of the run
// before the call, and the end of the run after it, unless respond called e.Fail. The function
// respond emits the other events with e.
func NewAgent(respond func(ctx context.Context, t Turn, e *EventEmitter)) Agent {
	return func(ctx context.Context, t Turn) iter.Seq[spec.Event] {
		return func(yield func(spec.Event) bool) {
			e := NewEventEmitter(ctx, t.Run, yield)
			e.emitText(spec.RunStart, "", "")
			respond(ctx, t, e)
			e.emitText(spec.RunEnd, "", "")
		}
	}
}

// Stopped reports whether the emitter has stopped and emits no more events.
func (e *EventEmitter) Stopped() bool { return e.stopped }

// Emit emits an event. It does nothing once the emitter has stopped.
func (e *EventEmitter) Emit(event spec.Event) {
	if e.stopped = e.stopped || e.ctx.Err() != nil; !e.stopped {
		e.stopped = !e.yield(event)
	}
}

// EmitMessage emits a complete message of the assistant. The text of the message consists of the
// pieces, each of which is emitted as one delta.
func (e *EventEmitter) EmitMessage(pieces ...string) {
	id := e.NewMessageID()
	e.emitText(spec.MessageStart, id, "")
	for _, piece := range pieces {
		e.emitText(spec.MessageDelta, id, piece)
	}
	e.emitText(spec.MessageEnd, id, "")
}

// Fail emits an event that ends the run with an error, and stops the emitter. The text is a
// description of the error for people. The code is the error code of the event, or "" for none.
func (e *EventEmitter) Fail(text, code string) {
	e.Emit(spec.Event{Kind: spec.RunError, Text: text, Code: code})
	e.stopped = true
}

// NewMessageID returns an id for the next message, unique within the conversation.
func (e *EventEmitter) NewMessageID() string { return e.newID("m", &e.messages) }

// NewCallID returns an id for the next tool call, unique within the conversation.
func (e *EventEmitter) NewCallID() string { return e.newID("c", &e.calls) }

// NewInterruptID returns an id for the next interrupt, unique within the conversation.
func (e *EventEmitter) NewInterruptID() string { return e.newID("i", &e.interrupts) }

// newID increments the counter *n and returns an id that consists of the id of the run, the prefix
// and the counter. The id is unique within the conversation, because the id of the run is.
func (e *EventEmitter) newID(prefix string, n *int) string {
	*n++
	return e.run + "-" + prefix + strconv.Itoa(*n)
}

// WaitUntil makes the server send the events emitted so far, and waits until the time t. It does
// nothing if t has passed or the emitter has stopped. If the context is done during the wait,
// WaitUntil stops the emitter and returns.
func (e *EventEmitter) WaitUntil(t time.Time) {
	if e.stopped || time.Until(t) <= 0 {
		return
	}
	if e.emitText("", "", ""); e.stopped {
		return
	}
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-e.ctx.Done():
		e.stopped = true
	}
}

// emitText emits an event of kind k with the given message id and text.
//
// It is not inlined, because the event of 680 bytes would then be in the stack frame of a caller
// that waits, and each paced stream would use about 6 KB more memory. See BenchmarkWaitingRuns.
//
//go:noinline
func (e *EventEmitter) emitText(k spec.Kind, message, text string) {
	e.Emit(spec.Event{Kind: k, Message: message, Text: text})
}
