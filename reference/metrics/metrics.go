// Package metrics counts what a server does, for Prometheus. It knows no request and no
// event: it is told what to count, by whoever saw it. A nil [Meter] counts nothing, so
// nobody has to ask whether there is one.
package metrics

import (
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// A Counters has the figures of one process.
type Counters struct {
	registry    *prometheus.Registry
	requests    *prometheus.CounterVec
	refusals    *prometheus.CounterVec
	streams     *prometheus.GaugeVec
	runsStarted *prometheus.CounterVec
	runsEnded   *prometheus.CounterVec
	events      *prometheus.CounterVec
	bytes       *prometheus.CounterVec
	storeErrors prometheus.Counter
	panics      prometheus.Counter
	handler     http.Handler
}

// New is a meter at zero, of a program of that version.
func New(version string) *Counters {
	counter := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Namespace: "streamassay", Name: name, Help: help}
	}
	m := &Counters{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(counter("requests_total", "Requests answered, by class of the status."), []string{"dialect", "operation", "class"}),
		refusals: prometheus.NewCounterVec(counter("refusals_total", "Requests answered with a status of 400 or more."), []string{"dialect", "status"}),
		streams: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "streamassay", Name: "streams_open", Help: "Streams that somebody listens to.",
		}, []string{"dialect"}),
		runsStarted: prometheus.NewCounterVec(counter("runs_begun_total", "Runs that began here."), []string{"dialect"}),
		runsEnded:   prometheus.NewCounterVec(counter("runs_ended_total", "Runs that ended here, by how."), []string{"dialect", "outcome"}),
		events:      prometheus.NewCounterVec(counter("events_total", "Events that runs told, each once whoever listens."), []string{"dialect"}),
		bytes:       prometheus.NewCounterVec(counter("event_bytes_total", "Bytes of those events."), []string{"dialect"}),
		storeErrors: prometheus.NewCounter(counter("store_errors_total", "What the store could not do when it was asked.")),
		panics:      prometheus.NewCounter(counter("panics_total", "Requests that a fault of the program ended.")),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: "streamassay", Name: "build_info", Help: "1, and what this program is.",
		ConstLabels: prometheus.Labels{"version": version, "go": runtime.Version()},
	})
	build.Set(1)
	m.registry.MustRegister(
		m.requests, m.refusals, m.streams, m.runsStarted, m.runsEnded, m.events, m.bytes, m.storeErrors, m.panics, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	m.handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: 4, Timeout: 10 * time.Second, ErrorHandling: promhttp.ContinueOnError,
	})
	return m
}

// Handler shows the figures in the way that Prometheus reads them.
func (m *Counters) Handler() http.Handler {
	if m == nil {
		return http.NotFoundHandler()
	}
	return m.handler
}

// StoreFailed counts what a store could not do.
func (m *Counters) StoreFailed() {
	if m != nil {
		m.storeErrors.Inc()
	}
}

// Panicked counts a request that a fault of the program ended.
func (m *Counters) Panicked() {
	if m != nil {
		m.panics.Inc()
	}
}
