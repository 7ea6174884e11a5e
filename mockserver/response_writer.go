package mockserver

import (
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/internal/vary"
	"github.com/streamassay/streamassay/spec"
)

// A responseWriter is the http.ResponseWriter that the reference server writes to. It is the first
// writer of a pipeline. It splits an event stream into frames and passes each frame through these
// stages:
//
//	frameGate → varyStage → frame writers of the faults → clientWriter (send and record)
//
// A stream that is not held, varied or affected by faults goes to the clientWriter without being
// split. So does the body of any other response; if it is JSON, its encoding may be varied.
type responseWriter struct {
	exchange *requestState
	client   *clientWriter

	headWritten bool              // WriteHeader was called with a status of at least 200
	isStream    bool              // the response is an event stream
	stream      *Stream           // nil before the head of an event stream is sent, and for other responses
	frames      sse.FrameSplitter // splits the stream, and keeps an incomplete frame
	frameCount  atomic.Int64      // number of frames that the reference server has written
	gate        frameGate

	effects      []fault.Effect            // effects of the faults on the stream
	effectsKnown bool                      // whether effects is set; see startEffects
	plan         atomic.Pointer[faultPlan] // the plan from which effects were created; nil: none
	varyStream   *vary.StreamEncoder       // of an event stream; nil: its encoding is not varied
	varyJSON     *vary.Variation           // of a JSON body; nil: its encoding is not varied

	prepared bool                // whether prepare has set the fields below for the rest of the stream
	faults   []fault.FrameWriter // writers of the faults; the one that writes to the client is first
	faulty   pipelineStage       // last element of faults, or the client if faults is empty
}

// Header implements http.ResponseWriter.
func (w *responseWriter) Header() http.Header { return w.client.Header() }

// SetReadDeadline sets the read deadline of the connection. It returns an error if the connection
// does not support deadlines.
func (w *responseWriter) SetReadDeadline(at time.Time) error {
	return http.NewResponseController(w.client.ResponseWriter).SetReadDeadline(at)
}

// SetWriteDeadline does nothing and returns nil. A deadline that the reference server sets could
// expire while a stream is held; the clientWriter sets deadlines itself.
func (w *responseWriter) SetWriteDeadline(time.Time) error { return nil }

// FlushError sends buffered data to the client. It returns errEnded if the stream has ended, and
// otherwise any error from flushing.
func (w *responseWriter) FlushError() error { return w.client.Flush() }

// WriteHeader applies faults and variations to the status and the header of the response, sends
// both and records them in the journal. If the response is an event stream, WriteHeader adds it to
// the open streams. Only the first call with a status of at least 200 has an effect.
func (w *responseWriter) WriteHeader(status int) {
	if w.headWritten || status < 200 {
		return
	}
	w.headWritten = true
	head := fault.ResponseHead{Status: status, Header: w.Header()}
	w.changeHead(&head)
	if head.Delay > 0 && w.client.Sleep(head.Delay) != nil {
		_ = w.client.Finish(fault.Abort)
		return
	}
	w.client.WriteHeader(head.Status)
	w.exchange.recordHead(head.Status, head.Header)
	if w.isStream {
		w.stream = w.exchange.server.streams.open(w)
	}
}

// changeHead applies faults and variations to head, the status and the header of the response.
func (w *responseWriter) changeHead(head *fault.ResponseHead) {
	w.isStream = head.Status == http.StatusOK && strings.HasPrefix(head.Header.Get("Content-Type"), spec.EventStream)
	if w.isStream {
		effects, _ := w.startEffects()
		for _, effect := range effects {
			if effect.OnHead != nil {
				effect.OnHead(head)
			}
		}
	}
	v := w.exchange.variation()
	if v == nil {
		return
	}
	contentType := spec.Header{{Name: "Content-Type", Value: head.Header.Get("Content-Type")}}
	if strings.HasSuffix(contentType.MediaType(), "json") {
		head.Header.Del("Content-Length") // the varied body has another length
		w.varyJSON = v
	}
	v.EncodeHeader(head.Header)
	if w.isStream {
		w.varyStream = v.NewStream(w.exchange.seed)
	}
}

// startEffects returns the effects of the faults on this stream. If the fault plan is not known yet
// (see currentPlan), ok is false. The first call that finds the plan creates the effects, counts
// the stream, and holds its frames if the plan requires it.
func (w *responseWriter) startEffects() (all []fault.Effect, ok bool) {
	if w.effectsKnown {
		return w.effects, true
	}
	x := w.exchange
	p, ok := x.currentPlan()
	if !ok {
		return nil, false
	}
	w.effectsKnown = true
	if p == nil {
		return nil, true
	}
	n := int(p.streamCount.Add(1))
	w.effects = x.streamEffects(p, n)
	if p.firstHeld != noFrame && n == 1 {
		w.gate.holdFrom(p.firstHeld)
	}
	if p.test != "" {
		x.entry.SetTest(p.test)
	}
	w.plan.Store(p) // after SetTest, so that the journal never lags behind Stream.Test
	return w.effects, true
}

// Write sends p, a part of the body. If p is part of an event stream that is split into frames (see
// responseWriter), Write sends only complete frames and keeps an incomplete one until the next
// call. It returns an error if the stream has ended or the client left.
func (w *responseWriter) Write(p []byte) (int, error) {
	if !w.headWritten {
		w.WriteHeader(http.StatusOK)
	}
	if w.isStream && !w.passesThrough() {
		for frame := range w.frames.Split(p) {
			n := -1
			if sse.HasFields(frame) {
				n = int(w.frameCount.Add(1)) - 1
			}
			if err := w.gate.WriteFrame(n, frame); err != nil {
				return 0, err
			}
		}
		return len(p), nil
	}
	body := p
	if w.isStream {
		var split sse.FrameSplitter // p has only complete frames
		for frame := range split.Split(p) {
			if sse.HasFields(frame) {
				w.frameCount.Add(1)
			}
		}
	}
	if w.varyJSON != nil {
		body = w.varyJSON.EncodeReply(w.exchange.seed, p)
	}
	if _, err := w.client.Write(body); err != nil {
		return 0, err
	}
	return len(p), nil
}

// passesThrough reports whether the next bytes of the stream can be sent unchanged, without being
// split into frames.
func (w *responseWriter) passesThrough() bool {
	if !w.prepared {
		w.prepare()
	}
	return w.faults == nil && w.varyStream == nil && w.gate.held() == noFrame && w.frames.Rest() == nil
}

// prepare links the stages of the pipeline. If the effects of the faults are not known yet (see
// startEffects), it leaves w.prepared false and must be called again before the next write.
func (w *responseWriter) prepare() {
	effects, ok := w.startEffects()
	w.prepared = ok
	w.faulty = w.client
	for _, effect := range effects {
		if effect.WrapBody != nil {
			body := effect.WrapBody(faultStageSink{w.client, w.faulty, &w.frameCount})
			w.faults, w.faulty = append(w.faults, body), body
		}
	}
	w.gate.next = w.faulty
	if w.varyStream != nil {
		w.gate.next = varyStage{w.varyStream, w.client, w.faulty}
	}
}

// close completes the response after the handler has returned. It sends the incomplete frame that
// Write kept, if any, and the frames that faults have delayed. It then calls w.client.end.
func (w *responseWriter) close() {
	if rest := w.frames.Rest(); rest != nil && w.client.endedBy() == "" {
		_ = w.faulty.WriteFrame(int(w.frameCount.Load()), rest) // fails only if the client left
	}
	for i := len(w.faults) - 1; i >= 0; i-- {
		if w.client.endedBy() == "" && w.client.ctx.Err() == nil {
			_ = w.faults[i].Close() // fails only if the client left
		}
	}
	w.client.end()
}
