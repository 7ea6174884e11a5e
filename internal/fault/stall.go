package fault

// stallEnd pauses the stream at the trigger. The pause lasts for the time in the parameter "for"
// or, if that is 0, until the client leaves.
var stallEnd = &Fault{
	Name: "stall", Doc: "nothing more is sent, or not for a while, and the connection stays open",
	Triggers: allTriggers,
	Params:   []Param{{Name: "for", Doc: "length of the pause; 0: until the client leaves", Type: "duration", Default: "0s", Min: "0s", Max: "24h"}},
	NewEffect: func(a Args) Effect {
		span := a.Durations["for"]
		if span == 0 {
			return endStreamAt(Stall)(a)
		}
		return injectAt(a, func(c *triggeredWriter, rest []byte) error {
			if err := c.Flush(); err != nil {
				return err
			}
			if err := c.Sleep(span); err != nil {
				return err
			}
			return c.writeBytes(rest)
		})
	},
}
