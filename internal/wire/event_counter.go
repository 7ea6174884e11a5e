package wire

import "github.com/streamassay/streamassay/internal/sse"

// An eventCounter finds the offset in a stream at which a given number of events is complete.
type eventCounter struct {
	remaining int
	decoder   *sse.Decoder
}

// newEventCounter returns a counter that finds the end of the nth event. An event of more than
// limit bytes, and all events after it, are not counted.
func newEventCounter(n, limit int) *eventCounter { return &eventCounter{n, sse.NewDecoder(limit)} }

// feed counts the events in the next piece of the body. done is true once the requested number of
// events is complete; end is then the offset, in the body, of the end of the last event, after its
// blank line.
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
