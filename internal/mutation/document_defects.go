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

// acceptInvalid returns a middleware that accepts invalid requests whose refusal is prescribed by
// the requirement with the given id. For each such request, it calls occurred and sends the server
// another request instead: the last valid one of the same user for the same operation, in the same
// thread if there was one. If there was no valid request, the invalid one is passed on, and the
// server refuses it.
func acceptInvalid(occurred func(), requirement string) middleware {
	return acceptInvalidForm(occurred, requirement, func(parsedRequest) bool { return true })
}

// acceptInvalidForm is like acceptInvalid, but accepts only requests for which isForm returns true.
// The function isForm is called with invalid requests whose refusal the requirement prescribes.
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

// A lastValidRequests holds the last valid request of each user for each operation, both per thread
// and regardless of the thread. It does not keep requests with test prompts other than
// conformance:text, because the response to these may take long. The zero value is empty. The
// methods may be called concurrently.
type lastValidRequests struct {
	mu    sync.Mutex
	byKey map[string]spec.Request // by the keys that lastValidKeys returns
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

// acceptDenied returns a middleware that accepts valid requests whose denial is prescribed by the
// requirement with the given id. If the server denies such a request, the middleware calls
// occurred, repeats the request in the name of the primary user and sends the response to that.
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

// editRefusals returns a middleware that edits the refusals prescribed by the requirement with the
// given id. For each response to such a request that has a status of 400 or more and is not an
// event stream, it calls occurred and then edit. The function edit changes the response a in place.
// The argument refusals holds what the requirement prescribes for the request, and is not empty.
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

// refuseWithOtherStatus returns a middleware that changes the status of refusals prescribed by the
// requirement with the given id to one that the requirement does not allow. It calls occurred for
// each such refusal.
func refuseWithOtherStatus(occurred func(), requirement string) middleware {
	return editRefusals(occurred, requirement, func(a *plainResponse, refusals []spec.RefusalRequirement) {
		a.status = statusOtherThan(refusals[0].Status)
	})
}

// statusOtherThan returns a status code that is not among the allowed ones. The elements of allowed
// are status codes such as "422" or classes such as "4XX". If allowed is empty, which permits any
// status of a refusal, or includes all of 400, 422 and 500, the result is 200.
func statusOtherThan(allowed []string) int {
	for _, status := range []int{http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusInternalServerError} {
		text := strconv.Itoa(status)
		if len(allowed) > 0 && !slices.Contains(allowed, text) && !slices.Contains(allowed, text[:1]+"XX") {
			return status
		}
	}
	return http.StatusOK
}

// hideRefusalText returns a middleware that edits refusals prescribed by the requirement with the
// given id. It replaces the error codes and the text that the requirement demands with meaningless
// ones, and calls occurred for each such refusal.
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

// refuseWithStream returns a middleware that turns refusals prescribed by the requirement with the
// given id into event streams of a single frame, whose data is the body of the refusal on one line.
// It calls occurred for each such refusal.
func refuseWithStream(occurred func(), requirement string) middleware {
	return editRefusals(occurred, requirement, func(a *plainResponse, _ []spec.RefusalRequirement) {
		a.header.Set("Content-Type", spec.EventStream)
		a.body = []byte("data: " + strings.ReplaceAll(string(a.body), "\n", " ") + "\n\n")
	})
}

// refuseValid returns a middleware that makes the server refuse valid requests that exercise the
// requirement with the given id, or whose operation has that requirement. For each of them, it
// calls occurred and passes on an invalid variant of the request instead, so that the refusal is
// the server's own. A request for which there is no invalid variant is passed on unchanged.
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
// body ends with a closing brace, the variant lacks that brace. Otherwise, it is one for whose
// refusal the document allows status 400 or 422. If there is no such variant, withDefect returns
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

// editPromisedReply returns a middleware that edits successful responses, with a 2xx status, to
// valid requests for an operation that the requirement with the given id is about. Event streams
// are left as they are. For each such response, the middleware calls occurred and then edit. The
// argument e of edit is the decoded request, which edit must not change; a is the response, which
// edit changes in place.
func editPromisedReply(occurred func(), requirement string, edit func(e *spec.Event, a *plainResponse)) middleware {
	return editResponses(func(v parsedRequest, a *plainResponse) {
		if e := v.parsed(); e.Valid() && e.Requirement == requirement && a.status/100 == 2 {
			occurred()
			edit(e, a)
		}
	})
}

// changeReplyStatus changes the status of the response a to one that the document does not specify
// for the decoded request e. It is an edit function for editPromisedReply.
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
// specifies. It is an edit function for editPromisedReply.
func changeReplyMediaType(_ *spec.Event, a *plainResponse) {
	a.header.Set("Content-Type", "application/x-unknown")
}

// maxDefectiveBytes is the maximum size, in bytes, of the data of a frame or the body of a reply
// that injectDefect changes. Looking for a place that can have the defect takes too long in larger
// ones.
const maxDefectiveBytes = 8 << 10

// injectDefect returns a middleware that gives the defect x to each frame and each successful reply
// that can have it, and calls occurred for each of them. Frames with more than maxDefectiveBytes of
// data and replies with larger bodies are not changed.
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
