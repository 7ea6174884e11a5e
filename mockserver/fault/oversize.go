package fault

import "bytes"

// Oversize is the fault that pads a frame with spaces before its data, to a size that may exceed
// what a client accepts. The event itself stays valid.
var Oversize = &Fault{
	Name: "oversize", Doc: "an event is padded to a given size by spaces before its data", Category: CategoryWire, Triggers: []string{"event"},
	Params: []Param{{Name: "bytes", Doc: "size of the event in bytes", Type: "int", Default: "1048576", Min: "1", Max: "268435456"}},
	NewEffect: func(a Args) Effect {
		return injectAt(a, func(c *triggeredWriter, rest []byte) error {
			at := bytes.Index(rest, []byte("data: "))
			if at < 0 {
				return c.writeBytes(rest)
			}
			at += len("data: ")
			if err := c.writeBytes(rest[:at]); err != nil {
				return err
			}
			pad := bytes.Repeat([]byte(" "), 64<<10)
			for left := a.Ints["bytes"] - len(rest); left > 0; left -= len(pad) {
				if err := c.writeBytes(pad[:min(left, len(pad))]); err != nil {
					return err
				}
			}
			return c.writeBytes(rest[at:])
		})
	},
}
