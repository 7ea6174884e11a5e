package vary

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"unicode/utf8"
)

// A StreamEncoder spells the frames of one stream. It is not safe for concurrent use.
type StreamEncoder struct {
	variation *Variation
	rng       *rand.Rand
	started   bool
	frames    int  // with data
	lastByte  byte // that was given
	joinNext  bool
	segments  [][]byte
}

// NewStream begins a stream. The seed says what comes between its frames, and where
// segments are cut; what frames say and how is the same in all streams.
func (v *Variation) NewStream(seed uint64) *StreamEncoder {
	return &StreamEncoder{variation: v, rng: v.streamRNG(seed), lastByte: '\n'}
}

// EncodeFrame spells one frame, or a comment, and says where the segments are to be cut:
// all but the last are to be sent each on its own. The bytes are appended to dst, if
// there is room; they and the list are good until the next call. What is not spelled
// as our servers do is given back as it is.
func (s *StreamEncoder) EncodeFrame(dst, frame []byte) (segments [][]byte) {
	out := dst[len(dst):]
	if !s.started && s.variation.Has(ByteOrderMark) {
		out = append(out, "\ufeff"...)
	}
	s.started = true
	all, ok := parseFrame(frame)
	if ok {
		out = s.insertIgnored(out, all)
		out = s.variation.encodeFields(out, frame, all)
		if hasData(all) || s.rng.IntN(2) == 0 { // a comment needs no blank line
			out = s.appendBlankLine(out)
		}
	} else {
		out = append(out, frame...)
	}
	if hasData(all) {
		s.frames++
	}
	if len(out) > 0 {
		s.lastByte = out[len(out)-1]
	}
	s.joinNext = s.variation.Has(JoinedFrames) && s.rng.IntN(2) == 0
	return s.split(out)
}

// CanJoin says that the last segment of the last frame need not be sent before the
// next frame, if that is there already.
func (s *StreamEncoder) CanJoin() bool { return s.joinNext }

// insertIgnored puts before a frame what no client may see: comments, blank lines, and once
// a stream has begun, events that nobody knows.
func (s *StreamEncoder) insertIgnored(dst []byte, all []fieldLine) []byte {
	v, r := s.variation, s.rng
	if v.Has(BlankLines) && r.IntN(4) == 0 {
		dst = s.appendBlankLine(dst)
	}
	if v.Has(Comments) && r.IntN(4) == 0 {
		if dst = v.appendLineEnd(r, append(dst, ":"+v.commentText(r)...)); r.IntN(2) == 0 {
			dst = s.appendBlankLine(dst)
		}
	}
	if v.Has(Retry) && r.IntN(8) == 0 {
		dst = s.appendBlankLine(v.appendLineEnd(r, append(dst, "retry: "+retryValues[r.IntN(len(retryValues))]...)))
	}
	if v.Has(UnknownEvents) && s.frames > 0 && r.IntN(6) == 0 {
		if event := v.newUnknownEvent(r, all); event != nil {
			dst = s.appendBlankLine(v.encodeFields(dst, event, []fieldLine{{"data", string(event)}}))
		}
	}
	return dst
}

// appendBlankLine is an empty line.
func (s *StreamEncoder) appendBlankLine(dst []byte) []byte {
	if len(dst) == 0 && s.lastByte == '\r' { // it was given with the frame before
		return append(dst, '\r')
	}
	return s.variation.appendLineEnd(s.rng, dst)
}

// unknownEventTypes are types of events that no document names.
var unknownEventTypes = []string{"x.unknown", "UNKNOWN_EVENT", "", "constructor", "x.message"}

// newUnknownEvent is an event of an unknown type that may come before another; nil if that
// one lacks what they have to share.
func (v *Variation) newUnknownEvent(r *rand.Rand, all []fieldLine) []byte {
	i := slices.IndexFunc(all, func(l fieldLine) bool { return l.name == "data" })
	var beside map[string]json.RawMessage
	if i < 0 || json.Unmarshal([]byte(all[i].value), &beside) != nil {
		return nil
	}
	name := unknownEventTypes[r.IntN(len(unknownEventTypes))]
	event := map[string]json.RawMessage{v.profile.unknownEvent.typeMember: json.RawMessage(strconv.Quote(name))}
	for _, shared := range v.profile.unknownEvent.sharedMembers {
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

// maxSegments bounds how many segments a frame is cut into: each is sent on its own.
const maxSegments = 200

// split cuts bytes into segments.
func (s *StreamEncoder) split(out []byte) [][]byte {
	s.segments = s.segments[:0]
	if len(out) == 0 {
		return s.segments
	}
	cuts := s.splitOffsets(out)
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

// splitOffsets are places to cut at, in any order.
func (s *StreamEncoder) splitOffsets(out []byte) (at []int) {
	r := s.rng
	if s.variation.Has(SingleByteSegments) && len(out) <= maxSegments && r.IntN(4) == 0 {
		for i := range out {
			at = append(at, i)
		}
		return at
	}
	if s.variation.Has(RandomSegments) {
		for range r.IntN(4) {
			at = append(at, r.IntN(len(out)))
		}
	}
	if s.variation.Has(SplitCharacters) {
		for i := 1; i < len(out) && len(at) < maxSegments; i++ {
			if inner := !utf8.RuneStart(out[i]) || out[i-1] == '\r' && out[i] == '\n'; inner && r.IntN(2) == 0 {
				at = append(at, i)
			}
		}
	}
	return at
}
