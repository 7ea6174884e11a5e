package fault

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// Split sends each frame in several segments. Nothing in it is wrong.
var Split = &Fault{
	Name: "split", Doc: "frames come in several segments, cut at chosen bytes", Category: CategoryWire, Triggers: []string{"event"},
	Params: []Param{
		{Name: "at", Doc: "the places in each frame, in bytes, as in \"1 5 9\"; from its end if negative", Type: "text", Validate: func(text string) error {
			_, err := parseOffsets(text)
			return err
		}},
		{Name: "bytes", Doc: "how long the segments are, if no places are set", Type: "int", Default: "7", Min: "1", Max: "65536"},
		{Name: "every", Doc: "how long between segments", Type: "duration", Default: "1ms", Min: "0s", Max: "1m"},
	},
	NewEffect: func(a Args) Effect {
		at, _ := parseOffsets(a.Strings["at"]) // they were checked
		size, every := a.Ints["bytes"], a.Durations["every"]
		return Effect{WrapBody: func(w StreamWriter) FrameWriter {
			there := hasReached(a.Trigger)
			return frameFuncs{frame: func(n int, frame []byte) error {
				if !there(n) {
					_, err := w.Write(frame)
					return err
				}
				begin := 0
				for _, end := range segmentEnds(len(frame), at, size) {
					if begin > 0 {
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

// maxOffsets bounds into how many segments a frame can be told to be cut.
const maxOffsets = 256

// parseOffsets reads places in a frame.
func parseOffsets(text string) (all []int, err error) {
	for field := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ' ' || r == ',' }) {
		n, err := strconv.Atoi(field)
		if err != nil || n == 0 || len(all) == maxOffsets {
			return nil, errors.New("places are whole numbers other than 0, at most 256, as in \"1 5 -2\"")
		}
		all = append(all, n)
	}
	return all, nil
}

// segmentEnds are where the segments of a frame end.
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
