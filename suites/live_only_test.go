package suites_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// TestLiveEventsOnly checks that a server is not blamed if a stream that is requested without a
// cursor has only later events, and stays open if there are none, so that nobody sees the start of a
// run.
func TestLiveEventsOnly(t *testing.T) {
	d, err := dialect.Open("runs@2026-04")
	if err != nil {
		t.Fatal(err)
	}
	server := reference.New(d, reference.Scripted, reference.Config{})
	var silent sync.Map // the ids of runs whose streams have events that come late
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			request := spec.Request{Method: r.Method, Target: "/runs", Body: body}
			request.Header = spec.Header{{Name: "Content-Type", Value: "application/json"}}
			if e := d.ParseRequest(request); strings.HasPrefix(e.Text, "conformance:idle") {
				silent.Store(e.Run, true)
			}
		}
		if !strings.HasSuffix(r.URL.Path, "/events") || r.Header.Get("Last-Event-ID") != "" {
			server.ServeHTTP(w, r)
			return
		}
		if _, isSilent := silent.LoadAndDelete(r.URL.Query().Get("runId")); isSilent {
			server.ServeHTTP(&withoutStart{ResponseWriter: w}, r)
			return
		}
		w.Header().Set("Content-Type", spec.EventStream)
		io.WriteString(w, ": keep-alive\n\n")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer srv.Close()
	target := suites.Target{
		Dialect: d, Seed: 1, Only: []string{"text", "recall", "closes"}, ClaimedCapabilities: []string{"all"},
	}
	parts, verdicts := played(t, target, srv.URL)
	for id, v := range verdicts {
		if v > spec.Passed {
			t.Errorf("%s is %v", id, v)
		}
	}
	for _, p := range parts {
		if !p.Trace.NoReplay {
			t.Errorf("%s: events are replayed", p.Scenario.Name)
		}
	}
}

// A withoutStart passes on a stream without the events that start runs.
type withoutStart struct{ http.ResponseWriter }

func (w *withoutStart) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("RUN_STARTED")) {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

func (w *withoutStart) Unwrap() http.ResponseWriter { return w.ResponseWriter }
