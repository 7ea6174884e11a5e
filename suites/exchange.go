package suites

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// doExchange sends r in the same way as [Conversation.send], but through the given client and with
// target in place of r.Target. The recorded request has r.Target. doExchange reports whether the
// status of the response is a success (2xx).
func (t *Conversation) doExchange(client *wire.Client, r spec.Request, target string, limit wire.StopWhen) bool {
	i, ok := t.beginExchange(r)
	return ok && t.completeExchange(i, client, r, target, limit)
}

// beginExchange appends an exchange with the request r to the recording and returns its index. It
// returns false if the conversation must not send anything more.
func (t *Conversation) beginExchange(r spec.Request) (i int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.hasEnded() {
		if t.abortCause = context.Cause(t.ctx); t.abortCause == nil {
			t.abortCause = t.tracker(r).stopCause()
		}
	}
	if t.hasEnded() {
		return 0, false
	}
	t.trace.Exchanges = append(t.trace.Exchanges, spec.Exchange{Request: r})
	return len(t.trace.Exchanges) - 1, true
}

// hasEnded reports whether the conversation sends nothing more: after an error, after a response
// that exceeded a limit, or after it was stopped. The caller must hold t.mu.
func (t *Conversation) hasEnded() bool { return t.err != nil || t.limitReached || t.abortCause != nil }

// completeExchange sends r, with target in place of r.Target, and reads the response until it ends
// or a condition in limit is met. It records both in the exchange with the index i, which
// beginExchange returned. It reports whether the status of the response is a success (2xx) and the
// conversation was not stopped in the meantime.
func (t *Conversation) completeExchange(
	i int, client *wire.Client, r spec.Request, target string, limit wire.StopWhen,
) bool {
	tracker := t.tracker(r)
	guard := eventSizeGuard{maxEventBytes: t.target.MaxEventBytes, next: limit.Until}
	var abandonCause error                     // why a stream is not read beyond its head
	limit.Until = func(r spec.Response) bool { // called after the head, and after each piece of the body
		if guard.isStream(r) && limit.Frames == 0 {
			abandonCause = t.target.resources.trackers[true].stopCause()
		}
		return abandonCause != nil || guard.shouldLeave(r)
	}
	var endedAt time.Time // when the client saw the end of the run; zero if it did not
	if limit.Linger == nil {
		limit.Linger = t.lingerAfterEnd(r, &endedAt)
	}
	sent := r
	sent.Target = target
	release := t.waitForStream(r)
	ctx, stop := tracker.withContext(t.ctx)
	x, err := client.Do(ctx, sent, limit)
	release(x.Response)
	cause := context.Cause(ctx)
	stop()
	if err != nil && cause == nil {
		t.fail(err)
		return false
	}
	x.Request.Target = r.Target
	if err == nil {
		t.target.resources.noteOpenStream(x.Response, endedAt)
		cause = t.recordCost(&x.Response, tracker, guard)
	}
	if cause != nil {
		abandon(&x.Response, cause)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case cause != nil:
		t.abortCause = cause
	case abandonCause != nil:
		t.abortCause = abandonCause
	}
	t.trace.Exchanges[i] = x
	t.unread = append(t.unread, x)
	t.limitReached = t.limitReached || guard.tripped ||
		isOverLimit(x.Response.End) || wire.IsMemoryExceeded(x.Response.End)
	return cause == nil && x.Response.Status/100 == 2
}

// recordCost records in tracker the size of response r, and whether r exceeded a limit of the
// client or contained an event that was too large for guard. It then returns nil. If r has a
// content coding, and no more requests for its kind of response are to be sent, it records nothing
// and returns the reason instead. The caller must then abandon r. recordCost may set r.End (see
// [Conversation.checkDecodedSize]).
func (t *Conversation) recordCost(r *spec.Response, tracker *limitTracker, guard eventSizeGuard) error {
	size, stopped := t.checkDecodedSize(r, tracker)
	switch {
	case stopped != nil:
	case guard.tripped:
		tracker.record(largeEventError(guard.maxEventBytes), size)
	default:
		tracker.record(r.End, size)
	}
	return stopped
}

// abandon sets r.End to an error that wraps [spec.ErrClientLeft] and cause, the reason why the
// client left before the end of the response. If cause is a [limitStopError] and the body has a
// content coding, abandon also drops the body, because decoding it could take as long as decoding
// all earlier bodies did.
func abandon(r *spec.Response, cause error) {
	r.End = fmt.Errorf("%w: %w", spec.ErrClientLeft, cause)
	if _, stopped := errors.AsType[limitStopError](cause); stopped && dialect.HasContentCoding(*r) {
		r.Body, r.Arrivals = nil, nil
	}
}

// tracker returns the limit tracker for the kind of response that r asks for, which is either an
// event stream or any other reply.
func (t *Conversation) tracker(r spec.Request) *limitTracker {
	o := t.dialect.Operation(r)
	return t.target.resources.trackers[o != nil && o.IsStream]
}

// checkDecodedSize returns the size of response r after removal of its content coding, if any. It
// waits until memory is free before it decodes the body. If the decoded body exceeds a limit,
// checkDecodedSize sets r.End to an error that says so. If the decoded body is within the limits
// but larger than [maxRetained], so that decoding it repeatedly would be expensive, and r ended
// without an error, it sets r.End to an error that wraps [spec.ErrClientLeft], and the conversation
// sends nothing more.
//
// If r has a content coding, and no more requests for its kind of response are to be sent, stopped
// is the reason (see [limitTracker.stopCause]). The body is then not decoded, and size is zero.
// Otherwise, stopped is nil.
func (t *Conversation) checkDecodedSize(r *spec.Response, tracker *limitTracker) (size responseVolume, stopped error) {
	if !dialect.HasContentCoding(*r) {
		return responseVolume{wire.CountEvents(*r), len(r.Body)}, nil
	}
	t.clients[spec.PrimaryUser].Use(t.ctx, func() {
		if stopped = tracker.stopCause(); stopped != nil {
			return
		}
		plain := dialect.DecodeContent(*r)
		size = responseVolume{wire.CountEvents(plain), len(plain.Body)}
		large := len(plain.Body) > maxRetained
		t.mu.Lock()
		defer t.mu.Unlock()
		t.largeDecoded = t.largeDecoded || large
		if isOverLimit(plain.End) {
			r.End = plain.End
		} else if large && r.End == nil {
			r.End = fmt.Errorf("%w: the body is large without its coding", spec.ErrClientLeft)
			t.limitReached = true
		}
	})
	return size, stopped
}

// An eventSizeGuard makes the client stop reading an event stream when too many bytes follow the
// beginning of the last data line. This is the case for an event that is too large or has no end,
// and for a stream that sends nothing but comments. Bodies that are not event streams, or that have
// a content coding, are bounded only by the general limits.
type eventSizeGuard struct {
	maxEventBytes int                      // maximum size of one event, in bytes
	next          func(spec.Response) bool // the caller's own condition for leaving; nil: none
	hasHead       bool                     // the fields stream and encoded have been set
	stream        bool                     // the response is an event stream
	encoded       bool                     // the response has a content coding
	scanned       int                      // number of bytes of the body that were searched for data lines
	dataLine      int                      // byte offset of the last data line in the body
	tripped       bool                     // an event was too large
}

// maxReadAhead is how many bytes beyond the end of an event the client may already have read when
// [eventSizeGuard.shouldLeave] is called. That many bytes are added to the limit of one event.
const maxReadAhead = 1 << 18

// isStream reports whether the response is an event stream. The first call determines this from the
// header of r, and later calls ignore r and return the same result.
func (p *eventSizeGuard) isStream(r spec.Response) bool {
	if !p.hasHead {
		p.hasHead, p.stream, p.encoded = true, r.Header.MediaType() == spec.EventStream, r.Header.ContentCoding() != ""
	}
	return p.stream
}

// shouldLeave reports whether the client should stop reading a response. The argument r is the part
// of the response that has been received so far. The result is true if an event is too large, in
// which case p.tripped is set, or if p.next returns true.
func (p *eventSizeGuard) shouldLeave(r spec.Response) bool {
	if p.isStream(r) && !p.encoded {
		p.findDataLine(r.Body)
		p.tripped = len(r.Body)-p.dataLine > p.maxEventBytes+maxReadAhead
	}
	return p.tripped || p.next != nil && p.next(r)
}

// findDataLine sets p.dataLine to the byte offset of the last line in body that begins with "data".
// A "data" elsewhere in a line, as in a comment, does not count. The argument body is what has been
// received so far. Each call continues where the previous one ended, so that each byte is searched
// only once.
func (p *eventSizeGuard) findDataLine(body []byte) {
	name := []byte("data")
	for at := p.scanned; ; at++ {
		i := bytes.Index(body[at:], name)
		if i < 0 {
			break
		}
		at += i
		if at == 0 || body[at-1] == '\n' || body[at-1] == '\r' || at == 3 { // a byte order mark has three bytes
			p.dataLine = at
		}
	}
	p.scanned = max(p.scanned, len(body)-len(name)+1)
}
