package mutant

import (
	"bytes"
	"slices"

	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/spec"
)

// What the numbers of events have to be, requirement by requirement, as the catalogues
// call it.
var (
	lawsIncrease   = []string{"agentscope-java.seq.order", "agentscope.sequence-increases"}
	lawsDense      = []string{"agentscope.sequence-every"}
	lawsCursor     = []string{"runs.stream.id-present"}
	lawsCursorOnce = []string{"runs.resume.ids-unique"}
)

var sequenceMutants = []*Mutant{
	{
		Name: "number-repeated", Doc: "two different events have the same number",
		Fault:  "seq-repeated",
		Breaks: slices.Concat(lawsIncrease, lawsDense),
		Kills: map[string]string{
			"sequence.increases": "message.delta reasoning.delta", "sequence.never-falls": "message.delta",
			"sequence.dense": "message.delta reasoning.delta",
		},
	}, {
		Name: "number-falls", Doc: "the number of one event is 0 again",
		Fault:  "seq-falls",
		Breaks: slices.Concat(lawsIncrease, lawsDense),
		Kills: map[string]string{
			"sequence.increases": "message.start reasoning.start", "sequence.never-falls": "message.delta message.end",
			"sequence.dense": "message.start reasoning.start",
		},
	}, {
		Name: "number-skipped", Doc: "a number is left out",
		Fault:  "seq-skipped",
		Breaks: lawsDense,
		Kills:  map[string]string{"sequence.dense": "message.delta reasoning.delta"},
	}, {
		Name: "numbers-from-one", Doc: "events are numbered from 1",
		Fault:  "seq-skipped; event=0",
		Breaks: lawsDense,
		Kills:  map[string]string{"sequence.dense": "run.start"},
	}, {
		Name: "numbers-count-down", Doc: "events are numbered from 1000 down",
		Play:   countingDown,
		Breaks: slices.Concat(lawsIncrease, lawsDense),
		Kills: map[string]string{
			"sequence.increases": "*", "sequence.never-falls": "*",
			"sequence.dense": "run.start",
		},
	}, {
		Name: "no-cursors", Doc: "events have no SSE id",
		Fault:  "cursor-missing",
		Breaks: lawsCursor,
		Kills:  map[string]string{"cursor.present": "run.start"},
	}, {
		Name: "cursors-are-empty", Doc: "the SSE id of each event is empty",
		Play:   everySent(func(id []byte) []byte { return []byte("id:\n") }),
		Breaks: lawsCursor,
		Kills:  map[string]string{"cursor.present": "run.start"},
	}, {
		Name: "cursor-repeated", Doc: "an event has the SSE id of the one before it",
		Fault:  "cursor-repeated",
		Breaks: lawsCursorOnce,
		Kills:  map[string]string{"cursor.unique": "message.start run.end run.error tool.start"},
		Also:   []string{"resume.*"}, // what is taken up at one of two places that have one name may be the other
	}, {
		Name: "one-cursor-for-all", Doc: "all events have one SSE id",
		Play:   everySent(func(id []byte) []byte { return []byte("id: 1\n") }),
		Breaks: lawsCursorOnce,
		Kills:  map[string]string{"cursor.unique": "*"},
		Also:   []string{"resume.*", "wire.opens-stream"}, // nothing can be taken up where no place has a name of its own
	},
}

// countingDown numbers the events of a run from 1000 down.
func countingDown(fault.Args) fault.Effect {
	n := int64(0)
	return fault.Effect{Event: func(e *spec.Event, tell func(*spec.Event)) {
		other := *e
		if e.Seq != "" {
			other.Seq = add("1000", -n)
			n++
		}
		tell(&other)
	}}
}

// everySent changes the line with the id in all frames of all streams.
func everySent(change func(id []byte) []byte) play {
	return func(fault.Args) fault.Effect {
		return fault.Effect{Body: func(w fault.Writer) fault.Body { return lines{w, change} }}
	}
}

// lines is a body whose ids are changed, as our servers spell them: on a line of their own.
type lines struct {
	w      fault.Writer
	change func(id []byte) []byte
}

// Frame sends a frame with another id.
func (l lines) Frame(_ int, frame []byte) error {
	out := make([]byte, 0, len(frame))
	for line := range bytes.Lines(frame) {
		if bytes.HasPrefix(line, []byte("id: ")) {
			line = l.change(line)
		}
		out = append(out, line...)
	}
	_, err := l.w.Write(out)
	return err
}

// Close does nothing: all was sent.
func (l lines) Close() error { return nil }
