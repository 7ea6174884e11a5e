package reference

import (
	"cmp"
	"net/http"
)

// initialStreamBuffer is the initial capacity of a stream's write buffer, in bytes.
const initialStreamBuffer = 2 << 10

// A directSink writes the frames of a run directly to the response of the request that started the
// run. It is used if Config.Inline is set and streams of the dialect cannot be resumed; the run is
// then executed in the goroutine of that request. The directSink buffers frames until the write
// buffer of its streamWriter is full or the agent announces a pause.
type directSink struct {
	memorySink
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

// finish writes the buffered frames to the response. With HTTP/1 they are flushed when the handler
// of the request returns; with later versions, finish flushes them itself.
func (p *directSink) finish() {
	p.cancelOnError(p.stream.writeBuffered())
	if p.stream.r.ProtoMajor != 1 { // else net/http would add a Content-Length, which a stream must not have
		p.cancelOnError(p.stream.flush())
	}
}

// playsInline reports whether the server executes each run in the goroutine of the request that
// starts the run, rather than in a separate goroutine.
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
	s.streamRun(c, r, &directSink{memorySink: memorySink{run: r, store: s.registry.store}, stream: l})
}
