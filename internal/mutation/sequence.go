package mutation

import (
	"bytes"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/spec"
)

// sequenceMutants are servers whose events have wrong sequence numbers or SSE ids.
var sequenceMutants = []*Mutant{
	{
		Name: "number-repeated", Doc: "two different events have the same number",
		Fault: "seq-repeated",
		KilledBy: map[string]string{
			"sequence.increases": "message.delta reasoning.delta", "sequence.never-falls": "message.delta",
			"sequence.dense": "message.delta reasoning.delta",
		},
	}, {
		Name: "number-falls", Doc: "the number of one event is 0 again",
		Fault: "seq-falls",
		KilledBy: map[string]string{
			"sequence.increases": "message.start reasoning.start", "sequence.never-falls": "message.delta message.end",
			"sequence.dense": "message.start reasoning.start",
		},
	}, {
		Name: "number-skipped", Doc: "a number is left out",
		Fault:    "seq-skipped",
		KilledBy: map[string]string{"sequence.dense": "message.delta reasoning.delta"},
	}, {
		Name: "numbers-from-one", Doc: "events are numbered from 1",
		Fault:    "seq-skipped; event=0",
		KilledBy: map[string]string{"sequence.dense": "run.start"},
	}, {
		Name: "numbers-count-down", Doc: "events are numbered from 1000 down",
		NewEffect: countDown,
		KilledBy: map[string]string{
			"sequence.increases": "*", "sequence.never-falls": "*",
			"sequence.dense": "run.start",
		},
	}, {
		Name: "no-cursors", Doc: "events have no SSE id",
		Fault:    "cursor-missing",
		KilledBy: map[string]string{"cursor.present": "run.start"},
	}, {
		Name: "cursors-are-empty", Doc: "the SSE id of each event is empty",
		NewEffect: changeIDLines(func(id []byte) []byte { return []byte("id:\n") }),
		KilledBy:  map[string]string{"cursor.present": "run.start"},
	}, {
		Name: "cursor-repeated", Doc: "an event has the SSE id of the one before it",
		Fault:     "cursor-repeated",
		KilledBy:  map[string]string{"cursor.unique": "message.start run.end run.error tool.start"},
		AlsoFails: []string{"resume.*"}, // a cursor that occurs twice is ambiguous, so a stream may be resumed at the wrong place
	}, {
		Name: "one-cursor-for-all", Doc: "all events have one SSE id",
		NewEffect: changeIDLines(func(id []byte) []byte { return []byte("id: 1\n") }),
		KilledBy:  map[string]string{"cursor.unique": "*"},
		AlsoFails: []string{"resume.*", "wire.opens-stream"}, // without distinct cursors no stream can be resumed
	},
}

// countDown returns an effect that numbers the events of a run downwards from 1000.
func countDown(fault.Args) fault.Effect {
	n := int64(0)
	return fault.Effect{OnEvent: func(e *spec.Event, emit func(*spec.Event)) {
		other := *e
		if e.Seq != "" {
			other.Seq = addToNumber("1000", -n)
			n++
		}
		emit(&other)
	}}
}

// changeIDLines returns a fault that replaces the id line of each frame by the result of change.
func changeIDLines(change func(id []byte) []byte) newEffect {
	return func(fault.Args) fault.Effect {
		return fault.Effect{WrapBody: func(w fault.StreamWriter) fault.FrameWriter { return idLineEditor{w, change} }}
	}
}

// An idLineEditor is a frame writer that replaces the id line of each frame by the result of
// change. It recognizes only id lines as the servers of this project write them.
type idLineEditor struct {
	out    fault.StreamWriter
	change func(id []byte) []byte
}

// WriteFrame sends a frame with its id line replaced. It returns any error from sending.
func (l idLineEditor) WriteFrame(_ int, frame []byte) error {
	out := make([]byte, 0, len(frame))
	for line := range bytes.Lines(frame) {
		if bytes.HasPrefix(line, []byte("id: ")) {
			line = l.change(line)
		}
		out = append(out, line...)
	}
	_, err := l.out.Write(out)
	return err
}

// Close does nothing and returns nil, because no frame is held back.
func (l idLineEditor) Close() error { return nil }
