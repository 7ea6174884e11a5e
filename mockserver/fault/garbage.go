package fault

// Garbage sends bytes that are no event stream.
var Garbage = &Fault{
	Name: "garbage", Doc: "bytes come that are neither text nor events", Family: Wire, Places: anywhere,
	Params: []Param{{Name: "bytes", Doc: "how many", Type: "int", Default: "256", Min: "1", Max: "16777216"}},
	Checks: []string{"wire.utf-8"},
	Begin: func(a Args) Effect {
		noise := make([]byte, a.Ints["bytes"])
		for i := range noise {
			// No line ends, and no character of UTF-8.
			noise[i] = byte(0x80 + chance(a.Rand, 0x40))
		}
		return striking(a, func(c *wire, rest []byte) error {
			if err := c.write(append(append([]byte("data: "), noise...), "\n\n"...)); err != nil {
				return err
			}
			return c.write(rest)
		})
	},
}
