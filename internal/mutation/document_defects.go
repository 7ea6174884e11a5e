package mutation

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// acceptInvalid is like acceptInvalidForm, but affects all requests whose refusal is prescribed by
// the requirement with the given id.
func acceptInvalid(occurred func(), requirement string) middleware {
	return acceptInvalidForm(occurred, requirement, func(parsedRequest) bool { return true })
}

// acceptInvalidForm returns a middleware that makes the server accept invalid requests. It affects
// the requests for which isForm returns true and whose refusal is prescribed by the requirement
// with the given id.
//
// The middleware passes on a valid request instead of the invalid one, and calls occurred. The
// valid request is the latest one of the same user for the same operation, if possible in the same
// thread. If there is none, the invalid request is passed on, and occurred is not called.
func acceptInvalidForm(occurred func(), requirement string, isForm func(parsedRequest) bool) middleware {
	return func(next dialectHandler) dialectHandler {
		var lastValid sync.Map // key of lastValidKeys → spec.Request
		return editRequests(func(v parsedRequest) *http.Request {
			e := v.parsed()
			switch {
			case len(e.Violations) > 0 && (len(v.expectedRefusals(requirement, 0)) == 0 || !isForm(v)):
			case len(e.Violations) > 0:
				for _, key := range lastValidKeys(v) {
					if twin, ok := lastValid.Load(key); ok {
						occurred()
						return v.withRequest(twin.(spec.Request))
					}
				}
			case e.Text == "" || strings.HasPrefix(e.Text, "conformance:text "): // other prompts may take long
				for _, key := range lastValidKeys(v) {
					lastValid.Store(key, v.raw)
				}
			}
			return v.httpRequest
		})(next)
	}
}

// lastValidKeys returns the keys under which acceptInvalidForm stores v if it is valid, and under
// which it looks up a replacement for v if it is invalid. The first key is for the thread that v
// names, and the second one for any thread. Requests of other users, or for other operations, have
// other keys.
func lastValidKeys(v parsedRequest) []string {
	who := v.parsed().Operation + "\x00" + v.user() + "\x00"
	return []string{who + v.parsed().Thread, who}
}

// acceptDenied returns a middleware that makes the server accept the valid requests whose denial
// the requirement with the given id prescribes. If the server denies such a request, the middleware
// calls occurred, repeats the request with the credentials of [PrimaryUser], and sends the client
// the response to the repeated request.
func acceptDenied(occurred func(), requirement string) middleware {
	return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
		switch a := serveEdited(w, v.httpRequest, next, streamEdit{}); {
		case a == nil:
		case len(v.expectedRefusals(requirement, a.status)) > 0:
			occurred()
			next.ServeHTTP(w, v.asUser(PrimaryUser))
		default:
			a.send(w)
		}
	})
}

// editRefusals returns a middleware that calls occurred and then edit for each refusal that the
// requirement with the given id prescribes. A refusal is a response that has a status of 400 or
// more and is not an event stream. The function edit changes the response a in place. Its argument
// refusals, which is never empty, states what the requirement demands of the refusal.
func editRefusals(
	occurred func(), requirement string, edit func(a *completeResponse, refusals []spec.RefusalRequirement),
) middleware {
	return editResponses(func(v parsedRequest, a *completeResponse) {
		if refusals := v.expectedRefusals(requirement, a.status); a.status >= 400 && len(refusals) > 0 {
			occurred()
			edit(a, refusals)
		}
	})
}

// refuseWithOtherStatus returns a middleware that changes the status of the refusals that the
// requirement with the given id prescribes. The new status is one that the requirement does not
// allow. The middleware calls occurred for each such refusal.
func refuseWithOtherStatus(occurred func(), requirement string) middleware {
	return editRefusals(occurred, requirement, func(a *completeResponse, refusals []spec.RefusalRequirement) {
		a.status = statusOtherThan(refusals[0].Status)
	})
}

// statusOtherThan returns the first of the statuses 400, 422 and 500 that is not allowed, or 200 if
// all three are. The elements of allowed are status codes such as "422" or classes of status codes
// such as "4XX". If allowed is empty, every status from 400 on is allowed.
func statusOtherThan(allowed []string) int {
	for _, status := range []int{http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusInternalServerError} {
		text := strconv.Itoa(status)
		if len(allowed) > 0 && !slices.Contains(allowed, text) && !slices.Contains(allowed, text[:1]+"XX") {
			return status
		}
	}
	return http.StatusOK
}

// hideRefusalText returns a middleware that changes the bodies of the refusals that the requirement
// with the given id prescribes. It replaces the error codes and the text that the requirement
// demands with meaningless ones. It calls occurred for each such refusal.
func hideRefusalText(occurred func(), requirement string) middleware {
	return editRefusals(occurred, requirement, func(a *completeResponse, refusals []spec.RefusalRequirement) {
		for _, r := range refusals {
			for _, code := range r.Code {
				a.body = bytes.ReplaceAll(a.body, []byte(`"`+code+`"`), []byte(`"SOMETHING_ELSE"`))
			}
			if r.Text != "" {
				a.body = bytes.ReplaceAll(a.body, []byte(r.Text), []byte("something is wrong"))
			}
		}
	})
}

// refuseWithStream returns a middleware that turns the refusals that the requirement with the given
// id prescribes into event streams with the same status. Each stream has a single frame, whose data
// is the body of the refusal on one line. The middleware calls occurred for each such refusal.
func refuseWithStream(occurred func(), requirement string) middleware {
	return editRefusals(occurred, requirement, func(a *completeResponse, _ []spec.RefusalRequirement) {
		a.header.Set("Content-Type", spec.EventStream)
		a.body = []byte("data: " + strings.ReplaceAll(string(a.body), "\n", " ") + "\n\n")
	})
}

// refuseRequests returns a middleware that makes the server refuse the valid requests for which
// refuses returns true. For each of them, it calls occurred and passes on an invalid variant of the
// request, which the server refuses as documented. A request that has no such variant is passed on
// unchanged, and occurred is not called.
func refuseRequests(occurred func(), refuses func(parsedRequest) bool) middleware {
	return editRequests(func(v parsedRequest) *http.Request {
		if v.parsed().Valid() && refuses(v) {
			if bad, ok := v.withDefect(); ok {
				occurred()
				return v.withRequest(bad)
			}
		}
		return v.httpRequest
	})
}

// withDefect returns an invalid variant of the request, which the server refuses, and true. If the
// body ends with a closing brace, the variant lacks this brace. Otherwise, it is one of
// [dialect.Dialect.InvalidRequests] for which the document allows a refusal with status 400 or 422.
// If there is no such variant, withDefect returns the zero Request and false.
func (v parsedRequest) withDefect() (spec.Request, bool) {
	if n := len(v.raw.Body); n > 0 && v.raw.Body[n-1] == '}' {
		cut := v.raw
		cut.Body = cut.Body[:n-1]
		return cut, true
	}
	for _, m := range v.dialect.InvalidRequests(v.raw) {
		for _, d := range v.dialect.ValidateRequest(m.Request)[0].Refusals {
			if slices.Contains(d.Status, "422") || slices.Contains(d.Status, "400") {
				return m.Request, true
			}
		}
	}
	return spec.Request{}, false
}

// editPromisedReply returns a middleware that edits the replies of the operations that the
// requirement with the given id is about. A reply is a response to a valid request that has a 2xx
// status and is not an event stream. For each of them, the middleware calls occurred and then edit.
// The argument e of edit is the decoded request, which edit must not change. The argument a is the
// response, which edit changes in place.
func editPromisedReply(occurred func(), requirement string, edit func(e *spec.Event, a *completeResponse)) middleware {
	return editResponses(func(v parsedRequest, a *completeResponse) {
		if e := v.parsed(); e.Valid() && e.Requirement == requirement && a.status/100 == 2 {
			occurred()
			edit(e, a)
		}
	})
}

// changeReplyStatus changes the status of the response a to one that the document does not specify
// for the request e. It can be passed to editPromisedReply as the argument edit.
func changeReplyStatus(e *spec.Event, a *completeResponse) {
	switch e.StatusCode {
	case 0: // any successful one is documented
		a.status = http.StatusInternalServerError
	case http.StatusOK:
		a.status = http.StatusCreated
	default:
		a.status = http.StatusOK
	}
}

// maxDefectiveBytes is the maximum size, in bytes, of the data of a frame, or of the body of a
// reply, that injectDefect changes. In larger data, it would take too long to find a place that can
// have the defect.
const maxDefectiveBytes = 8 << 10

// injectDefect returns a middleware that changes each frame, and each reply with a 2xx status, that
// can have the defect x, so that it has the defect. It calls occurred for each change. Frames whose
// data is larger than maxDefectiveBytes, and replies whose body is larger, are not changed.
func injectDefect(occurred func(), x dialect.PossibleDefect) middleware {
	apply := func(o *dialect.Operation, status int, data []byte) []byte {
		if len(data) > maxDefectiveBytes {
			return data
		}
		bad, ok := x.Apply(o, status, data)
		if ok {
			occurred()
		}
		return bad
	}
	replies := editResponses(func(v parsedRequest, a *completeResponse) {
		if o := v.dialect.Operation(v.raw); o != nil && a.status/100 == 2 {
			a.body = apply(o, a.status, a.body)
		}
	})
	frames := editFrames(func(v parsedRequest) func([]byte) []byte {
		o := v.dialect.Operation(v.raw)
		if o == nil || !o.IsStream {
			return nil
		}
		return func(frame []byte) []byte {
			if line, ok := sse.FindField(frame, "data"); ok {
				frame = slices.Concat(frame[:line.ValueStart], apply(o, 0, line.Value), frame[line.ValueEnd():])
			}
			return frame
		}
	})
	return func(next dialectHandler) dialectHandler { return replies(frames(next)) }
}
