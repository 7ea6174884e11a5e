package reference

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// wantKinds maps the name of a dialect and a prompt to the kinds of the events that the protocol
// prescribes. "." stands for a message.delta.
var wantKinds = map[string]map[string]string{
	"agentscope@1.1": {
		"conformance:text ok":        "run.start run.progress message.start . . content.end message.end run.end",
		"conformance:empty":          "run.start run.progress run.end",
		"conformance:messages":       "run.start run.progress message.start . . . content.end message.end message.start . . . content.end message.end run.end",
		"conformance:contents":       "run.start run.progress message.start . . . content.end content.end message.end run.end",
		"conformance:reasoning ok":   "run.start run.progress reasoning.start reasoning.delta reasoning.delta reasoning.delta content.end reasoning.end message.start . . content.end message.end run.end",
		`conformance:tool {"a":1}`:   "run.start run.progress message.start tool.call tool.call tool.call tool.call tool.call message.end message.start tool.result message.end message.start . . . content.end message.end run.end",
		"conformance:tools":          "run.start run.progress message.start tool.call message.start tool.call tool.call tool.call tool.call tool.call tool.call tool.call tool.call message.end tool.call message.end message.start tool.result message.end message.start tool.result message.end message.start . . . content.end message.end run.end",
		"conformance:error no luck":  "run.start run.progress run.error",
		"conformance:error-mid luck": "run.start run.progress message.start . . run.error",
		"conformance:interrupt {}":   "run.start run.progress message.start . content.end message.end run.end",
	},
	"agentscope-java@0.1": {
		"conformance:text ok":       "run.start run.progress message.start . . content.end message.end run.end",
		"conformance:contents":      "run.start run.progress message.start . . . content.end content.end message.end run.end",
		"conformance:reasoning ok":  "run.start run.progress message.start . . . content.end message.end message.start . . content.end message.end run.end",
		`conformance:tool {"a":1}`:  "run.start run.progress message.start tool.call message.end message.start tool.result message.end message.start . . . content.end message.end run.end",
		"conformance:error no luck": "run.start run.progress run.error",
	},
	"agentscope-java@1.0": {
		"conformance:text ok":       "run.start run.start . . run.end",
		"conformance:empty":         "run.start run.start run.end",
		"conformance:messages":      "run.start run.start . . . . . . run.end",
		"conformance:contents":      "run.start run.start . . . content.part message.end run.end",
		"conformance:reasoning ok":  "run.start run.start . . . . . run.end",
		`conformance:tool {"a":1}`:  "run.start run.start message.end message.end . . . run.end",
		"conformance:tools":         "run.start run.start message.end message.end message.end message.end . . . run.end",
		"conformance:error no luck": "run.start run.start run.error",
	},
	"runs@2026-04": {
		"conformance:text ok":        "run.start message.start . . message.end run.end",
		"conformance:empty":          "run.start run.end",
		"conformance:reasoning ok":   "run.start message.start . . . message.end message.start . . message.end run.end",
		`conformance:tool {"a":1}`:   "run.start tool.start tool.delta tool.delta tool.delta tool.end tool.result message.start . . . message.end run.end",
		"conformance:tools":          "run.start tool.start tool.start tool.delta tool.delta tool.delta tool.delta tool.delta tool.delta tool.end tool.end tool.result tool.result message.start . . . message.end run.end",
		"conformance:interrupt {}":   "run.start message.start . message.end run.end",
		"conformance:client-tool {}": "run.start message.start . . message.end run.end",
		"conformance:error no luck":  "run.start run.error",
		"conformance:error-mid luck": "run.start message.start . . run.error",
	},
	"agkit@0.0.10": {
		"conformance:text ok":        ". . done",
		"conformance:empty":          "done",
		"conformance:reasoning ok":   ". . . . . done",
		`conformance:tool {"a":1}`:   "tool.start tool.delta tool.delta tool.delta tool.end tool.result . . . done",
		"conformance:interrupt {}":   "interrupt done",
		"conformance:error no luck":  "run.error",
		"conformance:error-mid luck": ". . run.error",
	},
	"agui@1.0": {
		"conformance:text ok":        "run.start message.start . . message.end run.end",
		"conformance:empty":          "run.start run.end",
		"conformance:messages":       "run.start message.start . . . message.end message.start . . . message.end run.end",
		"conformance:reasoning ok":   "run.start step.start reasoning.start reasoning.delta reasoning.delta reasoning.delta reasoning.end step.end message.start . . message.end run.end",
		"conformance:state":          "run.start state.snapshot message.start . . . message.end history run.end",
		"conformance:steps":          "run.start step.start message.start . . . message.end step.end step.start message.start . . . message.end step.end run.end",
		`conformance:tool {"a":1}`:   "run.start tool.start tool.delta tool.delta tool.delta tool.end tool.result message.start . . . message.end run.end",
		"conformance:tools":          "run.start tool.start tool.start tool.delta tool.delta tool.delta tool.delta tool.delta tool.delta tool.end tool.end tool.result tool.result message.start . . . message.end run.end",
		"conformance:interrupt {}":   "run.start interrupt run.end",
		"conformance:client-tool {}": "run.start message.start . . message.end run.end",
		"conformance:error no luck":  "run.start run.error",
		"conformance:error-mid luck": "run.start message.start . . run.error",
	},
}

// sameKinds maps a dialect to another version of it in wantKinds, whose events for each prompt have
// the same kinds.
var sameKinds = map[string]string{"agentscope@0.1": "agentscope@1.1", "runs@2026-03": "runs@2026-04", "agui@0.0": "agui@1.0"}

func TestStreams(t *testing.T) {
	each(t, func(t *testing.T, d *dialect.Dialect) {
		want := wantKinds[d.Name]
		if like := sameKinds[d.Name]; like != "" {
			want = maps.Clone(wantKinds[like])
			for _, prompt := range []string{"conformance:reasoning ok", `conformance:tool {"a":1}`, "conformance:tools"} {
				delete(want, prompt) // which only one of them has events for, or streams
			}
		}
		if len(want) == 0 {
			t.Fatal("no kinds of events are listed")
		}
		k := newTestClient(t, d, Scripted, Config{})
		defer k.close()
		for prompt, want := range want {
			events := k.runEvents("prompt", spec.Event{Text: prompt})
			if got := strings.ReplaceAll(kinds(events), "message.delta", "."); got != want {
				t.Errorf("%s\ntold %s\nwant %s", prompt, got, want)
			}
			if err := last(events, spec.RunError); err.Err == nil && !strings.HasSuffix(prompt, err.Text) {
				t.Errorf("%s failed with %q", prompt, err.Text)
			}
		}
		if got := k.runText("conformance:text Grüß Gott, 世界"); got != "Grüß Gott, 世界" {
			t.Errorf("got %q", got)
		}
	})
}

// TestOutput checks the complete messages that a dialect repeats at the end of each message and at
// the end of the run.
func TestOutput(t *testing.T) {
	for name, want := range map[string]string{
		"agentscope@1.1": `message plugin_call assistant [tool.call lookup {"a":1}]` + "\n" + `message plugin_call_output tool [tool.result lookup {"found":true}]` + "\n" + `message message assistant [content.end  I have looked it up.]`,
		"agentscope@0.1": `message plugin_call assistant [tool.call lookup {"a":1}]` + "\n" + `message plugin_call_output assistant [tool.result  {"found":true}]` + "\n" + `message message assistant [content.end  I have looked it up.]`,
		"agentscope-java@0.1": `message FUNCTION_CALL assistant [tool.call lookup {"a":1}]` + "\n" + `message FUNCTION_CALL_OUTPUT tool [tool.result lookup {"found":true}]` + "\n" +
			`message MESSAGE assistant [content.end  I have looked it up.]`,
		"agentscope-java@1.0": `message mcp_call assistant [tool.call lookup {"a":1}]` + "\n" + `message mcp_approval_response tool [tool.result lookup {"found":true}]`,
	} {
		t.Run(name, func(t *testing.T) {
			k := newTestClient(t, mustDialect(t, name), Scripted, Config{})
			defer k.close()
			events := k.runEvents("prompt", spec.Event{Text: `conformance:tool {"a":1}`})
			var ended, listed []string
			for _, e := range events {
				if e.Kind == spec.MessageEnd {
					ended = append(ended, describe(e))
				}
			}
			for _, e := range last(events, spec.RunEnd).Parts {
				listed = append(listed, describe(e))
			}
			if got := strings.Join(listed, "\n"); got != want || strings.Join(ended, "\n") != want {
				t.Errorf("the end lists\n%s\nthe messages were\n%s\nwant\n%s", got, strings.Join(ended, "\n"), want)
			}
		})
	}
}

func describe(e spec.Event) string {
	var parts []string
	for _, p := range e.Parts {
		parts = append(parts, strings.Join([]string{string(p.Kind), p.Name, p.Text}, " "))
	}
	return strings.Join([]string{e.Kind.Subject(), e.Type, e.Role, "[" + strings.Join(parts, ", ") + "]"}, " ")
}

// TestImage checks that an image is a content part of its own, after the text.
func TestImage(t *testing.T) {
	for name, want := range map[string]string{"agentscope@1.1": "1", "agentscope-java@0.1": "1", "agentscope-java@1.0": "0"} {
		k := newTestClient(t, mustDialect(t, name), Scripted, Config{})
		defer k.close()
		found := false
		for _, e := range k.runEvents("prompt", spec.Event{Text: "conformance:contents"}) {
			if e.Type == "image" {
				found = found || e.Text == imageURL && e.Index == want
			}
		}
		if !found {
			t.Errorf("%s: got no image in slot %s", name, want)
		}
	}
}

// TestBookkeeping checks the sequence numbers, the thread ids and the times in the events of a
// stream.
func TestBookkeeping(t *testing.T) {
	for name, want := range map[string]struct{ numbers, time string }{
		"agentscope@1.1":      {"0 1 2 3 4 5 6 7", "1795226757"},
		"agentscope-java@0.1": {"0 1 2 3 4 5 6 7", "1795226757500"},
		"agentscope-java@1.0": {"0 0 1 2 3", "1795226757"}, // the start is sent twice
	} {
		t.Run(name, func(t *testing.T) {
			now := func() time.Time { return time.UnixMilli(1795226757_500) }
			k := newTestClient(t, mustDialect(t, name), Scripted, Config{Now: now})
			defer k.close()
			var numbers []string
			for i, e := range k.runEvents("prompt", spec.Event{Text: "conformance:text ok"}) {
				numbers = append(numbers, e.Seq)
				if e.Kind.Subject() != "run" {
					continue
				}
				if e.Thread != firstThread || e.Created != want.time || e.Kind == spec.RunEnd && e.Completed != want.time {
					t.Errorf("event %d: thread %q, created %q, completed %q", i, e.Thread, e.Created, e.Completed)
				}
			}
			if got := strings.Join(numbers, " "); got != want.numbers {
				t.Errorf("the numbers are %s", got)
			}
		})
	}
}

// TestMadeNames checks that the server generates the ids of the thread and of the run if a request
// has none.
func TestMadeNames(t *testing.T) {
	d := mustDialect(t, "agentscope@1.1")
	k := newTestClient(t, d, Scripted, Config{})
	defer k.close()
	body := `{"input":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}`
	req := spec.Request{Method: "POST", Target: "/process", Header: spec.Header{{Name: "Content-Type", Value: "application/json"}}, Body: []byte(body)}
	first, second := k.events(req, k.do(req)), k.events(req, k.do(req))
	a, b := last(first, spec.RunEnd), last(second, spec.RunEnd)
	if a.Thread == "" || a.Run == "" || a.Thread == b.Thread || a.Run == b.Run {
		t.Errorf("made threads %q and %q, runs %q and %q", a.Thread, b.Thread, a.Run, b.Run)
	}
}
