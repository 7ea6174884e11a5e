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
	mostRefusal = 64 << 10
	mostRetry   = 2 * time.Second
	afterwards  = time.Second
)

// A wire is what one answer comes over: it ends when nothing comes for too long, or
// too much.
type wire struct {
	*run
	ctx     context.Context
	cut     context.CancelCauseFunc
	timer   *time.Timer
	patient time.Duration
	body    io.ReadCloser
	why     error // why the server has no answer, if it said so
}

// dial opens a wire. Nothing may come for so long until hang up.
func (r *run) dial() *wire {
	w := &wire{run: r, patient: r.Timeout}
	w.ctx, w.cut = context.WithCancelCause(r.ctx)
	w.timer = time.AfterFunc(w.patient, func() { w.cut(errSilent) })
	return w
}

func (w *wire) hangUp() {
	w.timer.Stop()
	w.cut(nil)
	if w.body != nil {
		w.body.Close()
	}
}

// ask asks for an answer, and returns its frames.
func (w *wire) ask(params openai.ChatCompletionNewParams) (ssestream.Decoder, error) {
	var res *http.Response
	_, err := w.chat.New(w.ctx, params,
		option.WithJSONSet("stream", true), option.WithHeader("Accept", spec.EventStream),
		option.WithMiddleware(w.pass), option.WithResponseBodyInto(&res))
	if err != nil {
		return nil, w.fault(cmp.Or(w.why, err), errAbsent)
	}
	return ssestream.NewDecoder(res), nil
}

// fault is what an error means, which is at least so much.
func (w *wire) fault(err error, least *fault) error {
	var f *fault
	switch cause := context.Cause(w.ctx); {
	case w.run.ctx.Err() != nil:
		return w.run.ctx.Err()
	case errors.As(err, &f) || errors.As(cause, &f):
		return f
	}
	return least
}

// pass lets a request pass, and its answer if that is a stream.
func (w *wire) pass(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	res, err := next(req)
	if err != nil {
		return nil, err
	}
	if wait, ok := later(res); ok && !w.retried && req.GetBody != nil {
		w.retried = true
		res.Body.Close()
		if req.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
		if err := w.wait(wait); err != nil {
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
		w.why = w.refused(res)
		return nil, w.why
	}
	res.Body = w
	return res, nil
}

// later says whether a server wants to be asked again soon.
func later(res *http.Response) (wait time.Duration, ok bool) {
	if res.StatusCode != http.StatusTooManyRequests && res.StatusCode != http.StatusServiceUnavailable {
		return 0, false
	}
	seconds, err := strconv.ParseFloat(res.Header.Get("Retry-After"), 64)
	wait = time.Duration(seconds * float64(time.Second))
	return wait, err == nil && seconds >= 0 && seconds <= mostRetry.Seconds()
}

// wait waits, and does not count it as silence.
func (w *wire) wait(d time.Duration) error {
	w.timer.Stop()
	defer w.timer.Reset(w.patient)
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-w.ctx.Done():
		return w.ctx.Err()
	}
}

// refused is what an answer that is no stream says.
func (w *wire) refused(res *http.Response) error {
	w.timer.Reset(w.patient)
	defer w.timer.Stop()
	text, err := io.ReadAll(io.LimitReader(res.Body, mostRefusal))
	if err != nil && len(text) == 0 && context.Cause(w.ctx) != nil {
		return err
	}
	why, _, is := complained(text)
	if res.StatusCode == http.StatusOK {
		if !is {
			return errMedia
		}
		return (&fault{codeFailed, "the model's server failed"}).because(w.line(why))
	}
	return refusal(res.StatusCode, w.line(why))
}

// Read is the body, as long as it is neither silent nor too long. What nobody reads
// is not silence.
func (w *wire) Read(p []byte) (n int, err error) {
	if w.left <= 0 {
		return 0, errTooLong
	}
	w.timer.Reset(w.patient)
	n, err = w.body.Read(p[:min(len(p), w.left)])
	w.timer.Stop()
	w.left -= n
	return n, err
}

// Close does nothing: the wire is hung up by whoever has dialed.
func (w *wire) Close() error { return nil }

// ending says that the answer is over but for what may follow.
func (w *wire) ending() { w.patient = min(w.patient, afterwards) }
