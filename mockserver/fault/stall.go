package fault

import "time"

// StallEnd says nothing any more, and keeps the connection.
var StallEnd = &Fault{
	Name: "stall", Doc: "nothing comes any more, or not for a while, and the connection stays open", Category: CategoryWire,
	Triggers: allTriggers,
	Params:   []Param{{Name: "for", Doc: "how long; 0 is until the client leaves", Type: "duration", Default: "0s", Min: "0s", Max: "24h"}},
	NewEffect: func(a Args) Effect {
		span := a.Durations["for"]
		if span == 0 {
			return endStreamAt(Stall)(a)
		}
		return Effect{WrapBody: func(w StreamWriter) FrameWriter {
			c := newTriggeredWriter(w, a)
			if a.Trigger.Time >= 0 { // only what is sent can wait: the first frame after that
				w.After(a.Trigger.Time, func() { c.isDue.Store(true) })
			}
			c.inject = func(rest []byte) error { return pauseStream(c, rest, span) }
			return c
		}}
	},
}

// pauseStream sends what was gathered, waits, and sends the rest.
func pauseStream(c *triggeredWriter, rest []byte, span time.Duration) error {
	if err := c.out.Flush(); err != nil {
		return err
	}
	if err := c.out.Sleep(span); err != nil {
		return err
	}
	return c.writeBytes(rest)
}
