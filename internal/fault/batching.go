package fault

// maxBatchSize is the number of bytes of frames that batchFrames may hold back. If it holds more,
// it sends them although the batch is incomplete, so that the memory that a stream uses is bounded.
const maxBatchSize = 16 << 20

// together sends several events in one segment, which is legal. It tests whether a client splits
// the bytes that it reads into events.
var together = &Fault{
	Name: "together", Doc: "several events are sent in one segment", Triggers: atEvent,
	Params: []Param{{Name: "events", Doc: "number of events in a segment", Type: "int", Default: "3", Min: "2", Max: "10000"}},
	NewEffect: func(a Args) Effect {
		return Effect{WrapBody: batchFrames(a, a.Ints["events"])}
	},
}

var gathered = &Fault{
	Name: "gathered", Doc: "all events are sent at once at the end, as by a buffering proxy", Triggers: atEvent,
	Checks: []string{"wire.flushes"},
	NewEffect: func(a Args) Effect {
		return Effect{WrapBody: batchFrames(a, int(^uint(0)>>1))}
	},
}

// batchFrames returns an [Effect.WrapBody] function that sends frames in batches. Before the
// trigger, frames pass unchanged. From the trigger on, frames are held back. They are sent in one
// segment when their number reaches batch, their size exceeds maxBatchSize bytes, or the stream
// ends.
func batchFrames(a Args, batch int) func(StreamWriter) FrameWriter {
	return func(w StreamWriter) FrameWriter {
		var held []byte
		n, there, pass := 0, hasReached(a.Trigger), writeFrames(w)
		send := func() error {
			p := held
			held, n = nil, 0
			return writeSegment(w, p)
		}
		return frameFuncs{
			frame: func(k int, frame []byte) error {
				if !there(k) {
					return pass(k, frame)
				}
				a.Applied()
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
