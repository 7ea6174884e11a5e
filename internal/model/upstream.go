package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec"
)

// Limits on a request to the model's server. They keep a faulty server from delaying a run for long
// or using much memory.
const (
	maxErrorBody    = 64 << 10        // bytes that are read of an error response
	maxRetryAfter   = 2 * time.Second // if Retry-After is longer, the request is not repeated
	trailingTimeout = time.Second     // idle timeout after the model has stated its finish reason
)

// An upstreamExchange is one request to the model's server and its response. It fails if the server
// sends nothing for idleTimeout, or sends more than modelRun.remainingBytes bytes.
type upstreamExchange struct {
	*modelRun
	ctx         context.Context         // context of the request
	cancel      context.CancelCauseFunc // cancels ctx
	timer       *time.Timer             // cancels the request when the idle timeout expires
	idleTimeout time.Duration
	body        io.ReadCloser // body of the response; nil: no response yet
	readErr     error         // error with which the iterator from frames ended
}

// openUpstream returns an upstreamExchange whose request has not been sent yet. The idle timeout
// starts with the call. The caller must call the stop method of the result.
func (r *modelRun) openUpstream() *upstreamExchange {
	w := &upstreamExchange{modelRun: r, idleTimeout: r.Timeout}
	w.ctx, w.cancel = context.WithCancelCause(r.ctx)
	w.timer = time.AfterFunc(w.idleTimeout, func() { w.cancel(errTimeout) })
	return w
}

// stop cancels the request if it is still in progress, and releases its resources.
func (w *upstreamExchange) stop() {
	w.timer.Stop()
	w.cancel(nil)
	if w.body != nil {
		w.body.Close()
	}
}

// request sends params to the model's server. If it returns nil, the response is an event stream,
// which the caller can read with frames. Otherwise the error is a runError or, if the run was
// stopped, the error of the run's context.
func (w *upstreamExchange) request(params requestBody) error {
	body, err := json.Marshal(params)
	if err != nil {
		return err
	}
	res, err := w.send(body)
	if err == nil && !isEventStream(res) {
		err = w.responseError(res)
	}
	if err != nil {
		reported := w.classify(err, errUnreachable)
		if w.modelRun.ctx.Err() == nil {
			w.Log.Warn("a request to the model's server failed", "err", w.sanitize(err.Error()), "api_key_sent", w.APIKey != "")
		}
		return reported
	}
	return nil
}

// classify returns the error to report after the request has failed with err: the error of the
// run's context if the run was stopped, otherwise the runError that err wraps, otherwise the
// runError that is the cause of the cancellation of w.ctx, such as an idle timeout, and otherwise
// fallback.
func (w *upstreamExchange) classify(err error, fallback *runError) error {
	var f *runError
	switch cause := context.Cause(w.ctx); {
	case w.modelRun.ctx.Err() != nil:
		return w.modelRun.ctx.Err()
	case errors.As(err, &f) || errors.As(cause, &f):
		return f
	}
	return fallback
}

// send sends a request with the given body and returns the response, whatever its status. The stop
// method closes the response body. If the server asks the client to try again (see retryAfter),
// send repeats the request, at most once per run. It returns an error if the request fails or is
// canceled.
func (w *upstreamExchange) send(body []byte) (*http.Response, error) {
	for {
		req, err := http.NewRequestWithContext(w.ctx, http.MethodPost, w.completionsURL, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", spec.EventStream)
		if w.APIKey != "" {
			req.Header.Set("Authorization", "Bearer "+w.APIKey)
		}
		res, err := w.HTTPClient.Do(req)
		if err != nil {
			return nil, err
		}
		wait, ok := retryAfter(res)
		if !ok || w.retried {
			w.timer.Stop()
			w.body = res.Body
			return res, nil
		}
		w.retried = true
		res.Body.Close()
		if err := w.waitRetry(wait); err != nil {
			return nil, err
		}
	}
}

// isEventStream reports whether res has status 200 and the media type of an event stream.
func isEventStream(res *http.Response) bool {
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return res.StatusCode == http.StatusOK && media == spec.EventStream
}

// retryAfter returns the time to wait before the request with the response res is repeated. The
// result ok is true only if the status is 429 or 503 and the Retry-After header contains a number
// of seconds that is at most maxRetryAfter.
func retryAfter(res *http.Response) (wait time.Duration, ok bool) {
	if res.StatusCode != http.StatusTooManyRequests && res.StatusCode != http.StatusServiceUnavailable {
		return 0, false
	}
	seconds, err := strconv.ParseFloat(res.Header.Get("Retry-After"), 64)
	wait = time.Duration(seconds * float64(time.Second))
	return wait, err == nil && seconds >= 0 && seconds <= maxRetryAfter.Seconds()
}

// waitRetry waits for the duration d. It stops the idle timeout during the wait and restarts it
// afterwards. It returns an error if the request is canceled before d has elapsed.
func (w *upstreamExchange) waitRetry(d time.Duration) error {
	w.timer.Stop()
	defer w.timer.Reset(w.idleTimeout)
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-w.ctx.Done():
		return w.ctx.Err()
	}
}

// responseError returns the error to report for res, a response that is not an event stream. It
// reads the body of res, which may contain an error message, but does not close it.
func (w *upstreamExchange) responseError(res *http.Response) error {
	w.timer.Reset(w.idleTimeout)
	defer w.timer.Stop()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	if err != nil && len(body) == 0 && context.Cause(w.ctx) != nil {
		return err
	}
	detail, _, isError := parseErrorBody(body)
	if res.StatusCode == http.StatusOK {
		if !isError {
			return errNotStream
		}
		return errFailed.withDetail(w.sanitize(detail))
	}
	return w.statusError(res.StatusCode, w.sanitize(detail))
}

// frames returns an iterator over the data of the events in the response, in the order in which
// they arrive. The data is valid only until the next iteration. When reading fails, the iterator
// sets w.readErr and ends. At the end of the body, w.readErr is io.EOF.
func (w *upstreamExchange) frames() iter.Seq[[]byte] {
	return func(yield func(data []byte) bool) {
		decoder := sse.NewDecoder(maxBytes)
		for piece := make([]byte, 32<<10); w.readErr == nil; {
			var n int
			n, w.readErr = w.read(piece)
			for item := range decoder.Feed(piece[:n]) {
				if item.Kind == sse.Event && !yield(item.Data) {
					return
				}
			}
		}
	}
}

// read reads from the response body into p. It returns errTooLong if the run has already received
// the maximum number of bytes, and otherwise the results of reading the body. The idle timeout runs
// only during the call.
func (w *upstreamExchange) read(p []byte) (n int, err error) {
	if w.remainingBytes <= 0 {
		return 0, errTooLong
	}
	w.timer.Reset(w.idleTimeout)
	n, err = w.body.Read(p[:min(len(p), w.remainingBytes)])
	w.timer.Stop()
	w.remainingBytes -= n
	return n, err
}
