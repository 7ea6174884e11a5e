package fault

import "time"

// StallEnd says nothing any more, and keeps the connection.
var StallEnd = &Fault{
	Name: "stall", Doc: "nothing comes any more, or not for a while, and the connection stays open", Family: Wire,
	Places: anywhere,
	Params: []Param{{Name: "for", Doc: "how long; 0 is until the client leaves", Type: "duration", Default: "0s", Min: "0s", Max: "24h"}},
	Begin: func(a Args) Effect {
		span := a.Spans["for"]
		if span == 0 {
			return cutting(Stall)(a)
		}
		return Effect{Body: func(w Writer) Body {
			c := newWire(w, a)
			if a.At.Time >= 0 { // only what is sent can wait: the first frame after that
				w.After(a.At.Time, func() { c.due.Store(true) })
			}
			c.strike = func(rest []byte) error { return pause(c, rest, span) }
			return c
		}}
	},
}

// pause sends what was gathered, waits, and sends the rest.
func pause(c *wire, rest []byte, span time.Duration) error {
	if err := c.w.Flush(); err != nil {
		return err
	}
	if err := c.w.Sleep(span); err != nil {
		return err
	}
	return c.write(rest)
}
