package metrics

import (
	"strconv"

	"github.com/VictoriaMetrics/metrics"
)

// A RunOutcome is the way in which a run ended. It is the value of the "outcome" label of metrics.
type RunOutcome string

// The ways in which a run can end.
const (
	Finished RunOutcome = "finished" // the run ended successfully
	Failed   RunOutcome = "failed"   // the run ended with an error
	Canceled RunOutcome = "canceled" // the run was stopped
)

// DialectCounters are the metrics of one dialect, that is, one version of a protocol. The exported
// fields and the responses that [DialectCounters.ResponseSent] counts are metrics with the label
// "dialect".
type DialectCounters struct {
	Streams     *metrics.Gauge // streams that are open
	RunsStarted *metrics.Counter
	RunsEnded   map[RunOutcome]*metrics.Counter
	Events      *metrics.Counter // events of streams
	EventBytes  *metrics.Counter // total size of these events

	counters       *Counters
	name           string
	operations     map[string]*statusClasses
	otherOperation *statusClasses // for unknown operations
}

// statusClasses holds the counters of the responses of one operation, indexed by the first digit of
// the status. The counter at index 0 is for invalid statuses.
type statusClasses [6]*metrics.Counter

// OtherOperation is the operation label of requests for an operation that was not passed to
// ForDialect.
const OtherOperation = "other"

// ForDialect returns the metrics of the dialect with the given name and operations. Requests for
// any other operation are counted as OtherOperation, so that clients cannot create new time series.
// If m is nil, the metrics are counted but never served.
func (m *Counters) ForDialect(name string, operations []string) *DialectCounters {
	if m == nil {
		m = New("")
	}
	d := &DialectCounters{
		Streams:        m.set.GetOrCreateGauge(series("streams_open", "dialect", name), nil),
		RunsStarted:    m.counter("runs_begun_total", "dialect", name),
		RunsEnded:      map[RunOutcome]*metrics.Counter{},
		Events:         m.counter("events_total", "dialect", name),
		EventBytes:     m.counter("event_bytes_total", "dialect", name),
		counters:       m,
		name:           name,
		operations:     map[string]*statusClasses{},
		otherOperation: m.statusClasses(name, OtherOperation),
	}
	for _, o := range operations {
		d.operations[o] = m.statusClasses(name, o)
	}
	for _, o := range []RunOutcome{Finished, Failed, Canceled} {
		d.RunsEnded[o] = m.counter("runs_ended_total", "dialect", name, "outcome", string(o))
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

// ResponseSent counts a response to a request for the named operation. An operation that was not
// passed to ForDialect counts as OtherOperation. If the status is from 400 to 599, ResponseSent
// also counts the response in the metric refusals_total.
func (d *DialectCounters) ResponseSent(operation string, status int) {
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
		d.counters.counter("refusals_total", "dialect", d.name, "status", strconv.Itoa(status)).Inc()
	}
}
