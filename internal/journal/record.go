package journal

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec"
)

// A Record is a snapshot of one exchange. Secrets are redacted. Durations are in milliseconds.
type Record struct {
	ID        uint64          `json:"id"`
	Test      string          `json:"test"`      // id of the test; "": the request names no test
	Seed      uint64          `json:"seed"`      // seed from which the mock derived its random choices for the request
	Dialect   string          `json:"dialect"`   // name, such as "runs@2026-04"; "": the request belongs to no dialect
	Op        string          `json:"op"`        // kind of the operation, such as "run"; "": no operation matches
	Operation string          `json:"operation"` // name of the operation in the document, such as "POST /runs"
	Time      time.Time       `json:"time"`      // time of the request, by the mock's clock
	Request   RecordedRequest `json:"request"`
	Thread    string          `json:"thread,omitempty"`
	Run       string          `json:"run,omitempty"`
	Cursor    string          `json:"cursor,omitempty"` // cursor from which the client wanted to resume the stream
	Rule      string          `json:"rule"`             // name of the rule or recording that matched; "": none
	Misses    []RuleMismatch  `json:"misses"`           // why other rules did not match; at most 64
	Missed    int             `json:"missed"`           // number of rules that did not match
	Status    int             `json:"status"`           // 0: the head was not sent yet
	Header    []HeaderField   `json:"header"`
	WaitedMS  float64         `json:"waited_ms"`      // time from the request to the head
	Bytes     int64           `json:"bytes"`          // size of the body as sent
	Events    []SentPiece     `json:"events"`         // frames of a stream, or writes of another body
	Dropped   int             `json:"events_dropped"` // number of writes that were not kept
	Faults    []FaultRecord   `json:"faults"`
	Ended     *EndRecord      `json:"ended"` // nil: the exchange is in progress
	Findings  []Finding       `json:"findings"`
}

// A RecordedRequest is the request of a Record.
type RecordedRequest struct {
	Method string        `json:"method"`
	Target string        `json:"target"` // path and query
	Header []HeaderField `json:"header"`
	Body   BodyBytes     `json:"body"`
	Bytes  int           `json:"bytes"` // size of the complete body; Body may contain only its beginning
}

// A HeaderField is one field of a recorded header. A header with a repeated name has one
// HeaderField for each value.
type HeaderField struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// A SentPiece is a frame or comment of an event stream. If a frame was sent in several writes,
// there is a SentPiece for each of these writes, with the part that the write sent. If the response
// is not an event stream, a SentPiece is one write.
type SentPiece struct {
	N     int       `json:"n"`     // number of the frame or write, from 0; -1: a comment
	AtMS  float64   `json:"at_ms"` // time since the head was sent
	Bytes int       `json:"bytes"` // number of bytes sent; Raw may contain fewer
	Raw   BodyBytes `json:"raw"`   // nil: the bytes were not kept
}

// A FaultRecord is a fault that changed the response, with the position of the change.
type FaultRecord struct {
	Name string `json:"name"` // fault with its parameters, such as "abort; event=3"
	// N is the number of frames of which at least one byte was sent before the change. If the body
	// is not an event stream, it is the number of writes before the change.
	N    int     `json:"n"`
	Byte int64   `json:"byte"`  // number of bytes of the body that were sent before the change
	AtMS float64 `json:"at_ms"` // time since the head was sent or, before that, since the request was received
}

// An EndRecord states why and when an exchange ended. AtMS is the time since the head of the
// response was sent or, if none was sent, since the request was received.
type EndRecord struct {
	How  EndReason `json:"how"`   // why the exchange ended
	AtMS float64   `json:"at_ms"` // when it ended, in milliseconds
}

// BodyBytes is a part of a body. In JSON it is a string or, if it is not valid UTF-8, an object
// {"base64": …}; nil is encoded as null.
type BodyBytes []byte

// MarshalJSON implements json.Marshaler. It encodes r as a string, or as an object {"base64": …} if
// r is not valid UTF-8, or as null if r is nil.
func (r BodyBytes) MarshalJSON() ([]byte, error) {
	switch {
	case r == nil:
		return []byte("null"), nil
	case utf8.Valid(r):
		return encodeJSON(string(r))
	}
	return encodeJSON(map[string][]byte{"base64": r})
}

// encodeJSON returns the JSON encoding of v, without escaping <, > and &. It returns an error if v
// cannot be encoded.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// milliseconds returns d as a number of milliseconds, rounded down to whole microseconds.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// toRecord returns a record of the exchange s without its findings. The caller must hold the lock
// of s.
func (s *recordedExchange) toRecord() Record {
	r := Record{
		ID: s.id, Test: s.test, Seed: s.seed, Dialect: s.dialect, Op: s.op, Operation: s.operation, Time: s.mockTime,
		Request: RecordedRequest{
			Method: s.method, Target: s.target, Header: toFields(s.requestHeader),
			Body: append(BodyBytes{}, s.body...), Bytes: s.bodySize,
		},
		Thread: s.thread, Run: s.run, Cursor: s.cursor,
		Rule: s.rule, Misses: append([]RuleMismatch{}, s.misses...), Missed: s.missCount,
		Status: s.status, Header: toFields(s.header), Bytes: s.sentSize, Dropped: s.droppedPieces,
		Faults: []FaultRecord{}, Findings: []Finding{},
	}
	if !s.headTime.IsZero() {
		r.WaitedMS = milliseconds(s.headTime.Sub(s.startTime))
	}
	slices.SortStableFunc(r.Header, func(a, b HeaderField) int { return strings.Compare(a.Name, b.Name) })
	frames := s.splitEvents(&r)
	for _, f := range s.faults {
		n := f.piece
		if n < len(frames) {
			n = frames[n]
		} else if len(frames) > 0 {
			n = frames[len(frames)-1]
		}
		r.Faults = append(r.Faults, FaultRecord{f.name, n, f.byte, milliseconds(f.at)})
	}
	if s.endReason != InProgress {
		r.Ended = &EndRecord{s.endReason, milliseconds(s.endedAfter)}
	}
	return r
}

// splitEvents sets r.Events to the frames and comments of the response body. If the body is not an
// event stream, it sets r.Events to the writes instead. The element begun[i] is the number of
// frames (or writes) that had begun before write i. An additional last element is their total
// number.
func (s *recordedExchange) splitEvents(r *Record) (begun []int) {
	buf := bytes.Clone(s.sentBytes)
	s.redactor.Mask(buf)
	r.Events = make([]SentPiece, 0, len(s.pieces))
	stream := spec.Header(s.header).MediaType() == spec.EventStream
	var frames []pendingFrame
	if stream {
		frames = splitFrames(buf)
	}
	last := -1 // number of the last frame that has begun
	for i, p := range s.pieces {
		kept := buf[:min(p.size, len(buf))]
		buf = buf[len(kept):]
		rest := p.size - len(kept) // bytes that were not kept
		if !stream {
			begun = append(begun, i)
			r.Events = append(r.Events, newSentPiece(i, p.at, p.size, kept))
			continue
		}
		begun = append(begun, last+1)
		for len(kept) > 0 {
			f := &frames[0]
			last = max(last, f.number)
			size := min(len(kept), f.size)
			r.Events = append(r.Events, newSentPiece(f.number, p.at, size, kept[:size]))
			kept = kept[size:]
			if f.size -= size; f.size == 0 {
				frames = frames[1:]
			}
		}
		if rest > 0 {
			r.Events = append(r.Events, newSentPiece(last, p.at, rest, nil))
		}
	}
	if stream {
		return append(begun, last+1)
	}
	return append(begun, len(s.pieces))
}

// newSentPiece returns a SentPiece with the given fields. If raw is empty, its field Raw is nil.
func newSentPiece(n int, at time.Duration, size int, raw []byte) SentPiece {
	e := SentPiece{N: n, AtMS: milliseconds(at), Bytes: size}
	if len(raw) > 0 {
		e.Raw = raw
	}
	return e
}

// A pendingFrame describes a frame or comment of an event stream. Its number is -1 for a
// comment. Its size is the number of bytes that splitEvents has not yet assigned to a write.
type pendingFrame struct{ number, size int }

// splitFrames returns the frames and comments in body, the body of an event stream. The last one
// may be incomplete.
func splitFrames(body []byte) (all []pendingFrame) {
	last := -1
	add := func(frame []byte) {
		number := -1
		if frame[0] != ':' {
			last++
			number = last
		}
		all = append(all, pendingFrame{number, len(frame)})
	}
	var splitter sse.FrameSplitter
	for frame := range splitter.Split(body) {
		add(frame)
	}
	if rest := splitter.Rest(); len(rest) > 0 {
		add(rest)
	}
	return all
}

// toFields converts h to HeaderFields, the type that records use.
func toFields(h spec.Header) []HeaderField {
	all := make([]HeaderField, len(h))
	for i, f := range h {
		all[i] = HeaderField(f)
	}
	return all
}
