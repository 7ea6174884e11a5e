package mutation

import (
	"regexp"
	"strconv"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/spec"
)

// sequenceMutants are servers whose events have wrong sequence numbers or SSE ids.
var sequenceMutants = []*Mutant{
	{
		Name: "sequence-number-repeated", Doc: "sends two different events with the same sequence number",
		Fault: "seq-repeated",
		KilledBy: map[string]string{
			"sequence.increases": "message.delta reasoning.delta", "sequence.never-falls": "message.delta",
			"sequence.dense": "message.delta reasoning.delta",
		},
	}, {
		Name: "sequence-number-reset", Doc: "sends an event with the sequence number 0 again",
		Fault: "seq-falls",
		KilledBy: map[string]string{
			"sequence.increases": "message.start reasoning.start", "sequence.never-falls": "message.delta message.end",
			"sequence.dense": "message.start reasoning.start",
		},
	}, {
		Name: "sequence-number-skipped", Doc: "skips a sequence number",
		Fault:    "seq-skipped",
		KilledBy: map[string]string{"sequence.dense": "message.delta reasoning.delta"},
	}, {
		Name: "sequence-numbers-from-one", Doc: "numbers events from 1",
		Fault:    "seq-skipped; event=0",
		KilledBy: map[string]string{"sequence.dense": "run.start"},
	}, {
		Name: "sequence-numbers-decrease", Doc: "numbers events from 100000 down",
		NewEffect: countDown,
		KilledBy: map[string]string{
			"sequence.increases": "*", "sequence.never-falls": "*",
			"sequence.dense": "run.start",
		},
	}, {
		Name: "cursors-missing", Doc: "sends events without an SSE id",
		Fault:    "cursor-missing",
		KilledBy: map[string]string{"cursor.present": "run.start"},
	}, {
		Name: "cursors-empty", Doc: "sends each event with an empty SSE id",
		Middleware: replaceIDLines("id:\n"),
		KilledBy:   map[string]string{"cursor.present": "run.start"},
	}, {
		Name: "cursor-repeated", Doc: "sends an event with the SSE id of the event before it",
		Fault:     "cursor-repeated",
		KilledBy:  map[string]string{"cursor.unique": "message.start run.end run.error tool.start"},
		AlsoFails: []string{"resume.*"}, // a cursor that occurs twice is ambiguous, so a stream may be resumed at the wrong place
	}, {
		Name: "cursor-same-for-all", Doc: "sends all events with the same SSE id",
		Middleware: replaceIDLines("id: 1\n"),
		KilledBy:   map[string]string{"cursor.unique": "*"},
		// Without distinct cursors no stream can be resumed.
		AlsoFails: []string{"resume.*", "wire.opens-stream", acceptsAsDocumented, "limit.refuses-streams"},
	},
}

// countDown is the effectFactory of a fault that numbers the events of a run downward from 100000.
// Events without a sequence number are left unchanged.
func countDown(a fault.Args) fault.Effect {
	number := 100_001
	hasNumber := func(e *spec.Event) bool { return e.Seq != "" }
	return changeEvents(hasNumber, func(e *spec.Event) {
		number--
		e.Seq = strconv.Itoa(number)
	})(a)
}

// replaceIDLines returns a middleware that replaces the id line of each frame with the given line,
// which must include its line end. It finds id lines only in the form in which the servers of this
// project write them: "id: " followed by the id.
func replaceIDLines(line string) middleware {
	idLine := regexp.MustCompile(`(?m)^id: .*\n`)
	return editFrames(func(parsedRequest) func([]byte) []byte {
		return func(frame []byte) []byte { return idLine.ReplaceAllLiteral(frame, []byte(line)) }
	})
}
