package fault

import (
	"compress/gzip"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// Gzip is the fault that compresses an event stream although the Accept-Encoding header of the
// request did not ask for compression.
var Gzip = &Fault{
	Name: "gzip", Doc: "the stream is compressed, although the client did not request it", Category: CategoryWire,
	Checks: []string{"wire.opens-stream"},
	NewEffect: func(Args) Effect {
		return Effect{
			OnHead: func(h *ResponseHead) {
				if strings.HasPrefix(h.Header.Get("Content-Type"), spec.EventStream) {
					h.Header.Set("Content-Encoding", "gzip")
				}
			},
			WrapBody: func(w StreamWriter) FrameWriter {
				z := gzip.NewWriter(w)
				return frameFuncs{
					frame: func(_ int, frame []byte) error {
						if _, err := z.Write(frame); err != nil {
							return err
						}
						return z.Flush() // so that the client can decode each event at once
					},
					close: z.Close,
				}
			},
		}
	},
}
