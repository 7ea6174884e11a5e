package reference

import (
	"cmp"
	"net/http"
)

// initialStreamBuffer is the initial capacity of a stream's write buffer, in bytes.
const initialStreamBuffer = 2 << 10

// A directSink is the sink of a run that the server executes in the goroutine of the request that
// started it; see playsInline. It writes the frames of the run to the response to that request. It
// buffers frames until the write buffer of its streamWriter is full or the agent announces a pause.
type directSink struct {
	unresumableSink
	stream *streamWriter
	buf    []byte // memory for encoding a frame, reused for the next one
}

func (p *directSink) frameBuffer() []byte { return p.buf[:0] }

func (p *directSink) writeFrame(data []byte) {
	if cap(data) <= maxWriteBuffer {
		p.buf = data
	}
	p.cancelOnError(p.stream.buffer(data))
}

// flush sends the buffered frames to the client. If that fails, it cancels the run.
func (p *directSink) flush() {
	p.cancelOnError(cmp.Or(p.stream.writeBuffered(), p.stream.flush()))
}

func (p *directSink) cancelOnError(err error) {
	if err != nil {
		p.run.cancel(errClientLeft)
	}
}

// finish writes the buffered frames to the response. In HTTP/2, it also flushes them, so that the
// response gets no Content-Length. If writing fails, it cancels the run.
func (p *directSink) finish() {
	p.cancelOnError(p.stream.writeBuffered())
	if p.stream.r.ProtoMajor != 1 { // without a flush, net/http may add a Content-Length, which a stream must not have
		p.cancelOnError(p.stream.flush())
	}
}

// playsInline reports whether the server executes each run in the goroutine of the request that
// starts the run. It does so if Config.Inline is set and streams of the dialect cannot be resumed.
func (s *Server) playsInline() bool { return s.cfg.Inline && !s.resumable }

// streamInline executes the run r in the calling goroutine and sends its stream as the response to
// the request c.
func (s *Server) streamInline(c *requestContext, r *run) {
	l := &streamWriter{requestContext: c, s: s, buf: make([]byte, 0, initialStreamBuffer)}
	s.metrics.Streams.Inc()
	defer s.metrics.Streams.Dec()
	l.writeHead()
	if c.r.Method == http.MethodHead {
		r.cancel(errClientLeft)
	}
	s.streamRun(c, r, &directSink{unresumableSink: unresumableSink{run: r, store: s.registry.store}, stream: l})
}
