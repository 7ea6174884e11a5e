package sse_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/sse"
)

// TestLineDecoder checks that each line of a stream of JSON lines is an event, however the stream
// is divided into pieces, and that Close returns a last line without a line end.
func TestLineDecoder(t *testing.T) {
	const text = "{\"a\":1}\n\r\n: 2\r\ndata: 3\n\"rest\""
	for size := 1; size <= len(text); size++ {
		d := sse.NewLineDecoder(100)
		var got []string
		for piece := range slices.Chunk([]byte(text), size) {
			for item := range d.Feed(piece) {
				if item.Kind != sse.Event || string(item.Raw) != text[item.Offset:item.Offset+len(item.Data)] {
					t.Errorf("in pieces of %d: %+v", size, item)
				}
				got = append(got, string(item.Data))
			}
		}
		if want := []string{`{"a":1}`, ": 2", "data: 3"}; !slices.Equal(got, want) {
			t.Errorf("in pieces of %d: %q, want %q", size, got, want)
		}
		if rest, ok := d.Close(); !ok || !rest.Incomplete || string(rest.Data) != `"rest"` || rest.Line != 5 {
			t.Errorf("in pieces of %d: the rest is %+v, %v", size, rest, ok)
		}
	}
	d := sse.NewLineDecoder(10)
	for item := range d.Feed([]byte(strings.Repeat("x", 11) + "\n")) {
		t.Errorf("above the limit: %+v", item)
	}
	if !errors.Is(d.Err(), sse.ErrTooLarge) {
		t.Errorf("above the limit: %v", d.Err())
	}
}
