package rules

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// clientChecks lists the checks that judge clients.
var clientChecks = []*spec.Check{
	ConformsToDocument, UsesOperations, MatchesRule, ResumesFromSentID, ReturnsResultOfCall, IsNotRefused,
	AnswersInterrupt,
}

// refusalStatuses lists the status codes of refusals that do not blame a particular value in the
// request: missing credentials or permissions, a body or header that is too large, and an
// unsupported media type.
var refusalStatuses = []int{
	http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
	http.StatusRequestHeaderFieldsTooLarge,
}

// ConformsToDocument judges whether requests conform to the OpenAPI document of the protocol.
var ConformsToDocument = &spec.Check{
	ID: "client.document", Of: spec.Client, ReadsDocument: true,
	Doc: `requests conform to the document

A server may refuse a request that violates the document, even if the tested server accepted it. The
level of the finding is that of the requirement that the request violates. If the server refused the
request, the level is MUST.`,
	Watch: eachAnswered(func(p *spec.Pass, request, response spec.Event) {
		if isUnrouted(request) {
			return
		}
		for _, v := range request.Violations {
			e := requestPart(request, v.Location)
			if e.Requirement = v.Requirement; response.StatusCode/100 == 4 && p.Level(v.Requirement) != spec.Must {
				e.Requirement = ""
			}
			p.Judge(e, false, "%s", v.Message)
		}
		if request.Valid() {
			p.Judge(request, true, "")
		}
	}),
}

// UsesOperations judges whether each request has the method and path of an operation in the OpenAPI
// document of the protocol.
var UsesOperations = &spec.Check{
	ID: "client.route", Of: spec.Client,
	Doc: `requests use the methods and paths of operations

A request with another path or method has no effect: the server has no operation for it.`,
	Watch: eachAnswered(func(p *spec.Pass, request, response spec.Event) {
		e := requestPart(request, request.Facts().Target)
		switch {
		case !isUnrouted(request):
			p.Judge(e, true, "")
		case response.StatusCode == http.StatusNotFound:
			p.Judge(e, false, "no operation for %s on this path", request.Facts().Method)
		case response.StatusCode == http.StatusMethodNotAllowed:
			p.Judge(e, false, "method %s is not allowed on this path", request.Facts().Method)
		}
	}),
}

// MatchesRule judges whether each request for a run matches a rule of the mock server's script. A
// rule states to which requests it applies and how the mock answers them.
var MatchesRule = &spec.Check{
	ID: "client.matched", Of: spec.Client,
	Doc: `each run matches a rule of the script

If no rule matches, the mock responds as if it had no script, so the client is not tested with the
scripted reply.`,
	Watch: eachAnswered(func(p *spec.Pass, request, _ spec.Event) {
		if facts := request.Facts(); facts.Rule != "" || facts.Unmatched != "" {
			p.Judge(requestPart(request, request.Operation), facts.Rule != "", "no rule matches %s", facts.Unmatched)
		}
	}),
}

// IsNotRefused judges whether requests are accepted rather than refused with one of the
// refusalStatuses, such as status 401 for missing credentials. Refusals that a rule or a fault of a
// mock causes are not judged.
var IsNotRefused = &spec.Check{
	ID: "client.refused", Of: spec.Client,
	Doc: `no request is refused

This is judged for refusals that do not depend on a particular value in the request: missing
credentials or permissions, a body or header that is too large, and an unsupported media type.
Refusals that a rule or a fault of a mock causes are not judged.`,
	Watch: eachAnswered(func(p *spec.Pass, request, response spec.Event) {
		facts, status := request.Facts(), response.StatusCode
		unrouted, refused := isUnrouted(request), slices.Contains(refusalStatuses, status)
		switch {
		case facts.Rule != "" || facts.Faulty || status == 0:
		case unrouted && !refused || !unrouted && !request.Valid(): // other checks judge these
		default:
			e := requestPart(request, facts.Method+" "+facts.Target)
			p.Judge(e, !refused, "request refused with %d %s", status, http.StatusText(status))
		}
	}),
}

// ResumesFromSentID judges whether clients resume streams from the id of an event that the server
// sent.
var ResumesFromSentID = &spec.Check{
	ID: "client.cursor", Of: spec.Client, Needs: []spec.Kind{spec.SlotCursor},
	Doc: `streams are resumed from the id of an event that was sent

If the server refuses a cursor, an event with that id must have been sent before. A cursor that the
server accepts always passes.`,
	Watch: eachReference(func(p *spec.Pass, request, response spec.Event, sent *serverSentIDs) {
		if c := request.Cursor; c != "" {
			ok := response.StatusCode < 400 || sent.cursors[c] || sent.contains([]byte(quoteJSON(c)))
			p.Judge(requestPart(request, "cursor"), ok, "no event with the id %q was sent before", c)
		}
	}),
}

// ReturnsResultOfCall judges whether the tool results that clients send belong to tool calls of
// the conversation.
var ReturnsResultOfCall = &spec.Check{
	ID: "client.tool-result", Of: spec.Client, Needs: []spec.Kind{spec.InputToolResult},
	Doc: `tool results refer to calls that were made

The server must have sent the call before, or the same request must contain the call as a part of the
history of the thread.`,
	Watch: eachReference(func(p *spec.Pass, request, _ spec.Event, sent *serverSentIDs) {
		for _, part := range request.Parts {
			if part.Kind == spec.InputToolResult && part.Call != "" {
				ok := bytes.Count(request.Raw, []byte(quoteJSON(part.Call))) > 1 || sent.mentions(part.Call)
				p.Judge(requestPart(request, "tool result"), ok, "no call with the id %q was made before", part.Call)
			}
		}
	}),
}

// AnswersInterrupt judges whether the answers that clients send refer to interrupts that the server
// sent.
var AnswersInterrupt = &spec.Check{
	ID: "client.resume", Of: spec.Client, Needs: []spec.Kind{spec.InputResume},
	Doc: `answers refer to interrupts that the server sent

An agent waits only for answers to its own interrupts, so it cannot use any other answer.`,
	Watch: eachReference(func(p *spec.Pass, request, _ spec.Event, sent *serverSentIDs) {
		for _, part := range request.Parts {
			if part.Kind == spec.InputResume && part.ID != "" {
				ok := sent.mentions(part.ID)
				p.Judge(requestPart(request, "resume"), ok, "no interrupt with the id %q was sent before", part.ID)
			}
		}
	}),
}

// eachAnswered returns a newWatcherFunc that calls judge with each request and the head of its
// response. Requests that were not recorded are left out. The argument request is a copy whose
// field Requirement is empty. If there was no response, the StatusCode of the argument response is
// 0.
func eachAnswered(judge func(p *spec.Pass, request, response spec.Event)) newWatcherFunc {
	return func(p *spec.Pass) func(spec.Event) {
		var request spec.Event
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.HTTPRequest:
				request = e
				request.Requirement = ""
			case e.Kind == spec.HTTPResponse && !errors.Is(request.Err, spec.ErrRequestNotRecorded):
				judge(p, request, e)
			}
		}
	}
}

// eachReference returns a newWatcherFunc for checks of the ids to which requests refer. The watcher
// calls judge with each valid request that was answered. The argument response is the head of the
// response, and sent holds what the server sent before that response.
//
// After a response that is known only in part, the watcher no longer calls judge, because later
// requests may refer to ids in the missing part.
func eachReference(judge func(p *spec.Pass, request, response spec.Event, sent *serverSentIDs)) newWatcherFunc {
	return func(p *spec.Pass) func(spec.Event) {
		sent := &serverSentIDs{cursors: map[string]bool{}}
		answered := eachAnswered(func(p *spec.Pass, request, response spec.Event) {
			if request.Valid() && response.StatusCode != 0 && !sent.incomplete {
				judge(p, request, response, sent)
			}
		})(p)
		return func(e spec.Event) {
			answered(e)
			sent.observe(e)
		}
	}
}

// A serverSentIDs holds what a server has sent, so that ids can be looked up in it.
type serverSentIDs struct {
	cursors    map[string]bool // the cursors of the events that were sent
	bodies     [][]byte        // the bytes of the events and replies that were sent
	incomplete bool            // whether a part of a response is missing because it exceeded a limit of the client
}

// observe adds the cursor and the bytes of e, the next event of the conversation, to s. If e is a
// request, observe does nothing, because the server did not send it.
func (s *serverSentIDs) observe(e spec.Event) {
	if e.Kind == spec.HTTPRequest {
		return
	}
	if e.Cursor != "" {
		s.cursors[e.Cursor] = true
	}
	if len(e.Raw) > 0 {
		s.bodies = append(s.bodies, e.Raw)
	}
	s.incomplete = s.incomplete || errors.Is(e.Err, spec.ErrLimitExceeded)
}

// contains reports whether text occurs in the bytes of any event or reply that the server sent.
func (s *serverSentIDs) contains(text []byte) bool {
	return slices.ContainsFunc(s.bodies, func(body []byte) bool { return bytes.Contains(body, text) })
}

// minMentionLength is the minimum length in bytes of an id that is unlikely to occur in a response
// by chance. See mentions.
const minMentionLength = 6

// mentions reports whether the server sent the given id. If the id is shorter than
// minMentionLength, it counts as sent only if it occurs as a complete JSON string. A longer id may
// occur anywhere, because a JSON string may itself contain JSON text in which the id occurs.
func (s *serverSentIDs) mentions(id string) bool {
	if len(id) < minMentionLength {
		return s.contains([]byte(quoteJSON(id)))
	}
	return s.contains([]byte(id))
}

// isUnrouted reports whether the OpenAPI document of the protocol has no operation with the method
// and path of request.
func isUnrouted(request spec.Event) bool {
	hasWrongMethod := func(v spec.Violation) bool { return strings.HasPrefix(v.Location, "method ") }
	return request.Operation == "" || slices.ContainsFunc(request.Violations, hasWrongMethod)
}

// requestPart returns a copy of the request e that serves as evidence for a finding about one part
// of the request. The copy has a single violation with the given location, such as "cursor".
func requestPart(e spec.Event, location string) spec.Event {
	e.Violations = []spec.Violation{{Location: location}}
	return e
}
