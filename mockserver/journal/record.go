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
	ID        uint64    `json:"id"`
	Test      string    `json:"test"`
	Seed      uint64    `json:"seed"`
	Dialect   string    `json:"dialect"`
	Op        string    `json:"op"`        // what the server does for it: "run"; "": nothing is there
	Operation string    `json:"operation"` // the document's name: "POST /runs"
	Time      time.Time `json:"time"`      // by the clock of the mock
	Request   Asked     `json:"request"`
	Thread    string    `json:"thread,omitempty"`
	Run       string    `json:"run,omitempty"`
	Cursor    string    `json:"cursor,omitempty"` // where a stream was to be taken up again
	Rule      string    `json:"rule"`             // the rule of the script that was taken; "": none
	Misses    []Miss    `json:"misses"`           // why those before it were not
	Missed    int       `json:"missed"`           // how many there were: the list is bounded
	Status    int       `json:"status"`           // 0: nothing was answered yet
	Header    []Field   `json:"header"`
	WaitedMS  float64   `json:"waited_ms"`      // from the request to the head
	Bytes     int64     `json:"bytes"`          // of the body, as they were sent
	Events    []Sent    `json:"events"`         // what was sent, frame by frame; or the body, piece by piece
	Dropped   int       `json:"events_dropped"` // pieces that were counted and not kept
	Faults    []Struck  `json:"faults"`
	Ended     *Ended    `json:"ended"` // null: it goes on
	Findings  []Finding `json:"findings"`
}

// Asked is the request of a record.
type Asked struct {
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

// Sent is one frame, or the part of it that went out at once.
type Sent struct {
	N     int     `json:"n"` // which frame, from 0; -1: a comment
	AtMS  float64 `json:"at_ms"`
	Bytes int     `json:"bytes"`
	Raw   Raw     `json:"raw"` // null: it is not kept
}

// Struck is one fault that did its harm.
type Struck struct {
	Name string  `json:"name"`
	N    int     `json:"n"`    // how many frames had been sent, or begun
	Byte int64   `json:"byte"` // likewise, bytes of the body
	AtMS float64 `json:"at_ms"`
}

// Ended is how an exchange ended.
type Ended struct {
	How  End     `json:"how"`
	AtMS float64 `json:"at_ms"`
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
		return encode(string(r))
	}
	return encode(map[string][]byte{"base64": r})
}

// encode is JSON that people can read: <, > and & stand for themselves.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// record is what is shown of a slot, but for the findings. The slot is locked.
func (s *slot) record() Record {
	r := Record{
		ID: s.n, Test: s.test, Seed: s.seed, Dialect: s.dialect, Op: s.does, Operation: s.op, Time: s.at,
		Request: Asked{Method: s.method, Target: s.target, Header: fields(s.asked), Body: append(Raw{}, s.body...), Bytes: s.bodySize},
		Thread:  s.thread, Run: s.run, Cursor: s.cursor,
		Rule: s.rule, Misses: append([]Miss{}, s.misses...), Missed: s.missed,
		Status: s.status, Header: fields(s.head), Bytes: s.sent, Dropped: s.uncounted,
		Faults: []Struck{}, Findings: []Finding{},
	}
	if !s.headed.IsZero() {
		r.WaitedMS = ms(s.headed.Sub(s.began))
	}
	slices.SortStableFunc(r.Header, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	frames := s.events(&r)
	for _, f := range s.faults {
		n := f.piece
		if n < len(frames) {
			n = frames[n]
		} else if len(frames) > 0 {
			n = frames[len(frames)-1]
		}
		r.Faults = append(r.Faults, Struck{f.name, n, f.byte, ms(f.at)})
	}
	if s.how != Open {
		r.Ended = &Ended{s.how, ms(s.ended)}
	}
	return r
}

// events cuts what was sent into frames. It returns for each piece how many frames had
// been begun before it, and one more for the end.
func (s *slot) events(r *Record) (begun []int) {
	buf := bytes.Clone(s.buf)
	s.redactor.Mask(buf)
	r.Events = make([]Sent, 0, len(s.pieces))
	stream := spec.Header(s.head).MediaType() == spec.EventStream
	cut := cutter{n: -1, fresh: true}
	for i, p := range s.pieces {
		kept := buf[:min(p.size, len(buf))]
		buf = buf[len(kept):]
		rest := p.size - len(kept) // is not kept
		if !stream {
			begun = append(begun, i)
			r.Events = append(r.Events, sent(i, p.at, p.size, kept))
			continue
		}
		begun = append(begun, cut.begun())
		for len(kept) > 0 {
			n, size := cut.next(kept)
			r.Events = append(r.Events, sent(n, p.at, size, kept[:size]))
			kept = kept[size:]
		}
		if rest > 0 {
			r.Events = append(r.Events, sent(cut.n, p.at, rest, nil))
		}
	}
	if stream {
		return append(begun, cut.begun())
	}
	return append(begun, len(s.pieces))
}

func sent(n int, at time.Duration, size int, raw []byte) Sent {
	e := Sent{N: n, AtMS: ms(at), Bytes: size}
	if len(raw) > 0 {
		e.Raw = raw
	}
	return e
}

// A cutter finds where the frames of a stream end, whatever ends its lines.
type cutter struct {
	n     int  // the frame that was begun last
	fresh bool // a frame, or a comment, begins
	told  bool // what goes on is a comment
	line  bool // the line has something in it
	cr    bool // the last byte was CR
}

// begun is how many frames were begun.
func (c *cutter) begun() int { return c.n + 1 }

// next is the frame that data goes on with, and how much of data is in it.
func (c *cutter) next(data []byte) (n, size int) {
	i := 0
	if c.fresh && c.cr && data[0] == '\n' { // of the CRLF that ended the frame before
		c.cr = false
		return c.which(), 1
	}
	if c.fresh {
		c.fresh, c.line, c.cr = false, false, false
		if c.told = data[0] == ':'; !c.told {
			c.n++
		}
	}
	for ; i < len(data); i++ {
		b := data[i]
		switch {
		case b == '\n' && c.cr: // one end of line of two bytes
			c.cr = false
			continue
		case b != '\n' && b != '\r':
			c.line, c.cr = true, false
			continue
		}
		c.cr = b == '\r'
		if c.line {
			c.line = false
			continue
		}
		i++
		if c.cr && i < len(data) && data[i] == '\n' {
			c.cr = false
			i++
		}
		c.fresh = true
		break
	}
	return c.which(), i
}

func (c *cutter) which() int {
	if c.told {
		return -1
	}
	return c.n
}

func fields(h spec.Header) []Field {
	all := make([]Field, len(h))
	for i, f := range h {
		all[i] = Field(f)
	}
	return all
}
