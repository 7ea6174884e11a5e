package reports

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/spec"
)

// maxBodyExcerpt is the maximum number of bytes of a body in the excerpt of a request or response.
const maxBodyExcerpt = 1 << 10

// commonHeaders defines the request header fields that an excerpt omits. It maps the name of each
// field, in lower case, to the values with which the field is omitted; nil means all values.
var commonHeaders = map[string][]string{
	"accept": {"text/event-stream", "application/json"}, "content-type": {"application/json"}, "accept-encoding": {"identity"},
	"user-agent": nil, "content-length": nil, "host": nil, "connection": nil,
}

// relevantHeaders are the header fields that the excerpt of a response shows.
var relevantHeaders = []string{
	"Content-Type", "Content-Encoding", "Location", "Allow", "WWW-Authenticate", "Retry-After",
}

// addExchange sets the operation, the request and the response of the finding. The parameter e is
// the event to which the finding refers, x is the exchange of the event, and base is the base URL
// of the target.
func (f *Finding) addExchange(base string, e spec.Event, x spec.Exchange) {
	f.Operation = operationName(e.Operation, x.Request)
	f.Request = RequestText(base, x.Request)
	if tail, ok := bodyTail(x.Response.Body); e.Kind == spec.BodyEnd && ok {
		f.Response = ResponseText(x.Response, false) + tail
		return
	}
	f.Response = ResponseText(x.Response, e.Frame < 0)
}

// operationName returns op, the name of an operation in the OpenAPI document. If op is "", it
// returns the method and path of the request r, or "" if the request was not recorded.
func operationName(op string, r spec.Request) string {
	if op != "" || r.Method == "" {
		return op
	}
	path, _, _ := strings.Cut(r.Target, "?")
	return boundedText([]byte(r.Method+" "+path), maxPointer)
}

// principalNotes maps each principal other than [spec.PrimaryUser] to the note that marks its
// requests in excerpts.
var principalNotes = map[spec.Principal]string{
	spec.OtherUser: "as another user", spec.Anonymous: "without credentials", spec.UnknownUser: "with unknown credentials",
	spec.LongerCredentials:  "with the user's credentials, and more characters after them",
	spec.ShorterCredentials: "with the user's credentials, without the last character",
}

// RequestText returns a readable excerpt of a request: the request line, the less common header
// fields, and the beginning of the body. A placeholder replaces credentials. The excerpt is "" if
// the request was not recorded.
//
// The request line consists of the method, base (the base URL of the server) and the target of the
// request. It does not contain base if that is a shell variable, such as "$BASE", or if the target
// is itself a URL.
func RequestText(base string, r spec.Request) string {
	if r.Method == "" {
		return ""
	}
	if strings.HasPrefix(base, "$") { // a variable of a shell
		base = ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", shortValue(r.Method), cmp.Or(targetBase(base, r.Target)+shortValue(r.Target), "/"))
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

// ResponseText returns a readable excerpt of a response: the status line, a few header fields such
// as Content-Type and, if the response did not end normally, how it ended. If body is true, the
// beginning of the body follows. If there was no response, the excerpt states the reason, or is ""
// if the reason is unknown.
func ResponseText(r spec.Response, body bool) string {
	if r.Status == 0 {
		if r.End == nil {
			return ""
		}
		return boundedText([]byte(spec.DescribeNoResponse(r.End)), maxBodyExcerpt)
	}
	var b strings.Builder
	fmt.Fprintf(&b,
		"%s %d %s", cmp.Or(r.Proto, "HTTP"), r.Status, boundedText([]byte(cmp.Or(r.Reason, http.StatusText(r.Status))), 200))
	if isAssumed(r) {
		b.WriteString(" (assumed, with the Content-Type: the recording has only the stream)")
	}
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

// isAssumed reports whether the status and the header of r are not from a recording, because that
// has only the body of an event stream.
func isAssumed(r spec.Response) bool {
	return r.Proto == "" && r.Reason == "" && len(r.Header) == 1 && r.Header.MediaType() == spec.EventStream
}

// shortValue returns s if it has at most 300 bytes, and otherwise only a note with its length. It
// never returns a part of s, because a secret that is cut in half would not be redacted.
func shortValue(s string) string {
	if len(s) > 300 {
		return fmt.Sprintf("(%d bytes)", len(s))
	}
	return boundedText([]byte(s), len(s))
}

// bodyTail returns a blank line followed by a note with the number of bytes left out, and by the
// last lines of the body as text, at most maxBodyExcerpt bytes. It returns false if the body is no
// longer than that, or if no line begins in these bytes: a part of a line may have a part of a
// secret, which would not be redacted.
func bodyTail(body []byte) (excerpt string, ok bool) {
	if len(body) <= maxBodyExcerpt {
		return "", false
	}
	_, tail, ok := bytes.Cut(body[len(body)-maxBodyExcerpt:], []byte("\n"))
	tail = bytes.TrimLeft(tail, "\r\n")
	excerpt = fmt.Sprintf("\n\n(%d bytes before)\n%s", len(body)-len(tail), boundedText(tail, maxBodyExcerpt))
	return excerpt, ok && len(tail) > 0
}

// bodyExcerpt returns a blank line followed by the first maxBodyExcerpt bytes of the body as text,
// with a note if bytes were left out. It returns "" if the body is empty.
func bodyExcerpt(body []byte) string {
	if len(body) == 0 {
		return ""
	}
	return "\n\n" + boundedText(body, maxBodyExcerpt)
}
