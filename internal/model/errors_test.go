package model_test

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/streamassay/streamassay/internal/model"
	"github.com/streamassay/streamassay/spec"
)

// A fails value describes a failed run: the events before its error event, and the code and text of
// the error.
type fails struct{ before, code, text string }

const soFar = "message.start r-m1\nmessage.delta r-m1: so far\n"

// short is an idle timeout that is short enough for tests to wait for.
const short = 300 * time.Millisecond

// TestFails checks the events of failed runs, for each kind of failure. Messages that are open at
// the failure are not ended.
func TestFails(t *testing.T) {
	for script, want := range map[string]fails{
		"401":           {"", "UPSTREAM_UNAUTHORIZED", "the model's server rejected the credentials (401): Incorrect key: Bearer ***"},
		"403":           {"", "UPSTREAM_UNAUTHORIZED", "the model's server rejected the credentials (403)"},
		"404":           {"", "UPSTREAM_NOT_FOUND", "the model was not found (404): model 'm' not found"},
		"422":           {"", "UPSTREAM_REFUSED", "the model's server refused the request (422)"},
		"429":           {"", "UPSTREAM_RATE_LIMITED", "the model's server is overloaded or limits requests (429): slow down"},
		"429-long":      {"", "UPSTREAM_RATE_LIMITED", "the model's server is overloaded or limits requests (429): slow down"},
		"429-always":    {"", "UPSTREAM_RATE_LIMITED", "the model's server is overloaded or limits requests (429): slow down"},
		"500":           {"", "UPSTREAM_FAILED", "the model's server failed (500)"},
		"503":           {"", "UPSTREAM_UNAVAILABLE", "the model's server is not available (503): loading"},
		"504":           {"", "UPSTREAM_TIMEOUT", "the model's server timed out (504)"},
		"204":           {"", "UPSTREAM_BROKEN", "the model's server did not respond with an event stream (204)"},
		"301":           {"", "UPSTREAM_UNAVAILABLE", "the model's server is unreachable"},
		"hang-up":       {"", "UPSTREAM_UNAVAILABLE", "the model's server is unreachable"},
		"hang":          {"", "UPSTREAM_TIMEOUT", "the model's server timed out"},
		"hang-refusing": {"", "UPSTREAM_FAILED", "the model's server failed (500)"},
		"stall":         {soFar, "UPSTREAM_TIMEOUT", "the model's server timed out"},
		"cut":           {soFar, "UPSTREAM_BROKEN", "the model's response was truncated"},
		"close":         {soFar, "UPSTREAM_BROKEN", "the model's response was truncated"},
		"nothing":       {"", "UPSTREAM_BROKEN", "the model's response was truncated"},
		"half-line":     {"message.start r-m1\nmessage.delta r-m1: so \n", "UPSTREAM_BROKEN", "the model's response was truncated"},
		"stream-error":  {soFar, "UPSTREAM_FAILED", "the model's server failed: out of memory"},
		"stream-text":   {"", "UPSTREAM_FAILED", "the model's server failed: out of memory"},
		"stream-object": {"", "UPSTREAM_FAILED", "the model's server failed: out of memory"},
		"stream-429":    {"", "UPSTREAM_RATE_LIMITED", "the model's server is overloaded or limits requests (429): slow down"},
		"garbage":       {"message.start r-m1\nmessage.delta r-m1: so \n", "UPSTREAM_BROKEN", "the model's response is malformed"},
		"no-object":     {"", "UPSTREAM_BROKEN", "the model's response is malformed"},
		"html":          {"", "UPSTREAM_BROKEN", "the model's server did not respond with an event stream"},
		"json":          {"", "UPSTREAM_BROKEN", "the model's server did not respond with an event stream"},
		"json-error":    {"", "UPSTREAM_FAILED", "the model's server failed: out of memory"},
		"endless-line":  {"", "UPSTREAM_TOO_LONG", "the model's response exceeds the size limit"},
		"filter":        {"message.start r-m1\nmessage.delta r-m1: how to \n", "UPSTREAM_FILTERED", "the model's response was withheld by a content filter"},
		"finish-error":  {"message.start r-m1\nmessage.delta r-m1: so \n", "UPSTREAM_FAILED", "the model's server failed"},
		"function-call": {"", "UPSTREAM_BROKEN", "the model's response is malformed"},
		"no-name":       {"", "UPSTREAM_BROKEN", "the model's response is malformed"},
		"tool-cut":      {"tool.start r-m1 r-c1 lookup\ntool.delta r-c1: {\"wo\n", "UPSTREAM_BROKEN", "the model's response was truncated"},
	} {
		t.Run(script, func(t *testing.T) {
			u := fakeModel(t)
			cfg := u.config()
			if want.text == "the model's server timed out" || script == "hang-refusing" { // the others are not to be rushed
				cfg.Timeout = short
			}
			u.fails(cfg, script, want)
		})
	}
}

// fails checks that a run with the given script fails as wanted.
func (u upstream) fails(cfg model.Config, script string, want fails) {
	u.Helper()
	events := play(u.Context(), u.agent(cfg), user(script))
	last := events[len(events)-1]
	if last.Kind != spec.RunError || last.Code != want.code || last.Text != want.text {
		u.Errorf("ended with %s %s: %q", last.Kind, last.Code, last.Text)
	}
	if got := strings.TrimPrefix(told(events[:len(events)-1]), "\n"); got != want.before {
		u.Errorf("got before the failure\n%s", got)
	}
}

// TestEndless checks that responses without an end are stopped by the limits of bytes, calls and
// rounds.
func TestEndless(t *testing.T) {
	for script, want := range map[string]fails{
		"endless":    {"", "UPSTREAM_TOO_LONG", "the model's response exceeds the size limit"},
		"tool-flood": {"", "UPSTREAM_TOO_LONG", "the response calls too many tools"},
		"forever":    {"", "TOO_MANY_ROUNDS", "the model did not finish within the maximum number of rounds"},
	} {
		t.Run(script, func(t *testing.T) {
			u := fakeModel(t)
			size, kinds := 0, map[spec.Kind]int{}
			var last spec.Event
			for e := range u.agent(u.config())(t.Context(), user(script)) {
				size += len(e.Text)
				kinds[e.Kind]++
				last = e
			}
			if last.Kind != spec.RunError || last.Code != want.code || last.Text != want.text {
				t.Errorf("ended with %s %s: %q", last.Kind, last.Code, last.Text)
			}
			if size > 16<<20 || kinds[spec.ToolStart] > 128 {
				t.Errorf("got %d bytes, %d calls", size, kinds[spec.ToolStart])
			}
			if n := len(u.asked()); script == "forever" && (n != 3 || kinds[spec.ToolResult] != 3 || kinds[spec.ToolEnd] != 3) {
				t.Errorf("the model received %d requests, %v", n, kinds)
			}
		})
	}
}

// TestComplaintIsShort checks that an error message of the model's server is reported as one line
// of limited length.
func TestComplaintIsShort(t *testing.T) {
	u := fakeModel(t)
	events := play(t.Context(), u.agent(u.config()), user("400"))
	last := events[len(events)-1]
	const begin = "the model's server refused the request (400): too many tokens x x"
	if last.Code != "UPSTREAM_REFUSED" || !strings.HasPrefix(last.Text, begin) || !strings.HasSuffix(last.Text, "…") || len(last.Text) > 400 {
		t.Errorf("ended with %s: %q", last.Code, last.Text)
	}
}

func TestRetriesOnce(t *testing.T) {
	for script, want := range map[string]int{"429": 1, "429-long": 1, "429-always": 2, "429-again": 3, "429-once": 2, "503-once": 2, "500": 1, "cut": 1} {
		t.Run(script, func(t *testing.T) {
			u := fakeModel(t)
			play(t.Context(), u.agent(u.config()), user(script))
			if n := len(u.asked()); n != want {
				t.Errorf("the server received %d requests, want %d", n, want)
			}
		})
	}
}

// TestEndIsEnd checks that a run does not wait for the server to close the connection after the end
// of a response.
func TestEndIsEnd(t *testing.T) {
	u := fakeModel(t)
	cfg := u.config()
	cfg.Timeout = time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if got := told(play(ctx, u.agent(cfg), user("no-end"))); got != messageTold("r-m1", "done") {
		t.Errorf("got\n%s", got)
	}
}

// TestSlowIsNotSilent checks that the timeout limits the silence of the server, not the duration of
// a response.
func TestSlowIsNotSilent(t *testing.T) {
	u := fakeModel(t)
	cfg := u.config()
	cfg.Timeout = 2 * short
	began := time.Now()
	if got := told(play(t.Context(), u.agent(cfg), user("slow"))); got != messageTold("r-m1", "0 1 2 3 4 5 6 ") {
		t.Errorf("got\n%s", got)
	}
	if took := time.Since(began); took < cfg.Timeout {
		t.Errorf("the answer took only %v", took)
	}
}

// TestNoAPIKey checks that the error of a run states that no API key was sent, if the model's
// server requires one.
func TestNoAPIKey(t *testing.T) {
	u := fakeModel(t)
	cfg := u.config()
	cfg.APIKey = ""
	u.fails(cfg, "403", fails{"", "UPSTREAM_UNAUTHORIZED", "the model's server rejected the request, which had no API key (403)"})
}

// TestRefusedConnection checks the error of a run if the model's server is not running.
func TestRefusedConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	u := fakeModel(t)
	cfg := u.config()
	cfg.BaseURL = "http://" + address + "/v1"
	var log strings.Builder
	cfg.Log, cfg.APIKey = slog.New(slog.NewTextHandler(&log, nil)), ""
	u.fails(cfg, "text", fails{"", "UPSTREAM_UNAVAILABLE", "the model's server is unreachable"})
	if got := log.String(); !strings.Contains(got, "connection refused") || !strings.Contains(got, "api_key_sent=false") {
		t.Errorf("the log does not say why: %s", got)
	}
}

// TestHangingTool checks that the model receives an error if a tool takes too long.
func TestHangingTool(t *testing.T) {
	u := fakeModel(t)
	cfg := u.config()
	cfg.Timeout = 2 * short
	want := callTold("r-m1", "r-c1", "hang", "{}") + resultTold("r-m2", "r-c1", "hang", "error: context deadline exceeded") +
		messageTold("r-m3", "gave: error: context deadline exceeded")
	if got := told(play(t.Context(), u.agent(cfg), user("hanging-tool"))); got != want {
		t.Errorf("got\n%s", got)
	}
}

// TestStops checks that a run emits no terminal event after its context was canceled: the server of
// the agent does that.
func TestStops(t *testing.T) {
	for _, script := range []string{"hang", "stall", "hanging-tool", "no-end", "slow"} {
		t.Run(script, func(t *testing.T) {
			u := fakeModel(t)
			agent := u.agent(u.config())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			n := 0
			time.AfterFunc(100*time.Millisecond, cancel)
			began := time.Now()
			for e := range agent(ctx, user(script)) {
				n++
				if e.Kind == spec.RunEnd || e.Kind == spec.RunError {
					t.Errorf("got %s %s", e.Kind, e.Text)
				}
			}
			if took := time.Since(began); n == 0 || took > 3*time.Second {
				t.Errorf("%d events, stopped after %v", n, took)
			}
		})
	}
}

// TestLeft checks that a run whose events are no longer consumed emits nothing more and leaves no
// goroutines behind.
func TestLeft(t *testing.T) {
	for _, script := range []string{"endless", "tool", "text", "forever"} {
		for most := 1; most < 6; most++ {
			u := fakeModel(t)
			n := 0
			for range u.agent(u.config())(t.Context(), user(script)) {
				if n++; n == most {
					break
				}
			}
		}
	}
}
