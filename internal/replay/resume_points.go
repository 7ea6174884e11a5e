package replay

import (
	"cmp"
	"time"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec"
)

// A resumePoint is a position from which a client can resume a recorded stream: the end of an event
// that has a cursor.
type resumePoint struct {
	cursor string        // the cursor of the event
	offset int           // end of the event in the body, in bytes
	at     time.Duration // time from the request to the arrival of the event
}

// indexResponse sets x.serverIDs from the response of recorded, the exchange from which x was made.
// If the response is an event stream without a content coding, it also sets x.resumePoints.
func (x *replayableExchange) indexResponse(recorded spec.Exchange) {
	one := spec.Trace{Exchanges: []spec.Exchange{recorded}}
	ends := map[int]int{}
	if x.response.Header.MediaType() == spec.EventStream && x.isUnencoded() {
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
		x.serverIDs = responseIDs{cmp.Or(x.serverIDs.thread, e.Thread), cmp.Or(x.serverIDs.run, e.Run)}
		if end, ok := ends[e.Offset]; ok && e.IsFrame() && e.Cursor != "" {
			x.resumePoints = append(x.resumePoints, resumePoint{cursor: e.Cursor, offset: end, at: e.At - recorded.At})
		}
	}
}

// isUnencoded reports whether the response of x has no content coding such as gzip, so that ids in
// it can be replaced.
func (x *replayableExchange) isUnencoded() bool {
	coding := x.response.Header.Get("Content-Encoding")
	return coding == "" || coding == "identity"
}

// afterLineEnd returns end+1 if the offset end lies within a CRLF in body, and end otherwise.
func afterLineEnd(body []byte, end int) int {
	if end > 0 && end < len(body) && body[end-1] == '\r' && body[end] == '\n' {
		return end + 1
	}
	return end
}
