package wire

import (
	"io"
	"time"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec"
)

// maxReads bounds what is remembered of when a body arrived. Beyond it, the older
// arrivals are merged in pairs.
const maxReads = 1 << 20

// A recorder is an answer while it is being recorded.
type recorder struct {
	resp         *spec.Response
	watchdog     *watchdog
	stopWhen     StopWhen
	frameCounter *eventCounter // nil: they do not matter
	maxBody      int

	isStream   bool // its events are counted
	eventCount sse.EventCounter
	maxEvents  int
	memory     *reservation
}

// recordBody records a body until it ends and returns how: nil is a whole body.
// arrived tells when the bytes that were read last came; body yields the body
// without its framing, and io.EOF only where the framing says that it ends.
func (h *recorder) recordBody(body io.Reader, arrived func() time.Time) error {
	if err := h.checkStop(); err != nil {
		return err
	}
	h.isStream = h.resp.Header.MediaType() == spec.EventStream && !isEncoded(h.resp.Header)
	piece := make([]byte, 32<<10)
	for {
		n, err := body.Read(piece)
		if n > 0 {
			if end := h.recordPiece(piece[:n], arrived().Sub(h.watchdog.sentAt)-h.watchdog.paused); end != nil {
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

// recordPiece records one piece of the body. An error is why the client stops listening.
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
	if h.frameCounter != nil {
		// The decoder may hold on to what it is fed, and piece is used again.
		if end, ok := h.frameCounter.feed(h.resp.Body[len(h.resp.Body)-len(piece):]); ok {
			h.truncateAt(end)
			return spec.ErrClientLeft
		}
	}
	switch {
	case over:
		return limitError("sent more than %s", formatBytes(h.maxBody))
	case h.eventCount.N > h.maxEvents:
		return limitError("sent more than %s events", formatThousands(h.maxEvents))
	}
	return h.checkStop()
}

// checkStop gives the caller the chance to leave.
func (h *recorder) checkStop() error {
	if h.stopWhen.Until != nil && h.stopWhen.Until(*h.resp) {
		return spec.ErrClientLeft
	}
	return nil
}

// truncateAt forgets what came after the end of the frame with which the client left: a
// client that loses the connection there has not heard it.
func (h *recorder) truncateAt(end int) {
	// The decoder has no need to wait for the second half of a CRLF; if it has
	// come, it belongs to the blank line.
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

// mergeArrivals is reads with room for one more below most: if there is none, every
// second arrival is told of as part of the next, which is true of its bytes too.
func mergeArrivals(reads []spec.Arrival, most int) []spec.Arrival {
	if len(reads) < most {
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
