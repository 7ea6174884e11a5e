package fault

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// split sends each frame in several segments, which is legal. It tests whether a client joins the
// pieces that it reads.
var split = &Fault{
	Name: "split", Doc: "frames are sent in several segments, cut at given offsets", Triggers: atEvent,
	Params: []Param{
		{Name: "at", Doc: "byte offsets in each frame, as in \"1 5 9\"; negative ones count from its end", Type: "text", Validate: func(text string) error {
			_, err := parseOffsets(text)
			return err
		}},
		{Name: "bytes", Doc: "number of bytes in a segment, if no offsets are set", Type: "int", Default: "7", Min: "1", Max: "65536"},
		{Name: "every", Doc: "pause between segments", Type: "duration", Default: "1ms", Min: "0s", Max: "1m"},
	},
	NewEffect: func(a Args) Effect {
		at, _ := parseOffsets(a.Strings["at"]) // already validated
		size, every := a.Ints["bytes"], a.Durations["every"]
		return Effect{WrapBody: func(w StreamWriter) FrameWriter {
			there, pass := hasReached(a.Trigger), writeFrames(w)
			return frameFuncs{frame: func(n int, frame []byte) error {
				if !there(n) {
					return pass(n, frame)
				}
				begin := 0
				for _, end := range segmentEnds(len(frame), at, size) {
					if begin > 0 {
						a.Applied()
						if err := w.Sleep(every); err != nil {
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
		}}
	},
}

// maxOffsets is the maximum number of byte offsets in the parameter "at" of the fault split.
const maxOffsets = 256

// parseOffsets parses a list of byte offsets, separated by spaces or commas. It returns an
// error if one is 0 or not an integer, or if there are more than maxOffsets.
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

// segmentEnds returns the offsets at which the segments of a frame end, in ascending order; the
// last one is length, the size of the frame in bytes. The frame is cut at the offsets in at:
// negative ones count from its end, and those outside of the frame are ignored. If at is empty, the
// frame is cut every size bytes instead.
func segmentEnds(length int, at []int, size int) (ends []int) {
	for _, n := range at {
		if n < 0 {
			n += length
		}
		if n > 0 && n < length {
			ends = append(ends, n)
		}
	}
	if len(at) == 0 {
		for n := size; n < length; n += size {
			ends = append(ends, n)
		}
	}
	slices.Sort(ends)
	return append(slices.Compact(ends), length)
}
