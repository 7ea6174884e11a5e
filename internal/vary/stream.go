package vary

import (
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"unicode/utf8"
)

// A StreamEncoder encodes the frames of one stream as a variation prescribes. It is not safe for
// concurrent use.
type StreamEncoder struct {
	variation *Variation
	rng       *rand.Rand
	started   bool     // EncodeFrame was called
	frames    int      // number of frames with data so far
	lastByte  byte     // last byte that EncodeFrame returned; initially LF
	joinNext  bool     // the result of CanJoin
	segments  [][]byte // the latest result of split; its memory is reused
}

// NewStream returns an encoder for one stream. The seed determines the text between frames and the
// division into segments. It does not affect the encoding of the frames themselves.
func (v *Variation) NewStream(seed uint64) *StreamEncoder {
	rng := v.rng("stream", binary.BigEndian.AppendUint64(nil, seed))
	return &StreamEncoder{variation: v, rng: rng, lastByte: '\n'}
}

// EncodeFrame encodes one frame or comment and returns it as a list of segments. The caller must
// flush after each segment, except that the flush after the last one is optional if CanJoin returns
// true. If the frame does not have the form in which the reference server writes frames, its bytes
// are not changed. The first segment of a stream may begin with a byte order mark.
//
// The segments may use the free capacity of dst, but do not include its bytes. They are valid until
// the next call.
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
		if hasData(all) || s.rng.IntN(2) == 0 { // the blank line after a comment is optional
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

// CanJoin reports whether the caller may send the last segment that EncodeFrame returned together
// with the next frame, without a flush between them.
func (s *StreamEncoder) CanJoin() bool { return s.joinNext }

// insertIgnored appends to dst random additions that clients must ignore, and returns the extended
// slice. Depending on the traits of the variation, the additions are comments, blank lines, retry
// fields and, after the first frame with data, events of unknown types. The parameter next contains
// the lines of the frame that will follow.
func (s *StreamEncoder) insertIgnored(dst []byte, next []fieldLine) []byte {
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
		if event := v.newUnknownEvent(r, next); event != nil {
			dst = s.appendBlankLine(v.encodeFields(dst, event, []fieldLine{{"data", string(event)}}))
		}
	}
	return dst
}

// appendBlankLine appends a line ending to dst and returns the extended slice. If dst consists of
// complete lines, it then ends with a blank line.
func (s *StreamEncoder) appendBlankLine(dst []byte) []byte {
	if len(dst) == 0 && s.lastByte == '\r' { // LF would complete the CR of the previous frame to a CRLF
		return append(dst, '\r')
	}
	return s.variation.appendLineEnd(s.rng, dst)
}

// unknownEventTypes lists event types that no document names. They are used for events that clients
// must ignore.
var unknownEventTypes = []string{"x.unknown", "UNKNOWN_EVENT", "", "constructor", "x.message"}

// newUnknownEvent returns the data of an event of an unknown type, a JSON text. The parameter next
// contains the lines of the frame that will follow the event. If the dialect requires certain
// members in each event, newUnknownEvent copies them from the data of that frame. It returns nil if
// such a member is missing or the data is not a JSON object. It must not be called if the dialect
// does not allow events of unknown types.
func (v *Variation) newUnknownEvent(r *rand.Rand, next []fieldLine) []byte {
	i := slices.IndexFunc(next, func(l fieldLine) bool { return l.name == "data" })
	var beside map[string]json.RawMessage
	if i < 0 || json.Unmarshal([]byte(next[i].value), &beside) != nil {
		return nil
	}
	name := unknownEventTypes[r.IntN(len(unknownEventTypes))]
	event := map[string]json.RawMessage{v.profile.unknownEvent.TypeMember: json.RawMessage(strconv.Quote(name))}
	for _, shared := range v.profile.unknownEvent.SharedMembers {
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

// maxSegments is the approximate maximum number of segments into which a frame is divided. The
// caller flushes after each segment, so more segments would make tests slow.
const maxSegments = 200

// split divides an encoded frame into segments that are flushed separately. The segments share the
// memory of frame. The list of segments is valid until the next call.
func (s *StreamEncoder) split(frame []byte) [][]byte {
	s.segments = s.segments[:0]
	if len(frame) == 0 {
		return s.segments
	}
	cuts := s.splitOffsets(frame)
	slices.Sort(cuts)
	from := 0
	for _, at := range slices.Compact(cuts) {
		if at > from && at < len(frame) {
			s.segments = append(s.segments, frame[from:at:at])
			from = at
		}
	}
	return append(s.segments, frame[from:])
}

// splitOffsets returns the offsets at which to divide an encoded frame into segments. They are not
// sorted and may include duplicates and 0, which has no effect. The frame must not be empty.
func (s *StreamEncoder) splitOffsets(frame []byte) (at []int) {
	r := s.rng
	if s.variation.Has(SingleByteSegments) && len(frame) <= maxSegments && r.IntN(4) == 0 {
		for i := range frame {
			at = append(at, i)
		}
		return at
	}
	if s.variation.Has(RandomSegments) {
		for range r.IntN(4) {
			at = append(at, r.IntN(len(frame)))
		}
	}
	if s.variation.Has(SplitCharacters) {
		for i := 1; i < len(frame) && len(at) < maxSegments; i++ {
			if inner := !utf8.RuneStart(frame[i]) || frame[i-1] == '\r' && frame[i] == '\n'; inner && r.IntN(2) == 0 {
				at = append(at, i)
			}
		}
	}
	return at
}
