package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamassay/streamassay/internal/model"
	"github.com/streamassay/streamassay/internal/state"
	"github.com/streamassay/streamassay/spec"
)

func system(text string) spec.Event   { return spec.Event{Kind: spec.InputSystem, Text: text} }
func says(text string) spec.Event     { return spec.Event{Kind: spec.InputUser, Text: text} }
func answered(text string) spec.Event { return spec.Event{Kind: spec.InputAssistant, Text: text} }
func gave(call, text string) spec.Event {
	return spec.Event{Kind: spec.InputToolResult, Call: call, Text: text}
}

// earlier holds the messages of a conversation of two runs. The second run ended with a tool call
// that the client must run.
var earlier = []state.Message{
	{Role: "user", Text: "hi"},
	{Role: "assistant", Text: "Let me see."},
	{Role: "assistant", Calls: []state.Call{{ID: "a-c1", Name: "lookup", Arguments: `{"word":"x"}`}, {ID: "a-c2", Name: "lookup", Arguments: `{"wo`}}},
	{Role: "tool", Text: "found", ToolCall: "a-c1", Name: "lookup"},
	{Role: "tool", Text: "error", ToolCall: "a-c2", Name: "lookup"},
	{Role: "assistant", Text: "I have it."},
	{Role: "user", Text: "paint it"},
	{Role: "assistant", Calls: []state.Call{{ID: "b-c1", Name: "paint", Arguments: `{"color":"blue"}`}}},
}

const earlierAsked = "user: hi\nassistant: Let me see. [call00001 lookup {\"word\":\"x\"}] [call00002 lookup {}]\n" +
	"tool(call00001): found\ntool(call00002): error\nassistant: I have it.\nuser: paint it\nassistant:  [call00003 paint {\"color\":\"blue\"}]\n"

// TestAsks checks the messages that the model receives for a request and the earlier messages of
// its conversation.
func TestAsks(t *testing.T) {
	for _, c := range []struct {
		name    string
		earlier []state.Message
		parts   []spec.Event
		want    string
	}{
		{"a prompt", nil, []spec.Event{says("hello")}, "system: Be kind.\nuser: hello\n"},
		{"system messages", nil, []spec.Event{system("Be brief."), says("hello"), system("Now.")}, "system: Be kind.\n\nBe brief.\n\nNow.\nuser: hello\n"},
		{"history", earlier[:6], []spec.Event{says("hello")}, "system: Be kind.\n" + strings.Split(earlierAsked, "user: paint")[0] + "user: hello\n"},
		{"a result", earlier, []spec.Event{gave("b-c1", "painted")}, "system: Be kind.\n" + earlierAsked + "tool(call00003): painted\n"},
		{"a result that never came", earlier, []spec.Event{says("hello")}, "system: Be kind.\n" + earlierAsked + "tool(call00003): error: there is no result\nuser: hello\n"},
		{"a result and a question", earlier, []spec.Event{gave("b-c1", "painted"), says("and now?")}, "system: Be kind.\n" + earlierAsked + "tool(call00003): painted\nuser: and now?\n"},
		{"a result of no call", earlier[:1], []spec.Event{gave("z-c1", "painted")}, "system: Be kind.\nuser: hi\nuser: A tool (unknown) gave: painted\n"},
		{"a result that is not the first", earlier[:4], []spec.Event{gave("a-c1", "again")}, "system: Be kind.\nuser: hi\nassistant: Let me see. [call00001 lookup {\"word\":\"x\"}] [call00002 lookup {}]\n" +
			"tool(call00001): found\ntool(call00002): error: there is no result\nuser: A tool (unknown) gave: again\n"},
		{"a resumption", earlier[:1], []spec.Event{{Kind: spec.InputResume, ID: "i", Text: "approved"}}, "system: Be kind.\nuser: hi\nuser: approved\n"},
		{"repeated history", earlier, []spec.Event{says("hi"), answered("Hello."), says("hello")}, "system: Be kind.\nuser: hi\nassistant: Hello.\nuser: hello\n"},
		{"two questions", earlier, []spec.Event{says("one"), says("two")}, "system: Be kind.\nuser: one\nuser: two\n"},
		{"repeated history without its calls", earlier, []spec.Event{says("paint it"), answered(""), gave("b-c1", "painted")},
			"system: Be kind.\nuser: paint it\nassistant:  [call00001 paint {\"color\":\"blue\"}]\ntool(call00001): painted\n"},
		{"repeated history with half of its calls", earlier, []spec.Event{says("paint it"), answered("Well."), gave("b-c1", "painted"), says("and?")},
			"system: Be kind.\nuser: paint it\nassistant: Well. [call00001 paint {\"color\":\"blue\"}]\ntool(call00001): painted\nuser: and?\n"},
		{"repeated calls", nil, []spec.Event{says("look"), {Kind: spec.InputAssistant, Call: "q", Name: "lookup"}, gave("q", "found"), answered("It is."), says("thanks")},
			"system: Be kind.\nuser: look\nassistant:  [call00001 lookup {}]\ntool(call00001): found\nassistant: It is.\nuser: thanks\n"},
		{"two runs of one name", slices.Concat(earlier[6:], []state.Message{{Role: "tool", Text: "painted", ToolCall: "b-c1"}}, earlier[6:]), []spec.Event{gave("b-c1", "again")},
			"system: Be kind.\nuser: paint it\nassistant:  [call00001 paint {\"color\":\"blue\"}]\ntool(call00001): painted\n" +
				"user: paint it\nassistant:  [call00002 paint {\"color\":\"blue\"}]\ntool(call00002): again\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := fakeModel(t)
			cfg := u.config()
			cfg.SystemPrompt = "Be kind."
			ask := turn(c.parts...)
			ask.EarlierMessages = func(context.Context) ([]state.Message, error) { return c.earlier, nil }
			events := play(t.Context(), u.agent(cfg), ask)
			if last := events[len(events)-1]; last.Kind != spec.RunEnd {
				t.Errorf("ended with %s %s", last.Kind, last.Text)
			}
			if diff := cmp.Diff(c.want, u.said()); diff != "" {
				t.Errorf("request (-want +got)\n%s", diff)
			}
		})
	}
}

// TestAsksOn checks that, within a run, the model's server gets its own reasoning and call ids
// back.
func TestAsksOn(t *testing.T) {
	for script, want := range map[string]string{
		"tool":           `assistant:  [theirs-1 lookup {"word":"äb"}]` + "\n" + `tool(theirs-1): {"word":"äb","characters":2}` + "\n",
		"no-id-tool":     `assistant:  [call00001 lookup {"word":"x"}]` + "\ntool(call00001): " + foundX + "\n",
		"same-id":        `assistant:  [theirs-1 lookup {"word":"x"}] [call00002 lookup {"word":"yy"}]` + "\ntool(theirs-1): " + foundX + "\ntool(call00002): " + foundYY + "\n",
		"text-tool":      `assistant: Let me look.Looking. [theirs-1 lookup {"word":"x"}]` + "\ntool(theirs-1): " + foundX + "\n",
		"bad-arguments":  "assistant:  [theirs-1 lookup {}]\ntool(theirs-1): error: the arguments are not JSON\n",
		"reasoning-tool": `assistant:  [theirs-1 lookup {"word":"x"}]` + "\ntool(theirs-1): " + foundX + "\n",
	} {
		t.Run(script, func(t *testing.T) {
			u := fakeModel(t)
			play(t.Context(), u.agent(u.config()), user(script))
			if diff := cmp.Diff("user: "+script+"\n"+want, u.said()); diff != "" {
				t.Errorf("request (-want +got)\n%s", diff)
			}
			thoughts := u.asked()[1].Body.Messages[1].ReasoningContent
			if script == "reasoning-tool" != (thoughts == "I look") {
				t.Errorf("reminded of the thoughts %q", thoughts)
			}
		})
	}
}

// TestRequest checks the members of a request to the model's server other than the messages.
func TestRequest(t *testing.T) {
	u := fakeModel(t)
	ask := offer(user("hello"), "paint", "Paints.", `"{\"type\":\"object\",\"properties\":{\"color\":{\"type\":\"string\",\"maxLength\":12345678901234567890}}}"`)
	ask = offer(offer(offer(ask, "lookup", "The client's.", `{"properties":{}}`), "list", "", `[]`), "text", "", `{"type":"string"}`)
	ask = offer(ask, "paint", "Twice.", "")
	play(t.Context(), u.agent(u.config()), ask)
	play(t.Context(), u.agent(model.Config{BaseURL: u.root + "/v1/", Model: "other", HTTPClient: u.client}), user("hello"))
	all := u.asked()
	with, without := all[0], all[1]
	if with.Auth != "Bearer "+key || with.Accept != "text/event-stream" || with.Body.Model != "small" || !with.Body.Stream {
		t.Errorf("got request %+v", with)
	}
	if without.Auth != "" || without.Body.Model != "other" || without.Body.Tools != nil {
		t.Errorf("got request %+v", without)
	}
	want := map[string]string{
		"paint":        `Paints. {"properties":{"color":{"type":"string","maxLength":12345678901234567890}},"type":"object"}`,
		"lookup":       `The client's. {"properties":{},"type":"object"}`,
		"list":         ` {"type":"object"}`,
		"text":         ` {"type":"object"}`,
		"current_time": "", "panic": ` {"type":"object"}`, "fail": ` {"type":"object"}`, "hang": ` {"type":"object"}`,
	}
	for _, tool := range with.Body.Tools {
		got := tool.Function.Description + " " + string(tool.Function.Parameters)
		if one, ok := want[tool.Function.Name]; !ok || tool.Type != "function" || one != "" && one != got {
			t.Errorf("%s %s is %s", tool.Type, tool.Function.Name, got)
		}
		delete(want, tool.Function.Name)
	}
	if len(want) > 0 {
		t.Errorf("the model does not know of %v", want)
	}
}

// TestEnvironmentIsNotRead checks that an API key in the environment is not sent.
func TestEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-another")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("OPENAI_ORG_ID", "org")
	u := fakeModel(t)
	play(t.Context(), u.agent(model.Config{BaseURL: u.root + "/v1", Model: "m", HTTPClient: u.client}), user("hello"))
	if all := u.asked(); len(all) != 1 || all[0].Auth != "" {
		t.Errorf("got request %+v", all)
	}
}

// TestToolsThatCannotBeCalled checks that the tools of a client that cannot return results are only
// described to the model.
func TestToolsThatCannotBeCalled(t *testing.T) {
	u := fakeModel(t)
	ask := offer(offer(user("client-tool"), "paint", "Paints.", "{}"), "draw", "", "")
	ask.ClientTools = nil
	want := callTold("r-m1", "r-c1", "paint", `{"color":"blue"}`) + resultTold("r-m2", "r-c1", "paint", `error: there is no tool "paint"`) +
		messageTold("r-m3", `gave: error: there is no tool "paint"`)
	if got := told(play(t.Context(), u.agent(u.config()), ask)); got != want {
		t.Errorf("got\n%s", got)
	}
	first := u.asked()[0].Body
	const shown = "system: The user's application has these tools. They cannot be called here:\n- paint: Paints.\n- draw"
	if got := first.Messages[0].String(); got != shown {
		t.Errorf("got system message %q", got)
	}
	for _, tool := range first.Tools {
		if tool.Function.Name == "paint" {
			t.Error("the model can call it")
		}
	}
}

func TestImages(t *testing.T) {
	u := fakeModel(t)
	ask := user("see")
	for _, url := range []string{"https://example.com/a.png", "file:///etc/passwd", "data:image/png;base64,AA=="} {
		ask.Parts[0].Parts = append(ask.Parts[0].Parts, spec.Event{Kind: spec.InputImage, Type: "image/png", Text: url})
	}
	play(t.Context(), u.agent(u.config()), ask)
	got := string(u.asked()[0].Body.Messages[0].Content)
	const want = `[{"text":"see","type":"text"},{"image_url":{"url":"https://example.com/a.png"},"type":"image_url"},{"image_url":{"url":"data:image/png;base64,AA=="},"type":"image_url"}]`
	var a, b any
	if json.Unmarshal([]byte(got), &a) != nil || json.Unmarshal([]byte(want), &b) != nil || cmp.Diff(a, b) != "" {
		t.Errorf("got request %s", got)
	}
}

func TestHistoryFails(t *testing.T) {
	u := fakeModel(t)
	ask := user("hello")
	ask.EarlierMessages = func(context.Context) ([]state.Message, error) { return nil, errors.New("disk on fire") }
	if got := told(play(t.Context(), u.agent(u.config()), ask)); got != "run.error HISTORY_UNAVAILABLE: the earlier messages cannot be read\n" {
		t.Errorf("got\n%s", got)
	}
}

func TestNew(t *testing.T) {
	tool := model.BuiltinTools()[0]
	for name, c := range map[string]struct {
		cfg  model.Config
		want string
	}{
		"no address":      {model.Config{Model: "m"}, "base URL"},
		"no scheme":       {model.Config{BaseURL: "localhost:8000", Model: "m"}, "base URL"},
		"another scheme":  {model.Config{BaseURL: "ftp://user:secret@localhost", Model: "m"}, "base URL"},
		"a bad address":   {model.Config{BaseURL: "http://user:secret@local host/%", Model: "m"}, "base URL"},
		"no name":         {model.Config{BaseURL: "http://localhost"}, "name"},
		"a nameless tool": {model.Config{BaseURL: "http://localhost", Model: "m", Tools: []model.Tool{{Run: tool.Run}}}, "tool 1"},
		"an idle tool":    {model.Config{BaseURL: "http://localhost", Model: "m", Tools: []model.Tool{{Name: "x"}}}, "tool 1"},
		"a tool twice":    {model.Config{BaseURL: "http://localhost", Model: "m", Tools: []model.Tool{tool, tool}}, "duplicate tool"},
		"a bad schema":    {model.Config{BaseURL: "http://localhost", Model: "m", Tools: []model.Tool{{Name: "x", Run: tool.Run, Parameters: []byte("{")}}}, "JSON"},
	} {
		_, err := model.New(c.cfg)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := model.New(model.Config{BaseURL: "http://localhost:1", Model: "m", Tools: model.BuiltinTools()}); err != nil {
		t.Error(err)
	}
}
