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

// What a refusal may say, how long is waited for a server that asks for it, and for
// what may follow the end of an answer.
const (
	maxErrorBody    = 64 << 10
	maxRetryAfter   = 2 * time.Second
	trailingTimeout = time.Second
)

// A upstream is what one answer comes over: it ends when nothing comes for too long, or
// too much.
type upstream struct {
	*run
	ctx         context.Context
	cancel      context.CancelCauseFunc
	timer       *time.Timer
	idleTimeout time.Duration
	body        io.ReadCloser
	responseErr error // why the server has no answer, if it said so
}

// openUpstream opens a wire. Nothing may come for so long until hang up.
func (r *run) openUpstream() *upstream {
	w := &upstream{run: r, idleTimeout: r.Timeout}
	w.ctx, w.cancel = context.WithCancelCause(r.ctx)
	w.timer = time.AfterFunc(w.idleTimeout, func() { w.cancel(errTimeout) })
	return w
}

func (w *upstream) stop() {
	w.timer.Stop()
	w.cancel(nil)
	if w.body != nil {
		w.body.Close()
	}
}

// request asks for an answer, and returns its frames.
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

// classify is what an error means, which is at least so much.
func (w *upstream) classify(err error, fallback *runError) error {
	var f *runError
	switch cause := context.Cause(w.ctx); {
	case w.run.ctx.Err() != nil:
		return w.run.ctx.Err()
	case errors.As(err, &f) || errors.As(cause, &f):
		return f
	}
	return fallback
}

// roundTrip lets a request pass, and its answer if that is a stream.
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

// retryAfter says whether a server wants to be asked again soon.
func retryAfter(res *http.Response) (wait time.Duration, ok bool) {
	if res.StatusCode != http.StatusTooManyRequests && res.StatusCode != http.StatusServiceUnavailable {
		return 0, false
	}
	seconds, err := strconv.ParseFloat(res.Header.Get("Retry-After"), 64)
	wait = time.Duration(seconds * float64(time.Second))
	return wait, err == nil && seconds >= 0 && seconds <= maxRetryAfter.Seconds()
}

// waitRetry waits, and does not count it as silence.
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

// responseError is what an answer that is no stream says.
func (w *upstream) responseError(res *http.Response) error {
	w.timer.Reset(w.idleTimeout)
	defer w.timer.Stop()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	if err != nil && len(text) == 0 && context.Cause(w.ctx) != nil {
		return err
	}
	why, _, is := parseErrorBody(text)
	if res.StatusCode == http.StatusOK {
		if !is {
			return errNotStream
		}
		return (&runError{codeFailed, "the model's server failed"}).withDetail(w.sanitize(why))
	}
	return statusError(res.StatusCode, w.sanitize(why))
}

// Read is the body, as long as it is neither silent nor too long. What nobody reads
// is not silence.
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

// Close does nothing: the wire is hung up by whoever has dialed.
func (w *upstream) Close() error { return nil }

// shortenTimeout says that the answer is over but for what may follow.
func (w *upstream) shortenTimeout() { w.idleTimeout = min(w.idleTimeout, trailingTimeout) }
