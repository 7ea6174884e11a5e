package fault

// Garbage sends bytes that are no event stream.
var Garbage = &Fault{
	Name: "garbage", Doc: "bytes come that are neither text nor events", Category: CategoryWire, Triggers: allTriggers,
	Params: []Param{{Name: "bytes", Doc: "how many", Type: "int", Default: "256", Min: "1", Max: "16777216"}},
	Checks: []string{"wire.utf-8"},
	NewEffect: func(a Args) Effect {
		noise := make([]byte, a.Ints["bytes"])
		for i := range noise {
			// No line ends, and no character of UTF-8.
			noise[i] = byte(0x80 + randomBelow(a.Rand, 0x40))
		}
		return injectAt(a, func(c *triggeredWriter, rest []byte) error {
			if err := c.writeBytes(append(append([]byte("data: "), noise...), "\n\n"...)); err != nil {
				return err
			}
			return c.writeBytes(rest)
		})
	},
}
