// Package replay plays recorded conversations again, records new ones, and makes
// recordings and scripts of what other tools write down. A transcript is a script that
// is played to the byte: what was asked is heard as the dialect hears it, and what was
// answered then is answered now, at the times at which it came.
//
// It does not know what a rule of a script is, which test asks, or what is right: a
// recording of a wrong server is played as wrong as it was. It sends nothing by itself:
// whoever serves an [Answer] writes it.
package replay

import (
	"cmp"
	"fmt"
	"iter"
	"time"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A Severity says how bad a problem is.
type Severity string

// The levels.
const (
	Error   Severity = "error"   // nothing is loaded
	Warning Severity = "warning" // it is loaded, and something of it is not as it seems
)

// A Problem is what is wrong with a file, in one line that names it and what would be
// right. Line is 0 where the file has no lines, or the text names the place.
type Problem struct {
	File     string
	Line     int
	Severity Severity
	Message  string
}

func (p Problem) String() string {
	if p.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
	}
	return p.File + ": " + p.Message
}

// A Library is recorded conversations to answer from. It does not change, and it is safe
// for concurrent use: what has been played stands in a [Seen].
type Library struct {
	conversations []*conversation
	exchanges     int
}

// Len is how many exchanges can be answered from.
func (l *Library) Len() int {
	if l == nil {
		return 0
	}
	return l.exchanges
}

// A conversation is one transcript.
type conversation struct {
	index     int // which of the library
	file      string
	dialect   *dialect.Dialect
	exchanges []*exchange
}

// An exchange is a recorded request and its answer.
type exchange struct {
	index        int // which of the conversation, from 0
	conversation *conversation
	operation    *dialect.Operation
	method       string // "": nobody wrote the request down, and whatever is asked with op fits
	startsRun    bool   // it is the first that asks for its run
	request      spec.Event
	key          matchKey
	response     spec.Response
	serverIDs    serverIDs     // the ids that the answer names
	resumePoints []resumePoint // where a client can take the stream up again
}

// serverIDs are ids of an answer, where the client had chosen none.
type serverIDs struct{ thread, run string }

// thread is the id of the recorded conversation that x belongs to.
func (x *exchange) thread() string { return cmp.Or(x.request.Thread, x.serverIDs.thread) }

// run is the id of the recorded run that x is about.
func (x *exchange) run() string { return cmp.Or(x.request.Run, x.serverIDs.run) }

// Name says which recorded exchange it is: "FILE, exchange 2".
func (x *exchange) Name() string {
	return fmt.Sprintf("%s, exchange %d", x.conversation.file, x.index+1)
}

// An StreamEnd is how a recorded answer ended.
type StreamEnd string

// The endings. A client that left or had enough said nothing about the server: such an
// answer ends where the recording does, and is clean.
const (
	Clean      StreamEnd = "clean" // the body is whole
	Truncated  StreamEnd = "cut"   // the connection ended before the body did
	Reset      StreamEnd = "reset" // the connection was reset
	Stall      StreamEnd = "stall" // nothing came any more, and the connection stayed open
	NoResponse StreamEnd = "mute"  // no answer came at all: the connection ends before a status line
)

// An Response is what was recorded for a request, with the ids of whoever asks now.
type Response struct {
	Source string // which recorded exchange it is: "FILE, exchange 2"
	Status int    // 0 if End is Mute
	// Header is without what belongs to a connection, and without Content-Length.
	Header    spec.Header
	Body      []byte
	HasTiming bool // the recording knows when its pieces came
	End       StreamEnd

	arrivals []spec.Arrival
}

// TimedChunks are the parts of the body and when each is due, since the request was asked.
// times 2 is twice as fast as recorded; 0 is all at once. Parts that nobody timed are
// due at once. A part is read, never written.
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
