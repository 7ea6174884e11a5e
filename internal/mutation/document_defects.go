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

// acceptInvalid returns a middleware that makes the server accept the invalid requests whose
// refusal is prescribed by the requirement with the given id. For each such request, it calls
// occurred and passes on another request instead: the last valid request of the same user for the
// same operation, in the same thread if there was one. If there was no valid request at all, the
// invalid request is passed on, and the server refuses it.
func acceptInvalid(occurred func(), requirement string) middleware {
	return acceptInvalidForm(occurred, requirement, func(parsedRequest) bool { return true })
}

// acceptInvalidForm is like acceptInvalid, but affects only requests for which isForm returns true.
// It calls isForm with the invalid requests whose refusal the requirement prescribes.
func acceptInvalidForm(occurred func(), requirement string, isForm func(parsedRequest) bool) middleware {
	return func(next dialectHandler) dialectHandler {
		lastValid := lastValidRequests{}
		return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
			r := v.httpRequest
			if len(v.parsed().Violations) == 0 {
				lastValid.remember(v)
			} else if len(v.expectedRefusals(requirement, 0)) > 0 && isForm(v) {
				if twin, ok := lastValid.find(v); ok {
					occurred()
					r = v.withRequest(twin)
				}
			}
			next.ServeHTTP(w, r)
		})(next)
	}
}

// A lastValidRequests holds the last valid request of each user for each operation, both in each
// thread and in any thread. It does not keep requests with test prompts other than
// conformance:text, because the response to these may take long. The zero value is empty and ready
// to use. The methods may be called concurrently.
type lastValidRequests struct {
	mu    sync.Mutex
	byKey map[string]spec.Request // the keys are those that lastValidKeys returns
}

func lastValidKeys(v parsedRequest) []string {
	who := v.parsed().Operation + "\x00" + v.user() + "\x00"
	return []string{who + v.parsed().Thread, who}
}

func (t *lastValidRequests) remember(v parsedRequest) {
	if v.parsed().Text != "" && !strings.HasPrefix(v.parsed().Text, "conformance:text ") { // other prompts may take long
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byKey == nil {
		t.byKey = map[string]spec.Request{}
	}
	for _, key := range lastValidKeys(v) {
		t.byKey[key] = v.raw
	}
}

func (t *lastValidRequests) find(v parsedRequest) (r spec.Request, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range lastValidKeys(v) {
		if r, ok = t.byKey[key]; ok {
			return r, true
		}
	}
	return r, false
}

// acceptDenied returns a middleware that makes the server accept the valid requests whose denial is
// prescribed by the requirement with the given id. If the server denies such a request, the
// middleware calls occurred, repeats the request in the name of the primary user and sends the
// client the response to the repeated request.
func acceptDenied(occurred func(), requirement string) middleware {
	return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
		switch a := serveEdited(w, v.httpRequest, next, streamEdit{}); {
		case a == nil:
		case len(v.expectedRefusals(requirement, a.status)) > 0:
			occurred()
			next.ServeHTTP(w, v.asUser(primaryUser))
		default:
			a.send(w)
		}
	})
}

// editRefusals returns a middleware that edits the refusals that are prescribed by the requirement
// with the given id. If the server refuses such a request with a status of 400 or more and a
// response that is not an event stream, the middleware calls occurred and then edit. The function
// edit changes the response a in place. The argument refusals holds what the requirement prescribes
// for the refusal of the request. It is not empty.
func editRefusals(
	occurred func(), requirement string, edit func(a *plainResponse, refusals []spec.RefusalRequirement),
) middleware {
	return editResponses(func(v parsedRequest, a *plainResponse) {
		if refusals := v.expectedRefusals(requirement, a.status); a.status >= 400 && len(refusals) > 0 {
			occurred()
			edit(a, refusals)
		}
	})
}

// refuseWithOtherStatus returns a middleware that changes the status of the refusals that are
// prescribed by the requirement with the given id. The new status is one that the requirement does
// not allow. The middleware calls occurred for each such refusal.
func refuseWithOtherStatus(occurred func(), requirement string) middleware {
	return editRefusals(occurred, requirement, func(a *plainResponse, refusals []spec.RefusalRequirement) {
		a.status = statusOtherThan(refusals[0].Status)
	})
}

// statusOtherThan returns a status code that is not among the allowed ones. The elements of allowed
// are status codes such as "422" or classes of them such as "4XX". If allowed is empty, any status
// of a refusal is allowed, and the result is 200. It is also 200 if allowed includes 400, 422 and
// 500.
func statusOtherThan(allowed []string) int {
	for _, status := range []int{http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusInternalServerError} {
		text := strconv.Itoa(status)
		if len(allowed) > 0 && !slices.Contains(allowed, text) && !slices.Contains(allowed, text[:1]+"XX") {
			return status
		}
	}
	return http.StatusOK
}

// hideRefusalText returns a middleware that edits the refusals that are prescribed by the
// requirement with the given id. It replaces the error codes and the text that the requirement
// demands with meaningless ones. It calls occurred for each such refusal.
func hideRefusalText(occurred func(), requirement string) middleware {
	return editRefusals(occurred, requirement, func(a *plainResponse, refusals []spec.RefusalRequirement) {
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

// refuseWithStream returns a middleware that turns the refusals that are prescribed by the
// requirement with the given id into event streams. Each stream has a single frame, whose data is
// the body of the refusal on one line. The middleware calls occurred for each such refusal.
func refuseWithStream(occurred func(), requirement string) middleware {
	return editRefusals(occurred, requirement, func(a *plainResponse, _ []spec.RefusalRequirement) {
		a.header.Set("Content-Type", spec.EventStream)
		a.body = []byte("data: " + strings.ReplaceAll(string(a.body), "\n", " ") + "\n\n")
	})
}

// refuseValid returns a middleware that makes the server refuse valid requests if they exercise the
// requirement with the given id, or if that is the requirement on their operation. For each such
// request, it calls occurred and passes on an invalid variant of the request instead, so that the
// refusal is the server's own. If there is no invalid variant, it passes on the request unchanged
// and does not call occurred.
func refuseValid(occurred func(), requirement string) middleware {
	return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
		r, e := v.httpRequest, v.parsed()
		if e.Valid() && (e.Requirement == requirement || slices.Contains(e.Exercised, requirement)) {
			if bad, ok := v.withDefect(); ok {
				occurred()
				r = v.withRequest(bad)
			}
		}
		next.ServeHTTP(w, r)
	})
}

// withDefect returns an invalid variant of the request, which the server refuses, and true. If the
// body ends with a closing brace, the variant lacks that brace. Otherwise, it is an invalid variant
// whose refusal with status 400 or 422 the document allows. If there is none, withDefect returns
// false.
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

// editPromisedReply returns a middleware that edits the responses to valid requests if the
// requirement on the operation is the one with the given id. It affects responses that have a 2xx
// status and are not event streams. For each of them, it calls occurred and then edit. The argument
// e of edit is the decoded request, which edit must not change. The argument a is the response,
// which edit changes in place.
func editPromisedReply(occurred func(), requirement string, edit func(e *spec.Event, a *plainResponse)) middleware {
	return editResponses(func(v parsedRequest, a *plainResponse) {
		if e := v.parsed(); e.Valid() && e.Requirement == requirement && a.status/100 == 2 {
			occurred()
			edit(e, a)
		}
	})
}

// changeReplyStatus changes the status of the response a to one that the document does not specify
// for the request e. It is used as the argument edit of editPromisedReply.
func changeReplyStatus(e *spec.Event, a *plainResponse) {
	switch e.StatusCode {
	case 0: // any successful one is documented
		a.status = http.StatusInternalServerError
	case http.StatusOK:
		a.status = http.StatusCreated
	default:
		a.status = http.StatusOK
	}
}

// changeReplyMediaType changes the Content-Type of the response a to a media type that no document
// specifies. It is used as the argument edit of editPromisedReply.
func changeReplyMediaType(_ *spec.Event, a *plainResponse) {
	a.header.Set("Content-Type", "application/x-unknown")
}

// maxDefectiveBytes is the maximum size in bytes of what injectDefect changes, which is the data of
// a frame or the body of a reply. In larger data, it takes too long to find a place that can have
// the defect.
const maxDefectiveBytes = 8 << 10

// injectDefect returns a middleware that gives the defect x to each frame and to each reply with a
// 2xx status that can have it. It calls occurred for each of them. It does not change frames with
// more than maxDefectiveBytes of data, or replies with larger bodies.
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
	replies := editResponses(func(v parsedRequest, a *plainResponse) {
		if o := v.dialect.Operation(v.raw); o != nil && a.status/100 == 2 {
			a.body = apply(o, a.status, a.body)
		}
	})
	frames := editStreams(func(v parsedRequest) streamEdit {
		o := v.dialect.Operation(v.raw)
		if o == nil || !o.IsStream {
			return streamEdit{}
		}
		return streamEdit{frame: func(frame []byte) [][]byte {
			if line, ok := sse.FindField(frame, "data"); ok {
				frame = slices.Concat(frame[:line.ValueStart], apply(o, 0, line.Value), frame[line.ValueEnd():])
			}
			return [][]byte{frame}
		}}
	})
	return func(next dialectHandler) dialectHandler { return replies(frames(next)) }
}
