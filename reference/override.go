package reference

import (
	"net/http"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A ParsedRequest is a request as it was understood, before anything is done about it.
type ParsedRequest struct {
	Dialect       *dialect.Dialect
	Request       spec.Request
	Operation     *dialect.Operation
	OperationKind string      // what the server does for the operation: "run", "listen", …; see [Deeds]
	Event         *spec.Event // what it says, and where it breaks the document; Thread and Run may be set
}

// OperationKinds are what a server can do for an operation.
var OperationKinds = []string{opInfo: "tell", opRun: "run", opListen: "listen", opCancel: "cancel",
	opHistory: "history", opAttach: "attach", opSign: "sign", opTranscribe: "transcribe"}

// A Override is how a request is to be served where somebody has a hand in it, as
// package mockserver has. The zero value changes nothing.
type Override struct {
	Refuse *Refusal         // instead of serving it
	Serve  http.HandlerFunc // likewise
	Agent  Agent            // instead of the server's

	// Tell comes between what a run says and how it is told. spell is how the dialect
	// spells an event, without its place; tell sends a frame.
	NewSink func(spell func(*spec.Event) []byte, tell func(frame []byte)) EventSink

	// From is where a stream is begun that is taken up again: at is the place that the
	// client heard last, last the last there is, both from 1. ok false refuses the cursor
	// as if nobody had handed it out.
	ResumeFrom func(at, last int64) (from int64, ok bool)
}

// A Refusal is a reply that is a problem, spelled as the dialect spells those. Code
// and Text may be empty: the document's stand in.
type Refusal struct {
	Status     int
	Code, Text string
}

// A EventSink takes each event of a run; End is called after the last.
type EventSink struct {
	Event func(*spec.Event)
	End   func()
}

// intercept asks how c is to be served; ok is false where that was done.
func (s *Server) intercept(c *requestContext, req spec.Request) (ok bool) {
	if s.cfg.Intercept == nil {
		return true
	}
	c.override = s.cfg.Intercept(c.w, c.r, &ParsedRequest{Dialect: s.dialect, Request: req, Operation: c.op, OperationKind: OperationKinds[s.kinds[c.op]], Event: &c.event})
	if refusal := c.override.Refuse; refusal != nil {
		text := refusal.Text
		if text == "" {
			text = http.StatusText(refusal.Status)
		}
		s.refuse(c, refusal.Status, refusal.Code, text)
	}
	if c.override.Refuse == nil && c.override.Serve != nil {
		c.override.Serve(c.w, c.r)
	}
	return c.override.Refuse == nil && c.override.Serve == nil
}
