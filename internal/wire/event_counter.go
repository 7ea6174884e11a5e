package wire

import "github.com/streamassay/streamassay/internal/sse"

// An eventCounter finds the end of the nth event of a stream.
type eventCounter struct {
	remaining int
	decoder   *sse.Decoder
}

// newEventCounter returns a counter for n events of at most limit bytes each.
func newEventCounter(n, limit int) *eventCounter { return &eventCounter{n, sse.NewDecoder(limit)} }

// feed counts the events in the next piece of the body. done is true once the last one is
// complete; end is then the offset in the body after its blank line.
func (c *eventCounter) feed(piece []byte) (end int, done bool) {
	for item := range c.decoder.Feed(piece) {
		if item.Kind != sse.Event {
			continue
		}
		if c.remaining--; c.remaining == 0 {
			return item.End, true
		}
	}
	return 0, false
}
