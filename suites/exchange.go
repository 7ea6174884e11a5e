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

// doExchange is like [Conversation.send], but sends the request with the given client, and with
// target (a path and query) in place of r.Target. The recorded request has the target r.Target.
func (t *Conversation) doExchange(client *wire.Client, r spec.Request, target string, limit wire.StopWhen) bool {
	i, ok := t.beginExchange(r)
	return ok && t.completeExchange(i, client, r, target, limit)
}

// beginExchange appends an exchange with the request r to the recording and returns its index. It
// returns false if the conversation has ended.
func (t *Conversation) beginExchange(r spec.Request) (i int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.hasEnded() {
		if t.abortCause = context.Cause(t.ctx); t.abortCause == nil {
			t.abortCause = t.budget(r).stopCause()
		}
	}
	if t.hasEnded() {
		return 0, false
	}
	t.trace.Exchanges = append(t.trace.Exchanges, spec.Exchange{Request: r})
	return len(t.trace.Exchanges) - 1, true
}

// hasEnded reports whether the conversation has ended, so that no more requests are sent. The
// caller must hold t.mu.
func (t *Conversation) hasEnded() bool { return t.err != nil || t.limitReached || t.abortCause != nil }

// completeExchange sends r, but with target in place of r.Target, and reads the response until it
// ends or a condition in limit is met. It records r, with its own Target, and the response in
// exchange i, which beginExchange has returned. If the server is busy (see isBusyStatus), it may
// repeat the request in further exchanges; see mayRepeat and waitWhileBusy. It reports whether the
// last response is successful (status 2xx). It also returns false if the conversation was stopped
// before the response ended.
func (t *Conversation) completeExchange(
	i int, client *wire.Client, r spec.Request, target string, limit wire.StopWhen,
) bool {
	if !t.mayRepeat(r) {
		return t.exchangeOnce(i, client, r, target, limit)
	}
	limit = ignoreBusyResponses(limit)
	pause := conflictDelay
	for n := 0; ; n++ {
		ok := t.exchangeOnce(i, client, r, target, limit)
		if !t.waitWhileBusy(r, t.statusOf(i), n, pause) {
			return ok
		}
		if i, ok = t.beginExchange(r); !ok {
			return false
		}
		pause *= 2
	}
}

// exchangeOnce is like completeExchange, but does not repeat the request.
func (t *Conversation) exchangeOnce(
	i int, client *wire.Client, r spec.Request, target string, limit wire.StopWhen,
) bool {
	budget := t.budget(r)
	guard := eventSizeGuard{maxEventBytes: t.target.MaxEventBytes, next: limit.Until}
	var abandonCause error                     // the reason why only the head of a stream is read
	limit.Until = func(r spec.Response) bool { // called after the head, and after each piece of the body
		if guard.isStream(r) && limit.Frames == 0 {
			abandonCause = t.target.resources.budgets[true].stopCause()
		}
		return abandonCause != nil || guard.shouldLeave(r)
	}
	t.limitLateStart(r, &limit)
	var endedAt time.Time // when the client saw the end of the run; zero if it did not
	if limit.Linger == nil {
		limit.Linger = t.lingerAfterEnd(r, &endedAt)
	}
	sent := r
	sent.Target = target
	release := t.waitForStream(r)
	ctx, stop := budget.withContext(t.ctx)
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
		cause = t.recordCost(&x.Response, budget, guard)
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

// recordCost adds the decoded size of response r to the totals of budget and returns nil. If
// guard.tripped is set, it also counts r as a response that exceeded a limit. However, if the
// budget is used up and the body would have to be decoded, recordCost only returns the reason why
// no more requests may be sent, with which the caller must call [abandon]. recordCost may set
// r.End; see [Conversation.checkDecodedSize].
func (t *Conversation) recordCost(r *spec.Response, budget *responseSizeBudget, guard eventSizeGuard) error {
	size, stopped := t.checkDecodedSize(r, budget)
	switch {
	case stopped != nil:
	case guard.tripped:
		budget.record(eventTooLargeError(guard.maxEventBytes), size)
	default:
		budget.record(r.End, size)
	}
	return stopped
}

// abandon sets r.End to an error that wraps [spec.ErrClientLeft] and cause, the reason why the
// client left before the end of the response. If cause is a [requestsStoppedError], it also removes
// a body with a content coding.
func abandon(r *spec.Response, cause error) {
	r.End = fmt.Errorf("%w: %w", spec.ErrClientLeft, cause)
	// Decoding the body could take as long as decoding all earlier bodies took.
	if _, stopped := errors.AsType[requestsStoppedError](cause); stopped && dialect.HasContentCoding(*r) {
		r.Body, r.Arrivals = nil, nil
	}
}

// budget returns the budget for the kind of response that r requests: an event stream or
// another reply.
func (t *Conversation) budget(r spec.Request) *responseSizeBudget {
	o := t.dialect.Operation(r)
	return t.target.resources.budgets[o != nil && o.IsStream]
}

// checkDecodedSize returns the size of response r after removal of its content coding, if any. It
// waits until memory is available for decoding. If the decoded body exceeds a limit, it sets r.End
// to the error that states the limit. If a complete body is larger than [maxRetained] after
// decoding, checkDecodedSize sets r.End to an error that wraps [spec.ErrClientLeft] and ends the
// conversation, because repeated decoding would be expensive.
//
// If r has a content coding and the budget has stopped requests, checkDecodedSize does not decode
// the body, and stopped is the result of [responseSizeBudget.stopCause]. Otherwise, stopped is nil.
func (t *Conversation) checkDecodedSize(
	r *spec.Response, budget *responseSizeBudget,
) (size responseVolume, stopped error) {
	if !dialect.HasContentCoding(*r) {
		return responseVolume{wire.CountEvents(*r), len(r.Body)}, nil
	}
	t.clients[spec.PrimaryUser].Use(t.ctx, func() {
		if stopped = budget.stopCause(); stopped != nil {
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

// An eventSizeGuard makes the client stop reading an event stream in which the last data line began
// more than maxEventBytes + [maxReadAhead] bytes ago. Either an event is too large, or the stream
// contains only comments since then. The guard ignores bodies with a content coding.
type eventSizeGuard struct {
	maxEventBytes int                      // maximum size of one event, in bytes
	next          func(spec.Response) bool // a further condition under which the client stops reading; nil: none
	hasHead       bool                     // the fields stream and encoded have been set
	stream        bool                     // the response is an event stream
	encoded       bool                     // the response has a content coding
	scanned       int                      // number of bytes of the body that were searched for data lines
	dataLine      int                      // byte offset of the last data line in the body
	tripped       bool                     // an event was too large
}

// maxReadAhead is the maximum number of bytes after an event that the client may have read when it
// calls [eventSizeGuard.shouldLeave]. These bytes do not count as a part of the event.
const maxReadAhead = 1 << 18

// isStream reports whether the response is an event stream. The first call determines this from the
// header of r; later calls return the same result.
func (p *eventSizeGuard) isStream(r spec.Response) bool {
	if !p.hasHead {
		p.hasHead, p.stream, p.encoded = true, r.Header.MediaType() == spec.EventStream, r.Header.ContentCoding() != ""
	}
	return p.stream
}

// shouldLeave reports whether the client should stop reading. The argument r is the response as
// received so far. The result is true if an event is too large or p.next returns true. If an event
// is too large, shouldLeave sets p.tripped.
func (p *eventSizeGuard) shouldLeave(r spec.Response) bool {
	if p.isStream(r) && !p.encoded {
		p.findDataLine(r.Body)
		p.tripped = len(r.Body)-p.dataLine > p.maxEventBytes+maxReadAhead
	}
	return p.tripped || p.next != nil && p.next(r)
}

// findDataLine sets p.dataLine to the byte offset of the last line in body that begins with "data".
// The argument body is the body as received so far. Each call searches only the bytes that were
// added since the previous one.
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
