package fault

// maxBatchSize is the number of bytes of frames that batchFrames may hold back. If it holds more,
// it sends them although the batch is incomplete, so that the memory that a stream uses is bounded.
const maxBatchSize = 16 << 20

// Together is the fault that sends several events in one segment, which is legal. It tests whether
// a client splits the bytes that it reads into events.
var Together = &Fault{
	Name: "together", Doc: "several events are sent in one segment", Category: CategoryWire, Triggers: []string{"event"},
	Params: []Param{{Name: "events", Doc: "number of events in a segment", Type: "int", Default: "3", Min: "2", Max: "10000"}},
	NewEffect: func(a Args) Effect {
		return Effect{WrapBody: batchFrames(a.Trigger, a.Ints["events"])}
	},
}

// Gathered is the fault that holds back all events and sends them at once at the end of the
// stream, as a buffering proxy does.
var Gathered = &Fault{
	Name: "gathered", Doc: "all events are sent at once at the end, as by a buffering proxy", Category: CategoryWire, Triggers: []string{"event"},
	Checks: []string{"wire.flushes"},
	NewEffect: func(a Args) Effect {
		return Effect{WrapBody: batchFrames(a.Trigger, int(^uint(0)>>1))}
	},
}

// batchFrames returns an [Effect.WrapBody] function that sends frames in batches. Before the
// trigger, frames pass unchanged. From the trigger on, they are held back and sent in one segment
// as soon as there are as many as the parameter batch says or more than maxBatchSize bytes, or the
// stream ends.
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
