package fault

import (
	"compress/gzip"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

var gzipped = &Fault{
	Name: "gzip", Doc: "the stream is compressed, although the client did not request it",
	Checks: []string{"wire.opens-stream"},
	NewEffect: func(a Args) Effect {
		return Effect{
			OnHead: func(h *ResponseHead) {
				if strings.HasPrefix(h.Header.Get("Content-Type"), spec.EventStream) {
					a.Applied()
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
