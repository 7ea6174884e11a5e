// Package replay replays recorded conversations, records new ones, and converts recordings and
// fixtures of other tools. Requests are matched by their content as the dialect defines it.
// Responses are replayed byte for byte, except for the ids that the client chose, and with the
// recorded timing.
//
// The package does not check conformance, so it replays the recording of a faulty server unchanged.
// It does not evaluate scripts. It does not write responses: the server that uses it writes the
// [Response].
package replay

import (
	"cmp"
	"fmt"
	"iter"
	"time"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A Severity is the severity of a problem: error or warning.
type Severity string

// The severities of problems.
const (
	Error   Severity = "error"   // a file or fixture is invalid or cannot be converted
	Warning Severity = "warning" // a file, or a part of it, is ignored or represented differently
)

// A FileProblem is a problem with an input file.
type FileProblem struct {
	File     string // path of the file
	Line     int    // line number, from 1; 0 if it is unknown or part of the message
	Severity Severity
	Message  string
}

// String returns the problem as FILE:LINE: MESSAGE, or as FILE: MESSAGE if the line is 0.
func (p FileProblem) String() string {
	if p.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
	}
	return p.File + ": " + p.Message
}

// A Library holds recorded conversations to replay. It is immutable and safe for concurrent use;
// what has been replayed is recorded in a [PlaybackState].
type Library struct {
	conversations []*replayableConversation
	exchanges     int // number of exchanges in all conversations
}

// Len returns the number of recorded exchanges that can be replayed. The length of a nil library is
// 0.
func (l *Library) Len() int {
	if l == nil {
		return 0
	}
	return l.exchanges
}

// A replayableConversation holds the replayable exchanges of one transcript.
type replayableConversation struct {
	index     int    // position in the library, starting at 0
	file      string // name of the transcript
	dialect   *dialect.Dialect
	exchanges []*replayableExchange
}

// A replayableExchange is a recorded response with the request to which the server sent it.
type replayableExchange struct {
	index        int // position in the transcript, starting at 0
	conversation *replayableConversation
	operation    *dialect.Operation
	method       string     // method of the request; if "", the request was not recorded and any request matches
	startsRun    bool       // no earlier request for the same operation and thread named the same run
	request      spec.Event // the parsed request
	key          matchKey   // of the request
	response     spec.Response
	serverIDs    responseIDs   // the ids in the response
	resumePoints []resumePoint // where a client can resume the stream
}

// A responseIDs holds the first thread id and the first run id in a recorded response, or "" if
// there is none. An id that the request does not contain was chosen by the server.
type responseIDs struct{ thread, run string }

// thread returns the recorded id of the thread of exchange x, taken from the request or, if it has
// none, from the response. The result is "" if neither has one.
func (x *replayableExchange) thread() string { return cmp.Or(x.request.Thread, x.serverIDs.thread) }

// run returns the recorded id of the run of exchange x, taken from the request or, if it has none,
// from the response. The result is "" if neither has one.
func (x *replayableExchange) run() string { return cmp.Or(x.request.Run, x.serverIDs.run) }

// Name returns a name of exchange x for error messages, such as "FILE, exchange 2". Exchanges are
// counted from 1.
func (x *replayableExchange) Name() string {
	return fmt.Sprintf("%s, exchange %d", x.conversation.file, x.index+1)
}

// A StreamEnd is the way in which a recorded response ended.
type StreamEnd string

// The ways in which a response ends. A response that the client left before its end counts as
// clean, since it shows no defect of the server.
const (
	Clean      StreamEnd = "clean" // the body is complete
	Truncated  StreamEnd = "cut"   // the connection was closed before the end of the body
	Reset      StreamEnd = "reset" // the connection was reset
	Stall      StreamEnd = "stall" // the server stopped sending and kept the connection open
	NoResponse StreamEnd = "mute"  // the connection ended before a status line
)

// A Response is a recorded response in which the ids of the current client replace those that the
// recorded client chose.
type Response struct {
	Source string // the recorded exchange: "FILE, exchange 2"
	Status int    // 0 if the server sent no status line
	// Header has no hop-by-hop, Content-Length, CORS or redacted fields.
	Header    spec.Header
	Body      []byte // must not be modified
	HasTiming bool   // the recording has the times at which the parts of the body arrived
	End       StreamEnd

	arrivals []spec.Arrival // when the parts of the body arrived
}

// TimedChunks returns an iterator over the parts of the body, each with the time, measured from the
// request, at which it is due. The parameter speed is relative to the recording: 2 means twice as
// fast. If speed is not positive or the response has no recorded times, all times are 0. The caller
// must not modify the parts.
func (a *Response) TimedChunks(speed float64) iter.Seq2[time.Duration, []byte] {
	return func(yield func(time.Duration, []byte) bool) {
		done, due := 0, time.Duration(0)
		for _, p := range a.arrivals {
			if speed > 0 {
				due = time.Duration(float64(p.At) / speed)
			}
			if p.End > done && !yield(due, a.Body[done:p.End:p.End]) {
				return
			}
			done = max(done, p.End)
		}
		if done < len(a.Body) {
			yield(due, a.Body[done:])
		}
	}
}
