package fault

import (
	"math"

	"github.com/streamassay/streamassay/spec"
)

// allTriggers is the value of [Fault.Triggers] for faults that can occur anywhere in a stream.
var allTriggers = []string{"event", "byte", "time"}

// wireFaults lists the faults that change the bytes of a stream or how the stream ends. Faults
// without checks violate no requirement; they only test clients.
var wireFaults = []*Fault{
	{Name: "clean-end", Doc: "the stream ends early, but its body is terminated correctly",
		Triggers: allTriggers, Checks: []string{"run.ends"},
		NewEffect: endStreamAt(Clean)},
	{Name: "abort", Doc: "the connection is closed before the stream is complete",
		Triggers: allTriggers, Checks: []string{"run.ends"},
		NewEffect: endStreamAt(Abort)},
	{Name: "abort-late", Doc: "all events are sent, but the connection is closed without terminating the body",
		Checks: []string{"wire.body-is-whole"},
		NewEffect: atStreamEnd(func(a Args, w StreamSink) error {
			a.Applied()
			return w.Finish(Abort)
		})},
	{Name: "reset", Doc: "the connection is reset",
		Triggers: allTriggers, Checks: []string{"run.ends"},
		NewEffect: endStreamAt(Reset)},
	{Name: "torn", Doc: "the connection is closed in the middle of a line",
		Triggers: []string{"event", "byte"}, Checks: []string{"run.ends"},
		NewEffect: truncateFrame(cutInsideData)},
	{Name: "torn-utf8", Doc: "the connection is closed in the middle of a character, which is inserted if necessary",
		Triggers: atEvent, Checks: []string{"run.ends"},
		NewEffect: truncateFrame(cutInsideCharacter)},
	{Name: "stall", Doc: "nothing more is sent, or not for a while, and the connection stays open",
		Triggers: allTriggers,
		Params: []Param{
			{Name: "for", Doc: "length of the pause; 0: until the client leaves", Type: "duration", Default: "0s", Min: "0s", Max: "24h"},
		},
		NewEffect: stall},
	{Name: "drip", Doc: "the stream is sent slowly, a few bytes at a time",
		Triggers: []string{"event", "byte"},
		Params: []Param{
			{Name: "bytes", Doc: "number of bytes in a segment", Type: "int", Default: "1", Min: "1", Max: "65536"},
			{Name: "every", Doc: "pause before each segment", Type: "duration", Default: "5ms", Min: "0s", Max: "1m"},
			{
				Name: "for", Doc: "number of bytes to send slowly, counted from the trigger; 0: all", Type: "int",
				Default: "0", Min: "0", Max: "1000000000",
			},
		},
		NewEffect: wrapBody(drip)},
	{Name: "split", Doc: "frames are sent in several segments, cut at given offsets", Triggers: atEvent,
		Params: []Param{
			{
				Name: "at", Doc: "byte offsets in each frame, as in \"1 5 9\"; negative ones count from its end", Type: "text",
				Validate: func(text string) error { _, err := parseOffsets(text); return err },
			},
			{Name: "bytes", Doc: "number of bytes in a segment, if no offsets are set", Type: "int", Default: "7", Min: "1", Max: "65536"},
			{Name: "every", Doc: "pause between segments", Type: "duration", Default: "1ms", Min: "0s", Max: "1m"},
		},
		NewEffect: wrapBody(splitFrames)},
	{Name: "together", Doc: "several events are sent in one segment", Triggers: atEvent,
		Params: []Param{
			{Name: "events", Doc: "number of events in a segment", Type: "int", Default: "3", Min: "2", Max: "10000"},
		},
		NewEffect: wrapBody(func(a Args, w StreamSink) FrameWriter { return batchFrames(a, w, a.Ints["events"]) })},
	{Name: "gathered", Doc: "all events are sent at once at the end, as by a buffering proxy", Triggers: atEvent,
		Checks:    []string{"wire.flushes"},
		NewEffect: wrapBody(func(a Args, w StreamSink) FrameWriter { return batchFrames(a, w, math.MaxInt) })},
	{Name: "no-last-blank-line", Doc: "the blank line after the last event is missing",
		Checks:    []string{"wire.last-frame-is-terminated"},
		NewEffect: wrapBody(dropLastBlankLine)},
	{Name: "garbage", Doc: "a frame of random bytes that are not valid UTF-8 is inserted", Triggers: allTriggers,
		Params:    []Param{{Name: "bytes", Doc: "number of bytes", Type: "int", Default: "256", Min: "1", Max: "16777216"}},
		Checks:    []string{"wire.utf-8"},
		NewEffect: insertGarbage},
	{Name: "oversize", Doc: "an event is padded to a given size by spaces before its data", Triggers: atEvent,
		Params: []Param{
			{Name: "bytes", Doc: "size of the event in bytes", Type: "int", Default: "1048576", Min: "1", Max: "268435456"},
		},
		NewEffect: padEvent},
	{Name: "gzip", Doc: "the stream is compressed and has Content-Encoding: gzip, although the client did not request it",
		Checks:    []string{"wire.opens-stream"},
		NewEffect: compress},
	{Name: "linger", Doc: "the stream stays open for a while after its last event",
		Params: []Param{
			{Name: "for", Doc: "time until the stream is closed", Type: "duration", Default: "6s", Min: "0s", Max: "24h"},
		},
		Checks: []string{"run.closes-after-end"},
		NewEffect: atStreamEnd(func(a Args, w StreamSink) error {
			a.Applied()
			if err := w.Flush(); err != nil {
				return err
			}
			return w.Sleep(a.Durations["for"])
		})},
	{Name: "no-keep-alive", Doc: "no keep-alive comments are sent while the stream is idle",
		RequiredKinds: []spec.Kind{"slot.limit"}, Checks: []string{"wire.keeps-alive"},
		NewEffect: replaceComments("")},
	{Name: "other-keep-alive", Doc: "the keep-alive comments have another text than the protocol defines",
		RequiredKinds: []spec.Kind{"slot.limit"}, Checks: []string{"wire.keep-alive-text"},
		NewEffect: replaceComments(": still here\n\n")},
	// By default it affects only the first stream of a run, so that a resumed stream replays the
	// event with other data than the client received before.
	{Name: "told-differently", Doc: "an event, or every event if no trigger is set, has other data than when it is replayed",
		RequiredKinds: []spec.Kind{spec.SlotCursor}, Triggers: atEvent, Checks: []string{"resume.tells-the-same"},
		NewEffect: editStream(addMember)},
}
