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

// acceptInvalid returns a middleware that accepts requests that the server should refuse because of
// the given requirement. Instead of such a request it serves the last valid request of the same
// user for the same operation. If there was none, the request is refused.
func acceptInvalid(occurred func(), requirement string) middleware {
	return acceptInvalidForm(occurred, requirement, func(parsedRequest) bool { return true })
}

// acceptInvalidForm is like acceptInvalid, but accepts only requests for which isForm returns true.
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

// A lastValidRequests holds the last valid request for each operation, user and thread, and also
// the last one for each operation and user in any thread.
type lastValidRequests struct {
	mu    sync.Mutex
	byKey map[string]spec.Request
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

// acceptDenied returns a middleware that accepts valid requests that the server should deny because
// of the given requirement: it repeats such a request in the name of the primary user.
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

// editRefusals returns a middleware that, for each response that refuses a request because of the
// requirement with the given id, calls occurred and then edit. The arguments of edit are the response,
// to be changed in place, and the refusals that the requirement prescribes for the request, at least
// one.
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

// refuseWithOtherStatus returns a middleware that replaces the status of the refusals that the
// given requirement prescribes with a status that the requirement does not allow.
func refuseWithOtherStatus(occurred func(), requirement string) middleware {
	return editRefusals(occurred, requirement, func(a *plainResponse, refusals []spec.RefusalRequirement) {
		a.status = statusOtherThan(refusals[0].Status)
	})
}

// statusOtherThan returns a status that is none of the given ones, which are numbers such as "422"
// or classes such as "4XX". It returns 200 if there are none, since any refusal is allowed then.
func statusOtherThan(allowed []string) int {
	for _, status := range []int{http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusInternalServerError} {
		text := strconv.Itoa(status)
		if len(allowed) > 0 && !slices.Contains(allowed, text) && !slices.Contains(allowed, text[:1]+"XX") {
			return status
		}
	}
	return http.StatusOK
}

// hideRefusalText returns a middleware that replaces codes and texts in refusals with meaningless
// ones. It affects only codes and texts that the given requirement prescribes.
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

// refuseWithStream returns a middleware that turns the refusals that the given requirement
// prescribes into event streams. The only event of the stream has the body of the refusal as its
// data.
func refuseWithStream(occurred func(), requirement string) middleware {
	return editRefusals(occurred, requirement, func(a *plainResponse, _ []spec.RefusalRequirement) {
		a.header.Set("Content-Type", spec.EventStream)
		a.body = []byte("data: " + strings.ReplaceAll(string(a.body), "\n", " ") + "\n\n")
	})
}

// refuseValid returns a middleware that makes the server refuse valid requests that exercise the
// given requirement, or whose operation has it. The middleware makes such a request invalid before
// the server sees it, so that the refusal is the server's own, and then calls occurred.
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

// withDefect returns a variant of the request that the server refuses. If the body ends with a
// brace, the variant lacks that brace. Otherwise the variant is one that the document requires to
// be refused with status 400 or 422. If there is none, withDefect returns false.
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

// editPromisedReply returns a middleware that calls edit for each successful response to a valid
// request, if the requirement of the requested operation is the given one. The arguments of edit are
// the request e and the response a, which edit changes in place. The middleware calls occurred each
// time before it calls edit.
func editPromisedReply(occurred func(), requirement string, edit func(e *spec.Event, a *plainResponse)) middleware {
	return editResponses(func(v parsedRequest, a *plainResponse) {
		if e := v.parsed(); e.Valid() && e.Requirement == requirement && a.status/100 == 2 {
			occurred()
			edit(e, a)
		}
	})
}

// changeReplyStatus changes the status of a reply to one that is not documented for the request e.
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

// changeReplyMediaType changes the media type of a reply to one that no document has.
func changeReplyMediaType(_ *spec.Event, a *plainResponse) {
	a.header.Set("Content-Type", "application/x-unknown")
}

// maxDefectiveBytes is the maximum size of a frame or reply that gets a defect. Looking for a
// location that can have the defect takes long in a larger one.
const maxDefectiveBytes = 8 << 10

// injectDefect returns a middleware that gives the defect x to all frames and successful replies
// that can have it, except to those of more than maxDefectiveBytes.
func injectDefect(occurred func(), x dialect.ResponseDefect) middleware {
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
