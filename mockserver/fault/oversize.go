package fault

import "bytes"

// Oversize sends an event that is larger than a client may want. Nothing in it is wrong.
var Oversize = &Fault{
	Name: "oversize", Doc: "an event has so many bytes, most of them spaces before its data", Family: Wire, Places: []string{"event"},
	Params: []Param{{Name: "bytes", Doc: "how many", Type: "int", Default: "1048576", Min: "1", Max: "268435456"}},
	Begin: func(a Args) Effect {
		return striking(a, func(c *wire, rest []byte) error {
			at := bytes.Index(rest, []byte("data: "))
			if at < 0 {
				return c.write(rest)
			}
			at += len("data: ")
			if err := c.write(rest[:at]); err != nil {
				return err
			}
			pad := bytes.Repeat([]byte(" "), 64<<10)
			for left := a.Ints["bytes"] - len(rest); left > 0; left -= len(pad) {
				if err := c.write(pad[:min(left, len(pad))]); err != nil {
					return err
				}
			}
			return c.write(rest[at:])
		})
	},
}
