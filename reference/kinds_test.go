package reference

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// allKinds returns the kinds that the documents of the dialects name, and those that stand for no
// schema.
func allKinds() []spec.Kind {
	return slices.Concat(spec.DocumentKinds, []spec.Kind{
		spec.HTTPRequest, spec.HTTPResponse, spec.BodyEnd, spec.Comment, spec.Incomplete, spec.Done,
	})
}

// TestEveryKind checks that an event of an agent is never lost without a trace: an event of any
// kind of a run is sent, in some form, if the dialect can express it, and an event of any other
// kind ends the run with an error that names the kind.
func TestEveryKind(t *testing.T) {
	all, err := dialect.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		op := streamOperation(d)
		for _, k := range allKinds() {
			if slices.Contains([]spec.Kind{spec.Undecodable, spec.RunStart, spec.MessageEnd, spec.ReasoningEnd}, k) {
				continue // encoded already, sent already, or of a message that has not started: nothing to send
			}
			without, sent := encodeRun(op), encodeRun(op, spec.Event{Kind: k, Message: "m", Call: "c", ID: "i", Name: "n", Text: "{}"})
			last := sent[len(sent)-1]
			switch canEncode := op.CanEncode(spec.Event{Kind: k}); {
			case canEncode && fmt.Sprint(sent) == fmt.Sprint(without):
				t.Errorf("%s: an event of the kind %s is lost", d.Name, k)
			case canEncode || k.InRun():
			case last.Kind != spec.RunError || !strings.Contains(last.Text, strconv.Quote(string(k))):
				t.Errorf("%s: after an event of the kind %s the run ends with %s %q", d.Name, k, last.Kind, last.Text)
			}
		}
	}
}

// encodeRun returns the events that the stream of o contains for a run in which the agent sends the
// given events.
func encodeRun(o *dialect.Operation, events ...spec.Event) (sent []spec.Event) {
	now := func() time.Time { return time.Unix(0, 0) }
	enc := newEventFeatures(o).newEncoder("t", "r", now, func(e *spec.Event) { sent = append(sent, *e) })
	for _, e := range slices.Concat([]spec.Event{{Kind: spec.RunStart}}, events, []spec.Event{{Kind: spec.RunEnd}}) {
		enc.encode(&e)
	}
	return sent
}

// streamOperation returns the operation of a dialect that streams runs, or nil if there is none.
func streamOperation(d *dialect.Dialect) *dialect.Operation {
	for _, o := range d.Operations() {
		if o.IsStream && o.CanEncode(spec.Event{Kind: spec.MessageDelta}) {
			return o
		}
	}
	return nil
}
