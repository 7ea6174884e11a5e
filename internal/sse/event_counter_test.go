package sse_test

import (
	"slices"
	"testing"

	"github.com/streamassay/streamassay/internal/sse"
)

// TestCount checks that the counter counts the events and comments of a stream, in pieces of any
// size.
func TestCount(t *testing.T) {
	for text, want := range map[string]int{
		"":                                       0,
		"data: 1\n\ndata: 2\n\n":                 2,
		"data: 1\r\n\r\ndata: 2\r\rdata: 3\n\n":  3,
		"\n\n\n\r\r\r\n\r\n":                     0,
		": a\n: b\n\n":                           2,
		": a\ndata: 1\n: b\ndata: 2\n\n":         3,
		"event: x\nid: 1\ndata: 1\n\n":           1,
		"data: unfinished":                       0,
		"data: 1\n\ndata: 2\nid: :\n: c\n\n\n\n": 3,
	} {
		for size := 1; size <= len(text)+1; size++ {
			var c sse.EventCounter
			for piece := range slices.Chunk([]byte(text), size) {
				c.Add(piece, 1000)
			}
			if c.N != want {
				t.Errorf("%q in pieces of %d: %d, want %d", text, size, c.N, want)
			}
		}
	}
}

// TestCountStops checks that the counter stops right after the first event that exceeds the limit.
func TestCountStops(t *testing.T) {
	text := []byte("data: 1\n\ndata: 2\n\ndata: 3\n\n")
	var c sse.EventCounter
	if n := c.Add(text, 1); n != len("data: 1\n\ndata: 2\n\n") || c.N != 2 {
		t.Errorf("%d bytes, %d events", n, c.N)
	}
}
