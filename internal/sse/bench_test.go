package sse_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/sse"
)

// delta is a frame with a piece of an answer, the most frequent kind of frame of agents.
const delta = `data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"msg_0123456789","delta":" word"}` + "\n\n"

// shapes lists frames with different properties. The benchmark repeats each to a stream of about 1
// MiB.
var shapes = []struct{ name, event string }{
	{"one data line", delta},
	{"id event data", "id: 17\nevent: message\n" + delta},
	{"CR only", strings.ReplaceAll(delta, "\n", "\r")},
	{"CRLF", strings.ReplaceAll(delta, "\n", "\r\n")},
	{"ten data lines", strings.Repeat("data: some words in a line\n", 10) + "\n"},
	{"comments", ": heartbeat\n\n"},
	{"64 KiB in one line", "data: " + strings.Repeat("x", 64<<10) + "\n\n"},
}

// BenchmarkDecoder decodes streams of 1 MiB: at once, and in pieces of the sizes that a connection
// returns.
func BenchmarkDecoder(b *testing.B) {
	for _, shape := range shapes {
		n := max(1, 1<<20/len(shape.event))
		body := []byte(strings.Repeat(shape.event, n))
		for _, pieces := range []struct {
			name string
			size int
		}{{"whole", len(body)}, {"4 KiB", 4 << 10}, {"64 B", 64}} {
			b.Run(shape.name+"/"+pieces.name, func(b *testing.B) {
				b.SetBytes(int64(len(body)))
				b.ReportAllocs()
				items := 0
				for b.Loop() {
					d := sse.NewDecoder(0)
					for piece := range slices.Chunk(body, pieces.size) {
						for range d.Feed(piece) {
							items++
						}
					}
				}
				if items != n*b.N {
					b.Fatalf("%d items, want %d", items, n*b.N)
				}
			})
		}
	}
}

// BenchmarkAppend encodes the most frequent kind of frame of agents.
func BenchmarkAppend(b *testing.B) {
	frame := sse.Frame{Data: bytes.TrimSpace([]byte(strings.TrimPrefix(delta, "data: ")))}
	b.SetBytes(int64(len(delta)))
	b.ReportAllocs()
	var dst []byte
	for b.Loop() {
		var err error
		if dst, err = sse.Append(dst[:0], frame); err != nil || len(dst) != len(delta) {
			b.Fatal(len(dst), err)
		}
	}
}

// TestAllocations limits the allocations for an event with one data line, which is the common case.
// An event that lies in one piece needs none, and an event that does not needs those for a copy.
func TestAllocations(t *testing.T) {
	const events = 1000
	body := []byte(strings.Repeat(delta, events))
	for _, tt := range []struct {
		name string
		size int
		most float64 // for each event
	}{{"whole", len(body), 0.1}, {"an event at a time", len(delta), 0.1}, {"cut in all places", len(delta) - 1, 4}} {
		per := testing.AllocsPerRun(10, func() {
			d := sse.NewDecoder(0)
			for piece := range slices.Chunk(body, tt.size) {
				for range d.Feed(piece) {
				}
			}
		}) / events
		t.Logf("%s: %.2f allocations for each event", tt.name, per)
		if per > tt.most {
			t.Errorf("%s: %.2f allocations for each event, at most %.2f were to be", tt.name, per, tt.most)
		}
	}
}
