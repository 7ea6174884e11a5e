package reference

import "net/http"

// initialStreamBuffer is how many bytes are gathered before there has to be room for more.
const initialStreamBuffer = 2 << 10

// A directSink is where a run is played by the one who serves the request: nobody else can
// listen to it. What is told is gathered until the agent waits.
type directSink struct {
	memorySink
	stream *streamWriter
	buf    []byte
}

func (p *directSink) frameBuffer() []byte { return p.buf[:0] }

func (p *directSink) writeFrame(data []byte) {
	if cap(data) <= maxWriteBuffer {
		p.buf = data
	}
	p.cancelOnError(p.stream.buffer(data))
}

// flush sends what was gathered.
func (p *directSink) flush() {
	err := p.stream.writeBuffered()
	if err == nil {
		err = p.stream.flush()
	}
	p.cancelOnError(err)
}

func (p *directSink) cancelOnError(err error) {
	if err != nil {
		p.run.cancel(errClientLeft)
	}
}

// finish sends the rest; that the handler returns flushes it.
func (p *directSink) finish() {
	p.cancelOnError(p.stream.writeBuffered())
	if p.stream.r.ProtoMajor != 1 { // or it gets a Content-Length, as if it were no stream
		p.cancelOnError(p.stream.flush())
	}
}

// playsInline says whether runs are played by who serves their requests.
func (s *Server) playsInline() bool { return s.cfg.Inline && !s.resumable }

// streamInline sends a run's stream while it is played.
func (s *Server) streamInline(c *requestContext, r *run) {
	l := &streamWriter{s: s, w: c.w, r: c.r, op: c.op, buf: make([]byte, 0, initialStreamBuffer)}
	s.metrics.StreamOpened()
	defer s.metrics.StreamClosed()
	l.writeHead()
	if c.r.Method == http.MethodHead {
		r.cancel(errClientLeft)
	}
	s.streamRun(c, r, &directSink{memorySink: memorySink{run: r, store: s.registry.store}, stream: l})
}
