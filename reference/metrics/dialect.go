package metrics

import (
	"strconv"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// An Outcome is how a run ended.
type Outcome int

// How runs end.
const (
	Finished Outcome = iota
	Failed
	Canceled
	outcomeCount
)

// String is the outcome as it is shown.
func (o Outcome) String() string { return [...]string{"finished", "failed", "canceled"}[o] }

// A DialectCounters counts what is done in the words of one dialect. A nil one counts nothing.
// Its figures are found once, when it is made: counting is adding to a number.
type DialectCounters struct {
	counters       *Counters
	name           string
	operations     map[string]*statusClasses
	otherOperation *statusClasses                          // what no operation is known for
	refusals       [200]atomic.Pointer[prometheus.Counter] // by status, from 400
	streams        prometheus.Gauge
	runsStarted    prometheus.Counter
	runsEnded      [outcomeCount]prometheus.Counter
	events         prometheus.Counter
	bytes          prometheus.Counter
}

// statusClasses are the requests of an operation, by class of the status; the first is of
// what is no status.
type statusClasses [6]prometheus.Counter

// OtherOperation is the operation of requests that ask for none.
const OtherOperation = "other"

// ForDialect counts what is done in a dialect that has these operations: others than those
// are counted together, so that no request can make a new series.
func (m *Counters) ForDialect(name string, operations []string) *DialectCounters {
	if m == nil {
		return nil
	}
	d := &DialectCounters{
		counters: m, name: name, operations: map[string]*statusClasses{}, otherOperation: m.statusClasses(name, OtherOperation),
		streams: m.streams.WithLabelValues(name), runsStarted: m.runsStarted.WithLabelValues(name),
		events: m.events.WithLabelValues(name), bytes: m.bytes.WithLabelValues(name),
	}
	for _, o := range operations {
		d.operations[o] = m.statusClasses(name, o)
	}
	for o := range outcomeCount {
		d.runsEnded[o] = m.runsEnded.WithLabelValues(name, o.String())
	}
	return d
}

func (m *Counters) statusClasses(dialect, operation string) *statusClasses {
	var c statusClasses
	for i, class := range [...]string{"none", "1xx", "2xx", "3xx", "4xx", "5xx"} {
		c[i] = m.requests.WithLabelValues(dialect, operation, class)
	}
	return &c
}

// ResponseSent counts a request that was answered, and a refusal if it was one.
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

// refusalCounter is the figure of a status. It is made when there is one to count: most of the
// two hundred never are.
func (d *DialectCounters) refusalCounter(status int) prometheus.Counter {
	place := &d.refusals[status-400]
	if c := place.Load(); c != nil {
		return *c
	}
	c := d.counters.refusals.WithLabelValues(d.name, strconv.Itoa(status))
	place.Store(&c)
	return c
}

// StreamOpened counts one more who listens.
func (d *DialectCounters) StreamOpened() {
	if d != nil {
		d.streams.Inc()
	}
}

// StreamClosed counts one less.
func (d *DialectCounters) StreamClosed() {
	if d != nil {
		d.streams.Dec()
	}
}

// RunStarted counts a run.
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

// EventsSent counts events, and the bytes of all of them.
func (d *DialectCounters) EventsSent(events, bytes int) {
	if d != nil && events >= 0 && bytes >= 0 { // a counter that is told to go back panics
		d.events.Add(float64(events))
		d.bytes.Add(float64(bytes))
	}
}
