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

// maxBodyExcerpt is how many bytes of a body an excerpt of a request or response has at most.
const maxBodyExcerpt = 1 << 10

// commonHeaders are the request header fields that are not shown if they have one of these values;
// nil: any value.
var commonHeaders = map[string][]string{
	"accept": {"text/event-stream", "application/json"}, "content-type": {"application/json"}, "accept-encoding": {"identity"},
	"user-agent": nil, "content-length": nil, "host": nil, "connection": nil,
}

// relevantHeaders are the response header fields that are shown.
var relevantHeaders = []string{
	"Content-Type", "Content-Encoding", "Location", "Allow", "WWW-Authenticate", "Retry-After",
}

// addExchange sets operation, request and response of the finding.
func (f *Finding) addExchange(base string, e spec.Event, x spec.Exchange) {
	f.Operation = operationName(e.Operation, x.Request)
	f.Request = RequestText(base, x.Request)
	f.Response = ResponseText(x.Response, e.Frame < 0)
}

// operationName returns the operation of the document, or else method and path of the request.
func operationName(op string, r spec.Request) string {
	if op != "" || r.Method == "" {
		return op
	}
	path, _, _ := strings.Cut(r.Target, "?")
	return boundedText([]byte(r.Method+" "+path), maxPointer)
}

// principalNotes describe the principals other than the primary user.
var principalNotes = map[spec.Principal]string{
	spec.OtherUser: "as another user", spec.Anonymous: "without credentials", spec.UnknownUser: "with unknown credentials",
}

// RequestText returns an excerpt of a request: request line, unusual header fields without
// credentials, and the beginning of the body; "" if the request was not recorded.
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

// ResponseText returns an excerpt of a response: status line, relevant header fields, how it ended
// if not regularly and, if body is set, the beginning of the body.
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

// shortValue returns a text of at most 300 bytes, or else its length: a cut text might end in half a
// secret, which would not be redacted.
func shortValue(s string) string {
	if len(s) > 300 {
		return fmt.Sprintf("(%d bytes)", len(s))
	}
	return boundedText([]byte(s), len(s))
}

// bodyExcerpt returns the beginning of a body after a blank line, "" if it is empty.
func bodyExcerpt(body []byte) string {
	if len(body) == 0 {
		return ""
	}
	return "\n\n" + boundedText(body, maxBodyExcerpt)
}
