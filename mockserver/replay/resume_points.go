package replay

import (
	"time"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec"
)

// A resumePoint is a place in a stream from which on a client can ask for the rest.
type resumePoint struct {
	cursor string
	offset int           // where the event with that cursor ends
	at     time.Duration // when it was there
}

// indexResponse hears the recorded answer: the ids that the server chose, where the client
// chose none, and the places where the stream can be taken up again.
func (x *exchange) indexResponse(recorded spec.Exchange) {
	one := spec.Trace{Exchanges: []spec.Exchange{recorded}}
	ends := map[int]int{}
	if x.isReadableStream() {
		for item, err := range sse.Items(x.response.Body, 0) {
			if err == nil && item.Kind == sse.Event && !item.Incomplete {
				ends[item.Offset] = afterLineEnd(x.response.Body, item.End)
			}
		}
	}
	for e := range x.conversation.dialect.Events(one) {
		if e.Kind == spec.HTTPRequest {
			continue
		}
		if x.serverIDs.thread == "" {
			x.serverIDs.thread = e.Thread
		}
		if x.serverIDs.run == "" {
			x.serverIDs.run = e.Run
		}
		if end, ok := ends[e.Offset]; ok && e.IsFrame() && e.Cursor != "" {
			x.resumePoints = append(x.resumePoints, resumePoint{cursor: e.Cursor, offset: end, at: e.At - recorded.At})
		}
	}
}

// isReadableStream says whether the answer is a stream that can be read as it stands.
func (x *exchange) isReadableStream() bool {
	return x.response.Header.MediaType() == spec.EventStream && x.isUnencoded()
}

// isUnencoded says whether the bytes of the answer are those of its text.
func (x *exchange) isUnencoded() bool {
	coding := x.response.Header.Get("Content-Encoding")
	return coding == "" || coding == "identity"
}

// afterLineEnd is the offset after a line end of which the first byte may have been taken.
func afterLineEnd(body []byte, end int) int {
	if end > 0 && end < len(body) && body[end-1] == '\r' && body[end] == '\n' {
		return end + 1
	}
	return end
}
