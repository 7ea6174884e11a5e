// Package metrics counts requests, streams, runs and events of servers, for Prometheus. All methods
// are safe for concurrent use. The exported methods of [Counters] may be called on a nil pointer,
// so callers need not check whether metrics are enabled.
package metrics

import (
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"

	"github.com/VictoriaMetrics/metrics"
)

// maxScrapes is the maximum number of requests for the metrics that are served at the same time.
const maxScrapes = 4

// Counters are the metrics of one process.
type Counters struct {
	set         *metrics.Set
	storeErrors *metrics.Counter // failed requests to the store
	panics      *metrics.Counter // requests ended by a panic
	scrapes     chan struct{}    // holds a value for each request for the metrics that is being served
}

// New returns counters at zero. The parameter version is the version of the program. It is served
// as the label "version" of the metric build_info.
func New(version string) *Counters {
	metrics.ExposeMetadata(true) // the types of metrics
	m := &Counters{set: metrics.NewSet(), scrapes: make(chan struct{}, maxScrapes)}
	m.storeErrors, m.panics = m.counter("store_errors_total"), m.counter("panics_total")
	m.set.NewGauge(series("build_info", "go", runtime.Version(), "version", version), func() float64 { return 1 })
	return m
}

// counter returns the counter with the given name and labels, and creates it if necessary. The
// elements of labels are alternately the name and the value of a label.
func (m *Counters) counter(name string, labels ...string) *metrics.Counter {
	return m.set.GetOrCreateCounter(series(name, labels...))
}

// series returns the full name of a metric with the given labels, such as
// streamassay_events_total{dialect="runs@2026-04"}. The elements of labels are alternately the name
// and the value of a label.
func series(name string, labels ...string) string {
	var b strings.Builder
	for pair := range slices.Chunk(labels, 2) {
		fmt.Fprintf(&b, ",%s=%q", pair[0], pair[1])
	}
	if b.Len() == 0 {
		return "streamassay_" + name
	}
	return "streamassay_" + name + "{" + b.String()[1:] + "}"
}

// Handler returns a handler that serves the metrics of m and those of the process in the text
// format of Prometheus. It serves at most four requests at the same time, and responds to others
// with status 503. If m is nil, the handler responds with status 404.
func (m *Counters) Handler() http.Handler {
	if m == nil {
		return http.NotFoundHandler()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case m.scrapes <- struct{}{}:
			defer func() { <-m.scrapes }()
		default:
			http.Error(w, "too many requests for metrics", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		m.set.WritePrometheus(w)
		metrics.WriteProcessMetrics(w)
	})
}

// StoreFailed counts a failed request to the store. If m is nil, it does nothing.
func (m *Counters) StoreFailed() {
	if m != nil {
		m.storeErrors.Inc()
	}
}

// Panicked counts a request whose handler panicked. If m is nil, it does nothing.
func (m *Counters) Panicked() {
	if m != nil {
		m.panics.Inc()
	}
}
