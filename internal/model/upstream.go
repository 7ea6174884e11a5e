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

// An upstreamExchange is one request to the model's server, with the response. The request fails if
// the server sends nothing for idleTimeout, or sends more bytes than the run may still receive.
type upstreamExchange struct {
	*modelRun
	ctx         context.Context
	cancel      context.CancelCauseFunc
	timer       *time.Timer // cancels the request when the idle timeout expires
	idleTimeout time.Duration
	body        io.ReadCloser
	readErr     error // why the iterator that frames returned ended
}

// openUpstream returns an upstreamExchange whose request has not been sent yet. The idle timeout
// starts at once. The caller must call the stop method of the result.
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
		return w.classify(err, errUnreachable)
	}
	return nil
}

// classify returns the error to report after err has occurred in the request. If the run was
// stopped, this is the error of the run's context. Otherwise it is the runError that err wraps or,
// if there is none, the runError with which the request was canceled. If there is neither, it is
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
// method closes the response body. If the server asks for a retry, send repeats the request, at
// most once per run. It returns an error if the request fails or is canceled.
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

// retryAfter returns the time to wait before repeating the request that was answered with res. The
// result ok is false unless the status of res is 429 or 503 and its Retry-After header asks for a
// wait of at most maxRetryAfter, as a number of seconds.
func retryAfter(res *http.Response) (wait time.Duration, ok bool) {
	if res.StatusCode != http.StatusTooManyRequests && res.StatusCode != http.StatusServiceUnavailable {
		return 0, false
	}
	seconds, err := strconv.ParseFloat(res.Header.Get("Retry-After"), 64)
	wait = time.Duration(seconds * float64(time.Second))
	return wait, err == nil && seconds >= 0 && seconds <= maxRetryAfter.Seconds()
}

// waitRetry waits for the duration d. The idle timeout is stopped meanwhile, and starts again
// afterwards. waitRetry returns an error if the request is canceled before d has elapsed.
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
	return statusError(res.StatusCode, w.sanitize(detail))
}

// frames returns an iterator over the data of the events in the response, in the order in which
// they arrive. The data is valid only until the next iteration. When the iterator ends by itself,
// w.readErr is the reason, which is io.EOF at the end of the body. If the caller stops early,
// w.readErr may be nil.
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
// as many bytes as it may. The idle timeout runs during the call, and is stopped when read returns.
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
