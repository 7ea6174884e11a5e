package reference

import (
	"net/http"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A Heard is a request as it was understood, before anything is done about it.
type Heard struct {
	Dialect *dialect.Dialect
	Request spec.Request
	Op      *dialect.Operation
	Does    string      // what the server does for the operation: "run", "listen", …; see [Deeds]
	Ask     *spec.Event // what it says, and where it breaks the document; Thread and Run may be set
}

// Deeds are what a server can do for an operation.
var Deeds = []string{tells: "tell", runs: "run", listen: "listen", cancel: "cancel",
	history: "history", attach: "attach", sign: "sign", transcribe: "transcribe"}

// A Direction is how a request is to be served where somebody has a hand in it, as
// package mockserver has. The zero value changes nothing.
type Direction struct {
	Refuse *Refusal         // instead of serving it
	Serve  http.HandlerFunc // likewise
	Agent  Agent            // instead of the server's

	// Tell comes between what a run says and how it is told. spell is how the dialect
	// spells an event, without its place; tell sends a frame.
	Tell func(spell func(*spec.Event) []byte, tell func(frame []byte)) Telling

	// From is where a stream is begun that is taken up again: at is the place that the
	// client heard last, last the last there is, both from 1. ok false refuses the cursor
	// as if nobody had handed it out.
	From func(at, last int64) (from int64, ok bool)
}

// A Refusal is a reply that is a problem, spelled as the dialect spells those. Code
// and Text may be empty: the document's stand in.
type Refusal struct {
	Status     int
	Code, Text string
}

// A Telling takes each event of a run; End is called after the last.
type Telling struct {
	Event func(*spec.Event)
	End   func()
}

// direct asks how c is to be served; ok is false where that was done.
func (s *Server) direct(c *call, req spec.Request) (ok bool) {
	if s.cfg.Direct == nil {
		return true
	}
	c.as = s.cfg.Direct(c.w, c.r, &Heard{Dialect: s.dialect, Request: req, Op: c.o, Does: Deeds[s.roles[c.o]], Ask: &c.ask})
	if no := c.as.Refuse; no != nil {
		text := no.Text
		if text == "" {
			text = http.StatusText(no.Status)
		}
		s.refuse(c, no.Status, no.Code, text)
	}
	if c.as.Refuse == nil && c.as.Serve != nil {
		c.as.Serve(c.w, c.r)
	}
	return c.as.Refuse == nil && c.as.Serve == nil
}
