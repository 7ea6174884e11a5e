package model_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/streamassay/streamassay/internal/model"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A testClient is a client of the reference in one dialect, whose agent is a fake
// model.
type testClient struct {
	upstream
	d      *dialect.Dialect
	server *httptest.Server
	ids    int
}

const thread = "550e8400-e29b-41d4-a716-446655440000"

// eachDialect runs a subtest for every dialect. Each has a server and a record of the requests to
// the fake model of its own.
func eachDialect(t *testing.T, timeout time.Duration, f func(k *testClient)) {
	t.Helper()
	all, err := dialect.All()
	if err != nil || len(all) < 7 {
		t.Fatalf("%d dialects: %v", len(all), err)
	}
	for _, d := range all {
		t.Run(d.Name, func(t *testing.T) {
			u := fakeModel(t)
			agent := u.agent(model.Config{BaseURL: u.root + "/v1", APIKey: key, Model: "m", Tools: model.BuiltinTools(), Timeout: timeout, HTTPClient: u.client})
			s := reference.New(d, agent, reference.Config{})
			k := &testClient{upstream: u, d: d, server: httptest.NewServer(s)}
			defer func() {
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
				defer cancel()
				if err := s.Shutdown(ctx); err != nil {
					t.Error(err)
				}
				k.server.Close()
			}()
			f(k)
		})
	}
}

// say returns a request, built from the template phrase, that sends the message e in the test
// thread.
func (k *testClient) say(phrase string, e spec.Event) spec.Request {
	k.Helper()
	e.Thread = thread
	req, err := k.d.BuildRequest(phrase, e)
	if err != nil {
		k.Fatal(err)
	}
	return req
}

// send sends a request and returns the response as soon as it begins.
func (k *testClient) send(req spec.Request) *http.Response {
	k.Helper()
	r, err := http.NewRequestWithContext(k.Context(), req.Method, k.server.URL+k.d.Base+req.Target, bytes.NewReader(req.Body))
	if err != nil {
		k.Fatal(err)
	}
	for _, f := range req.Header {
		r.Header.Add(f.Name, f.Value)
	}
	r.Header.Set("Authorization", "Bearer ada")
	res, err := k.client.Do(r)
	if err != nil {
		k.Fatal(err)
	}
	k.Cleanup(func() { res.Body.Close() })
	return res
}

// prompt returns the request whose response is the stream of a new run. If the dialect starts runs
// with another request, prompt sends that request first.
func (k *testClient) prompt(phrase string, e spec.Event) spec.Request {
	k.Helper()
	k.ids++
	e.Run = fmt.Sprint("run-", k.ids)
	req := k.say(phrase, e)
	if o, _ := k.d.TemplateOperation(phrase); o.IsStream {
		return req
	}
	res := k.send(req)
	if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode/100 != 2 {
		k.Fatalf("%s was answered %d %s %v", phrase, res.StatusCode, body, err)
	}
	return k.say("listen", spec.Event{Run: e.Run})
}

// hear starts a run with a prompt and returns all events of its stream. The test fails if an event
// violates the document.
func (k *testClient) hear(phrase string, e spec.Event) (events []spec.Event) {
	k.Helper()
	req := k.prompt(phrase, e)
	res := k.send(req)
	body, err := io.ReadAll(res.Body)
	if err != nil {
		k.Fatal(err)
	}
	x := spec.Exchange{Request: req, Response: spec.Response{Status: res.StatusCode, Body: body}}
	for name, values := range res.Header {
		for _, value := range values {
			x.Response.Header = append(x.Response.Header, spec.HeaderField{Name: name, Value: value})
		}
	}
	for e := range k.d.Events(spec.Trace{Exchanges: []spec.Exchange{x}}) {
		if e.Kind == spec.HTTPRequest || e.Kind == spec.HTTPResponse || e.Kind == spec.BodyEnd {
			continue
		}
		if e.Err != nil || len(e.Violations) > 0 || len(e.Flaws) > 0 {
			k.Errorf("%s: %v %v %v", e.Raw, e.Err, e.Violations, e.Flaws)
		}
		events = append(events, e)
	}
	return events
}

// An outcome summarizes the events of a response.
type outcome struct {
	text            string // of all messages, joined
	call            string // the last one's id
	tool, arguments string // of the calls, joined
	result          string
}

func outcomeOf(events []spec.Event) (o outcome) {
	for _, e := range events {
		switch e.Kind {
		case spec.MessageDelta:
			o.text += e.Text
		case spec.ToolStart:
			o.call, o.tool = e.Call, o.tool+e.Name
		case spec.ToolDelta:
			o.arguments += e.Text
		case spec.ToolCall: // the state so far, where it grows
			o.call, o.tool, o.arguments = e.Call, e.Name, e.Text
		case spec.ToolResult:
			o.result = e.Text
		case spec.MessageEnd:
			if o.tool == "" || o.result == "" { // if the dialect has no other event for them
				in := outcomeOf(e.Parts)
				o.call, o.tool, o.arguments = cmp.Or(o.call, in.call), cmp.Or(o.tool, in.tool), cmp.Or(o.arguments, in.arguments)
				o.result = cmp.Or(o.result, in.result)
			}
		}
	}
	return o
}

func ended(events []spec.Event) bool {
	last := events[len(events)-1].Kind
	return last == spec.RunEnd || last == spec.Done
}

// TestDialectsTell checks that the model's text is streamed, and that the model receives the
// earlier messages.
func TestDialectsTell(t *testing.T) {
	eachDialect(t, 5*time.Second, func(k *testClient) {
		for _, said := range []string{"text", "hello"} {
			events := k.hear("prompt", spec.Event{Text: said})
			want := greeting
			if said == "hello" {
				want = "You said: hello"
			}
			if got := outcomeOf(events).text; got != want || !ended(events) {
				k.Errorf("got %q", got)
			}
		}
		if got := k.said(); got != "user: text\nassistant: "+greeting+"\nuser: hello\n" {
			k.Errorf("got messages\n%s", got)
		}
	})
}

// TestDialectsStream checks that text is sent to the client before the model sends more.
func TestDialectsStream(t *testing.T) {
	eachDialect(t, time.Minute, func(k *testClient) {
		res := k.send(k.prompt("prompt", spec.Event{Text: "stall"}))
		read, buf := "", make([]byte, 4096)
		for !strings.Contains(read, `"far"`) {
			n, err := res.Body.Read(buf)
			if read += string(buf[:n]); err != nil {
				k.Fatalf("got %s: %v", read, err)
			}
		}
	})
}

// TestDialectsThink checks that reasoning is distinguished from messages in dialects that can
// express it.
func TestDialectsThink(t *testing.T) {
	apart := 0
	eachDialect(t, 5*time.Second, func(k *testClient) {
		thoughts := ""
		events := k.hear("prompt", spec.Event{Text: "reasoning"})
		for _, e := range events {
			if e.Kind == spec.ReasoningDelta {
				thoughts += e.Text
			}
		}
		text := outcomeOf(events).text
		if thoughts != "" {
			apart++
		}
		if all := thoughts + "/" + text; all != "hm, so/yes" && all != "/hm, soyes" || !ended(events) {
			k.Errorf("got text %q, reasoning %q", text, thoughts)
		}
	})
	if apart == 0 {
		t.Error("no dialect distinguishes reasoning from messages")
	}
}

func TestDialectsCallServerTools(t *testing.T) {
	eachDialect(t, 5*time.Second, func(k *testClient) {
		events := k.hear("prompt", spec.Event{Text: "tool"})
		const found = `{"word":"äb","characters":2}`
		got := outcomeOf(events)
		if got.tool != "lookup" || got.arguments != `{"word":"äb"}` || got.result != found || got.text != "gave: "+found || !ended(events) {
			k.Errorf("got %+v", got)
		}
		if k.hear("prompt", spec.Event{Text: "hello"}); !strings.HasPrefix(k.said(), `user: tool
assistant:  [call00001 lookup {"word":"äb"}]
tool(call00001): `+found+"\nassistant: gave: "+found+"\nuser: hello\n") {
			k.Errorf("got messages\n%s", k.said())
		}
	})
}

func TestDialectsCallClientTools(t *testing.T) {
	answered := 0
	eachDialect(t, 5*time.Second, func(k *testClient) {
		if _, ok := k.d.TemplateOperation("tool-result"); !ok {
			return // the client cannot answer a call
		}
		answered++
		events := k.hear("tool-offer", spec.Event{Text: "call paint", Name: "paint"})
		first := outcomeOf(events)
		if first.tool != "paint" || first.arguments != `{"n":7}` || first.result != "" || first.text != "" || !ended(events) {
			k.Errorf("got %+v", first)
		}
		events = k.hear("tool-result", spec.Event{Call: first.call, Name: "paint", Description: "call paint", Text: "painted"})
		if got := outcomeOf(events); got.text != "gave: painted" || got.tool != "" || !ended(events) {
			k.Errorf("got %+v", got)
		}
		const want = `user: call paint
assistant:  [call00001 paint {"n":7}]
tool(call00001): painted
`
		if got := k.said(); got != want {
			k.Errorf("got messages\n%s", got)
		}
	})
	if answered < 4 {
		t.Errorf("clients can answer in %d dialects only", answered)
	}
}

// TestDialectsTellOfClientTools checks that the tools of a client that cannot return results are
// described to the model but not called.
func TestDialectsTellOfClientTools(t *testing.T) {
	shown := 0
	eachDialect(t, 5*time.Second, func(k *testClient) {
		if _, ok := k.d.TemplateOperation("tools"); !ok {
			return
		}
		shown++
		events := k.hear("tools", spec.Event{Text: "call get_weather"})
		if got := outcomeOf(events); got.text != `gave: error: there is no tool "get_weather"` || !ended(events) {
			k.Errorf("got %+v", got)
		}
		if got := k.said(); !strings.HasPrefix(got, "system: The user's application has these tools. They cannot be called here:\n- get_weather: Get current weather") {
			k.Errorf("got messages\n%s", got)
		}
	})
	if shown < 2 {
		t.Errorf("only %d dialects describe tools", shown)
	}
}

// TestDialectsFail checks that a failure of the model's server ends the run with an error event of
// the dialect.
func TestDialectsFail(t *testing.T) {
	failDialects(t, 5*time.Second, map[string]fails{
		"401":          {"", "UPSTREAM_UNAUTHORIZED", "the model's server rejected the credentials (401): Incorrect key: Bearer ***"},
		"429":          {"", "UPSTREAM_RATE_LIMITED", "the model's server is overloaded or limits requests (429): slow down"},
		"500":          {"", "UPSTREAM_FAILED", "the model's server failed (500)"},
		"cut":          {"so far", "UPSTREAM_BROKEN", "the model's response was truncated"},
		"close":        {"so far", "UPSTREAM_BROKEN", "the model's response was truncated"},
		"stream-error": {"so far", "UPSTREAM_FAILED", "the model's server failed: out of memory"},
		"tool-cut":     {"", "UPSTREAM_BROKEN", "the model's response was truncated"},
	})
}

func TestDialectsTimeOut(t *testing.T) {
	failDialects(t, short, map[string]fails{
		"hang":  {"", "UPSTREAM_TIMEOUT", "the model's server timed out"},
		"stall": {"so far", "UPSTREAM_TIMEOUT", "the model's server timed out"},
	})
}

func failDialects(t *testing.T, timeout time.Duration, scripts map[string]fails) {
	t.Helper()
	eachDialect(t, timeout, func(k *testClient) {
		for script, want := range scripts {
			events := k.hear("prompt", spec.Event{Text: script})
			last := events[len(events)-1]
			if last.Kind != spec.RunError || last.Text != want.text || last.Code != want.code && last.Code != "" {
				k.Errorf("%s ended with %s %s: %q", script, last.Kind, last.Code, last.Text)
			}
			if got := outcomeOf(events).text; got != want.before {
				k.Errorf("%s: got %q before the failure", script, got)
			}
			for _, e := range events {
				if bytes.Contains(e.Raw, []byte(key)) {
					k.Errorf("%s discloses the key: %s", script, e.Raw)
				}
			}
		}
	})
}
