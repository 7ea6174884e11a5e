package mutation

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// editReply is like editReplies, for a function edit that does not need the request.
func editReply(kind spec.Kind, edit func(e *spec.Event)) middleware {
	return editReplies(kind, func(_ parsedRequest, e *spec.Event) { edit(e) })
}

// uploadStoredMutants are servers that report a media type other than the one with which a file was
// uploaded.
var uploadStoredMutants = []*Mutant{
	{
		Name: "upload-type-always-jpeg", Doc: "reports the media type of every upload as image/jpeg",
		KilledBy:   map[string]string{"attachment.type-as-sent": "attachment.stored"},
		Middleware: editReply(spec.AttachmentStored, func(e *spec.Event) { e.Type = "image/jpeg" }),
	}, {
		Name: "upload-type-synonym", Doc: "reports the media type of an upload as a synonym, image/x-png",
		KilledBy:   map[string]string{"attachment.type-as-sent": "attachment.stored"},
		Middleware: editReply(spec.AttachmentStored, func(e *spec.Event) { e.Type = "image/x-png" }),
	},
}

// uploadSignedMutants are servers that sign a link for another file or bucket than the requested
// one, or for a file that does not exist.
var uploadSignedMutants = []*Mutant{
	{
		Name: "signed-link-other-path", Doc: "returns the path of another file with a newly signed link",
		KilledBy:   map[string]string{"attachment.signs-what-was-asked": "attachment.signed"},
		Middleware: editReply(spec.AttachmentSigned, func(e *spec.Event) { e.ID = "else" }),
	}, {
		Name: "signed-link-other-bucket", Doc: "returns the name of another bucket with a newly signed link",
		KilledBy:   map[string]string{"attachment.signs-what-was-asked": "attachment.signed"},
		Middleware: editReply(spec.AttachmentSigned, func(e *spec.Event) { e.Name = "public" }),
	}, {
		Name: "signs-unknown-file", Doc: "signs a link for a file that was never uploaded",
		KilledBy:   map[string]string{"attachment.refuses-unknown-file": "http.request"},
		AlsoFails:  []string{"attachment.signs-what-was-asked"}, // the link leads to another file
		Middleware: signUnknownFile(func(asked string) string { return asked }),
	}, {
		Name: "signs-file-name-prefix", Doc: "signs a link to another file if the requested name is a prefix of the name of that file",
		KilledBy: map[string]string{
			"attachment.refuses-unknown-file": "http.request",
			"attachment.signs-what-was-asked": "attachment.signed",
		},
		Middleware: signUnknownFile(func(string) string { return "" }),
	},
}

// signUnknownFile returns a middleware that makes the server sign links for files that do not
// exist. In place of a refusal with status 404, it sends the last successful response to a request
// to sign a link, in which it replaces the path with signedPath(asked), where asked is the
// requested path. If signedPath returns "", it keeps the path. If there was no successful response
// yet, it sends the refusal.
func signUnknownFile(signedPath func(asked string) string) middleware {
	return func(next dialectHandler) dialectHandler {
		var mu sync.Mutex
		var last completeResponse
		return editResponses(func(v parsedRequest, a *completeResponse) {
			if !v.isOperation("sign") || !v.parsed().Valid() {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case a.status == http.StatusOK:
				last = completeResponse{a.status, a.header.Clone(), bytes.Clone(a.body)}
			case a.status == http.StatusNotFound && last.status != 0:
				*a = completeResponse{last.status, last.header.Clone(), bytes.Clone(last.body)}
				if e, ok := v.decodeReply(a); ok {
					e.ID = cmp.Or(signedPath(v.parsed().ID), e.ID)
					v.encodeReply(a, e)
				}
			}
		})(next)
	}
}

// editLinkResponses returns a middleware that edits the responses to requests for links that the
// server has issued. It calls edit for each of these responses. The argument signed is true if the
// link was issued in response to a request to sign a link, and false if it was issued only in
// response to an upload. The argument a is the response, which edit changes in place.
func editLinkResponses(edit func(signed bool, a *completeResponse)) middleware {
	return func(next dialectHandler) dialectHandler {
		var mu sync.Mutex
		signed, handed := map[string]bool{}, map[string]bool{}
		return editResponses(func(v parsedRequest, a *completeResponse) {
			mu.Lock()
			defer mu.Unlock()
			if v.isOperation("sign") || v.isOperation("attach") {
				if link := v.issuedLink(a); link != nil {
					path := link.EscapedPath()
					handed[path] = true
					signed[path] = signed[path] || v.isOperation("sign")
				}
			} else if path := v.httpRequest.URL.EscapedPath(); handed[path] {
				edit(signed[path], a)
			}
		})(next)
	}
}

// editLinks is like editLinkResponses, but calls edit only for one kind of link. If signed is true,
// these are the links that were issued in response to a request to sign a link. If it is false,
// they are all other links.
func editLinks(signed bool, edit func(a *completeResponse)) middleware {
	return editLinkResponses(func(isSigned bool, a *completeResponse) {
		if isSigned == signed {
			edit(a)
		}
	})
}

// issuedLink returns the link in a, the response to the request v. It returns nil if a is not the
// successful response to an upload or to a request to sign a link, or if the link is not a valid
// URL.
func (v parsedRequest) issuedLink(a *completeResponse) *url.URL {
	e, _ := v.decodeReply(a)
	u, err := url.Parse(e.Text)
	if err != nil || e.Kind != spec.AttachmentStored && e.Kind != spec.AttachmentSigned {
		return nil
	}
	return u
}

func respondGone(a *completeResponse) {
	a.status, a.body = http.StatusGone, []byte("the link has ended")
}

// corruptBody inverts the bits of the last byte of a.body in place. If the body is empty, it does
// nothing.
func corruptBody(a *completeResponse) {
	if len(a.body) > 0 {
		a.body[len(a.body)-1] ^= 0xff
	}
}

// alsoWithBadLinks is the value of [Mutant.AlsoFails] for mutants whose links to uploads do not
// work. Histories contain links to uploads as well.
var alsoWithBadLinks = []string{"history.links-open"}

// uploadLinkMutants are servers whose links to files have expired, end too early, need credentials
// or return bytes that differ from those of the file.
var uploadLinkMutants = []*Mutant{
	{
		Name: "upload-link-expired", Doc: "returns a link to an upload that has already expired",
		KilledBy:   map[string]string{"attachment.link-gives-the-file": "http.response"},
		AlsoFails:  alsoWithBadLinks,
		Middleware: editLinks(false, respondGone),
	}, {
		Name: "upload-replaces-same-name", Doc: "replaces an earlier upload with a later one that has the same file name",
		KilledBy:   map[string]string{"attachment.link-gives-the-file": "attachment"},
		AlsoFails:  append([]string{"attachment.new-link-gives-the-file"}, alsoWithBadLinks...), // as after any upload
		Middleware: overwriteByName,
	}, {
		Name: "upload-link-other-bytes", Doc: "serves bytes that differ from the uploaded ones at the link to an upload",
		KilledBy:   map[string]string{"attachment.link-gives-the-file": "attachment"},
		AlsoFails:  alsoWithBadLinks,
		Middleware: editLinks(false, corruptBody),
	}, {
		Name: "upload-cut-at-dashes", Doc: "serves only the bytes of an upload before the first line that begins with two dashes",
		KilledBy:  map[string]string{"attachment.link-gives-the-file": "attachment"},
		AlsoFails: append([]string{"attachment.new-link-gives-the-file"}, alsoWithBadLinks...),
		Middleware: editLinkResponses(func(_ bool, a *completeResponse) {
			a.body, _, _ = bytes.Cut(a.body, []byte("\r\n--"))
		}),
	}, {
		Name: "signed-link-expired", Doc: "returns a newly signed link that has already expired",
		KilledBy:   map[string]string{"attachment.new-link-gives-the-file": "http.response"},
		AlsoFails:  append([]string{"attachment.link-gives-the-file"}, alsoWithBadLinks...), // a link may be signed again
		Middleware: editLinks(true, respondGone),
	}, {
		Name: "signed-link-half-file", Doc: "serves only the first half of the file at a newly signed link",
		KilledBy:   map[string]string{"attachment.new-link-gives-the-file": "attachment"},
		AlsoFails:  append([]string{"attachment.link-gives-the-file"}, alsoWithBadLinks...), // a link may be signed again
		Middleware: editLinks(true, func(a *completeResponse) { a.body = a.body[:len(a.body)/2] }),
	}, {
		Name: "upload-link-name-unescaped", Doc: "does not escape the file name in the link to an upload",
		KilledBy:  map[string]string{"attachment.link-gives-the-file": "http.response"},
		AlsoFails: append([]string{acceptsAsDocumented}, alsoWithBadLinks...), // a message with such a link is refused
		Middleware: editReplies(spec.AttachmentStored, func(v parsedRequest, e *spec.Event) {
			file, _ := v.parsed().Last(spec.InputFile)
			if path, query, ok := strings.Cut(e.Text, "?"); ok && strings.ContainsAny(file.Name, "%?#") {
				e.Text = path + "?name=" + file.Name + "&" + query
			}
		}),
	}, {
		Name: "signed-links-require-credentials", Doc: "requires credentials in requests for the file at a signed link",
		KilledBy: map[string]string{
			"attachment.link-gives-the-file":     "http.response",
			"attachment.new-link-gives-the-file": "http.response",
		},
		AlsoFails: alsoWithBadLinks,
		Middleware: editLinkResponses(func(_ bool, a *completeResponse) {
			a.status, a.body = http.StatusUnauthorized, []byte("who asks?")
		}),
	}, {
		Name: "signed-link-expires-earlier-link", Doc: "expires the earlier link to a file when it signs a new one",
		KilledBy: map[string]string{
			"attachment.link-gives-the-file":     "http.response",
			"attachment.new-link-gives-the-file": "http.response",
		},
		AlsoFails:  alsoWithBadLinks, // a history may have the link of the upload
		Middleware: endEarlierLinks,
	},
}

// maxLinkWait is the maximum time that endEarlierLinks waits for a different link. The links of the
// reference server differ if they were signed in different seconds.
const maxLinkWait = 2 * time.Second

// endEarlierLinks is a middleware that invalidates the link to a file when the server signs a new
// one: requests for the earlier link get status 410 (Gone). If the new link equals the previous
// one, the middleware delays the response until the server signs a different link, or for at most
// maxLinkWait. If the link is still the same after that time, it remains valid.
func endEarlierLinks(next dialectHandler) dialectHandler {
	var latest, ended sync.Map // path of the file in links → latest link, and set of links; as request targets
	return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
		a := serveEdited(w, v.httpRequest, next, streamEdit{})
		if a == nil {
			return
		}
		link, deadline := v.issuedLink(a), time.Now().Add(maxLinkWait)
		for link != nil && v.isOperation("sign") && v.httpRequest.Context().Err() == nil && time.Now().Before(deadline) {
			if before, _ := latest.Load(link.EscapedPath()); before != link.RequestURI() {
				break
			}
			time.Sleep(pollInterval) // a link contains the second in which it was signed
			if again := serveEdited(w, v.withRequest(v.raw), next, streamEdit{}); again != nil {
				a, link = again, v.issuedLink(again)
			}
		}
		if link != nil {
			if before, ok := latest.Swap(link.EscapedPath(), link.RequestURI()); ok && before != link.RequestURI() {
				ended.Store(before, true)
			}
		}
		if _, isEnded := ended.Load(v.httpRequest.RequestURI); isEnded {
			respondGone(a)
		}
		a.send(w)
	})(next)
}

// overwriteByName is a middleware that returns, for each link to an upload, the file that was last
// uploaded with the same file name.
func overwriteByName(next dialectHandler) dialectHandler {
	var names, links sync.Map // link → file name, and file name → latest link
	note := editResponses(func(v parsedRequest, a *completeResponse) {
		if !v.isOperation("attach") {
			return
		}
		e, _ := v.decodeReply(a)
		if u, err := url.Parse(e.Text); err == nil && e.Kind == spec.AttachmentStored {
			file, _ := v.parsed().Last(spec.InputFile)
			names.Store(u.RequestURI(), file.Name)
			links.Store(file.Name, u.RequestURI())
		}
	})
	redirect := editRequests(func(v parsedRequest) *http.Request {
		name, _ := names.Load(v.httpRequest.RequestURI)
		latest, ok := links.Load(name)
		if !ok {
			return v.httpRequest
		}
		r := v.httpRequest.Clone(v.httpRequest.Context())
		r.RequestURI = latest.(string)
		r.URL, _ = url.ParseRequestURI(r.RequestURI) // a link that was parsed before
		return r
	})
	return redirect(note(next))
}

// replaceForeignImages returns a middleware that edits valid requests that start a run if the first
// image of the last user message is a link to another server. The server then receives the body
// that replace returns.
//
// The argument body of replace is a copy of the original body, which replace may modify. The
// argument link is the link to the other server. The argument own is the latest image link to this
// server in an earlier valid request. If there was none, the request is not changed.
func replaceForeignImages(replace func(body []byte, link, own string) []byte) middleware {
	return func(next dialectHandler) dialectHandler {
		var mu sync.Mutex
		own := ""
		return editRequests(func(v parsedRequest) *http.Request {
			if link := imageLink(*v.parsed()); link != "" && v.startsRun() && v.parsed().Valid() {
				mu.Lock()
				defer mu.Unlock()
				if u, err := url.Parse(link); err == nil && u.Host == v.httpRequest.Host {
					own = link
				} else if own != "" {
					other := v.raw
					other.Body = replace(bytes.Clone(v.raw.Body), link, own)
					return v.withRequest(other)
				}
			}
			return v.httpRequest
		})(next)
	}
}

// imageLink returns the link of the first image in the last user message of the decoded request
// ask. It returns "" if that message has no image.
func imageLink(ask spec.Event) string {
	user, _ := ask.Last(spec.InputUser)
	for _, part := range user.Parts {
		if part.Kind == spec.InputImage {
			return part.Text
		}
	}
	return ""
}

// withoutItems returns the decoded JSON value v without the array items, at any depth, that are
// objects with a member whose value equals the argument text. The objects in v are modified in
// place.
func withoutItems(v any, text string) any {
	isText := func(member any) bool { return member == text }
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			v[name] = withoutItems(member, text)
		}
	case []any:
		kept := []any{}
		for _, item := range v {
			object, _ := item.(map[string]any)
			if !slices.ContainsFunc(slices.Collect(maps.Values(object)), isText) {
				kept = append(kept, withoutItems(item, text))
			}
		}
		return kept
	}
	return v
}

// uploadImageMutants are servers that do not refuse images whose links lead to other servers.
var uploadImageMutants = []*Mutant{
	{
		Name: "foreign-image-link-accepted", Doc: "accepts a prompt with an image link to any other server",
		KilledBy: map[string]string{"attachment.refuses-foreign-link": "http.request"},
		Middleware: replaceForeignImages(func(body []byte, link, own string) []byte {
			return bytes.ReplaceAll(body, []byte(link), []byte(own))
		}),
	}, {
		Name: "foreign-image-link-dropped", Doc: "drops an image whose link leads to another server instead of refusing the prompt",
		KilledBy: map[string]string{"attachment.refuses-foreign-link": "http.request"},
		Middleware: replaceForeignImages(func(body []byte, link, _ string) []byte {
			var v any
			if json.Unmarshal(body, &v) == nil {
				body, _ = json.Marshal(withoutItems(v, link)) // encoding a decoded value cannot fail
			}
			return body
		}),
	},
}

// transcriptionMutants are servers whose response to a recording of speech is not a transcription
// in the documented form.
var transcriptionMutants = []*Mutant{
	{
		Name: "transcript-plain-text", Doc: "returns the transcript of a recording as plain text",
		KilledBy:  map[string]string{"transcript.is-told": "http.request"},
		AlsoFails: []string{repliesAsPromised}, // the media type is not the documented one
		Middleware: editResponses(func(v parsedRequest, a *completeResponse) {
			if v.isOperation("transcribe") && a.status == http.StatusOK {
				a.header.Set("Content-Type", "text/plain")
				a.body = []byte("hello")
			}
		}),
	}, {
		Name: "transcript-missing", Doc: "responds to a recording with status 204 and without a transcript",
		KilledBy:  map[string]string{"transcript.is-told": "http.request"},
		AlsoFails: []string{repliesAsPromised}, // the status is not the documented one
		Middleware: editResponses(func(v parsedRequest, a *completeResponse) {
			if v.isOperation("transcribe") && a.status == http.StatusOK {
				a.status = http.StatusNoContent
				a.header.Del("Content-Type")
			}
		}),
	},
}
