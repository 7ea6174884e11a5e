package fault

import (
	"bytes"
	"cmp"

	"github.com/streamassay/streamassay/spec"
)

// chunkSlots lists the features and event kinds that a dialect must have for faults that send texts
// in chunks. A chunk is a delta that needs no start event and no end event.
var chunkSlots = []spec.Kind{spec.SlotChunk, spec.SlotMessage, spec.MessageStart, spec.MessageDelta}

// inTurnFaults lists the faults that concern steps, chunks (deltas without start and end events)
// and line ends.
var inTurnFaults = []*Fault{
	{Name: "step-end-missing", Doc: "a step that starts after the start of the run never ends",
		RequiredKinds: []spec.Kind{spec.StepStart, spec.StepEnd}, Checks: []string{"step.all-end"},
		NewEffect: followedBySteps(spec.StepStart)},
	{Name: "step-end-alone", Doc: "a step ends that never started",
		RequiredKinds: []spec.Kind{spec.StepStart, spec.StepEnd}, Checks: []string{"step.pairs"},
		NewEffect: followedBySteps(spec.StepEnd)},
	{Name: "step-start-twice", Doc: "a step starts twice and ends once",
		RequiredKinds: []spec.Kind{spec.StepStart, spec.StepEnd}, Checks: []string{"step.pairs"},
		NewEffect: followedBySteps(spec.StepStart, spec.StepStart, spec.StepEnd)},
	{Name: "as-chunks", Doc: "texts and tool calls are sent in chunks, without the events that start and end them",
		RequiredKinds: chunkSlots,
		NewEffect:     editEvents(sendChunks)},
	{Name: "chunk-unnamed", Doc: "texts are sent in chunks, the first of which does not name its message",
		RequiredKinds: chunkSlots, Checks: []string{"chunk.first-names"},
		NewEffect: editChunks(func(chunk *spec.Event, _ bool) { chunk.Message = "" })},
	{Name: "chunk-role-changes", Doc: "texts are sent in chunks, and later chunks have another role than the first",
		RequiredKinds: chunkSlots, Checks: []string{"chunk.agrees"},
		NewEffect: editChunks(func(chunk *spec.Event, first bool) {
			if chunk.Role = "user"; first {
				chunk.Role = "assistant"
			}
		})},
	{Name: "crlf", Doc: "the lines of an event, the first if no trigger is set, end with CRLF, which some protocols do not allow",
		Triggers: atEvent, Checks: []string{"wire.lines-end-with-lf"},
		NewEffect: endLinesWithCRLF},
}

// endLinesWithCRLF is a value for [Fault.NewEffect]. The effect ends each line of one frame with
// CRLF: the frame of the event at the trigger or, if no trigger is set, the first frame.
func endLinesWithCRLF(a Args) Effect {
	n := -1
	return Effect{OnFrame: func(frame []byte, emit func([]byte)) {
		if n++; n == max(a.Trigger.Event, 0) {
			a.Applied()
			frame = bytes.ReplaceAll(frame, []byte("\n"), []byte("\r\n"))
		}
		emit(frame)
	}}
}

// followedBySteps returns a value for [Fault.NewEffect]. After the event that starts the run, the
// effect inserts one event of each of the given kinds, in the order of kinds. The inserted events
// have the same step name.
func followedBySteps(kinds ...spec.Kind) func(Args) Effect {
	return editEvents(func(r *eventEditor) func(*spec.Event) {
		return func(e *spec.Event) {
			r.pass(e)
			if e.Kind != spec.RunStart {
				return
			}
			for _, k := range kinds {
				r.insert(&spec.Event{Kind: k, Thread: e.Thread, Run: e.Run, Name: "a step of its own", Seq: e.Seq}, e.Seq)
			}
		}
	})
}

// sendChunks returns an edit function for editEvents. The edit function sends the deltas of
// messages, reasoning and tool calls as chunks, and omits the start and end events. For a message
// or call without deltas, it sends the start and end events and no chunks.
//
// Chunks of different tool calls cannot be interleaved, so the edit function holds back the chunks
// of a call until the call ends.
func sendChunks(r *eventEditor) func(*spec.Event) {
	c := &chunkEditor{r, map[string]*spec.Event{}, map[string]bool{}, map[string][]spec.Event{}}
	return func(e *spec.Event) {
		key := e.Kind.Subject() + "\x00" + cmp.Or(e.Call, e.Message) // events of a call may name a message or not
		switch e.Kind {
		case spec.MessageStart, spec.ReasoningStart, spec.ToolStart:
			c.started[key] = new(*e)
		case spec.MessageDelta, spec.ReasoningDelta, spec.ToolDelta:
			c.sendDelta(key, *e)
		case spec.MessageEnd, spec.ReasoningEnd, spec.ToolEnd:
			c.sendEnd(key, e)
		default:
			r.pass(e)
		}
	}
}

// A chunkEditor holds the state of an edit function that sendChunks returns. The keys of its
// maps identify messages, reasoning and tool calls: a key consists of the result of
// [spec.Kind.Subject], such as "message" or "tool", a zero byte and the id of the message or call.
type chunkEditor struct {
	*eventEditor
	started map[string]*spec.Event  // start events of messages and calls that have no delta yet, by key
	chunked map[string]bool         // keys of the messages and calls that have deltas
	calls   map[string][]spec.Event // chunks of calls that have not ended, by key
}

// sendDelta sends chunk, a copy of a delta event, as a chunk of the message or tool call with the
// given key. The first chunk of a message or call gets the role and the name from the start event;
// later chunks get no message id and no call id. The chunks of a tool call are stored until sendEnd
// is called.
func (c *chunkEditor) sendDelta(key string, chunk spec.Event) {
	chunk.IsChunk = true
	if start := c.started[key]; start != nil {
		chunk.Role, chunk.Name = start.Role, start.Name
		delete(c.started, key)
	} else {
		chunk.Message, chunk.Call = "", ""
	}
	if c.chunked[key] = true; chunk.Kind == spec.ToolDelta {
		c.calls[key] = append(c.calls[key], chunk)
		return
	}
	c.replace(&chunk)
}

// sendEnd handles e, the end event of the message or tool call with the given key. If there were
// deltas, it sends the stored chunks of a tool call, and omits e. If there were no deltas, it sends
// the stored start event and then e.
func (c *chunkEditor) sendEnd(key string, e *spec.Event) {
	for i := range c.calls[key] {
		c.replace(&c.calls[key][i])
	}
	delete(c.calls, key)
	if c.chunked[key] {
		delete(c.chunked, key)
		return
	}
	if start := c.started[key]; start != nil {
		delete(c.started, key)
		c.pass(start)
	}
	c.pass(e)
}

// editChunks returns a value for [Fault.NewEffect]. The effect sends the text deltas of a run as
// chunks, and omits the events that start and end messages. Before it sends a chunk, it calls
// change, which edits the chunk in place. The argument first of change is true for the first chunk
// of each message.
func editChunks(change func(chunk *spec.Event, first bool)) func(Args) Effect {
	return editEvents(func(r *eventEditor) func(*spec.Event) {
		begun := map[string]bool{}
		return func(e *spec.Event) {
			switch e.Kind {
			case spec.MessageStart, spec.MessageEnd:
			case spec.MessageDelta:
				chunk := *e
				chunk.IsChunk = true
				change(&chunk, !begun[e.Message])
				begun[e.Message] = true
				r.replace(&chunk)
			default:
				r.pass(e)
			}
		}
	})
}
