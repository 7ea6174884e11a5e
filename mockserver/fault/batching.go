package fault

// maxBatchSize is the number of bytes above which held frames are sent.
const maxBatchSize = 16 << 20

// Together sends several events in one segment, which is legal.
var Together = &Fault{
	Name: "together", Doc: "several events are sent in one segment", Category: CategoryWire, Triggers: []string{"event"},
	Params: []Param{{Name: "events", Doc: "number of events in a segment", Type: "int", Default: "3", Min: "2", Max: "10000"}},
	NewEffect: func(a Args) Effect {
		return Effect{WrapBody: batchFrames(a.Trigger, a.Ints["events"])}
	},
}

// Gathered sends all events at the end of the stream.
var Gathered = &Fault{
	Name: "gathered", Doc: "all events are sent at once at the end, as by a buffering proxy", Category: CategoryWire, Triggers: []string{"event"},
	Checks: []string{"wire.flushes"},
	NewEffect: func(a Args) Effect {
		return Effect{WrapBody: batchFrames(a.Trigger, int(^uint(0)>>1))}
	},
}

// batchFrames returns a WrapBody function that, from the trigger on, sends frames in
// segments of batch frames.
func batchFrames(at Trigger, batch int) func(StreamWriter) FrameWriter {
	return func(w StreamWriter) FrameWriter {
		var held []byte
		n, there := 0, hasReached(at)
		send := func() error {
			p := held
			held, n = nil, 0
			return writeSegment(w, p)
		}
		return frameFuncs{
			frame: func(k int, frame []byte) error {
				if !there(k) {
					_, err := w.Write(frame)
					return err
				}
				held = append(held, frame...)
				if k >= 0 {
					n++
				}
				if n >= batch || len(held) > maxBatchSize {
					return send()
				}
				return nil
			},
			close: send,
		}
	}
}
