package wire

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/streamassay/streamassay/internal/printable"
	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec"
)

// maxReads is the maximum number of arrivals that are recorded for a body. When it is reached, each
// pair of successive arrivals is merged into one; see mergeArrivals.
const maxReads = 1 << 20

// A recorder records the response of one exchange. It ends the exchange when the response reaches a
// limit.
type recorder struct {
	resp     *spec.Response
	watchdog *watchdog
	stopWhen StopWhen     // when to stop reading; Frames is the number of events that are still to be read
	decoder  *sse.Decoder // decodes the events that Frames and FirstEvent count
	maxBody  int          // maximum number of bytes in the body

	isStream   bool // the body is an event stream, so that maxEvents applies
	eventCount sse.EventCounter
	withoutID  int              // number of events without an SSE id that were read because of StopWhen.WithID
	maxEvents  int              // maximum number of events and comments in the body
	memory     *bodyByteCounter // memory of the conversation
}

// maxWithoutID is the maximum number of events without an SSE id that [StopWhen.WithID] makes the
// client read.
const maxWithoutID = 50

// recordBody reads and records the body of the response. It returns nil if the body is complete,
// and otherwise the reason why it ended early. The argument body reads the body without its
// framing; it must return io.EOF only at the marked end of the body. The function arrived returns
// the time at which the last bytes were read from the connection. Bytes may have arrived before
// that time, because the client reads nothing while it waits for memory, but never after it.
func (h *recorder) recordBody(body io.Reader, arrived func() time.Time) error {
	if err := h.checkStop(); err != nil {
		return err
	}
	h.isStream = h.resp.Header.MediaType() == spec.EventStream && h.resp.Header.ContentCoding() == ""
	piece := pieces.Get().(*[bufferSize]byte)
	defer pieces.Put(piece)
	for {
		n, err := body.Read(piece[:])
		if n > 0 {
			if end := h.recordPiece(piece[:n], arrived().Sub(h.watchdog.sentAt)); end != nil {
				return end
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return h.watchdog.endError(err)
		}
	}
}

// pieces holds buffers for the pieces of bodies.
var pieces = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// recordPiece records a copy of piece, the next part of the body, without the bytes beyond a limit.
// The parameter at is the time from the sending of the request to the read that received piece.
// recordPiece returns an error if a limit is reached, a condition in h.stopWhen is met, or the
// exchange ends while it waits for memory; the client must then stop reading.
func (h *recorder) recordPiece(piece []byte, at time.Duration) error {
	room := h.maxBody - len(h.resp.Body)
	over := len(piece) > room
	if over {
		piece = piece[:room]
	}
	if h.isStream {
		piece = piece[:h.eventCount.Add(piece, h.maxEvents)]
	}
	if err := h.memory.reserve(h.watchdog, len(piece)); err != nil {
		return err
	}
	if len(piece) > 0 {
		h.resp.Body = append(h.resp.Body, piece...)
		h.resp.Arrivals = append(mergeArrivals(h.resp.Arrivals, maxReads), spec.Arrival{End: len(h.resp.Body), At: at})
	}
	if h.stopWhen.Frames > 0 || h.stopWhen.FirstEvent > 0 {
		// The decoder may keep a reference to its input, and piece is reused.
		for item := range h.decoder.Feed(h.resp.Body[len(h.resp.Body)-len(piece):]) {
			if item.Kind != sse.Event {
				continue
			}
			if h.stopWhen.FirstEvent > 0 {
				h.watchdog.firstEvent.Stop()
				h.stopWhen.FirstEvent = 0
			}
			if h.stopWhen.Frames == 1 && h.stopWhen.WithID && item.LastEventID == "" && h.withoutID < maxWithoutID {
				h.withoutID++
				continue
			}
			if h.stopWhen.Frames == 1 {
				h.truncateAt(item.End)
				return spec.ErrClientLeft
			}
			h.stopWhen.Frames = max(0, h.stopWhen.Frames-1)
		}
	}
	switch {
	case over:
		size := printable.Bytes(h.maxBody)
		return fmt.Errorf("%w: sent more than %s, the limit of --max-bytes", spec.ErrLimitExceeded, size)
	case h.eventCount.N > h.maxEvents:
		events := formatThousands(h.maxEvents) + " events"
		if h.maxEvents == 1 {
			events = "1 event"
		}
		return fmt.Errorf("%w: sent more than %s, the limit of --max-events", spec.ErrLimitExceeded, events)
	}
	return h.checkStop()
}

// checkStop calls the functions in h.stopWhen with the response so far. It returns
// spec.ErrClientLeft if Until returns true, and nil otherwise. If Linger returns a positive
// duration, checkStop starts a timer that ends the exchange after that time.
func (h *recorder) checkStop() error {
	if h.stopWhen.Linger != nil && h.watchdog.lingers == nil {
		if d, end := h.stopWhen.Linger(*h.resp); d > 0 {
			h.watchdog.lingers = time.AfterFunc(d, func() { h.watchdog.hangUp(end) })
		}
	}
	if h.stopWhen.Until != nil && h.stopWhen.Until(*h.resp) {
		return spec.ErrClientLeft
	}
	return nil
}

// truncateAt removes from the record all bytes after the event that ends at the offset end. That
// event is the last one that StopWhen.Frames counts; a client that disconnects after it would not
// have received the rest.
func (h *recorder) truncateAt(end int) {
	// The decoder does not wait for the LF of a CR LF. If it has arrived, it belongs to
	// the blank line.
	if rest := h.resp.Body[end:]; len(rest) > 0 && rest[0] == '\n' && h.resp.Body[end-1] == '\r' {
		end++
	}
	h.resp.Body = h.resp.Body[:end:end]
	for i, r := range h.resp.Arrivals {
		if r.End >= end {
			h.resp.Arrivals[i].End = end
			h.resp.Arrivals = h.resp.Arrivals[:i+1]
			return
		}
	}
}

// mergeArrivals returns reads unchanged if it has fewer than limit elements. Otherwise it returns
// half of the elements: of each pair of successive arrivals, only the later one. That result
// overwrites reads.
func mergeArrivals(reads []spec.Arrival, limit int) []spec.Arrival {
	if len(reads) < limit {
		return reads
	}
	half := reads[:0]
	for i := 1; i < len(reads); i += 2 {
		half = append(half, reads[i])
	}
	if len(reads)%2 == 1 {
		half = append(half, reads[len(reads)-1])
	}
	return half
}
