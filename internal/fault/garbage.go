package fault

import "github.com/streamassay/streamassay/internal/sse"

var garbage = &Fault{
	Name: "garbage", Doc: "a frame of random bytes that are not valid UTF-8 is inserted", Triggers: allTriggers,
	Params: []Param{{Name: "bytes", Doc: "number of bytes", Type: "int", Default: "256", Min: "1", Max: "16777216"}},
	Checks: []string{"wire.utf-8"},
	NewEffect: func(a Args) Effect {
		noise := make([]byte, a.Ints["bytes"])
		for i := range noise {
			// Continuation bytes: neither a line end nor the start of a UTF-8 character.
			noise[i] = byte(0x80 + randomBelow(a.Rand, 0x40))
		}
		return injectAt(a, func(c *triggeredWriter, rest []byte) error {
			frame, _ := sse.Append(nil, sse.Frame{Data: noise}) // data never fails
			if err := c.writeBytes(frame); err != nil {
				return err
			}
			return c.writeBytes(rest)
		})
	},
}
