// Package metrics counts requests, streams, runs and events of servers, for Prometheus.
// All methods are safe for concurrent use, and those of nil pointers do nothing, so
// callers need not check whether metrics are enabled.
package metrics

import (
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Counters are the metrics of one process.
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

// New returns counters at zero. version is the version of the program, which the metric build_info
// shows.
func New(version string) *Counters {
	counter := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Namespace: "streamassay", Name: name, Help: help}
	}
	m := &Counters{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(counter("requests_total", "Responses sent, by class of the status."), []string{"dialect", "operation", "class"}),
		refusals: prometheus.NewCounterVec(counter("refusals_total", "Responses sent with a status of 400 or more."), []string{"dialect", "status"}),
		streams: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "streamassay", Name: "streams_open", Help: "Event streams with a connected client.",
		}, []string{"dialect"}),
		runsStarted: prometheus.NewCounterVec(counter("runs_begun_total", "Runs started by this process."), []string{"dialect"}),
		runsEnded:   prometheus.NewCounterVec(counter("runs_ended_total", "Runs that this process ended, by outcome."), []string{"dialect", "outcome"}),
		events:      prometheus.NewCounterVec(counter("events_total", "Events of runs, each counted once, regardless of the number of clients."), []string{"dialect"}),
		bytes:       prometheus.NewCounterVec(counter("event_bytes_total", "Bytes of those events."), []string{"dialect"}),
		storeErrors: prometheus.NewCounter(counter("store_errors_total", "Failed requests to the store.")),
		panics:      prometheus.NewCounter(counter("panics_total", "Requests ended by a panic.")),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: "streamassay", Name: "build_info", Help: "1, with the version of the program and of Go as labels.",
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

// Handler returns a handler that serves the metrics in Prometheus' text format, or 404
// if m is nil.
func (m *Counters) Handler() http.Handler {
	if m == nil {
		return http.NotFoundHandler()
	}
	return m.handler
}

// StoreFailed counts a failed request to the store.
func (m *Counters) StoreFailed() {
	if m != nil {
		m.storeErrors.Inc()
	}
}

// Panicked counts a request that ended with a panic.
func (m *Counters) Panicked() {
	if m != nil {
		m.panics.Inc()
	}
}
