package fault

// maxBatchSize bounds what is held back; it is sent when there is more.
const maxBatchSize = 16 << 20

// Together sends several events in one segment. Nothing in it is wrong.
var Together = &Fault{
	Name: "together", Doc: "several events come in one segment", Category: CategoryWire, Triggers: []string{"event"},
	Params: []Param{{Name: "events", Doc: "how many", Type: "int", Default: "3", Min: "2", Max: "10000"}},
	NewEffect: func(a Args) Effect {
		return Effect{WrapBody: batchFrames(a.Trigger, a.Ints["events"])}
	},
}

// Gathered sends everything at the end.
var Gathered = &Fault{
	Name: "gathered", Doc: "all events come at once at the end, as through a proxy that gathers them", Category: CategoryWire, Triggers: []string{"event"},
	Checks: []string{"wire.flushes"},
	NewEffect: func(a Args) Effect {
		return Effect{WrapBody: batchFrames(a.Trigger, int(^uint(0)>>1))}
	},
}

// batchFrames sends so many frames at once, from a place on.
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
