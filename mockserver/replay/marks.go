package replay

import (
	"time"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec"
)

// A mark is a place in a stream from which on a client can ask for the rest.
type mark struct {
	cursor string
	end    int           // where the event with that cursor ends
	at     time.Duration // when it was there
}

// listen hears the recorded answer: the ids that the server chose, where the client
// chose none, and the places where the stream can be taken up again.
func (x *exchange) listen(recorded spec.Exchange) {
	one := spec.Trace{Exchanges: []spec.Exchange{recorded}}
	ends := map[int]int{}
	if x.streams() {
		for item, err := range sse.Items(x.answer.Body, 0) {
			if err == nil && item.Kind == sse.Event && !item.Incomplete {
				ends[item.Offset] = afterLine(x.answer.Body, item.End)
			}
		}
	}
	for e := range x.talk.dialect.Events(one) {
		if e.Kind == spec.HTTPRequest {
			continue
		}
		if x.told.thread == "" {
			x.told.thread = e.Thread
		}
		if x.told.run == "" {
			x.told.run = e.Run
		}
		if end, ok := ends[e.Offset]; ok && e.IsFrame() && e.Cursor != "" {
			x.marks = append(x.marks, mark{cursor: e.Cursor, end: end, at: e.At - recorded.At})
		}
	}
}

// streams says whether the answer is a stream that can be read as it stands.
func (x *exchange) streams() bool {
	return x.answer.Header.MediaType() == spec.EventStream && x.plain()
}

// plain says whether the bytes of the answer are those of its text.
func (x *exchange) plain() bool {
	coding := x.answer.Header.Get("Content-Encoding")
	return coding == "" || coding == "identity"
}

// afterLine is the offset after a line end of which the first byte may have been taken.
func afterLine(body []byte, end int) int {
	if end > 0 && end < len(body) && body[end-1] == '\r' && body[end] == '\n' {
		return end + 1
	}
	return end
}
