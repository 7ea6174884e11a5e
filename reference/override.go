package reference

import (
	"cmp"
	"net/http"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A ParsedRequest is a request that has been decoded but not served yet.
type ParsedRequest struct {
	Dialect       *dialect.Dialect
	Request       spec.Request
	Operation     *dialect.Operation
	OperationKind string      // one of [OperationKinds]
	Event         *spec.Event // the decoded request, with its violations; Config.Intercept may set its Thread and Run
}

// An Override changes how one request is served. Package mockserver uses it to inject
// faults. The zero value changes nothing. Refuse takes precedence over Serve, and Serve
// over the other fields.
type Override struct {
	Refuse *Refusal         // if set, the server responds with this error
	Serve  http.HandlerFunc // if set, this handler serves the request
	Agent  Agent            // if set, this agent runs in place of the server's agent

	// NewSink, if set, returns a sink that receives the events of a run before they are
	// encoded. The sink must call send with each frame that the client is to receive. It may
	// make frames with encode, which returns the frame of an event without the SSE field id, or
	// no bytes if the dialect has no frame for the event.
	NewSink func(encode func(*spec.Event) []byte, send func(frame []byte)) EventSink

	// ResumeFrom, if set, changes where a resumed stream begins. The parameter cursor is the
	// position of the event that the client's cursor identifies, and last is the position of
	// the latest event of the conversation; positions start at 1. The stream begins after the
	// event at position from. If ok is false, the server refuses the cursor as unknown.
	ResumeFrom func(cursor, last int64) (from int64, ok bool)
}

// A Refusal is an error response in the format that the dialect defines. An empty Code selects the
// code that the dialect's document assigns to the status. An empty Text selects the result of
// [http.StatusText].
type Refusal struct {
	Status     int
	Code, Text string
}

// An EventSink receives the events of a run. The server calls Event for each event, in the order in
// which the run emits them, and End once, after the last event. Event must not retain the event.
type EventSink struct {
	Event func(*spec.Event)
	End   func()
}

// intercept calls Config.Intercept, if set, and stores the result in c.override. If the result
// refuses or serves the request, intercept responds to the request and returns false. Otherwise it
// returns true.
func (s *Server) intercept(c *requestContext, req spec.Request) (ok bool) {
	if s.cfg.Intercept == nil {
		return true
	}
	c.override = s.cfg.Intercept(c.w, c.r, &ParsedRequest{
		Dialect: s.dialect, Request: req, Operation: c.op, OperationKind: s.kinds[c.op], Event: &c.event,
	})
	switch refusal := c.override.Refuse; {
	case refusal != nil:
		s.refuse(c, refusal.Status, refusal.Code, cmp.Or(refusal.Text, http.StatusText(refusal.Status)))
	case c.override.Serve != nil:
		c.override.Serve(c.w, c.r)
	default:
		return true
	}
	return false
}
