package sse_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/sse"
)

// TestNothingIsCopied checks that a large piece is not copied, apart from its beginning: the items
// within the piece alias it, even if the event before them began in an earlier piece.
func TestNothingIsCopied(t *testing.T) {
	body := []byte(strings.Repeat("data: one\n\n:two\n\nid: 3\ndata: three\n\n", 1000))
	for _, first := range []int{0, 1, 5, 11, 14, 40, 500} {
		d, aliased, copied := sse.NewDecoder(0), 0, 0
		for range d.Feed(body[:first]) {
		}
		for item := range d.Feed(body[first:]) {
			if item.Offset < first { // began in the first piece
				copied++
				continue
			}
			// Only the beginning of the second piece may be copied.
			switch in := &item.Raw[0] == &body[item.Offset]; {
			case in && (item.Kind != sse.Event || &item.Data[0] == &body[item.Offset+bytes.LastIndex(item.Raw, item.Data)]):
				aliased++
			default:
				copied++
			}
		}
		if most := 100; copied > most || first == 0 && copied > 0 || aliased < 2800 {
			t.Errorf("after a piece of %d bytes %d items are copies and %d are not", first, copied, aliased)
		}
	}
}
