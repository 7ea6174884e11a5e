// Package replay replays recorded conversations, records new ones, and converts recordings and
// fixtures of other tools. Requests are matched by their content as the dialect defines it.
// Responses are replayed byte for byte, except for the ids that the client chose, and with the
// recorded timing.
//
// The package neither checks conformance, so a recording of a faulty server is replayed unchanged,
// nor evaluates scripts. It does not write responses: the server that uses it writes the
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
	Error   Severity = "error"   // the file or fixture is not used
	Warning Severity = "warning" // the file is used, with a restriction
)

// A FileProblem is a defect of a file, with advice on how to correct it. Line is 0 if the file has
// no lines or the message contains the position.
type FileProblem struct {
	File     string
	Line     int
	Severity Severity
	Message  string
}

// String returns the problem as FILE:LINE: MESSAGE, or as FILE: MESSAGE if Line is 0.
func (p FileProblem) String() string {
	if p.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
	}
	return p.File + ": " + p.Message
}

// A Library holds recorded conversations to replay. It is immutable and safe for concurrent use;
// what has been replayed is recorded in a [PlaybackState].
type Library struct {
	conversations []*recording
	exchanges     int
}

// Len returns the number of recorded exchanges that can be replayed. The length of a nil library is
// 0.
func (l *Library) Len() int {
	if l == nil {
		return 0
	}
	return l.exchanges
}

// A recording holds the exchanges of one transcript that can be replayed.
type recording struct {
	index     int // position in the library, starting at 0
	file      string
	dialect   *dialect.Dialect
	exchanges []*storedExchange
}

// A storedExchange is a recorded response with the request for which it was sent.
type storedExchange struct {
	index        int // position in the transcript, starting at 0
	conversation *recording
	operation    *dialect.Operation
	method       string // "" if the request was not recorded: then every request of the operation matches
	startsRun    bool   // the exchange is the first one of its run
	request      spec.Event
	key          matchKey
	response     spec.Response
	serverIDs    serverIDs     // the ids that the server chose
	resumePoints []resumePoint // where a client can resume the stream
}

// A serverIDs holds the ids of the thread and the run that appear in a recorded response but not in
// its request, because the server chose them. Each may be "".
type serverIDs struct{ thread, run string }

// thread returns the recorded id of the thread of the exchange, or "" if there is none.
func (x *storedExchange) thread() string { return cmp.Or(x.request.Thread, x.serverIDs.thread) }

// run returns the recorded id of the run of the exchange, or "" if there is none.
func (x *storedExchange) run() string { return cmp.Or(x.request.Run, x.serverIDs.run) }

// Name returns a name of the exchange for messages, such as "FILE, exchange 2".
func (x *storedExchange) Name() string {
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

// A Response is a recorded response in which the recorded ids have been replaced by those of the
// current client.
type Response struct {
	Source string // the recorded exchange: "FILE, exchange 2"
	Status int    // 0 if End is NoResponse
	// Header has neither hop-by-hop fields nor Content-Length.
	Header    spec.Header
	Body      []byte
	HasTiming bool // the recording has the arrival times of the body's parts
	End       StreamEnd

	arrivals []spec.Arrival
}

// TimedChunks returns an iterator over the parts of the body, each with the time since the request
// at which it is due. A speed of 2 means twice as fast as recorded. If the speed is not positive or
// the response has no recorded times, all parts are due at once. The caller must not modify the
// parts.
func (a *Response) TimedChunks(speed float64) iter.Seq2[time.Duration, []byte] {
	return func(yield func(time.Duration, []byte) bool) {
		done, due := 0, time.Duration(0)
		for _, p := range a.arrivals {
			due = scaleDelay(p.At, speed)
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
