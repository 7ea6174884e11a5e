package spec

import (
	"errors"
	"iter"
	"slices"
	"strings"
	"time"
)

// A Trace is one conversation as it went over the wire: exchanges in the order
// in which they were asked. A live run records one, a transcript file holds one,
// a proxy overhears one.
type Trace struct {
	Exchanges []Exchange

	// Scripted says that the target is known to understand the conformance
	// prompts, so that it can be held to the content of its answers.
	Scripted bool

	// Streams is how many streams at once the target is known to allow one user;
	// 0: nobody said.
	StreamLimit int
}

// All is the conversation's exchanges in order.
func (t Trace) All() iter.Seq[Exchange] { return slices.Values(t.Exchanges) }

// An Exchange is one request and what came back.
type Exchange struct {
	Request  Request
	Response Response
	At       time.Duration // when it was asked, since the conversation began
}

// A Request is what a client asked. Target is path and query as the document
// spells them: without the server's base URL.
type Request struct {
	Method, Target string
	Header         Header
	Body           []byte

	Principal Principal
}

// Principal asks. The credentials themselves are nobody's business: a recording says who
// asked instead.
type Principal string

// Everybody there is.
const (
	PrimaryUser Principal = ""         // the one who leads the conversation
	OtherUser   Principal = "other"    // somebody else whom the server knows
	Anonymous   Principal = "nobody"   // somebody without credentials
	UnknownUser Principal = "stranger" // somebody with credentials that nobody handed out
)

// A Response is what a server answered. Status 0: no status line ever came, and
// End says why.
type Response struct {
	Proto    string // "HTTP/1.1", "HTTP/2.0"; "" if nobody wrote it down
	Status   int
	Reason   string // the reason phrase, HTTP/1 only
	Header   Header
	Body     []byte // without its transfer coding; a content coding is left on
	Framing  Framing
	Arrivals []Arrival // when the body arrived; nil if nobody timed it
	End      error     // nil: the body is whole; else one of the Err values below
	Trailer  Header
}

// A Framing is how a server marked the end of a body (RFC 9112 section 6.3).
type Framing string

// The framings. FramingClose cannot tell a whole body from a cut one.
const (
	FramingUnknown Framing = ""
	FramingNone    Framing = "none"    // no body may follow (204, 304, HEAD)
	FramingLength  Framing = "length"  // Content-Length
	FramingChunked Framing = "chunked" // Transfer-Encoding: chunked
	FramingClose   Framing = "close"   // until the connection closes
	FramingHTTP2   Framing = "h2"      // END_STREAM
)

// A Arrival is one arrival: the body up to End (bytes) was there At, since the
// request was sent.
type Arrival struct {
	End int
	At  time.Duration
}

// How a body ends when it does not end well.
var (
	// ErrClientLeft: the client stopped listening. That is nobody's fault.
	ErrClientLeft = errors.New("the client left")
	// ErrTruncated: the connection ended before the body did.
	ErrTruncated = errors.New("the connection ended before the body did")
	// ErrReset: the peer reset the connection or the HTTP/2 stream.
	ErrReset = errors.New("the connection was reset")
	// ErrIdleTimeout: nothing came for longer than the client was willing to wait.
	ErrIdleTimeout = errors.New("nothing came any more")
	// ErrLimitExceeded: the body, or the time it took, went over the client's limit.
	ErrLimitExceeded = errors.New("the body went over the limit")
	// ErrNotHTTP: what came back cannot be read as HTTP.
	ErrNotHTTP = errors.New("the answer is not HTTP")
)

// ErrRequestNotRecorded: a recording has an answer, and not the request that it answers.
var ErrRequestNotRecorded = errors.New("the request was not recorded")

// ErrUnrecognized: nothing that came is a well-formed frame of the dialect.
var ErrUnrecognized = errors.New("no frame of the dialect was recognised")

// A Header is a list of fields in the order and the spelling of the wire.
type Header []Field

// A Field is one header field line.
type Field struct{ Name, Value string }

// Get is the first value of a field, "" if there is none. Names are compared
// without regard to case.
func (h Header) Get(name string) string {
	for _, f := range h {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// Has says whether the field is there, with whatever value.
func (h Header) Has(name string) bool {
	return slices.ContainsFunc(h, func(f Field) bool { return strings.EqualFold(f.Name, name) })
}

// With is a copy of h in which the field has just this value.
func (h Header) With(name, value string) Header {
	return append(h.Without(name), Field{name, value})
}

// Without is a copy of h without the field.
func (h Header) Without(name string) Header {
	out := make(Header, 0, len(h)+1)
	for _, f := range h {
		if !strings.EqualFold(f.Name, name) {
			out = append(out, f)
		}
	}
	return out
}

// MediaType is the Content-Type without its parameters, in lower case.
func (h Header) MediaType() string {
	media, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(media))
}

// DescribeOverrun is what an answer did that went over a limit of the client, in words that
// follow its name: "had not ended after 30s". It is "" for any other end.
func DescribeOverrun(end error) string {
	for _, limit := range []error{ErrIdleTimeout, ErrLimitExceeded} {
		if errors.Is(end, limit) {
			_, what, known := strings.Cut(end.Error(), limit.Error()+": ")
			if known && (strings.HasPrefix(what, "had ") || strings.HasPrefix(what, "sent ")) {
				return what
			}
			return strings.TrimSuffix("went over a limit of the client: "+what, ": ")
		}
	}
	return ""
}
