package fault

import (
	"bytes"

	"github.com/streamassay/streamassay/internal/sse"
)

// oversize pads an event to a size that may exceed what a client accepts. The event stays valid.
var oversize = &Fault{
	Name: "oversize", Doc: "an event is padded to a given size by spaces before its data", Triggers: atEvent,
	Params: []Param{{Name: "bytes", Doc: "size of the event in bytes", Type: "int", Default: "1048576", Min: "1", Max: "268435456"}},
	NewEffect: func(a Args) Effect {
		return injectAt(a, func(c *triggeredWriter, rest []byte) error {
			data, ok := sse.FindField(rest, "data")
			if !ok {
				return c.writeBytes(rest)
			}
			if err := c.writeBytes(rest[:data.ValueStart]); err != nil {
				return err
			}
			pad := bytes.Repeat([]byte(" "), 64<<10)
			for left := a.Ints["bytes"] - len(rest); left > 0; left -= len(pad) {
				if err := c.writeBytes(pad[:min(left, len(pad))]); err != nil {
					return err
				}
			}
			return c.writeBytes(rest[data.ValueStart:])
		})
	},
}
