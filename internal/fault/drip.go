package fault

var drip = &Fault{
	Name: "drip", Doc: "the stream is sent slowly, a few bytes at a time", Triggers: []string{"event", "byte"},
	Params: []Param{
		{Name: "bytes", Doc: "number of bytes in a segment", Type: "int", Default: "1", Min: "1", Max: "65536"},
		{Name: "every", Doc: "pause before each segment", Type: "duration", Default: "5ms", Min: "0s", Max: "1m"},
		{Name: "for", Doc: "number of bytes to send slowly, counted from the trigger; 0: all", Type: "int", Default: "0", Min: "0", Max: "1000000000"},
	},
	NewEffect: func(a Args) Effect {
		size, every, limit := a.Ints["bytes"], a.Durations["every"], a.Ints["for"]
		return Effect{WrapBody: func(w StreamWriter) FrameWriter {
			sent, slow, there := int64(0), 0, hasReached(a.Trigger)
			return frameFuncs{frame: func(n int, frame []byte) error {
				now := there(n)
				for len(frame) > 0 {
					piece := frame
					switch early := max(a.Trigger.Byte-sent, 0); {
					case !now || limit > 0 && slow >= limit:
					case early > 0:
						piece = frame[:min(int64(len(frame)), early)]
					default:
						piece = frame[:min(len(frame), size)]
						slow += len(piece)
						a.Applied()
						if err := w.Sleep(every); err != nil {
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
		}}
	},
}
