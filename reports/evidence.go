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

// maxBodyExcerpt is how many bytes of a body are quoted at most in the excerpt of a request or
// response.
const maxBodyExcerpt = 1 << 10

// commonHeaders maps a request header field to the values with which it is too common to be shown;
// nil stands for any value.
var commonHeaders = map[string][]string{
	"accept": {"text/event-stream", "application/json"}, "content-type": {"application/json"}, "accept-encoding": {"identity"},
	"user-agent": nil, "content-length": nil, "host": nil, "connection": nil,
}

// relevantHeaders are the header fields that the excerpt of a response shows.
var relevantHeaders = []string{
	"Content-Type", "Content-Encoding", "Location", "Allow", "WWW-Authenticate", "Retry-After",
}

// addExchange sets the operation, request and response of a finding about event e, from the event's
// exchange x. base is the base URL of the target.
func (f *Finding) addExchange(base string, e spec.Event, x spec.Exchange) {
	f.Operation = operationName(e.Operation, x.Request)
	f.Request = RequestText(base, x.Request)
	f.Response = ResponseText(x.Response, e.Frame < 0)
}

// operationName returns op, the name of an operation in the document or, if that is "", the method
// and path of the request.
func operationName(op string, r spec.Request) string {
	if op != "" || r.Method == "" {
		return op
	}
	path, _, _ := strings.Cut(r.Target, "?")
	return boundedText([]byte(r.Method+" "+path), maxPointer)
}

// principalNotes says how a request of each principal other than the primary user was sent, as a
// note in its excerpt.
var principalNotes = map[spec.Principal]string{
	spec.OtherUser: "as another user", spec.Anonymous: "without credentials", spec.UnknownUser: "with unknown credentials",
}

// RequestText returns an excerpt of a request for people: the request line, header fields that are
// not common, without credentials, and the beginning of the body. base is the base URL of the
// target. The excerpt is "" if the request was not recorded.
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

// ResponseText returns an excerpt of a response for people: the status line, relevant header fields
// and, if the response did not end regularly, how it ended. If body is true, the beginning of the
// body follows.
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
	fmt.Fprintf(&b,
		"%s %d %s", cmp.Or(r.Proto, "HTTP"), r.Status, boundedText([]byte(cmp.Or(r.Reason, http.StatusText(r.Status))), 200))
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

// shortValue returns a text of at most 300 bytes unchanged, and only the length of a longer one. It
// does not cut the text, because half a secret at the end would not be redacted.
func shortValue(s string) string {
	if len(s) > 300 {
		return fmt.Sprintf("(%d bytes)", len(s))
	}
	return boundedText([]byte(s), len(s))
}

// bodyExcerpt returns a blank line and the beginning of a body, "" if the body is empty.
func bodyExcerpt(body []byte) string {
	if len(body) == 0 {
		return ""
	}
	return "\n\n" + boundedText(body, maxBodyExcerpt)
}
