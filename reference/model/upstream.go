package model

import (
	"cmp"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/streamassay/streamassay/spec"
)

// Limits of a request to the model's server, which keep a faulty server from delaying a run or
// using much memory.
const (
	maxErrorBody    = 64 << 10        // bytes of an error response
	maxRetryAfter   = 2 * time.Second // greatest Retry-After that is waited for
	trailingTimeout = time.Second     // for the rest of the stream after a finish reason
)

// An upstream is one request to the model's server and its response. It fails if the server sends
// nothing for idleTimeout, or more bytes than the run may still receive.
type upstream struct {
	*modelRun
	ctx         context.Context
	cancel      context.CancelCauseFunc
	timer       *time.Timer
	idleTimeout time.Duration
	body        io.ReadCloser
	responseErr error // error that the response reports
}

// openUpstream returns an upstream whose request has not been sent yet. The idle timeout begins at
// once. The caller must call the method stop of the result.
func (r *modelRun) openUpstream() *upstream {
	w := &upstream{modelRun: r, idleTimeout: r.Timeout}
	w.ctx, w.cancel = context.WithCancelCause(r.ctx)
	w.timer = time.AfterFunc(w.idleTimeout, func() { w.cancel(errTimeout) })
	return w
}

// stop ends the request, if it is still in progress, and releases its resources.
func (w *upstream) stop() {
	w.timer.Stop()
	w.cancel(nil)
	if w.body != nil {
		w.body.Close()
	}
}

// request sends a request and returns a decoder for the frames of the response. The error is a
// runError, or that of the context if the run was stopped.
func (w *upstream) request(params openai.ChatCompletionNewParams) (ssestream.Decoder, error) {
	var res *http.Response
	_, err := w.completions.New(w.ctx, params,
		option.WithJSONSet("stream", true), option.WithHeader("Accept", spec.EventStream),
		option.WithMiddleware(w.roundTrip), option.WithResponseBodyInto(&res))
	if err != nil {
		return nil, w.classify(cmp.Or(w.responseErr, err), errUnreachable)
	}
	return ssestream.NewDecoder(res), nil
}

// classify returns the error to report when err has occurred during the request. If the run was
// stopped, that is the error of the run's context. Otherwise it is the runError that err wraps or
// for which the request was canceled, or fallback if there is none.
func (w *upstream) classify(err error, fallback *runError) error {
	var f *runError
	switch cause := context.Cause(w.ctx); {
	case w.modelRun.ctx.Err() != nil:
		return w.modelRun.ctx.Err()
	case errors.As(err, &f) || errors.As(cause, &f):
		return f
	}
	return fallback
}

// roundTrip sends a request; the OpenAI client calls it as its middleware. If the server asks for
// that, it repeats the request, at most once per run. It returns an error unless the response is an
// event stream.
func (w *upstream) roundTrip(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	res, err := next(req)
	if err != nil {
		return nil, err
	}
	if wait, ok := retryAfter(res); ok && !w.retried && req.GetBody != nil {
		w.retried = true
		res.Body.Close()
		if req.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
		if err := w.waitRetry(wait); err != nil {
			return nil, err
		}
		if res, err = next(req); err != nil {
			return nil, err
		}
	}
	w.timer.Stop()
	w.body = res.Body
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if res.StatusCode != http.StatusOK || media != spec.EventStream {
		w.responseErr = w.responseError(res)
		return nil, w.responseErr
	}
	res.Body = w
	return res, nil
}

// retryAfter returns how long to wait before the request that res answers is repeated. ok is false
// if the server does not ask for a repetition, or asks for a longer wait than maxRetryAfter.
func retryAfter(res *http.Response) (wait time.Duration, ok bool) {
	if res.StatusCode != http.StatusTooManyRequests && res.StatusCode != http.StatusServiceUnavailable {
		return 0, false
	}
	seconds, err := strconv.ParseFloat(res.Header.Get("Retry-After"), 64)
	wait = time.Duration(seconds * float64(time.Second))
	return wait, err == nil && seconds >= 0 && seconds <= maxRetryAfter.Seconds()
}

// waitRetry waits for the duration d, during which the idle timeout does not run. It returns an
// error if the request is canceled before the end of the wait.
func (w *upstream) waitRetry(d time.Duration) error {
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

// responseError reads the body of a response that is not an event stream and returns the error to
// report for that response.
func (w *upstream) responseError(res *http.Response) error {
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
		return (&runError{codeFailed, "the model's server failed"}).withDetail(w.sanitize(detail))
	}
	return statusError(res.StatusCode, w.sanitize(detail))
}

// Read reads from the response body. It returns an error if the run has received all bytes that it
// may receive. The idle timeout runs only during a call of Read.
func (w *upstream) Read(p []byte) (n int, err error) {
	if w.remainingBytes <= 0 {
		return 0, errTooLong
	}
	w.timer.Reset(w.idleTimeout)
	n, err = w.body.Read(p[:min(len(p), w.remainingBytes)])
	w.timer.Stop()
	w.remainingBytes -= n
	return n, err
}

// Close does nothing; stop closes the body.
func (w *upstream) Close() error { return nil }

// shortenTimeout reduces the idle timeout to at most trailingTimeout. It is called after the finish
// reason, when only the end of the stream can follow.
func (w *upstream) shortenTimeout() { w.idleTimeout = min(w.idleTimeout, trailingTimeout) }
