package fault

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// drip returns a writer for the body of a stream; see wrapBody. From the trigger on or, if no
// trigger is set, from the first byte, the writer sends the stream to w in small segments (see
// writeSegment), with a pause before each. It does not delay the bytes before the trigger.
//
// The fault's parameter "bytes" is the size of a segment in bytes, and "every" is the length of a
// pause. The parameter "for" is the number of bytes to send in small segments; 0 means all bytes.
func drip(a Args, w StreamSink) FrameWriter {
	size, limit := a.Ints["bytes"], a.Ints["for"]
	sent, slow, hasReached := int64(0), 0, eventReached(a.Trigger)
	return frameWriterFuncs{frame: func(n int, frame []byte) error {
		reached := hasReached(n)
		for len(frame) > 0 {
			piece := frame
			switch early := max(a.Trigger.Byte-sent, 0); {
			case !reached || limit > 0 && slow >= limit:
			case early > 0:
				piece = frame[:min(int64(len(frame)), early)]
			default:
				piece = frame[:min(len(frame), size)]
				slow += len(piece)
				a.Applied()
				if err := w.Sleep(a.Durations["every"]); err != nil {
					return err
				}
			}
			if err := writeSegment(w, piece); err != nil {
				return err
			}
			sent += int64(len(piece))
			frame = frame[len(piece):]
		}
		return nil
	}}
}

// splitFrames returns a writer for the body of a stream; see wrapBody. From the trigger on or, if
// no trigger is set, from the first frame, the writer sends each frame to w in several segments
// (see writeSegment), with pauses between them. The fault's parameters "at" and "bytes" determine
// where the segments end (see segmentEnds), and "every" is the length of a pause.
func splitFrames(a Args, w StreamSink) FrameWriter {
	offsets, _ := parseOffsets(a.Strings["at"]) // already validated
	hasReached, pass := eventReached(a.Trigger), writeFrames(w)
	return frameWriterFuncs{frame: func(n int, frame []byte) error {
		if !hasReached(n) {
			return pass(n, frame)
		}
		begin := 0
		for _, end := range segmentEnds(len(frame), offsets, a.Ints["bytes"]) {
			if begin > 0 {
				a.Applied()
				if err := w.Sleep(a.Durations["every"]); err != nil {
					return err
				}
			}
			if err := writeSegment(w, frame[begin:end]); err != nil {
				return err
			}
			begin = end
		}
		return nil
	}}
}

// maxOffsets is the maximum number of byte offsets in the parameter "at" of the split fault.
const maxOffsets = 256

// parseOffsets parses text, a list of byte offsets separated by spaces or commas. It returns an
// error if an offset is 0 or not an integer, or if there are more than maxOffsets. An empty list is
// valid.
func parseOffsets(text string) (all []int, err error) {
	for field := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ' ' || r == ',' }) {
		n, err := strconv.Atoi(field)
		if err != nil || n == 0 || len(all) == maxOffsets {
			return nil, errors.New("invalid offsets (want at most 256 integers other than 0, e.g. 1 5 -2)")
		}
		all = append(all, n)
	}
	return all, nil
}

// segmentEnds returns the offsets at which the segments of a frame end, in ascending order. The
// frame has length bytes, so the last offset is length. The frame is cut at the given offsets;
// negative ones count from the end of the frame, and those outside of the frame are ignored. If
// offsets is empty, the frame is cut into segments of size bytes, of which the last may be shorter.
func segmentEnds(length int, offsets []int, size int) (ends []int) {
	for _, n := range offsets {
		if n < 0 {
			n += length
		}
		if n > 0 && n < length {
			ends = append(ends, n)
		}
	}
	if len(offsets) == 0 {
		for n := size; n < length; n += size {
			ends = append(ends, n)
		}
	}
	slices.Sort(ends)
	return append(slices.Compact(ends), length)
}

// maxBatchSize is the number of bytes beyond which batchFrames sends an incomplete batch. It bounds
// the memory that a stream uses.
const maxBatchSize = 16 << 20

// batchFrames returns a writer for the body of a stream; see wrapBody. From the trigger on or, if
// no trigger is set, from the first frame, the writer collects frames and sends each batch of them
// to w as one segment (see writeSegment). A batch consists of the number of frames that the
// argument batch states, and of the comments between them. The last batch, and one of more than
// maxBatchSize bytes, may have fewer frames.
func batchFrames(a Args, w StreamSink, batch int) FrameWriter {
	var held []byte
	count, hasReached, pass := 0, eventReached(a.Trigger), writeFrames(w)
	send := func() error {
		p := held
		held, count = nil, 0
		return writeSegment(w, p)
	}
	return frameWriterFuncs{close: send, frame: func(n int, frame []byte) error {
		if !hasReached(n) {
			return pass(n, frame)
		}
		a.Applied()
		held = append(held, frame...)
		if n >= 0 {
			count++
		}
		if count >= batch || len(held) > maxBatchSize {
			return send()
		}
		return nil
	}}
}

// dropLastBlankLine returns a writer that writes the frames of a stream to w; see wrapBody. The
// writer omits the blank line after the last event, so that clients ignore that event.
func dropLastBlankLine(a Args, w StreamSink) FrameWriter {
	var held []byte // the last line end of the preceding frame
	return frameWriterFuncs{frame: func(n int, frame []byte) error {
		out := append(held, frame...)
		held = nil
		if n >= 0 {
			// Hold back only the last line end, so that the client has the rest of the frame in
			// time but cannot dispatch the event yet.
			ends := frame[len(bytes.TrimRight(frame, "\r\n")):]
			held = bytes.Clone(ends[len(ends)/2:])
			out = out[:len(out)-len(held)]
			a.Applied()
		}
		_, err := w.Write(out)
		return err
	}}
}

// eventReached returns a function that reports whether a stream has reached the event of the
// trigger t. The function must be called for each frame and each comment of the stream, in order.
// Its argument n is the index of the frame, counted from 0, or -1 for a comment. If t has no event
// number, the function always returns true.
func eventReached(t Trigger) func(n int) bool {
	reached := t.Event <= 0
	return func(n int) bool {
		reached = reached || n >= t.Event
		return reached
	}
}

// writeSegment writes p to w as a segment: it flushes w after p, so that p is sent separately from
// later bytes. If p is empty, it does nothing. It returns the first error from w.
func writeSegment(w StreamSink, p []byte) error {
	if len(p) == 0 {
		return nil
	}
	if _, err := w.Write(p); err != nil {
		return err
	}
	return w.Flush()
}
