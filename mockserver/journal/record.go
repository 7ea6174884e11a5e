package journal

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/streamassay/streamassay/spec"
)

// A Record is one exchange as it was when it was looked at. Times in it are
// milliseconds; secrets are hidden.
type Record struct {
	ID        uint64          `json:"id"`
	Test      string          `json:"test"`
	Seed      uint64          `json:"seed"`
	Dialect   string          `json:"dialect"`
	Op        string          `json:"op"`        // what the server does for it: "run"; "": nothing is there
	Operation string          `json:"operation"` // the document's name: "POST /runs"
	Time      time.Time       `json:"time"`      // by the clock of the mock
	Request   RecordedRequest `json:"request"`
	Thread    string          `json:"thread,omitempty"`
	Run       string          `json:"run,omitempty"`
	Cursor    string          `json:"cursor,omitempty"` // where a stream was to be taken up again
	Rule      string          `json:"rule"`             // the rule of the script that was taken; "": none
	Misses    []Miss          `json:"misses"`           // why those before it were not
	Missed    int             `json:"missed"`           // how many there were: the list is bounded
	Status    int             `json:"status"`           // 0: nothing was answered yet
	Header    []Field         `json:"header"`
	WaitedMS  float64         `json:"waited_ms"`      // from the request to the head
	Bytes     int64           `json:"bytes"`          // of the body, as they were sent
	Events    []SentPiece     `json:"events"`         // what was sent, frame by frame; or the body, piece by piece
	Dropped   int             `json:"events_dropped"` // pieces that were counted and not kept
	Faults    []AppliedFault  `json:"faults"`
	Ended     *EndRecord      `json:"ended"` // null: it goes on
	Findings  []Finding       `json:"findings"`
}

// RecordedRequest is the request of a record.
type RecordedRequest struct {
	Method string  `json:"method"`
	Target string  `json:"target"`
	Header []Field `json:"header"`
	Body   Raw     `json:"body"`
	Bytes  int     `json:"bytes"` // of the whole body
}

// A Field is a field of a header.
type Field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// SentPiece is one frame, or the part of it that went out at once.
type SentPiece struct {
	N     int     `json:"n"` // which frame, from 0; -1: a comment
	AtMS  float64 `json:"at_ms"`
	Bytes int     `json:"bytes"`
	Raw   Raw     `json:"raw"` // null: it is not kept
}

// AppliedFault is one fault that did its harm.
type AppliedFault struct {
	Name string  `json:"name"`
	N    int     `json:"n"`    // how many frames had been sent, or begun
	Byte int64   `json:"byte"` // likewise, bytes of the body
	AtMS float64 `json:"at_ms"`
}

// EndRecord is how an exchange ended.
type EndRecord struct {
	How  EndReason `json:"how"`
	AtMS float64   `json:"at_ms"`
}

// A Raw is bytes: in JSON a string, or, where that cannot show them, an object
// {"base64": …}.
type Raw []byte

// MarshalJSON spells the bytes.
func (r Raw) MarshalJSON() ([]byte, error) {
	switch {
	case r == nil:
		return []byte("null"), nil
	case utf8.Valid(r):
		return encodeJSON(string(r))
	}
	return encodeJSON(map[string][]byte{"base64": r})
}

// encodeJSON is JSON that people can read: <, > and & stand for themselves.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// toRecord is what is shown of a slot, but for the findings. The slot is locked.
func (s *entryBuffer) toRecord() Record {
	r := Record{
		ID: s.id, Test: s.test, Seed: s.seed, Dialect: s.dialect, Op: s.op, Operation: s.operation, Time: s.mockTime,
		Request: RecordedRequest{Method: s.method, Target: s.target, Header: toFields(s.requestHeader), Body: append(Raw{}, s.body...), Bytes: s.bodySize},
		Thread:  s.thread, Run: s.run, Cursor: s.cursor,
		Rule: s.rule, Misses: append([]Miss{}, s.misses...), Missed: s.missCount,
		Status: s.status, Header: toFields(s.header), Bytes: s.sentSize, Dropped: s.droppedPieces,
		Faults: []AppliedFault{}, Findings: []Finding{},
	}
	if !s.headTime.IsZero() {
		r.WaitedMS = milliseconds(s.headTime.Sub(s.startTime))
	}
	slices.SortStableFunc(r.Header, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	frames := s.splitEvents(&r)
	for _, f := range s.faults {
		n := f.piece
		if n < len(frames) {
			n = frames[n]
		} else if len(frames) > 0 {
			n = frames[len(frames)-1]
		}
		r.Faults = append(r.Faults, AppliedFault{f.name, n, f.byte, milliseconds(f.at)})
	}
	if s.endReason != InProgress {
		r.Ended = &EndRecord{s.endReason, milliseconds(s.endedAfter)}
	}
	return r
}

// splitEvents cuts what was sent into frames. It returns for each piece how many frames had
// been begun before it, and one more for the end.
func (s *entryBuffer) splitEvents(r *Record) (begun []int) {
	buf := bytes.Clone(s.sentBytes)
	s.redactor.Mask(buf)
	r.Events = make([]SentPiece, 0, len(s.pieces))
	stream := spec.Header(s.header).MediaType() == spec.EventStream
	cut := frameSplitter{frame: -1, atStart: true}
	for i, p := range s.pieces {
		kept := buf[:min(p.size, len(buf))]
		buf = buf[len(kept):]
		rest := p.size - len(kept) // is not kept
		if !stream {
			begun = append(begun, i)
			r.Events = append(r.Events, newSentPiece(i, p.at, p.size, kept))
			continue
		}
		begun = append(begun, cut.count())
		for len(kept) > 0 {
			n, size := cut.next(kept)
			r.Events = append(r.Events, newSentPiece(n, p.at, size, kept[:size]))
			kept = kept[size:]
		}
		if rest > 0 {
			r.Events = append(r.Events, newSentPiece(cut.frame, p.at, rest, nil))
		}
	}
	if stream {
		return append(begun, cut.count())
	}
	return append(begun, len(s.pieces))
}

func newSentPiece(n int, at time.Duration, size int, raw []byte) SentPiece {
	e := SentPiece{N: n, AtMS: milliseconds(at), Bytes: size}
	if len(raw) > 0 {
		e.Raw = raw
	}
	return e
}

// A frameSplitter finds where the frames of a stream end, whatever ends its lines.
type frameSplitter struct {
	frame        int  // the frame that was begun last
	atStart      bool // a frame, or a comment, begins
	isComment    bool // what goes on is a comment
	lineHasBytes bool // the line has something in it
	lastWasCR    bool // the last byte was CR
}

// count is how many frames were begun.
func (c *frameSplitter) count() int { return c.frame + 1 }

// next is the frame that data goes on with, and how much of data is in it.
func (c *frameSplitter) next(data []byte) (n, size int) {
	i := 0
	if c.atStart && c.lastWasCR && data[0] == '\n' { // of the CRLF that ended the frame before
		c.lastWasCR = false
		return c.current(), 1
	}
	if c.atStart {
		c.atStart, c.lineHasBytes, c.lastWasCR = false, false, false
		if c.isComment = data[0] == ':'; !c.isComment {
			c.frame++
		}
	}
	for ; i < len(data); i++ {
		b := data[i]
		switch {
		case b == '\n' && c.lastWasCR: // one end of line of two bytes
			c.lastWasCR = false
			continue
		case b != '\n' && b != '\r':
			c.lineHasBytes, c.lastWasCR = true, false
			continue
		}
		c.lastWasCR = b == '\r'
		if c.lineHasBytes {
			c.lineHasBytes = false
			continue
		}
		i++
		if c.lastWasCR && i < len(data) && data[i] == '\n' {
			c.lastWasCR = false
			i++
		}
		c.atStart = true
		break
	}
	return c.current(), i
}

func (c *frameSplitter) current() int {
	if c.isComment {
		return -1
	}
	return c.frame
}

func toFields(h spec.Header) []Field {
	all := make([]Field, len(h))
	for i, f := range h {
		all[i] = Field(f)
	}
	return all
}
