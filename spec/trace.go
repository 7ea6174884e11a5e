package spec

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
)

// A Trace is one conversation as bytes on the wire: its exchanges, in the order in which their
// requests were sent. A Trace is recorded from a live run or read from a transcript file.
type Trace struct {
	Exchanges []Exchange
	TargetFacts
}

// TargetFacts holds what is known about a target besides its responses.
type TargetFacts struct {
	// Scripted is true if the target is known to understand the test prompts (docs/prompts.md). The
	// content of its answers can then be judged.
	Scripted bool

	// StreamLimit is the number of concurrent streams that the target allows one user, or 0 if it
	// is unknown.
	StreamLimit int

	// NoReplay is true if a stream that is requested without a cursor has only the events that the
	// run sends after the request. A stream that lacks the start of its run is then not judged.
	NoReplay bool

	// LackedCapabilities contains the names of the capabilities that the target lacks. If one is the
	// name of a test prompt, such as "empty", the content of the replies to it is not judged.
	LackedCapabilities []string
}

// All returns an iterator over the exchanges of the trace, in the order of t.Exchanges.
func (t Trace) All() iter.Seq[Exchange] { return slices.Values(t.Exchanges) }

// An Exchange is one request and its response.
type Exchange struct {
	Request  Request
	Response Response
	At       time.Duration // when the request was sent, measured from the start of the conversation
}

// A Request is an HTTP request as the client sent it. Target is the path and query of the request,
// relative to the base URL of the server, like the paths in the dialect's document. Method is "" if
// the request was not recorded; Body may be known even then.
type Request struct {
	Method, Target string
	Header         Header
	Body           []byte

	Principal Principal
}

// A Principal identifies which of several users or clients sends a request. Recordings contain the
// principal instead of the credentials.
type Principal string

// The principals: the users and clients that may send a request.
const (
	PrimaryUser Principal = ""         // the user whose conversation it is
	OtherUser   Principal = "other"    // another user with valid credentials
	Anonymous   Principal = "nobody"   // a client without credentials
	UnknownUser Principal = "stranger" // a client with credentials that the server never issued

	// These clients have credentials that the server never issued. The credentials resemble those
	// of PrimaryUser.
	LongerCredentials  Principal = "longer"  // characters are appended
	ShorterCredentials Principal = "shorter" // the last character is missing
)

// A Response is the response to a request. If no status line was received, Status is 0 and End is
// the reason.
type Response struct {
	Proto    string // "HTTP/1.1", "HTTP/2.0"; "" if unknown
	Status   int
	Reason   string // the reason phrase, HTTP/1 only
	Header   Header
	Body     []byte // transfer coding removed, content coding kept
	Framing  BodyFraming
	Arrivals []Arrival // when the parts of the body arrived; nil if unknown
	End      error     // nil if the body is complete, else the reason, such as ErrTruncated
	Trailer  Header
}

// A BodyFraming is the way in which a server marks the end of a body (RFC 9112 section 6.3).
type BodyFraming string

// The framings of bodies. With FramingClose a truncated body looks like a complete one.
const (
	FramingUnknown BodyFraming = ""
	FramingNone    BodyFraming = "none"    // no body is allowed (204, 304, HEAD)
	FramingLength  BodyFraming = "length"  // Content-Length
	FramingChunked BodyFraming = "chunked" // Transfer-Encoding: chunked
	FramingClose   BodyFraming = "close"   // until the connection closes
	FramingHTTP2   BodyFraming = "h2"      // END_STREAM
)

// An Arrival records when a part of a body arrived. The client had received the first End bytes of
// the body when the time At had passed since it sent the request.
type Arrival struct {
	End int
	At  time.Duration
}

// MaxOpenAfterEnd is the longest time that a body may stay open after the terminal event of its
// run.
const MaxOpenAfterEnd = 5 * time.Second

// Errors in [Response].End: the reasons why a response is not complete. End may wrap one of them.
var (
	// ErrClientLeft means that the client stopped reading the body before its end. It does not
	// count against the server.
	ErrClientLeft = errors.New("the client left")
	// ErrLeftAfterEnd means that the client stopped reading after the terminal event of the run,
	// but sooner than [MaxOpenAfterEnd] after it. The body was still open. It wraps ErrClientLeft.
	ErrLeftAfterEnd = fmt.Errorf("%w after the end of the run", ErrClientLeft)
	// ErrStillOpen means that the client stopped reading because the body had not ended within
	// [MaxOpenAfterEnd] after the terminal event of the run.
	ErrStillOpen = errors.New("the body did not end with the run")
	// ErrTruncated means that the connection was closed before the body was complete according
	// to its framing.
	ErrTruncated = errors.New("the connection was closed before the end of the body")
	// ErrReset means that the peer reset the connection or the HTTP/2 stream.
	ErrReset = errors.New("the connection was reset")
	// ErrIdleTimeout means that the server sent nothing for longer than the idle timeout.
	ErrIdleTimeout = errors.New("the idle timeout expired")
	// ErrLimitExceeded means that the response exceeded a limit of the client, in bytes, events
	// or time.
	ErrLimitExceeded = errors.New("the response exceeded a limit")
	// ErrInvalidCoding means that the body is not in the content coding that its Content-Encoding
	// field names.
	ErrInvalidCoding = errors.New("the body is not in its content coding")
	// ErrNotHTTP means that the bytes of the response are not HTTP.
	ErrNotHTTP = errors.New("the answer is not HTTP")
)

// ErrRequestNotRecorded means that a recording contains a response but not its request.
var ErrRequestNotRecorded = errors.New("the request was not recorded")

// ErrUnrecognized means that no request of the dialect was recorded and that no response contains a
// frame of the dialect, so that the conversations are probably not in this dialect.
var ErrUnrecognized = errors.New("no frame of the dialect was recognized")

// A Header is a list of header fields, in their order and spelling on the wire.
type Header []HeaderField

// A HeaderField is the name and the value of one header field.
type HeaderField struct{ Name, Value string }

// Get returns the first value of the field with the given name, or "" if there is no such field.
// Names are compared without regard to case.
func (h Header) Get(name string) string {
	for _, f := range h {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// Has reports whether h has a field with the given name, even one with an empty value. Names are
// compared without regard to case.
func (h Header) Has(name string) bool {
	return slices.ContainsFunc(h, func(f HeaderField) bool { return strings.EqualFold(f.Name, name) })
}

// With returns a copy of h in which the field with the given name occurs once, at the end, with the
// given value. Names are compared without regard to case.
func (h Header) With(name, value string) Header {
	return append(h.Without(name), HeaderField{name, value})
}

// Without returns a copy of h from which all fields with the given name are removed. Names are
// compared without regard to case.
func (h Header) Without(name string) Header {
	out := make(Header, 0, len(h)+1)
	for _, f := range h {
		if !strings.EqualFold(f.Name, name) {
			out = append(out, f)
		}
	}
	return out
}

// MediaType returns the media type in the Content-Type field, in lower case and without parameters,
// or "" if there is no such field.
func (h Header) MediaType() string {
	media, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(media))
}

// ContentCoding returns the value of the Content-Encoding field in lower case. It returns "" if the
// field is absent or has the value "identity", which means that the body is not encoded.
func (h Header) ContentCoding() string {
	coding := strings.ToLower(strings.TrimSpace(h.Get("Content-Encoding")))
	if coding == "identity" {
		return ""
	}
	return coding
}

// DescribeOverrun returns a verb phrase, such as "had not ended after 30s", that states which limit
// of the client a response exceeded. The argument end is the error with which the response ended.
// If it does not wrap ErrIdleTimeout, ErrLimitExceeded or ErrStillOpen, DescribeOverrun returns "".
func DescribeOverrun(end error) string {
	if errors.Is(end, ErrStillOpen) {
		return fmt.Sprintf("was still open %v after the end of its run", MaxOpenAfterEnd)
	}
	for _, limit := range []error{ErrIdleTimeout, ErrLimitExceeded} {
		if errors.Is(end, limit) {
			_, what, known := strings.Cut(end.Error(), limit.Error()+": ")
			if known && (strings.HasPrefix(what, "had ") || strings.HasPrefix(what, "sent ")) {
				return what
			}
			return strings.TrimSuffix("exceeded a limit of the client: "+what, ": ")
		}
	}
	return ""
}

// DescribeNoResponse returns the reason why an exchange has no response, such as "no response after
// 30s" or "no response: the server sent nothing for 15s". The argument end is the error with which
// the exchange ended. If end is nil, the reason is unknown, and the result is "no response".
func DescribeNoResponse(end error) string {
	overrun := DescribeOverrun(end)
	after, isTime := strings.CutPrefix(overrun, "had not ended")
	switch {
	case end == nil:
		return "no response"
	case errors.Is(end, ErrTruncated):
		return "no response: the connection was closed"
	case isTime:
		return "no response" + after
	case overrun != "":
		return "no response: the server " + overrun
	}
	return "no response: " + end.Error()
}
