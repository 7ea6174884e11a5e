// Package fault provides the defects that a mock server can inject into its responses. Each fault
// is a named value; [All] lists them. A fault acts on one response through the functions of its
// [Effect]. The package is independent of scripts and dialects.
package fault

import (
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// A Category groups the faults that affect the same part of a response.
type Category string

// The parts of a response that a fault can affect.
const (
	CategoryResponse Category = "reply"    // the status and header, or the whole response
	CategoryProtocol Category = "protocol" // the events of a run, in all of its streams
	CategoryResume   Category = "resume"   // cursors and resumed streams
	CategoryWire     Category = "wire"     // the bytes of a stream and how the stream ends
)

// A Fault describes a defect that can be injected into responses.
type Fault struct {
	Name          string // name in scripts, headers and `streamassay list faults`, such as "abort"
	Doc           string // what the fault does: a sentence in lower case
	Category      Category
	RequiredKinds []spec.Kind // event kinds and features (such as spec.SlotSeq) that a dialect must have

	// Checks lists the ids of the checks that detect the fault. In each dialect that has any of
	// these checks, at least one of them fails if the fault changes a response. The list is empty
	// for faults that violate no requirement and only test clients.
	Checks []string

	Params    []Param             // parameters other than triggers and those that all faults have
	Triggers  []string            // names of the supported triggers: "event", "byte" or "time"; empty: none
	NewEffect func(a Args) Effect // returns the effect of the fault on one response
}

// MissingKind returns the first of f.RequiredKinds that is not in kinds, the event kinds and
// features of a dialect. If there is none, it returns "", and the fault can be injected into
// responses of the dialect.
func (f *Fault) MissingKind(kinds []spec.Kind) spec.Kind {
	for _, k := range f.RequiredKinds {
		if !slices.Contains(kinds, k) {
			return k
		}
	}
	return ""
}

// A Param is a parameter of a fault.
type Param struct {
	Name     string                  `json:"name"`
	Doc      string                  `json:"doc"`
	Type     string                  `json:"type"`              // "int", "duration" or "text"
	Default  string                  `json:"default,omitempty"` // "": 0 or an empty text, unless Doc says otherwise
	Min      string                  `json:"min,omitempty"`     // least valid int or duration; "": no bound
	Max      string                  `json:"max,omitempty"`     // greatest valid int or duration; "": no bound
	Enum     []string                `json:"one,omitempty"`     // valid values of a text; empty: any text
	Validate func(text string) error `json:"-"`                 // additional validation of a text; may be nil
}

// A Trigger is the position in a stream at which a fault takes effect. At most one of the fields is
// set. If no field is set, each fault has its own default position.
type Trigger struct {
	Event int           // before the event with this number, counted from 0; -1: not set
	Byte  int64         // after this number of bytes of the body; -1: not set
	Time  time.Duration // after this time since the head of the response; -1: not set
}

// Args holds the arguments of a fault for one response. Each parameter in [Fault.Params] has an
// entry, under its name, in the map for its type.
type Args struct {
	Trigger   Trigger
	Ints      map[string]int
	Durations map[string]time.Duration
	Strings   map[string]string
	ResponseContext
}

// ResponseContext holds what a fault needs to know about the response that it affects.
type ResponseContext struct {
	Rand        *rand.Rand // source of all random choices
	TypeMembers []string   // names of the JSON members that state the type of an event; nil: unknown
	Applied     func()     // must be called at least once if the fault changes the response; never nil
}

// An Effect describes what a fault does to one response. If Response is set, it is sent instead of
// serving the request. Otherwise the server calls the functions, which change the response. A nil
// function changes nothing.
type Effect struct {
	// Response, if its Status is not 0, is sent instead of serving the request.
	Response CannedResponse
	// OnHead changes the status and header of the response just before they are sent.
	OnHead func(h *ResponseHead)
	// OnEvent receives each event of a run before it is encoded and emits the events that replace
	// it: no event, the same event or others. Events are valid only during the call. The last event
	// of a run has the kind run.end, run.error or done.
	OnEvent func(e *spec.Event, emit func(*spec.Event))
	// OnEnd is called after the last event of a run and may emit more events.
	OnEnd func(emit func(*spec.Event))
	// OnFrame receives each encoded event, without its id line and with the blank line
	// at its end, and emits the frames that replace it.
	OnFrame func(frame []byte, emit func([]byte))
	// OnResume returns the position from which a stream is resumed. The stream then begins with
	// the event after that position. Positions count the events of the thread from 1. The
	// argument at is the position of the client's cursor, and last is the position of the last
	// event of the thread. If ok is false, the cursor is refused as unknown.
	OnResume func(at, last int64) (from int64, ok bool)
	// WrapBody returns the writer that receives the frames of the stream and writes
	// them to w. It is called once, after the head was sent.
	WrapBody func(w StreamSink) FrameWriter
}

// A CannedResponse is a response, usually an error, that is sent instead of serving the request.
type CannedResponse struct {
	Status int // status code; 0: the request is served

	// Code and Message are the code and the text of the error. If Code is "", the code is the
	// one that the dialect's document gives for the status. If Message is "", the text is that
	// of http.StatusText.
	Code, Message string

	RetryAfter time.Duration // value of the Retry-After header, rounded up to seconds; 0: none

	// ContentType, if set, makes the response consist of Body with this content type
	// instead of an error in the format of the dialect, as a proxy would send it.
	ContentType string
	Body        string
}

// A ResponseHead is the status and header of a response that has not been sent yet. Faults modify
// it in place.
type ResponseHead struct {
	Status int
	Header http.Header
	Delay  time.Duration // time to wait before the head is sent
}

// A StreamSink is the writer to which a fault writes the body of a stream.
type StreamSink interface {
	// Write writes bytes, which may be buffered.
	io.Writer
	// Flush sends the buffered bytes immediately, separately from later ones.
	Flush() error
	// Sleep waits for d. It returns an error if the client leaves or the stream ends.
	Sleep(d time.Duration) error
	// Finish flushes what was written and ends the stream in the given way. It always
	// returns an error, which the caller must return.
	Finish(e StreamEnd) error
	// After calls f after d, unless the stream has ended. f must call no method but Finish,
	// which then ends the stream even while nothing is being written.
	After(d time.Duration, f func())
}

// A FrameWriter receives the frames of a stream.
type FrameWriter interface {
	// WriteFrame writes one complete frame or comment, including the blank line at its
	// end. n is the index of the frame in the stream, starting at 0; for a comment, n is -1.
	// WriteFrame must not retain frame after it returns. After an error, the stream ends.
	WriteFrame(n int, frame []byte) error
	// Close writes the frames that WriteFrame has not written yet. It is called after the last
	// frame, unless the fault has ended the stream before.
	Close() error
}

// A StreamEnd is the way in which a stream ends, as seen by the client.
type StreamEnd string

// The ways in which a stream ends. In HTTP/1.1, Abort, Reset and Torn close the connection, whereas
// Clean and Stall do not. In HTTP/2, the connection always stays open: Abort, Reset and Torn close
// only the HTTP/2 stream of the response, with an RST_STREAM frame.
const (
	Clean StreamEnd = "clean" // the body is terminated correctly
	Abort StreamEnd = "abort" // the connection or HTTP/2 stream is closed before the body is complete
	Reset StreamEnd = "reset" // like Abort, but in HTTP/1.1, the connection is closed with a TCP RST
	Torn  StreamEnd = "torn"  // like Abort, but in the middle of a line
	Stall StreamEnd = "stall" // nothing more is sent, but the response is not ended
)
