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

// pacedAgent plays what a script says, at its pace. A pace that is nothing costs nothing.
func pacedAgent(play func(context.Context, reference.Turn) iter.Seq[script.TimedEvent], p pace.Pace, r *rand.Rand) reference.Agent {
	return func(ctx context.Context, t reference.Turn) iter.Seq[spec.Event] {
		return func(yield func(spec.Event) bool) {
			began := time.Now()
			clock := p.NewClock(r)
			for beat := range play(ctx, t) {
				due := clock.NextEvent
				if beat.Event.Kind.Phase() == "delta" {
					due = clock.NextToken
				}
				clock.Delay(beat.Delay)
				if at := due(); at > 0 && !waitUntil(ctx, began.Add(at), yield) || beat.Event.Kind != "" && !yield(beat.Event) {
					return
				}
			}
		}
	}
}

// waitUntil waits for a time; what was said before is sent meanwhile. It is false where
// nobody listens any more.
func waitUntil(ctx context.Context, at time.Time, yield func(spec.Event) bool) bool {
	d := time.Until(at)
	if d <= 0 {
		return true
	}
	if !yield(spec.Event{}) {
		return false
	}
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// scriptedEvents plays the scripted agent of the reference.
func scriptedEvents(ctx context.Context, t reference.Turn) iter.Seq[script.TimedEvent] {
	return func(yield func(script.TimedEvent) bool) {
		for e := range reference.Scripted(ctx, t) {
			if !yield(script.TimedEvent{Event: e}) {
				return
			}
		}
	}
}

// flushEach flushes after every event.
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

// telling passes what a run says through the faults that spoil it, in their order.
func telling(effects []fault.Effect) func(spell func(*spec.Event) []byte, tell func([]byte)) reference.EventSink {
	return func(spell func(*spec.Event) []byte, tell func([]byte)) reference.EventSink {
		frame := tell
		for i := len(effects) - 1; i >= 0; i-- {
			if spoil, next := effects[i].OnFrame, frame; spoil != nil {
				frame = func(data []byte) { spoil(data, next) }
			}
		}
		event := func(e *spec.Event) {
			if data := spell(e); len(data) > 0 { // the dialect may have no word for it
				frame(data)
			}
		}
		var ends []func()
		for i := len(effects) - 1; i >= 0; i-- {
			next := event
			if end := effects[i].OnEnd; end != nil {
				ends = append(ends, func() { end(next) })
			}
			if spoil := effects[i].OnEvent; spoil != nil {
				event = func(e *spec.Event) { spoil(e, next) }
			}
		}
		return reference.EventSink{Event: event, End: func() {
			for i := len(ends) - 1; i >= 0; i-- {
				ends[i]()
			}
		}}
	}
}
