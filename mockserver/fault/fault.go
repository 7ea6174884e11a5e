// Package fault holds what a mock server does wrong when it is told to: each fault
// is a small named value in a file of its own, and All lists them. A fault works on
// one stream, through the functions of its [Effect]. The package does not know what
// scripts are, who asks, or which dialect it spoils.
package fault

import (
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// A Category is where a fault does its harm.
type Category string

// The families.
const (
	CategoryResponse Category = "reply"    // instead of the stream, or before it: status, headers
	CategoryProtocol Category = "protocol" // what the events of a run say, whoever listens
	CategoryResume   Category = "resume"   // where a stream is taken up again
	CategoryWire     Category = "wire"     // how the bytes of a stream travel and end
)

// A Fault is one way of being wrong.
type Fault struct {
	Name          string // "cut": what scripts, headers and `streamassay list faults` call it
	Doc           string // what it does, in a sentence
	Category      Category
	RequiredKinds []spec.Kind // what the dialect must have a word for, or carry, for it to be possible
	// Checks are the ids of the checks that see it: one of those that a dialect demands
	// at least. None: a client feels it, and no check is about it.
	Checks    []string
	Params    []Param  // what can be set, besides where
	Triggers  []string // the places it takes, of "event", "byte", "time"; none: it has no place
	NewEffect func(a Args) Effect
}

// A Param is something that can be set.
type Param struct {
	Name, Doc string
	Type      string // "int", "duration", "text"
	Default   string
	Min, Max  string // bounds of an int or duration, "" is none; what is outside is refused, never bent
	Enum      []string
	Validate  func(text string) error // of a text: what else must hold
}

// A Trigger is where in a stream a fault strikes. At most one is set.
type Trigger struct {
	Event int           // before the event of this number, from 0; -1: not set
	Byte  int64         // after so many bytes of the body; -1: not set
	Time  time.Duration // so long after the stream began; -1: not set
}

// Args are what one use of a fault was told.
type Args struct {
	Trigger   Trigger
	Ints      map[string]int
	Durations map[string]time.Duration
	Strings   map[string]string
	Rand      *rand.Rand // all chance comes from here
	Thread    string     // of the run
	Run       string
}

// An Effect is a fault at work. Nil functions change nothing.
type Effect struct {
	// Refuse, if Status is not 0, is said instead of serving the request, in the
	// dialect's own words for problems.
	Refusal Refusal
	// Head changes the head of the reply just before it is sent, status included.
	OnHead func(h *ResponseHead)
	// Event takes an event of a run before it is spelled, with everything it carries,
	// and tells what is told instead: nothing, it, others. e and what is told are only
	// valid during the call. The last event of a run has Kind run.end, run.error or
	// done. End is called when the run told everything, and may tell more.
	OnEvent func(e *spec.Event, tell func(*spec.Event))
	OnEnd   func(tell func(*spec.Event))
	// Frame is likewise for the event's bytes, after spelling: without its cursor, with
	// the blank line at its end.
	OnFrame func(frame []byte, tell func([]byte))
	// Resume is asked where a stream is taken up again: at is the place that the client
	// names (events of the conversation are numbered from 1), last the last there is.
	// ok false: the cursor is refused as if it were unknown.
	OnResume func(at, last int64) (from int64, ok bool)
	// Body wraps the writer of the stream's bytes; it is called once, after the head was
	// sent.
	WrapBody func(w StreamWriter) FrameWriter
}

// A Refusal is a reply that is no stream.
type Refusal struct {
	Status        int
	Code, Message string // "" is what the document has for the status
	RetryAfter    time.Duration

	// Media, if set, says that Body is sent as it is, with this content type: what
	// answers is not the server, but something before it.
	ContentType string
	Body        string
}

// A ResponseHead is what is sent before the body.
type ResponseHead struct {
	Status int
	Header http.Header
	// Wait is how long nothing is sent at all.
	Delay time.Duration
}

// A StreamWriter is what a body is written to.
type StreamWriter interface {
	io.Writer // bytes on their way; they may be gathered
	// Flush sends what was gathered, as a segment of its own.
	Flush() error
	// Sleep waits. It is an error if the client left, or the server is being shut.
	Sleep(d time.Duration) error
	// Finish ends the stream this way, after what was written was flushed. It returns
	// the error to be handed back.
	Finish(e StreamEnd) error
	// After calls f after d, unless the stream ended before. f may only call Finish:
	// it ends the stream even while nothing is written.
	After(d time.Duration, f func())
}

// A FrameWriter takes the bytes of a stream.
type FrameWriter interface {
	// Frame takes one frame of the stream whole, or a comment, with the blank line at
	// its end; n counts frames from 0, and is -1 for comments.
	WriteFrame(n int, frame []byte) error
	// Close is called when the stream is whole, and not if it was ended before.
	Close() error
}

// An StreamEnd is how a stream ends, as its client sees it.
type StreamEnd string

// The five endings.
const (
	Clean StreamEnd = "clean" // the body ends as a whole one does
	Abort StreamEnd = "abort" // the connection is closed before the body is whole
	Reset StreamEnd = "reset" // the connection is reset (RST; RST_STREAM)
	Torn  StreamEnd = "torn"  // an abort in the middle of a line
	Stall StreamEnd = "stall" // nothing comes any more, and the connection stays open
)
