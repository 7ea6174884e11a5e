package suites_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// played runs the suite against target at the given base URL and returns the results. verdicts maps
// each requirement id to the worst verdict on the requirement.
func played(t *testing.T, target suites.Target, base string) (parts []suites.ScenarioResult, verdicts map[string]spec.Verdict) {
	t.Helper()
	u, err := url.Parse(base + target.Dialect.Base)
	if err != nil {
		t.Fatal(err)
	}
	target.Base = u
	if parts, err = suites.Run(t.Context(), target, nil); err != nil {
		t.Fatal(err)
	}
	verdicts = map[string]spec.Verdict{}
	for _, p := range parts {
		for _, r := range p.Evaluation.Results {
			for _, law := range r.PlannedCheck.Requirements {
				verdicts[law.ID] = max(verdicts[law.ID], r.VerdictOn(law))
			}
		}
	}
	return parts, verdicts
}

// unscripted returns an agent that replies to every prompt with the same events.
func unscripted(said ...spec.Event) reference.Agent {
	return func(context.Context, reference.Turn) iter.Seq[spec.Event] { return slices.Values(said) }
}

// calling holds the events of an agent that calls its tool and sends no text.
var calling = []spec.Event{
	{Kind: spec.ToolStart, Message: "m1", Call: "call-1", Name: "lookup"}, {Kind: spec.ToolDelta, Call: "call-1", Text: "{}"},
	{Kind: spec.ToolEnd, Call: "call-1"}, {Kind: spec.ToolResult, Message: "m2", Call: "call-1", Name: "lookup", Text: "found"},
}

func message(text string) []spec.Event {
	return []spec.Event{{Kind: spec.MessageStart, Message: "m"}, {Kind: spec.MessageDelta, Message: "m", Text: text}, {Kind: spec.MessageEnd, Message: "m"}}
}

// TestTextIsPromised checks that a target whose reply to a plain prompt has no text violates the
// requirement on text, even if the reply has other content. Any text must be accepted.
func TestTextIsPromised(t *testing.T) {
	for _, name := range dialect.Names() {
		d, err := dialect.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		law := map[string]string{"agui": "agui.event.text-content", "agkit": "agkit.event.text", "agentscope": "agentscope.content-payload", "agentscope-java": "agentscope-java.content.type", "runs": "runs.scripted.text"}[d.Family]
		for what, test := range map[string]struct {
			said []spec.Event
			fail bool
		}{
			"text":      {message("yes"), false},
			"only tool": {calling, true},
			"both":      {slices.Concat(calling, message("yes")), false},
			"empty":     {message(""), true},
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				srv := httptest.NewServer(reference.New(d, unscripted(test.said...), reference.Config{}))
				defer srv.Close()
				target := suites.Target{Dialect: d, Seed: 1, Only: []string{"text"}, Header: bearer("streamassay")}
				parts, verdicts := played(t, target, srv.URL)
				if got := verdicts[law]; (got == spec.Failed) != test.fail {
					t.Errorf("%s is %v", law, got)
				}
				for _, r := range parts[0].Evaluation.Results {
					for _, f := range r.Findings {
						if says := strings.HasPrefix(f.Message, "the stream that answers a plain prompt contains no text; "); !test.fail || !says || f.Event.Requirement != law {
							t.Errorf("%s for %q finds: %s", r.PlannedCheck.Check.ID, f.Event.Requirement, f.Message)
						}
					}
				}
			})
		}
	}
}

// TestNotHTTPIsNotMeasured checks that nothing is judged, and no requirement is violated, if the
// server does not speak HTTP.
func TestNotHTTPIsNotMeasured(t *testing.T) {
	banner := raw(t, func(conn net.Conn) {
		_, _ = io.WriteString(conn, "SSH-2.0-OpenSSH_9.2\r\n")
		_, _ = io.Copy(io.Discard, conn)
	})
	for _, name := range []string{"agkit", "runs", "agentscope", "agentscope-java"} {
		d, err := dialect.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		parts, _ := played(t, suites.Target{Dialect: d, Timeout: 200 * time.Millisecond, Seed: 1, Only: []string{"text", "refusals"}}, banner)
		for _, p := range parts {
			for _, r := range p.Evaluation.Results {
				if r.Judged > 0 || r.Verdict == spec.Failed || r.Verdict == spec.Warned {
					t.Errorf("%s: %s is %v in %s by %d judgements", name, r.PlannedCheck.Check.ID, r.Verdict, p.Scenario.Name, r.Judged)
				}
			}
			if p.Err == nil || !strings.Contains(p.Err.Error(), "not HTTP") {
				t.Errorf("%s: %s could be played: %v", name, p.Scenario.Name, p.Err)
			}
		}
	}
}

// TestOtherEncodingIsNotMeasured checks that nothing is judged if the server streams in an encoding
// that the document allows but that is not an event stream.
func TestOtherEncodingIsNotMeasured(t *testing.T) {
	d, err := dialect.Open("agentscope-java@0.1")
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = io.WriteString(w, `{"object":"response","status":"created","id":"r"}`+"\n"+`{"object":"response","status":"completed","id":"r"}`+"\n")
	}))
	defer srv.Close()
	parts, _ := played(t, suites.Target{Dialect: d, Seed: 1, Only: []string{"text", "recall"}, ClaimedCapabilities: []string{"all"}}, srv.URL)
	for _, p := range parts {
		for _, r := range p.Evaluation.Results {
			if r.Judged > 0 || r.Verdict == spec.Failed || r.Verdict == spec.Warned {
				t.Errorf("%s is %v in %s by %d judgements", r.PlannedCheck.Check.ID, r.Verdict, p.Scenario.Name, r.Judged)
			}
		}
		if !errors.Is(p.Err, spec.ErrOtherEncoding) {
			t.Errorf("%s could be played: %v", p.Scenario.Name, p.Err)
		}
	}
}

// TestPromises checks that a claimed capability does not promise scripted replies if natural
// prompts are sent, or if the target is declared to lack "scripted". It also checks that invalid
// names of lacked capabilities are rejected.
func TestPromises(t *testing.T) {
	d, err := dialect.Open("agkit")
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(reference.New(d, reference.Scripted, reference.Config{}))
	defer srv.Close()
	for name, target := range map[string]suites.Target{
		"natural":       {PromptStyle: suites.NaturalPrompts, ClaimedCapabilities: []string{"all"}},
		"not scripted":  {LackedCapabilities: []string{"scripted"}, ClaimedCapabilities: []string{"all"}},
		"slow, claimed": {LackedCapabilities: []string{"scripted"}, ClaimedCapabilities: []string{"slow"}},
	} {
		target.Dialect, target.Seed, target.Skip = d, 1, []string{"refusals"}
		_, verdicts := played(t, target, srv.URL)
		for id, v := range verdicts {
			if v > spec.Passed {
				t.Errorf("%s: %s is %v", name, id, v)
			}
		}
	}
	for _, lacking := range []string{"text", "all", "speech"} {
		target := suites.Target{Dialect: d, Base: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, LackedCapabilities: []string{lacking}}
		if err := target.Check(); err == nil || !strings.Contains(err.Error(), lacking) {
			t.Errorf("lacks %q: %v", lacking, err)
		}
	}
}

// TestBusyServer checks that a run is incomplete if the server keeps refusing valid requests
// because it is busy, and complete if it accepts the repeated requests.
func TestBusyServer(t *testing.T) {
	d, err := dialect.Open("agkit")
	if err != nil {
		t.Fatal(err)
	}
	for name, isRefused := range map[string]func(n int64) bool{
		"from the fourth request on": func(n int64) bool { return n >= 4 },
		"every fourth request":       func(n int64) bool { return n%4 == 0 },
	} {
		h := reference.New(d, reference.Scripted, reference.Config{})
		var n atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if isRefused(n.Add(1)) {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			h.ServeHTTP(w, r)
		}))
		t.Cleanup(server.Close)
		parts, _ := played(t, suites.Target{Dialect: d, Seed: 1, Only: []string{"memory"}}, server.URL)
		isBusy := slices.ContainsFunc(parts, func(p suites.ScenarioResult) bool { return suites.IsInconclusive(p.IncompleteReason) })
		if want := name == "from the fourth request on"; isBusy != want {
			t.Errorf("%s refused: busy %t, want %t", name, isBusy, want)
		}
	}
}
