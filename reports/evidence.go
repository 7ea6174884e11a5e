package reports

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/spec"
)

// maxShown bounds the body of a request or response that a finding shows, in bytes.
const maxShown = 1 << 10

// usual are request fields that say nothing about what is wrong, with the values that
// they mostly have; none: whatever they are.
var usual = map[string][]string{
	"accept": {"text/event-stream", "application/json"}, "content-type": {"application/json"}, "accept-encoding": {"identity"},
	"user-agent": nil, "content-length": nil, "host": nil, "connection": nil,
}

// telling are the response fields that say more about an answer than its status.
var telling = []string{"Content-Type", "Content-Encoding", "Location", "Allow", "WWW-Authenticate", "Retry-After"}

// show fills in what was sent and answered in the exchange of an event.
func (f *Finding) show(base string, e spec.Event, x spec.Exchange) {
	f.Operation = operation(e.Operation, x.Request)
	f.Request = Sent(base, x.Request)
	f.Response = Answered(x.Response, e.Frame < 0)
}

// operation names what was asked for: by the document, or else by method and path.
func operation(op string, r spec.Request) string {
	if op != "" || r.Method == "" {
		return op
	}
	path, _, _ := strings.Cut(r.Target, "?")
	return text([]byte(r.Method+" "+path), mostPointer)
}

// askers say on whose behalf a request was sent.
var askers = map[spec.Principal]string{
	spec.OtherUser: "as another user", spec.Anonymous: "without credentials", spec.UnknownUser: "with credentials that nobody handed out",
}

// Sent is a request as readers are shown it: the request line, the fields that are not
// usual, and the beginning of the body; "" where nobody wrote it down.
func Sent(base string, r spec.Request) string {
	if r.Method == "" {
		return ""
	}
	if strings.HasPrefix(base, "$") { // a variable of a shell
		base = ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s%s", briefly(r.Method), base, briefly(r.Target))
	if who := askers[r.Principal]; who != "" {
		fmt.Fprintf(&b, " (%s)", who)
	}
	for _, f := range r.Header {
		values, known := usual[strings.ToLower(f.Name)]
		if known && (values == nil || slices.Contains(values, f.Value)) {
			continue
		}
		value := briefly(f.Value)
		if redact.Credential(f.Name) {
			value = redact.Mark
		}
		fmt.Fprintf(&b, "\n%s: %s", briefly(f.Name), value)
	}
	return b.String() + shownBody(r.Body)
}

// Answered is a response as readers are shown it: the status line, the fields that tell
// most, the body if it is wanted, and how it ended if it did not end well.
func Answered(r spec.Response, body bool) string {
	if r.Status == 0 {
		if r.End == nil {
			return ""
		}
		return "no answer: " + text([]byte(r.End.Error()), maxShown)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d %s", cmp.Or(r.Proto, "HTTP"), r.Status, text([]byte(cmp.Or(r.Reason, http.StatusText(r.Status))), 200))
	for _, name := range telling {
		if r.Header.Has(name) {
			fmt.Fprintf(&b, "\n%s: %s", name, briefly(r.Header.Get(name)))
		}
	}
	if r.End != nil {
		fmt.Fprintf(&b, "\n(%s)", text([]byte(r.End.Error()), maxShown))
	}
	if body {
		b.WriteString(shownBody(r.Body))
	}
	return b.String()
}

// briefly is a text of at most 300 bytes, or its length: what is cut in the middle of a
// longer text may hold half a secret, which nothing would find.
func briefly(s string) string {
	if len(s) > 300 {
		return fmt.Sprintf("(%d bytes)", len(s))
	}
	return text([]byte(s), len(s))
}

// shownBody is the beginning of a body, after a blank line.
func shownBody(body []byte) string {
	if len(body) == 0 {
		return ""
	}
	return "\n\n" + text(body, maxShown)
}
