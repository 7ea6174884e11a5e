package metrics

import (
	"strconv"
	"sync/atomic"

	"github.com/VictoriaMetrics/metrics"
)

// An Outcome tells how a run ended.
type Outcome int

// The ways in which a run can end.
const (
	Finished Outcome = iota
	Failed
	Canceled
	outcomeCount
)

// String returns the outcome as the label of a metric.
func (o Outcome) String() string { return [...]string{"finished", "failed", "canceled"}[o] }

// DialectCounters are the metrics of one dialect. Their series are looked up once, in
// ForDialect, so that counting is a single atomic addition.
type DialectCounters struct {
	counters       *Counters
	name           string
	operations     map[string]*statusClasses
	otherOperation *statusClasses                       // for unknown operations
	refusals       [200]atomic.Pointer[metrics.Counter] // by status, from 400; nil until the first one
	streams        *metrics.Gauge
	runsStarted    *metrics.Counter
	runsEnded      [outcomeCount]*metrics.Counter
	events         *metrics.Counter
	bytes          *metrics.Counter
}

// statusClasses counts the responses of an operation by class of the status. The first
// element counts invalid statuses.
type statusClasses [6]*metrics.Counter

// OtherOperation is the name under which requests that match no operation are counted.
const OtherOperation = "other"

// ForDialect returns the metrics of a dialect with the given operations, or nil if m is nil. Any
// other operation is counted as OtherOperation, so that clients cannot create new series.
func (m *Counters) ForDialect(name string, operations []string) *DialectCounters {
	if m == nil {
		return nil
	}
	d := &DialectCounters{
		counters: m, name: name, operations: map[string]*statusClasses{}, otherOperation: m.statusClasses(name, OtherOperation),
		streams:     m.set.GetOrCreateGauge(series("streams_open", "dialect", name), nil),
		runsStarted: m.counter("runs_begun_total", "dialect", name),
		events:      m.counter("events_total", "dialect", name), bytes: m.counter("event_bytes_total", "dialect", name),
	}
	for _, o := range operations {
		d.operations[o] = m.statusClasses(name, o)
	}
	for o := range outcomeCount {
		d.runsEnded[o] = m.counter("runs_ended_total", "dialect", name, "outcome", o.String())
	}
	return d
}

func (m *Counters) statusClasses(dialect, operation string) *statusClasses {
	var c statusClasses
	for i, class := range [...]string{"none", "1xx", "2xx", "3xx", "4xx", "5xx"} {
		c[i] = m.counter("requests_total", "class", class, "dialect", dialect, "operation", operation)
	}
	return &c
}

// ResponseSent counts a response and, if its status is at least 400, a refusal.
func (d *DialectCounters) ResponseSent(operation string, status int) {
	if d == nil {
		return
	}
	c := d.operations[operation]
	if c == nil {
		c = d.otherOperation
	}
	class := status / 100
	if class < 1 || class > 5 {
		class = 0
	}
	c[class].Inc()
	if class >= 4 {
		d.refusalCounter(status).Inc()
	}
}

// refusalCounter returns the counter of refusals with a status from 400 to 599. It creates the
// series at the first call for a status, because most statuses never occur.
func (d *DialectCounters) refusalCounter(status int) *metrics.Counter {
	place := &d.refusals[status-400]
	if c := place.Load(); c != nil {
		return c
	}
	c := d.counters.counter("refusals_total", "dialect", d.name, "status", strconv.Itoa(status))
	place.Store(c)
	return c
}

// StreamOpened counts a stream as open.
func (d *DialectCounters) StreamOpened() {
	if d != nil {
		d.streams.Inc()
	}
}

// StreamClosed counts a stream as closed that StreamOpened counted as open.
func (d *DialectCounters) StreamClosed() {
	if d != nil {
		d.streams.Dec()
	}
}

// RunStarted counts the start of a run.
func (d *DialectCounters) RunStarted() {
	if d != nil {
		d.runsStarted.Inc()
	}
}

// RunEnded counts the end of a run.
func (d *DialectCounters) RunEnded(o Outcome) {
	if d != nil && o >= 0 && o < outcomeCount {
		d.runsEnded[o].Inc()
	}
}

// EventsSent counts events and their total size in bytes.
func (d *DialectCounters) EventsSent(events, bytes int) {
	if d != nil && events >= 0 && bytes >= 0 {
		d.events.Add(events)
		d.bytes.Add(bytes)
	}
}
