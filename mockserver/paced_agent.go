package mockserver

import (
	"context"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/internal/pace"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
)

// pacedAgent returns an agent that emits the events of an inner agent at the pace p. It calls
// newAgent to create the inner agent of each run; that agent may call pause to delay its next event
// by a duration. Random variations of the pace are drawn from r.
func pacedAgent(newAgent func(pause func(time.Duration)) reference.Agent, p pace.Pace, r *rand.Rand) reference.Agent {
	return func(ctx context.Context, t reference.Turn) iter.Seq[spec.Event] {
		return func(yield func(spec.Event) bool) {
			began, clock := time.Now(), p.NewClock(r)
			emitter := reference.NewEventEmitter(ctx, t.Run, yield)
			for e := range newAgent(clock.Delay)(ctx, t) {
				due := clock.NextEvent
				if e.Kind.Phase() == "delta" {
					due = clock.NextToken
				}
				emitter.WaitUntil(began.Add(due()))
				if e.Kind != "" {
					emitter.Emit(e)
				}
				if emitter.Stopped() {
					return
				}
			}
		}
	}
}

// flushEach returns an agent that emits the events of inner and makes the server flush the response
// after each of them.
func flushEach(inner reference.Agent) reference.Agent {
	return func(ctx context.Context, t reference.Turn) iter.Seq[spec.Event] {
		return func(yield func(spec.Event) bool) {
			for e := range inner(ctx, t) {
				if !yield(e) || !yield(spec.Event{}) {
					return
				}
			}
		}
	}
}

// faultySink returns a function for [reference.Override].NewSink. The sinks that this function
// creates apply the effects, in the given order, to the events of a run, to their frames and to its
// end.
func faultySink(effects []fault.Effect) func(encode func(*spec.Event) []byte, send func([]byte)) reference.EventSink {
	return func(encode func(*spec.Event) []byte, send func([]byte)) reference.EventSink {
		frame := send
		for i := len(effects) - 1; i >= 0; i-- {
			if change, next := effects[i].OnFrame, frame; change != nil {
				frame = func(data []byte) { change(data, next) }
			}
		}
		event := func(e *spec.Event) {
			if data := encode(e); len(data) > 0 { // empty if the dialect has no such event
				frame(data)
			}
		}
		var ends []func()
		for i := len(effects) - 1; i >= 0; i-- {
			next := event
			if end := effects[i].OnEnd; end != nil {
				ends = append(ends, func() { end(next) })
			}
			if change := effects[i].OnEvent; change != nil {
				event = func(e *spec.Event) { change(e, next) }
			}
		}
		return reference.EventSink{Event: event, End: func() {
			for i := len(ends) - 1; i >= 0; i-- {
				ends[i]()
			}
		}}
	}
}
