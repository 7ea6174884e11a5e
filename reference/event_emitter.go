package reference

import (
	"context"
	"iter"
	"strconv"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// An EventEmitter emits the events of one turn of an agent and makes the ids that the events carry.
// It stops, and emits nothing more, when the server no longer accepts events, the context is done
// or the run has failed. It must not be used concurrently.
type EventEmitter struct {
	ctx     context.Context
	run     string
	yield   func(spec.Event) bool
	stopped bool

	messages, calls, interrupts int // how many ids were made
}

// NewEventEmitter returns an emitter for the run with the given id. The emitter passes each event
// to yield, the function that the caller of an [iter.Seq] provides, and stops when yield returns
// false.
func NewEventEmitter(ctx context.Context, run string, yield func(spec.Event) bool) *EventEmitter {
	return &EventEmitter{ctx: ctx, run: run, yield: yield}
}

// NewAgent returns an agent that calls respond for each turn. The agent emits the start of the run,
// the events that respond emits with e, and the end of the run unless respond called e.Fail.
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

// Stopped reports whether the emitter has stopped, so that it emits no more events.
func (e *EventEmitter) Stopped() bool { return e.stopped }

// Emit emits an event. It does nothing once the emitter has stopped.
func (e *EventEmitter) Emit(event spec.Event) {
	if e.stopped = e.stopped || e.ctx.Err() != nil; !e.stopped {
		e.stopped = !e.yield(event)
	}
}

// EmitMessage emits a complete message of the assistant, with one delta for each of the pieces of
// its text. It does not wait between the deltas.
func (e *EventEmitter) EmitMessage(pieces ...string) {
	id := e.NewMessageID()
	e.emitText(spec.MessageStart, id, "")
	for _, piece := range pieces {
		e.emitText(spec.MessageDelta, id, piece)
	}
	e.emitText(spec.MessageEnd, id, "")
}

// Fail emits an event that ends the run with an error, and stops the emitter. The argument text
// describes the error for people. The argument code is the error code in the event, or "" if there
// is none.
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

// newID returns a new id that consists of the id of the run, the prefix and the counter *n, which
// it increments first. The id is unique within the conversation, because the id of the run is.
func (e *EventEmitter) newID(prefix string, n *int) string {
	*n++
	return e.run + "-" + prefix + strconv.Itoa(*n)
}

// WaitUntil lets the server send all events emitted so far, and then waits until the time t. If t
// has passed or the emitter has stopped, it returns at once and does neither. If the context is
// done during the wait, WaitUntil stops the emitter.
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

// emitText emits an event of kind k with the given message id and text. It must not be inlined,
// because the event, which takes 680 bytes, would then be in the stack frame of a caller that
// waits, and a paced stream would take 58 KB of the server's memory rather than 52 KB. These values
// were measured by "make bench" with 2,000 streams; BenchmarkWaitingRuns measures the stacks alone.
//
//go:noinline
func (e *EventEmitter) emitText(k spec.Kind, message, text string) {
	e.Emit(spec.Event{Kind: k, Message: message, Text: text})
}
