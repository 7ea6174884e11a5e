package vary

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"unicode/utf8"
)

// A Stream spells the frames of one stream. It is not safe for concurrent use.
type Stream struct {
	v        *Variation
	r        *rand.Rand
	begun    bool
	frames   int  // with data
	last     byte // that was given
	joins    bool
	segments [][]byte
}

// Stream begins a stream. The seed says what comes between its frames, and where
// segments are cut; what frames say and how is the same in all streams.
func (v *Variation) Stream(seed uint64) *Stream {
	return &Stream{v: v, r: v.streamChance(seed), last: '\n'}
}

// Frame spells one frame, or a comment, and says where the segments are to be cut:
// all but the last are to be sent each on its own. The bytes are appended to dst, if
// there is room; they and the list are good until the next call. What is not spelled
// as our servers do is given back as it is.
func (s *Stream) Frame(dst, frame []byte) (segments [][]byte) {
	out := dst[len(dst):]
	if !s.begun && s.v.Has(Mark) {
		out = append(out, "\ufeff"...)
	}
	s.begun = true
	all, ok := lines(frame)
	if ok {
		out = s.between(out, all)
		out = s.v.spell(out, frame, all)
		if speaks(all) || s.r.IntN(2) == 0 { // a comment needs no blank line
			out = s.blank(out)
		}
	} else {
		out = append(out, frame...)
	}
	if speaks(all) {
		s.frames++
	}
	if len(out) > 0 {
		s.last = out[len(out)-1]
	}
	s.joins = s.v.Has(Joins) && s.r.IntN(2) == 0
	return s.cut(out)
}

// Joins says that the last segment of the last frame need not be sent before the
// next frame, if that is there already.
func (s *Stream) Joins() bool { return s.joins }

// between puts before a frame what no client may see: comments, blank lines, and once
// a stream has begun, events that nobody knows.
func (s *Stream) between(dst []byte, all []line) []byte {
	v, r := s.v, s.r
	if v.Has(BlankLines) && r.IntN(4) == 0 {
		dst = s.blank(dst)
	}
	if v.Has(Comments) && r.IntN(4) == 0 {
		if dst = v.end(r, append(dst, ":"+v.comment(r)...)); r.IntN(2) == 0 {
			dst = s.blank(dst)
		}
	}
	if v.Has(Retry) && r.IntN(8) == 0 {
		dst = s.blank(v.end(r, append(dst, "retry: "+retries[r.IntN(len(retries))]...)))
	}
	if v.Has(UnknownEvents) && s.frames > 0 && r.IntN(6) == 0 {
		if event := v.strange(r, all); event != nil {
			dst = s.blank(v.spell(dst, event, []line{{"data", string(event)}}))
		}
	}
	return dst
}

// blank is an empty line.
func (s *Stream) blank(dst []byte) []byte {
	if len(dst) == 0 && s.last == '\r' { // it was given with the frame before
		return append(dst, '\r')
	}
	return s.v.end(s.r, dst)
}

// strangeTypes are types of events that no document names.
var strangeTypes = []string{"x.unknown", "UNKNOWN_EVENT", "", "constructor", "x.message"}

// strange is an event of an unknown type that may come before another; nil if that
// one lacks what they have to share.
func (v *Variation) strange(r *rand.Rand, all []line) []byte {
	i := slices.IndexFunc(all, func(l line) bool { return l.name == "data" })
	var beside map[string]json.RawMessage
	if i < 0 || json.Unmarshal([]byte(all[i].value), &beside) != nil {
		return nil
	}
	name := strangeTypes[r.IntN(len(strangeTypes))]
	event := map[string]json.RawMessage{v.book.unknown.kind: json.RawMessage(strconv.Quote(name))}
	for _, shared := range v.book.unknown.shared {
		if beside[shared] == nil {
			return nil
		}
		event[shared] = beside[shared]
	}
	text, err := json.Marshal(event)
	if err != nil {
		return nil
	}
	return text
}

// mostSegments bounds how many segments a frame is cut into: each is sent on its own.
const mostSegments = 200

// cut cuts bytes into segments.
func (s *Stream) cut(out []byte) [][]byte {
	s.segments = s.segments[:0]
	if len(out) == 0 {
		return s.segments
	}
	cuts := s.cuts(out)
	slices.Sort(cuts)
	from := 0
	for _, at := range slices.Compact(cuts) {
		if at > from && at < len(out) {
			s.segments = append(s.segments, out[from:at:at])
			from = at
		}
	}
	return append(s.segments, out[from:])
}

// cuts are places to cut at, in any order.
func (s *Stream) cuts(out []byte) (at []int) {
	r := s.r
	if s.v.Has(Bytes) && len(out) <= mostSegments && r.IntN(4) == 0 {
		for i := range out {
			at = append(at, i)
		}
		return at
	}
	if s.v.Has(Cuts) {
		for range r.IntN(4) {
			at = append(at, r.IntN(len(out)))
		}
	}
	if s.v.Has(InnerCuts) {
		for i := 1; i < len(out) && len(at) < mostSegments; i++ {
			if inner := !utf8.RuneStart(out[i]) || out[i-1] == '\r' && out[i] == '\n'; inner && r.IntN(2) == 0 {
				at = append(at, i)
			}
		}
	}
	return at
}
