package model_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamassay/streamassay/internal/model"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
)

const key = "sk-very-secret"

// config returns a configuration of the agent that uses the fake as its model.
func (u upstream) config() model.Config {
	tools := append(model.BuiltinTools(),
		model.Tool{Name: "panic", Run: func(context.Context, string) (string, error) { panic("no") }},
		model.Tool{Name: "fail", Run: func(context.Context, string) (string, error) { return "", errors.New("it did\nnot work") }},
		model.Tool{Name: "hang", Run: func(ctx context.Context, _ string) (string, error) { <-ctx.Done(); return "", ctx.Err() }},
	)
	return model.Config{
		BaseURL: u.root + "/v1", APIKey: key, Model: "small", Tools: tools, MaxRounds: 3, Timeout: 5 * time.Second, HTTPClient: u.client,
	}
}

func (u upstream) agent(cfg model.Config) reference.Agent {
	u.Helper()
	agent, err := model.New(cfg)
	if err != nil {
		u.Fatal(err)
	}
	return agent
}

// user returns a turn of the run "r" with one user message.
func user(text string) reference.Turn {
	return turn(spec.Event{Kind: spec.InputUser, Text: text})
}

func turn(parts ...spec.Event) reference.Turn {
	return reference.Turn{Event: spec.Event{Run: "r", Parts: parts}}
}

// offer returns the turn t with another tool of the client.
func offer(t reference.Turn, name, about, schema string) reference.Turn {
	t.Parts = append(t.Parts, spec.Event{Kind: spec.InputTool, Name: name, Description: about, Text: schema})
	t.ClientTools = append(t.ClientTools, name)
	return t
}

func play(ctx context.Context, agent reference.Agent, t reference.Turn) (events []spec.Event) {
	for e := range agent(ctx, t) {
		events = append(events, e)
	}
	return events
}

// told returns the events except run.start and run.end, one per line. Consecutive deltas of the
// same message or call are joined.
func told(events []spec.Event) string {
	var b strings.Builder
	last := ""
	for i, e := range events {
		if e.Kind == spec.RunStart && i == 0 || e.Kind == spec.RunEnd && i == len(events)-1 {
			continue
		}
		head := string(e.Kind)
		for _, slot := range []string{e.Message, e.Call, e.Name, e.Code} {
			if slot != "" {
				head += " " + slot
			}
		}
		if e.Text != "" {
			head += ":"
		}
		if e.Kind.Phase() == "delta" && head == last {
			b.WriteString(e.Text)
			continue
		}
		if last != "" {
			b.WriteString("\n")
		}
		if b.WriteString(head); e.Text != "" {
			b.WriteString(" " + e.Text)
		}
		last = head
	}
	return b.String() + "\n"
}

// messageTold returns what told returns for the events of a message with the id m.
func messageTold(m, text string) string {
	return fmt.Sprintf("message.start %[1]s\nmessage.delta %[1]s: %[2]s\nmessage.end %[1]s\n", m, text)
}

func reasoningTold(m, text string) string {
	return strings.ReplaceAll(messageTold(m, text), "message.", "reasoning.")
}

// callTold returns what told returns for the events of a tool call with the id c. m is the id of
// its message.
func callTold(m, c, name, arguments string) string {
	return fmt.Sprintf("tool.start %s %s %s\ntool.delta %[2]s: %[4]s\ntool.end %[2]s\n", m, c, name, arguments)
}

func resultTold(m, c, name, text string) string {
	return fmt.Sprintf("tool.result %s %s %s: %s\n", m, c, name, text)
}

const (
	foundX   = `{"word":"x","characters":1}`
	foundYY  = `{"word":"yy","characters":2}`
	lookedUp = "tool.start r-m1 r-c1 lookup\ntool.delta r-c1: {\"word\":\"x\"}\ntool.end r-c1\ntool.result r-m2 r-c1 lookup: " + foundX + "\n"
)

// TestTells checks the events of successful runs.
func TestTells(t *testing.T) {
	bothOf := func(first, second string) string { // calls of one answer are open at once
		return "tool.start r-m1 r-c1 lookup\ntool.delta r-c1: {\"word\":\"x\"}\ntool.start r-m2 r-c2 lookup\ntool.delta r-c2: {\"word\":\"yy\"}\ntool.end r-c1\ntool.end r-c2\n" +
			resultTold("r-m3", "r-c1", "lookup", first) + resultTold("r-m4", "r-c2", "lookup", second) + messageTold("r-m5", "gave: "+first+" | "+second)
	}
	failing := func(tool, arguments, result string) string {
		return callTold("r-m1", "r-c1", tool, arguments) + resultTold("r-m2", "r-c1", tool, result) + messageTold("r-m3", "gave: "+result)
	}
	for script, want := range map[string]string{
		"hello":             messageTold("r-m1", "You said: hello"),
		"text":              messageTold("r-m1", greeting),
		"bytes":             messageTold("r-m1", greeting),
		"crlf":              messageTold("r-m1", greeting),
		"refusal":           messageTold("r-m1", "I will not."),
		"length":            messageTold("r-m1", "and so"),
		"empty":             "\n",
		"other-choice":      "\n",
		"no-done":           messageTold("r-m1", "done"),
		"no-end":            messageTold("r-m1", "done"),
		"done-only":         messageTold("r-m1", "done"),
		"cut-late":          messageTold("r-m1", "done"),
		"endless-tail":      messageTold("r-m1", "done"),
		"null-error":        messageTold("r-m1", "fine"),
		"odd-types":         messageTold("r-m1", "fine"),
		"429-once":          messageTold("r-m1", "here I am"),
		"503-once":          messageTold("r-m1", "here I am"),
		"reasoning":         reasoningTold("r-m1", "hm, so") + messageTold("r-m2", "yes"),
		"reasoning-content": reasoningTold("r-m1", "hm, so") + messageTold("r-m2", "yes"),
		"reasoning-twice":   reasoningTold("r-m1", "hm") + messageTold("r-m2", "yes"),
		"reasoning-tool": reasoningTold("r-m1", "I look") + callTold("r-m2", "r-c1", "lookup", `{"word":"x"}`) +
			resultTold("r-m3", "r-c1", "lookup", foundX) + messageTold("r-m4", "gave: "+foundX),
		"tool": callTold("r-m1", "r-c1", "lookup", `{"word":"äb"}`) + resultTold("r-m2", "r-c1", "lookup", `{"word":"äb","characters":2}`) +
			messageTold("r-m3", `gave: {"word":"äb","characters":2}`),
		"whole-tool":       lookedUp + messageTold("r-m3", "gave: "+foundX),
		"stop-tool":        lookedUp + messageTold("r-m3", "gave: "+foundX),
		"no-id-tool":       lookedUp + messageTold("r-m3", "gave: "+foundX),
		"name-again":       lookedUp + messageTold("r-m3", "gave: "+foundX),
		"late-name":        lookedUp + messageTold("r-m3", "gave: "+foundX),
		"same-index":       bothOf(foundX, foundYY),
		"same-index-no-id": bothOf(foundX, foundYY),
		"same-id":          bothOf(foundX, foundYY),
		"tools": "tool.start r-m1 r-c1 lookup\ntool.delta r-c1: {\"word\"\ntool.start r-m2 r-c2 lookup\ntool.delta r-c2: {\"wor\ntool.delta r-c1: :\"one\"}\ntool.delta r-c2: d\":\"three\"}\ntool.end r-c1\ntool.end r-c2\n" +
			resultTold("r-m3", "r-c1", "lookup", `{"word":"one","characters":3}`) + resultTold("r-m4", "r-c2", "lookup", `{"word":"three","characters":5}`) +
			messageTold("r-m5", `gave: {"word":"one","characters":3} | {"word":"three","characters":5}`),
		"text-tool": messageTold("r-m1", "Let me look.") + callTold("r-m2", "r-c1", "lookup", `{"word":"x"}`) + messageTold("r-m3", "Looking.") +
			resultTold("r-m4", "r-c1", "lookup", foundX) + messageTold("r-m5", "gave: "+foundX),
		"unknown-tool":   failing("dance", `{}`, `error: there is no tool "dance"`),
		"bad-arguments":  failing("lookup", `{"word":`, "error: the arguments are not JSON"),
		"panicking-tool": failing("panic", `{}`, "error: the tool failed"),
		"failing-tool":   failing("fail", `{}`, "error: it did not work"),
		"client-tool":    callTold("r-m1", "r-c1", "paint", `{"color":"blue"}`),
		"client-garbage": failing("paint", "blue", "error: the arguments are not JSON"),
		"mixed-tools": "tool.start r-m1 r-c1 lookup\ntool.delta r-c1: {\"word\":\"x\"}\ntool.start r-m2 r-c2 paint\ntool.delta r-c2: {\"color\":\"blue\"}\ntool.end r-c1\ntool.end r-c2\n" +
			resultTold("r-m3", "r-c1", "lookup", foundX),
	} {
		t.Run(script, func(t *testing.T) {
			u := fakeModel(t)
			cfg := u.config()
			events := play(t.Context(), u.agent(cfg), offer(user(script), "paint", "", ""))
			if got := told(events); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if events[0].Kind != spec.RunStart || events[len(events)-1].Kind != spec.RunEnd {
				t.Errorf("the run does not begin, or end")
			}
		})
	}
}
