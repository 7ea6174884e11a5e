package mockserver

import (
	"context"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/mockserver/pace"
	"github.com/streamassay/streamassay/mockserver/script"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
)

// A playFunc returns the events of a run with the delays before them.
type playFunc func(context.Context, reference.Turn) iter.Seq[script.TimedEvent]

// pacedAgent returns an agent that emits the events of play at the pace p. Random variations of the
// pace are drawn from r.
func pacedAgent(play playFunc, p pace.Pace, r *rand.Rand) reference.Agent {
	return func(ctx context.Context, t reference.Turn) iter.Seq[spec.Event] {
		return func(yield func(spec.Event) bool) {
			began, clock := time.Now(), p.NewClock(r)
			player := reference.NewPlayer(ctx, t.Run, yield)
			for timed := range play(ctx, t) {
				due := clock.NextEvent
				if timed.Event.Kind.Phase() == "delta" {
					due = clock.NextToken
				}
				clock.Delay(timed.Delay)
				player.WaitUntil(began.Add(due()))
				if timed.Event.Kind != "" {
					player.Emit(timed.Event)
				}
				if player.Stopped() {
					return
				}
			}
		}
	}
}

// scriptedEvents returns the events of the reference's scripted agent, without delays.
func scriptedEvents(ctx context.Context, t reference.Turn) iter.Seq[script.TimedEvent] {
	return func(yield func(script.TimedEvent) bool) {
		for e := range reference.Scripted(ctx, t) {
			if !yield(script.TimedEvent{Event: e}) {
				return
			}
		}
	}
}

// flushEach returns an agent that emits the events of inner and makes the server flush after each
// of them.
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

// faultySink returns a constructor of sinks that apply effects to the events and frames of a run,
// in the order of effects. A sink encodes the resulting events with encode and passes the resulting
// frames to send.
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
