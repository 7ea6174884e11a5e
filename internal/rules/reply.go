package rules

import (
	"errors"
	"strconv"

	"github.com/streamassay/streamassay/spec"
)

// ReplyAsPromised judges whether valid requests are answered with the status and the media type in
// the OpenAPI document of the protocol. It does not apply to requests for a stream.
var ReplyAsPromised = &spec.Check{
	ID: "reply.as-promised", ReadsDocument: true,
	Doc: `a valid request is answered with the documented status and media type

Not judged here: statuses that depend on the caller or on the state of the server, and
operations that no requirement covers.`,
	Watch: eachResponseEvent(func(p *spec.Pass, x *exchange, e spec.Event) {
		switch request := x.request; {
		case e.Kind != spec.HTTPResponse || request.Requirement == "" || request.IsStream() || !request.Valid() ||
			isStateDependentStatus(e.StatusCode) || errors.Is(e.Err, spec.ErrClientLeft):
		case e.StatusCode/100 == 4: // judged by accept.as-documented
		case e.StatusCode == 0 && request.Name == "health": // judged by health.answers
		default:
			e.Requirement = request.Requirement
			want := "a 2xx status"
			if request.StatusCode > 0 {
				want = "status " + strconv.Itoa(request.StatusCode)
			}
			if request.MediaType != "" {
				want += " with " + request.MediaType
			}
			statusFits := e.StatusCode == request.StatusCode || request.StatusCode == 0 && e.StatusCode/100 == 2
			mediaTypeFits := request.MediaType == "" || e.MediaType == request.MediaType
			p.Judge(e, statusFits && mediaTypeFits, "%s; expected %s", describeHead(e), want)
		}
	}),
}

// HealthResponds judges whether the operation with which a client checks the health of the server
// returns the status in the OpenAPI document of the protocol.
var HealthResponds = &spec.Check{
	ID:  "health.answers",
	Doc: "the health operation returns its documented status",
	Watch: eachResponseEvent(func(p *spec.Pass, x *exchange, e spec.Event) {
		if request := x.request; e.Kind == spec.HTTPResponse && request.Name == "health" && request.Valid() &&
			!errors.Is(e.Err, spec.ErrClientLeft) {
			p.Judge(e, e.StatusCode == request.StatusCode, "%s; expected status %d", describeHead(e), request.StatusCode)
		}
	}),
}
