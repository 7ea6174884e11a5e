package fault

import (
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// stateFaults lists the faults that affect the state that agent and client share, and the snapshots
// of the messages of a thread.
var stateFaults = []*Fault{
	{Name: "delta-malformed", Doc: "a delta of the state, after the start of the run, is an object and not a JSON Patch",
		RequiredKinds: []spec.Kind{spec.RunStart, spec.StateDelta}, Checks: []string{"wire.matches-schema"},
		NewEffect: followed(OfKind(spec.RunStart), func(e *spec.Event) *spec.Event {
			return &spec.Event{Kind: spec.StateDelta, Thread: e.Thread, Run: e.Run, Seq: e.Seq, Text: `{"value":1}`}
		})},
	{Name: "snapshot-forgets", Doc: "after each message follows a snapshot of the messages that has only the beginning of its text",
		RequiredKinds: []spec.Kind{spec.StateSnapshot, spec.History, spec.MessageEnd}, Checks: []string{"messages.snapshot-agrees"},
		NewEffect: editEvents(followBySnapshot)},
}

// followBySnapshot returns an edit function for editEvents that inserts a snapshot of the messages
// after the end of each message. The snapshot contains only that message, with the first half of
// its text. If that half is empty, no snapshot is inserted.
func followBySnapshot(r *eventEditor) func(*spec.Event) {
	texts := map[string]*strings.Builder{}
	return func(e *spec.Event) {
		r.pass(e)
		if texts[e.Message] == nil {
			texts[e.Message] = &strings.Builder{}
		}
		switch text := texts[e.Message]; e.Kind {
		case spec.MessageDelta:
			text.WriteString(e.Text)
		case spec.MessageEnd:
			runes := []rune(text.String())
			if half := string(runes[:len(runes)/2]); half != "" {
				part := spec.Event{Kind: spec.HistoryAssistant, Message: e.Message, Text: half}
				r.insert(&spec.Event{
					Kind: spec.History, Thread: e.Thread, Run: e.Run, Seq: e.Seq, Parts: []spec.Event{part},
				}, e.Seq)
			}
		}
	}
}
