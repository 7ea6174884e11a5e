package reports

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/spec"
)

// maxBodyExcerpt bounds the body of a request or response that a finding shows, in bytes.
const maxBodyExcerpt = 1 << 10

// commonHeaders are request fields that say nothing about what is wrong, with the values that
// they mostly have; none: whatever they are.
var commonHeaders = map[string][]string{
	"accept": {"text/event-stream", "application/json"}, "content-type": {"application/json"}, "accept-encoding": {"identity"},
	"user-agent": nil, "content-length": nil, "host": nil, "connection": nil,
}

// relevantHeaders are the response fields that say more about an answer than its status.
var relevantHeaders = []string{"Content-Type", "Content-Encoding", "Location", "Allow", "WWW-Authenticate", "Retry-After"}

// addExchange fills in what was sent and answered in the exchange of an event.
func (f *Finding) addExchange(base string, e spec.Event, x spec.Exchange) {
	f.Operation = operationName(e.Operation, x.Request)
	f.Request = RequestText(base, x.Request)
	f.Response = ResponseText(x.Response, e.Frame < 0)
}

// operationName names what was asked for: by the document, or else by method and path.
func operationName(op string, r spec.Request) string {
	if op != "" || r.Method == "" {
		return op
	}
	path, _, _ := strings.Cut(r.Target, "?")
	return boundedText([]byte(r.Method+" "+path), maxPointer)
}

// principalNotes say on whose behalf a request was sent.
var principalNotes = map[spec.Principal]string{
	spec.OtherUser: "as another user", spec.Anonymous: "without credentials", spec.UnknownUser: "with unknown credentials",
}

// RequestText is a request as readers are shown it: the request line, the fields that are not
// usual, and the beginning of the body; "" where nobody wrote it down.
func RequestText(base string, r spec.Request) string {
	if r.Method == "" {
		return ""
	}
	if strings.HasPrefix(base, "$") { // a variable of a shell
		base = ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s%s", shortValue(r.Method), base, shortValue(r.Target))
	if who := principalNotes[r.Principal]; who != "" {
		fmt.Fprintf(&b, " (%s)", who)
	}
	for _, f := range r.Header {
		values, known := commonHeaders[strings.ToLower(f.Name)]
		if known && (values == nil || slices.Contains(values, f.Value)) {
			continue
		}
		value := shortValue(f.Value)
		if redact.IsCredential(f.Name) {
			value = redact.Placeholder
		}
		fmt.Fprintf(&b, "\n%s: %s", shortValue(f.Name), value)
	}
	return b.String() + bodyExcerpt(r.Body)
}

// ResponseText is a response as readers are shown it: the status line, the fields that tell
// most, the body if it is wanted, and how it ended if it did not end well.
func ResponseText(r spec.Response, body bool) string {
	if r.Status == 0 {
		if r.End == nil {
			return ""
		}
		if errors.Is(r.End, spec.ErrTruncated) {
			return "no response: the connection was closed"
		}
		return "no response: " + boundedText([]byte(r.End.Error()), maxBodyExcerpt)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d %s", cmp.Or(r.Proto, "HTTP"), r.Status, boundedText([]byte(cmp.Or(r.Reason, http.StatusText(r.Status))), 200))
	for _, name := range relevantHeaders {
		if r.Header.Has(name) {
			fmt.Fprintf(&b, "\n%s: %s", name, shortValue(r.Header.Get(name)))
		}
	}
	if r.End != nil {
		fmt.Fprintf(&b, "\n(%s)", boundedText([]byte(r.End.Error()), maxBodyExcerpt))
	}
	if body {
		b.WriteString(bodyExcerpt(r.Body))
	}
	return b.String()
}

// shortValue is a text of at most 300 bytes, or its length: what is cut in the middle of a
// longer text may hold half a secret, which nothing would find.
func shortValue(s string) string {
	if len(s) > 300 {
		return fmt.Sprintf("(%d bytes)", len(s))
	}
	return boundedText([]byte(s), len(s))
}

// bodyExcerpt is the beginning of a body, after a blank line.
func bodyExcerpt(body []byte) string {
	if len(body) == 0 {
		return ""
	}
	return "\n\n" + boundedText(body, maxBodyExcerpt)
}
