package wire

import "github.com/streamassay/streamassay/internal/sse"

// An eventCounter finds where a certain number of events of a stream have been received.
type eventCounter struct {
	remaining int
	decoder   *sse.Decoder
}

// newEventCounter returns a counter that finds the end of the nth event. Events may have at most
// limit bytes.
func newEventCounter(n, limit int) *eventCounter { return &eventCounter{n, sse.NewDecoder(limit)} }

// feed counts the events in the next piece of the body. done is true once all events that were
// asked for are complete; end is then the offset in the body after the last of them and its blank
// line.
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
