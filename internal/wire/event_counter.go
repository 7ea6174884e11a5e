package wire

import "github.com/streamassay/streamassay/internal/sse"

// A eventCounter waits for the end of a stream's nth event.
type eventCounter struct {
	remaining int
	decoder   *sse.Decoder
}

func newEventCounter(n, limit int) *eventCounter { return &eventCounter{n, sse.NewDecoder(limit)} }

// feed counts the events in the body's next piece. It is true as soon as the last
// one has come; end is then where its blank line ends, in bytes of the body.
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
