package metrics_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/streamassay/streamassay/internal/metrics"
)

// figures returns the metrics in the text format in which Prometheus reads them.
func figures(t *testing.T, m *metrics.Counters) string {
	t.Helper()
	rec := httptest.NewRecorder()
	m.Handler().ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	text, err := io.ReadAll(rec.Result().Body)
	if err != nil || rec.Code != http.StatusOK {
		t.Fatalf("%d: %v", rec.Code, err)
	}
	return string(text)
}

func want(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains("\n"+text, "\n"+line+"\n") {
			t.Errorf("there is no line %s", line)
		}
	}
}

func TestFigures(t *testing.T) {
	m := metrics.New("v1")
	d := m.ForDialect("words@1", []string{"run", "health"})
	d.ResponseSent("run", 200)
	d.ResponseSent("run", 202)
	d.ResponseSent("run", 429)
	d.ResponseSent("health", 503)
	d.ResponseSent("DELETE /nothing", 404)
	d.ResponseSent("run", 0)
	d.ResponseSent("run", 999)
	d.Streams.Inc()
	d.RunsStarted.Inc()
	d.RunsEnded[metrics.Finished].Inc()
	d.RunsEnded[metrics.Canceled].Add(2)
	d.Events.Add(12)
	d.EventBytes.Add(3456)
	m.StoreFailed()
	m.Panicked()
	text := figures(t, m)
	want(t, text,
		`streamassay_requests_total{class="2xx",dialect="words@1",operation="run"} 2`,
		`streamassay_requests_total{class="4xx",dialect="words@1",operation="run"} 1`,
		`streamassay_requests_total{class="5xx",dialect="words@1",operation="health"} 1`,
		`streamassay_requests_total{class="4xx",dialect="words@1",operation="other"} 1`,
		`streamassay_requests_total{class="none",dialect="words@1",operation="run"} 2`,
		`streamassay_refusals_total{dialect="words@1",status="429"} 1`,
		`streamassay_refusals_total{dialect="words@1",status="404"} 1`,
		`streamassay_refusals_total{dialect="words@1",status="503"} 1`,
		`streamassay_streams_open{dialect="words@1"} 1`,
		`streamassay_runs_begun_total{dialect="words@1"} 1`,
		`streamassay_runs_ended_total{dialect="words@1",outcome="finished"} 1`,
		`streamassay_runs_ended_total{dialect="words@1",outcome="failed"} 0`,
		`streamassay_runs_ended_total{dialect="words@1",outcome="canceled"} 2`,
		`streamassay_events_total{dialect="words@1"} 12`,
		`streamassay_event_bytes_total{dialect="words@1"} 3456`,
		`streamassay_store_errors_total 1`,
		`streamassay_panics_total 1`,
	)
	if strings.Contains(text, "nothing") {
		t.Error("a request made a series of its own")
	}
	for _, name := range []string{`streamassay_build_info{go="go`, `version="v1"} 1`, "go_goroutines ", "process_start_time_seconds "} {
		if !strings.Contains(text, name) {
			t.Errorf("there is no %s", name)
		}
	}
}

// TestMetersAreApart checks that two Counters in one process are independent.
func TestMetersAreApart(t *testing.T) {
	one, two := metrics.New(""), metrics.New("")
	one.ForDialect("words@1", nil).RunsStarted.Inc()
	two.ForDialect("words@1", nil)
	want(t, figures(t, two), `streamassay_runs_begun_total{dialect="words@1"} 0`)
}

// TestNoMeter checks that the methods of a nil Counters can be called, and that nothing is served.
func TestNoMeter(t *testing.T) {
	var m *metrics.Counters
	m.StoreFailed()
	m.Panicked()
	d := m.ForDialect("words@1", []string{"run"})
	d.ResponseSent("run", 200)
	d.Streams.Inc()
	d.RunsEnded[metrics.Failed].Inc()
	rec := httptest.NewRecorder()
	m.Handler().ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if rec.Code != http.StatusNotFound {
		t.Errorf("the figures of no meter are answered with %d", rec.Code)
	}
}

func TestManyCount(t *testing.T) {
	m := metrics.New("")
	d := m.ForDialect("words@1", []string{"run"})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				d.ResponseSent("run", 500)
			}
		})
	}
	all.Wait()
	want(t, figures(t, m),
		`streamassay_requests_total{class="5xx",dialect="words@1",operation="run"} 8000`,
		`streamassay_refusals_total{dialect="words@1",status="500"} 8000`)
}

func BenchmarkRun(b *testing.B) {
	d := metrics.New("").ForDialect("words@1", []string{"run"})
	b.ReportAllocs()
	for b.Loop() { // what a run of twelve events counts
		d.RunsStarted.Inc()
		d.Streams.Inc()
		d.Events.Add(12)
		d.EventBytes.Add(3000)
		d.RunsEnded[metrics.Finished].Inc()
		d.Streams.Dec()
		d.ResponseSent("run", 200)
	}
}
