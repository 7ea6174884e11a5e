package reference

import (
	"testing"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

func TestMemory(t *testing.T) {
	each(t, func(t *testing.T, d *dialect.Dialect) {
		k := newTestClient(t, d, Scripted, Config{})
		defer k.close()
		if got := k.runText("conformance:recall"); got != "nothing" {
			t.Errorf("without earlier messages: %q", got)
		}
		if got := k.runText("conformance:recall"); got != "conformance:recall" {
			t.Errorf("after that: %q", got)
		}
		k.runText("what?")
		if got := k.runText("conformance:recall"); got != "what?" {
			t.Errorf("recalled %q", got)
		}
		k.thread = "550e8400-e29b-41d4-a716-446655440009"
		if got := k.runText("conformance:recall"); got != "nothing" {
			t.Errorf("another conversation recalled %q", got)
		}
	})
}

// TestRepeatedHistory checks that a history that the client repeats in its request counts as the
// earlier messages.
func TestRepeatedHistory(t *testing.T) {
	k := newTestClient(t, mustDialect(t, "agentscope@1.1"), Scripted, Config{})
	defer k.close()
	if got := says(k.runEvents("history", spec.Event{Text: "conformance:recall"})); got != "Is it sunny in Beijing?" {
		t.Errorf("recalled %q", got)
	}
}

// TestClientTool checks that the client can run a tool and return the result in its next request.
func TestClientTool(t *testing.T) {
	each(t, func(t *testing.T, d *dialect.Dialect) {
		if _, ok := d.TemplateOperation("tool-result"); !ok {
			return
		}
		k := newTestClient(t, d, Scripted, Config{})
		defer k.close()
		events := k.runEvents("tool-offer", spec.Event{Text: `conformance:client-tool {"n":7}`, Name: "paint"})
		id, args, results := "", "", 0
		for _, e := range events {
			switch e.Kind {
			case spec.ToolStart, spec.ToolCall:
				id, args = e.Call, e.Text
				if e.Name != "paint" {
					t.Errorf("called %q", e.Name)
				}
			case spec.ToolDelta:
				args += e.Text
			case spec.ToolResult:
				results++
			}
		}
		if id == "" || args != `{"n":7}` || results != 0 {
			t.Errorf("call %q, arguments %q, %d results", id, args, results)
		}
		if got := says(k.runEvents("tool-result", spec.Event{Call: id, Text: "painted"})); got != "tool said: painted" {
			t.Errorf("afterwards: got text %q", got)
		}
	})
}

func TestInterrupt(t *testing.T) {
	k := newTestClient(t, mustDialect(t, "agkit@0.0.10"), Scripted, Config{})
	defer k.close()
	asked := last(k.runEvents("prompt", spec.Event{Text: `conformance:interrupt {"q":"delete?"}`}), spec.Interrupt)
	if asked.ID == "" || asked.Text != `{"q":"delete?"}` {
		t.Errorf("interrupt %q with %s", asked.ID, asked.Text)
	}
	if got := says(k.runEvents("resume", spec.Event{ID: asked.ID, Text: "approved"})); got != `resumed with: "approved"` {
		t.Errorf("afterwards: got text %q", got)
	}
}

// TestResumeIsNotSaid checks that the reply to an interrupt does not count as a message of the
// user.
func TestResumeIsNotSaid(t *testing.T) {
	k := newTestClient(t, mustDialect(t, "agkit"), Scripted, Config{})
	defer k.close()
	const asked = `conformance:interrupt {"question":"Delete?"}`
	for _, e := range k.runEvents("prompt", spec.Event{Text: asked}) {
		if e.Kind == spec.Interrupt {
			if got := says(k.runEvents("resume", spec.Event{ID: e.ID, Text: "approved"})); got != `resumed with: "approved"` {
				t.Errorf("resumed: got text %q", got)
			}
		}
	}
	if got := k.runText("conformance:recall"); got != asked {
		t.Errorf("recalled %q", got)
	}
}
