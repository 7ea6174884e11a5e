package fault

import "time"

// StallEnd is the fault that stops sending at the trigger and keeps the connection open: for a
// given time, after which the stream continues, or until the client leaves.
var StallEnd = &Fault{
	Name: "stall", Doc: "nothing more is sent, or not for a while, and the connection stays open", Category: CategoryWire,
	Triggers: allTriggers,
	Params:   []Param{{Name: "for", Doc: "length of the pause; 0: until the client leaves", Type: "duration", Default: "0s", Min: "0s", Max: "24h"}},
	NewEffect: func(a Args) Effect {
		span := a.Durations["for"]
		if span == 0 {
			return endStreamAt(Stall)(a)
		}
		return Effect{WrapBody: func(w StreamWriter) FrameWriter {
			c := newTriggeredWriter(w, a)
			if a.Trigger.Time >= 0 { // the pause begins before the first frame after that time
				w.After(a.Trigger.Time, func() { c.isDue.Store(true) })
			}
			c.inject = func(rest []byte) error { return pauseStream(c, rest, span) }
			return c
		}}
	},
}

// pauseStream flushes what was written, waits for the duration span and writes rest, the part of
// the current frame that has not been written. It returns an error if the client leaves or the
// stream ends.
func pauseStream(c *triggeredWriter, rest []byte, span time.Duration) error {
	if err := c.out.Flush(); err != nil {
		return err
	}
	if err := c.out.Sleep(span); err != nil {
		return err
	}
	return c.writeBytes(rest)
}
