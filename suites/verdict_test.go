package suites_test

import (
	"bytes"
	"context"
	"io"
	"iter"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
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

// A rewritingWriter writes the frames of event streams as the function frames returns them, with the
// given media type. It must be written to in whole frames.
type rewritingWriter struct {
	http.ResponseWriter
	mediaType string
	frames    func(string) string
}

func (w rewritingWriter) WriteHeader(status int) {
	if strings.HasPrefix(w.Header().Get("Content-Type"), spec.EventStream) {
		w.Header().Set("Content-Type", w.mediaType)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w rewritingWriter) Write(p []byte) (int, error) {
	text := string(p)
	if w.Header().Get("Content-Type") == w.mediaType {
		text = w.frames(text)
	}
	_, err := w.ResponseWriter.Write([]byte(text))
	return len(p), err
}

func (w rewritingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// verdictsOf returns the verdicts on the requirements of the target, which is the reference server
// with rewritten streams. The arguments mediaType and frames are those of a [rewritingWriter].
func verdictsOf(
	t *testing.T, target suites.Target, mediaType string, frames func(string) string,
) map[string]spec.Verdict {
	t.Helper()
	server := reference.New(target.Dialect, reference.Scripted, reference.Config{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		server.ServeHTTP(rewritingWriter{w, mediaType, frames}, r)
	}))
	defer srv.Close()
	_, verdicts := played(t, target, srv.URL)
	return verdicts
}

// TestJSONLines checks that a server that streams JSON lines is judged like one that sends the same
// events as an event stream, if the document allows that, and that a defect of its events is found.
func TestJSONLines(t *testing.T) {
	d, err := dialect.Open("agentscope-java@0.1")
	if err != nil {
		t.Fatal(err)
	}
	target := suites.Target{
		Dialect: d, Seed: 1, Only: []string{"text", "tool", "recall", "slow", "error-mid"}, ClaimedCapabilities: []string{"all"},
	}
	const ndjson = "application/x-ndjson"
	lines := func(frames string) string {
		frames = strings.ReplaceAll("\n\n"+frames, "\n\ndata:", "\n")
		return strings.ReplaceAll(strings.TrimPrefix(frames, "\n"), "\n\n", "\n")
	}
	want := verdictsOf(t, target, spec.EventStream, func(frames string) string { return frames })
	if got := verdictsOf(t, target, ndjson, lines); !maps.Equal(got, want) {
		t.Errorf("as JSON lines:\n%v, want\n%v", got, want)
	}
	broken := verdictsOf(t, target, ndjson, func(frames string) string {
		return strings.ReplaceAll(lines(frames), `"role":"assistant"`, `"role":"noting"`)
	})
	if got := broken["agentscope-java.msg.role"]; got != spec.Warned {
		t.Errorf("with an unknown role: %v", got)
	}
}

// TestOtherEventTypes checks that a server whose events other than the terminal ones have types that
// the document does not describe is judged, if the document allows such types.
func TestOtherEventTypes(t *testing.T) {
	d, err := dialect.Open("runs@2026-04")
	if err != nil {
		t.Fatal(err)
	}
	target := suites.Target{Dialect: d, Seed: 1, Only: []string{"text", "history", "resume"}}
	rename := strings.NewReplacer("TEXT_MESSAGE_", "text.", "RUN_STARTED", "run.started").Replace
	verdicts := verdictsOf(t, target, spec.EventStream, rename)
	for id, v := range verdicts {
		if v > spec.Passed {
			t.Errorf("%s is %v", id, v)
		}
	}
	if got := verdicts["runs.resume.no-loss"]; got != spec.Passed {
		t.Errorf("runs.resume.no-loss is %v", got)
	}
	broken := verdictsOf(t, target, spec.EventStream, func(frames string) string {
		return strings.ReplaceAll(rename(frames), "RUN_FINISHED", "run.finished")
	})
	if got := broken["runs.stream.no-early-end"]; got == spec.Passed {
		t.Errorf("without a terminal event, runs.stream.no-early-end is %v", got)
	}
}

// TestNoReplay checks that a server is not blamed if it sends nothing to a client that requests the
// stream of a run, without a cursor, after the end of the run.
func TestNoReplay(t *testing.T) {
	d, err := dialect.Open("runs@2026-04")
	if err != nil {
		t.Fatal(err)
	}
	server := reference.New(d, reference.Scripted, reference.Config{})
	var ended sync.Map // by target
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		run := r.URL.Query().Get("runId")
		if _, isOver := ended.Load(run); isOver && run != "" && r.Header.Get("Last-Event-ID") == "" {
			w.Header().Set("Content-Type", spec.EventStream)
			return
		}
		server.ServeHTTP(w, r)
		if strings.HasSuffix(r.URL.Path, "/events") && r.Context().Err() == nil {
			ended.Store(run, true)
		}
	}))
	defer srv.Close()
	target := suites.Target{Dialect: d, Seed: 1, Only: []string{"text", "resume", "resume-twice", "two-readers", "late-reader"}}
	parts, verdicts := played(t, target, srv.URL)
	for id, v := range verdicts {
		if v > spec.Passed {
			t.Errorf("%s is %v", id, v)
		}
	}
	if verdicts["runs.resume.no-loss"] != spec.Passed {
		t.Errorf("runs.resume.no-loss is %v", verdicts["runs.resume.no-loss"])
	}
	for _, p := range parts {
		if !p.Trace.NoReplay {
			t.Errorf("%s: events are replayed", p.Scenario.Name)
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

// TestClaimedByName checks that an agent that does not know the prompt for steps fails if its target
// claims steps, but not if the target claims "all".
func TestClaimedByName(t *testing.T) {
	d, err := dialect.Open("agui")
	if err != nil {
		t.Fatal(err)
	}
	h := reference.New(d, reference.Scripted, reference.Config{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		body = bytes.ReplaceAll(body, []byte("conformance:steps"), []byte("conformance:text no steps"))
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		h.ServeHTTP(w, r)
	}))
	defer srv.Close()
	for claimed, want := range map[string]spec.Verdict{"all": spec.Silent, "steps": spec.Failed} {
		target := suites.Target{Dialect: d, Seed: 1, Only: []string{"text", "steps"}, ClaimedCapabilities: []string{claimed}}
		if _, verdicts := played(t, target, srv.URL); verdicts["agui.scripted.steps"] != want {
			t.Errorf("%s is claimed: agui.scripted.steps is %v, want %v", claimed, verdicts["agui.scripted.steps"], want)
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
