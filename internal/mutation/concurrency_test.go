package mutation

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// TestCanceledRuns checks that onRunEnd reports a run as canceled only if the server accepted a
// valid request to cancel it, and that it does not confuse runs with the same id in other threads.
func TestCanceledRuns(t *testing.T) {
	d, err := dialect.Open("runs@2026-04")
	if err != nil {
		t.Fatal(err)
	}
	const mine, other, run = "550e8400-e29b-41d4-a716-446655440000", "550e8400-e29b-41d4-a716-446655440001", "r-1"
	for _, c := range []struct {
		name, thread, run string
		status            int // of the response to the request to cancel the run
		want              bool
	}{
		{"accepted", mine, run, 202, true}, {"refused", mine, run, 403, false},
		{"another thread", other, run, 202, false}, {"invalid", mine, "", 202, false},
	} {
		server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/cancel") {
				w.WriteHeader(c.status)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			names := parseRequest(d, r, nil).parsed().Facts().WireNames
			fmt.Fprintf(w, "data: {\"type\":%q}\n\n", names[spec.RunEnd])
		})
		var got []bool
		record := func(_ *cancellableStreams, _, _ string, canceled bool) { got = append(got, canceled) }
		h := onRunEnd(record)(dialectHandler{server, d})
		for _, step := range []struct{ template, thread, run string }{{"cancel", c.thread, c.run}, {"listen", mine, run}} {
			r, err := d.BuildRequest(step.template, spec.Event{Thread: step.thread, Run: step.run})
			if err != nil {
				t.Fatal(err)
			}
			raw := httptest.NewRequest(r.Method, d.Base+r.Target, strings.NewReader(string(r.Body)))
			for _, f := range r.Header {
				raw.Header.Add(f.Name, f.Value)
			}
			h.ServeHTTP(httptest.NewRecorder(), raw)
		}
		if len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: the runs that ended were canceled: %v; want [%t]", c.name, got, c.want)
		}
	}
}
