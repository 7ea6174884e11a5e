package meter

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
	outcomes
)

// String is the outcome as it is shown.
func (o Outcome) String() string { return [...]string{"finished", "failed", "canceled"}[o] }

// A Dialect counts what is done in the words of one dialect. A nil one counts nothing.
// Its figures are found once, when it is made: counting is adding to a number.
type Dialect struct {
	meter      *Meter
	name       string
	operations map[string]*classes
	other      *classes                                // what no operation is known for
	refusals   [200]atomic.Pointer[prometheus.Counter] // by status, from 400
	streams    prometheus.Gauge
	begun      prometheus.Counter
	ended      [outcomes]prometheus.Counter
	events     prometheus.Counter
	bytes      prometheus.Counter
}

// classes are the requests of an operation, by class of the status; the first is of
// what is no status.
type classes [6]prometheus.Counter

// Other is the operation of requests that ask for none.
const Other = "other"

// Dialect counts what is done in a dialect that has these operations: others than those
// are counted together, so that no request can make a new series.
func (m *Meter) Dialect(name string, operations []string) *Dialect {
	if m == nil {
		return nil
	}
	d := &Dialect{
		meter: m, name: name, operations: map[string]*classes{}, other: m.classes(name, Other),
		streams: m.streams.WithLabelValues(name), begun: m.begun.WithLabelValues(name),
		events: m.events.WithLabelValues(name), bytes: m.bytes.WithLabelValues(name),
	}
	for _, o := range operations {
		d.operations[o] = m.classes(name, o)
	}
	for o := range outcomes {
		d.ended[o] = m.ended.WithLabelValues(name, o.String())
	}
	return d
}

func (m *Meter) classes(dialect, operation string) *classes {
	var c classes
	for i, class := range [...]string{"none", "1xx", "2xx", "3xx", "4xx", "5xx"} {
		c[i] = m.requests.WithLabelValues(dialect, operation, class)
	}
	return &c
}

// Answered counts a request that was answered, and a refusal if it was one.
func (d *Dialect) Answered(operation string, status int) {
	if d == nil {
		return
	}
	c := d.operations[operation]
	if c == nil {
		c = d.other
	}
	class := status / 100
	if class < 1 || class > 5 {
		class = 0
	}
	c[class].Inc()
	if class >= 4 {
		d.refusal(status).Inc()
	}
}

// refusal is the figure of a status. It is made when there is one to count: most of the
// two hundred never are.
func (d *Dialect) refusal(status int) prometheus.Counter {
	place := &d.refusals[status-400]
	if c := place.Load(); c != nil {
		return *c
	}
	c := d.meter.refusals.WithLabelValues(d.name, strconv.Itoa(status))
	place.Store(&c)
	return c
}

// StreamOpened counts one more who listens.
func (d *Dialect) StreamOpened() {
	if d != nil {
		d.streams.Inc()
	}
}

// StreamClosed counts one less.
func (d *Dialect) StreamClosed() {
	if d != nil {
		d.streams.Dec()
	}
}

// RunBegun counts a run.
func (d *Dialect) RunBegun() {
	if d != nil {
		d.begun.Inc()
	}
}

// RunEnded counts the end of a run.
func (d *Dialect) RunEnded(o Outcome) {
	if d != nil && o >= 0 && o < outcomes {
		d.ended[o].Inc()
	}
}

// Told counts events, and the bytes of all of them.
func (d *Dialect) Told(events, bytes int) {
	if d != nil && events >= 0 && bytes >= 0 { // a counter that is told to go back panics
		d.events.Add(float64(events))
		d.bytes.Add(float64(bytes))
	}
}
