package reference

import "net/http"

// usualStream is how many bytes are gathered before there has to be room for more.
const usualStream = 2 << 10

// A stage is where a run is played by the one who serves the request: nobody else can
// listen to it. What is told is gathered until the agent waits.
type stage struct {
	slate
	l     *listener
	frame []byte
}

func (p *stage) blank() []byte { return p.frame[:0] }

func (p *stage) tell(data []byte) {
	if cap(data) <= mostWrite {
		p.frame = data
	}
	p.check(p.l.gather(data))
}

// pause sends what was gathered.
func (p *stage) pause() {
	err := p.l.drain()
	if err == nil {
		err = p.l.flush()
	}
	p.check(err)
}

func (p *stage) check(err error) {
	if err != nil {
		p.run.cancel(errLeft)
	}
}

// end sends the rest; that the handler returns flushes it.
func (p *stage) end() {
	p.check(p.l.drain())
	if p.l.r.ProtoMajor != 1 { // or it gets a Content-Length, as if it were no stream
		p.check(p.l.flush())
	}
}

// inline says whether runs are played by who serves their requests.
func (s *Server) inline() bool { return s.cfg.Inline && !s.resumes }

// stage sends a run's stream while it is played.
func (s *Server) stage(c *call, r *run) {
	l := &listener{s: s, w: c.w, r: c.r, o: c.o, buf: make([]byte, 0, usualStream)}
	s.count.StreamOpened()
	defer s.count.StreamClosed()
	l.head()
	if c.r.Method == http.MethodHead {
		r.cancel(errLeft)
	}
	s.play(c, r, &stage{slate: slate{run: r, store: s.hub.store}, l: l})
}
