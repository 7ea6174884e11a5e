package mutation

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// refusalFormMutants are servers that refuse requests in a form that the document does not allow,
// or return histories with broken links, or with messages or images that the user did not send.
var refusalFormMutants = []*Mutant{
	{
		Name: "refusals-as-stream", Doc: "sends refusals of invalid requests as event streams",
		Middleware: reformRefusals(func(_ parsedRequest, a *completeResponse) {
			if !isDenial(a.status) {
				a.header["Content-Type"] = []string{spec.EventStream}
				a.body = slices.Concat([]byte("data: "), bytes.ReplaceAll(a.body, []byte("\n"), nil), []byte("\n\n"))
			}
		}),
		KilledBy:  map[string]string{"refuse.no-stream": "http.response"},
		AlsoFails: []string{"refuse.*"}, // a stream has no code and no text
	}, {
		Name: "refusals-labeled-as-stream", Doc: "sends refusals of invalid requests with the Content-Type of an event stream",
		Middleware: reformRefusals(func(_ parsedRequest, a *completeResponse) {
			if !isDenial(a.status) {
				a.header["Content-Type"] = []string{spec.EventStream + "; charset=utf-8"}
			}
		}),
		KilledBy:  map[string]string{"refuse.no-stream": "http.response"},
		AlsoFails: []string{"refuse.*"}, // a stream has no code and no text
	}, {
		Name: "history-refusals-other-type", Doc: "sends refusals of history requests with another media type than all other refusals",
		Middleware: reformRefusals(func(v parsedRequest, a *completeResponse) {
			if v.isOperation("history") {
				a.header["Content-Type"] = []string{"application/json"}
			}
		}),
		KilledBy: map[string]string{"refuse.same-form": "http.response"},
	}, {
		Name: "cancel-refusals-without-code", Doc: "omits the code from refusals of cancel requests of unknown users",
		Middleware: reformRefusals(func(v parsedRequest, a *completeResponse) {
			if v.isOperation("cancel") && a.status == http.StatusUnauthorized {
				a.body = withoutMembers(a.body, func(name string, _ any) bool { return name == "code" })
			}
		}),
		KilledBy: map[string]string{"refuse.same-form": "http.response"},
	}, {
		Name: "history-extra-first-message", Doc: "begins a history with a message that the user did not send",
		Middleware: editHistories(func(_ parsedRequest, e *spec.Event) {
			if len(e.Parts) > 0 {
				added := e.Parts[0]
				added.Kind, added.Role, added.Parts, added.Text = spec.HistoryUser, "", nil, "Be kind to me."
				added.ID, added.Seq = "greeting", "-1"
				e.Parts = slices.Insert(e.Parts, 0, added)
			}
		}),
		KilledBy: map[string]string{"history.tells-only-sent-prompts": "history"},
	}, {
		Name: "history-system-as-user", Doc: "includes the system prompt in the history as a message of the user",
		Middleware: editHistories(func(_ parsedRequest, e *spec.Event) {
			if n := len(e.Parts); n > 0 {
				added := e.Parts[n-1]
				added.Kind, added.Role, added.Parts, added.Text = spec.HistoryUser, "", nil, "You are a helpful assistant."
				added.ID, added.Seq = "prompt", "1000000"
				e.Parts = append(e.Parts, added)
			}
		}),
		KilledBy: map[string]string{"history.tells-only-sent-prompts": "history"},
	}, {
		Name: "history-images-for-all", Doc: "includes an image in the history with every message of the user",
		Middleware: editMessages(spec.HistoryUser, func(m *spec.Event) {
			if len(m.Parts) == 0 {
				m.Parts = []spec.Event{{Kind: spec.HistoryImage, Type: "image/png", Text: "https://example.com/image.png"}}
			}
		}),
		KilledBy: map[string]string{"history.tells-only-sent-images": "history"},
	}, {
		Name: "history-first-message-image", Doc: "includes an image with the first message of a history",
		Middleware: editHistoryImages(func(images [][]spec.Event) [][]spec.Event {
			if len(images[0]) == 0 {
				images[0] = []spec.Event{{Kind: spec.HistoryImage, Type: "image/png", Text: "https://example.com/first.png"}}
			}
			return images
		}),
		KilledBy: map[string]string{"history.tells-only-sent-images": "history"},
	}, {
		Name: "history-image-links-broken", Doc: "returns links to images in the history that do not work",
		Middleware: editHistoryLinks(func(link string) string { return link + "x" }),
		KilledBy:   map[string]string{"history.links-open": "http.response"},
	}, {
		Name: "history-image-links-unsigned", Doc: "returns links to images in the history that are not signed",
		Middleware: editHistoryLinks(func(link string) string {
			path, _, _ := strings.Cut(link, "?")
			return path
		}),
		KilledBy: map[string]string{"history.links-open": "http.response"},
	},
}

// reformRefusals returns a middleware that edits refusals. It calls edit for each response with a
// 4xx status that is not an event stream. The argument v is the request, and a is the response,
// which edit changes in place.
func reformRefusals(edit func(v parsedRequest, a *completeResponse)) middleware {
	return editResponses(func(v parsedRequest, a *completeResponse) {
		if a.status/100 == 4 {
			edit(v, a)
		}
	})
}

// isDenial reports whether a response with the given 4xx status refuses a request because of its
// sender or because of a limit, and not because of its content, that is, whether the status is 401,
// 403 or 429.
func isDenial(status int) bool {
	return slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests}, status)
}

// editHistoryLinks returns a middleware that edits the histories that the server returns. It
// replaces each link to an image in a user message with edit(link).
func editHistoryLinks(edit func(link string) string) middleware {
	return editMessages(spec.HistoryUser, func(m *spec.Event) {
		m.Parts = slices.Clone(m.Parts)
		for i := range m.Parts {
			if m.Parts[i].Kind == spec.HistoryImage {
				m.Parts[i].Text = edit(m.Parts[i].Text)
			}
		}
	})
}

// withoutMembers returns object, the text of a JSON object, without the members for which drops
// returns true. The arguments of drops are the name and the decoded value of a member. If object is
// not a JSON object, it is returned unchanged.
func withoutMembers(object []byte, drops func(name string, value any) bool) []byte {
	var members map[string]any
	if json.Unmarshal(object, &members) != nil {
		return object
	}
	maps.DeleteFunc(members, drops)
	rest, _ := json.Marshal(members) // encoding a decoded value cannot fail
	return rest
}
