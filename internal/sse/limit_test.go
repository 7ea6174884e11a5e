package sse_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/sse"
)

// TestLimit decodes events and comments with a limit of 10 bytes. An event is measured from its
// first byte to the end of its last line, including comments and line ends. Cuts change neither the
// items before the error nor the error.
func TestLimit(t *testing.T) {
	const limit = 10
	tests := []struct {
		name  string
		body  string
		items int    // number of items before the error
		lines string // of the error, "" if there is none
	}{
		{"an event below", "data: a\n\n", 1, ""},
		{"an event of just that many bytes", "data: abc\n\n", 1, ""},
		{"the line end of a line is one too many", "data: abcd\n\n", 0, "in line 2 "},
		{"a line of one too many", "data: abcde\n\n", 0, "in line 1 "},
		{"a line that does not end", "data: abcde", 0, "in line 1 "},
		{"an incomplete event of just that many", "data: abcd", 1, ""},
		{"two lines of just that many", "data\ndata\n\n", 1, ""},
		{"two lines of too many", "data\ndata:\n\n", 0, "in line 3 "},
		{"CR LF counts as two", "data\r\ndat\r\n\r\n", 0, "in line 3 "},
		{"CR LF counts as two and fits", "data\r\nda\r\n\r\n", 1, ""},
		{"a comment of just that many", ":123456789\n", 1, ""},
		{"a comment of one too many", ":1234567890\n", 0, "in line 1 "},
		{"a comment inside an event counts", "data\n:123\ndata\n\n", 1, "in line 3 "},
		{"many events that fit", strings.Repeat("data: abc\n\n", 50), 50, ""},
		{"many comments that fit", strings.Repeat(":12345678\n", 50), 50, ""},
		{"many blank lines", strings.Repeat("\n", 50) + strings.Repeat("\r\n", 50), 0, ""},
		{"what came before is told", "data: a\n\n:c\ndata: b\n\ndata: abcdefg\n\ndata: c\n\n", 3, "in line 6 "},
		{"a byte order mark does not count", mark + "data: abc\n\n", 1, ""},
	}
	for _, tt := range tests {
		body := []byte(tt.body)
		whole, err := decode(limit, body)
		if len(whole) != tt.items || (err != nil) != (tt.lines != "") {
			t.Errorf("%s: %d items and %v, want %d and %q", tt.name, len(whole), err, tt.items, tt.lines)
			continue
		}
		if err != nil && (!errors.Is(err, sse.ErrTooLarge) || !strings.Contains(err.Error(), tt.lines) || !strings.Contains(err.Error(), "10 bytes")) {
			t.Errorf("%s: %q is not ErrTooLarge with the limit and %q", tt.name, err, tt.lines)
		}
		for i := range len(body) + 1 {
			pieces := [][]byte{body[:i], body[i:]}
			if i == len(body) {
				pieces = bytewise(body)
			}
			items, again := decode(limit, pieces...)
			if !slices.EqualFunc(items, whole, same) || fmt.Sprint(again) != fmt.Sprint(err) {
				t.Errorf("%s, cut into %q\n got %+v, %v\nwant %+v, %v", tt.name, pieces, items, again, whole, err)
			}
		}
	}
}

// TestNothingAfterTheLimit checks that nothing is yielded after an error.
func TestNothingAfterTheLimit(t *testing.T) {
	d := sse.NewDecoder(4)
	for range 2 {
		for item := range d.Feed([]byte("data: too long\n\n\n:c\n")) {
			t.Errorf("got %+v", item)
		}
	}
	first := d.Err()
	if rest, ok := d.Close(); ok || !errors.Is(first, sse.ErrTooLarge) || d.Err() != first {
		t.Errorf("got %+v, %v, %v", rest, first, d.Err())
	}
}

// TestDefaultLimit checks that a limit of 0 or less is the default limit, and that an item may have
// exactly that size.
func TestDefaultLimit(t *testing.T) {
	for _, limit := range []int{0, -1} {
		body := append(bytes.Repeat([]byte("x"), sse.DefaultMaxEvent), '\n', '\n')
		copy(body, ":")
		if items, err := decode(limit, body); len(items) != 1 || err != nil {
			t.Errorf("limit %d: %d items, %v for a comment of the limit", limit, len(items), err)
		}
		if _, err := decode(limit, append(body[:sse.DefaultMaxEvent:sse.DefaultMaxEvent], 'x')); !errors.Is(err, sse.ErrTooLarge) {
			t.Errorf("limit %d: %v for a comment of one byte more", limit, err)
		}
	}
}

// TestEndlessLine feeds events of 1 GiB in pieces of 64 KiB, and checks that all memory allocated
// is a small multiple of the limit of 1 MiB. Many short lines need more than a long one, since
// their names are kept.
func TestEndlessLine(t *testing.T) {
	const limit, piece, total = 1 << 20, 64 << 10, 1 << 30
	tests := []struct {
		text, repeated string
		times          uint64 // of the limit
	}{
		{"data: x", "x", 8},
		{": comment", "x", 8},
		{"x", "x", 8},
		{"data: a\ndata: ", "x", 8},
		{"", "data\n", 32},
		{"", "data\r", 32},
		{"", "d:\r\n", 32},
		{"", "d\n", 64},
	}
	for _, tt := range tests {
		text, chunk := tt.text+tt.repeated, []byte(strings.Repeat(tt.repeated, piece)[:piece/12*12])
		d := sse.NewDecoder(limit)
		before := allocated()
		for range d.Feed([]byte(text)) {
			t.Error("got an item")
		}
		for range total / piece {
			for item := range d.Feed(chunk) {
				t.Fatalf("%q: got an item at %d", text, item.Offset)
			}
		}
		used := allocated() - before
		if err := d.Err(); !errors.Is(err, sse.ErrTooLarge) || !strings.Contains(err.Error(), "1048576 bytes") ||
			!strings.Contains(err.Error(), "line ") {
			t.Errorf("%q: %v does not name the limit and the line", text, err)
		}
		t.Logf("%q: %d KiB allocated", text, used>>10)
		if used > tt.times*limit {
			t.Errorf("%q: %d bytes were allocated for a limit of %d", text, used, limit)
		}
	}
}

// TestEndlessStream checks that decoding 64 MiB of small events does not need more and more memory.
func TestEndlessStream(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 64 MiB")
	}
	const piece, total = 64<<10 - 7, 64 << 20 // so that events are cut everywhere
	chunk := []byte(strings.Repeat("data: some text\n\n", piece)[:piece])
	d, events := sse.NewDecoder(1<<10), 0
	for range total / piece {
		for item := range d.Feed(chunk) {
			if item.Kind == sse.Event {
				events++
			}
		}
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if d.Err() != nil || events < total/20 || m.HeapAlloc > 64<<20 {
		t.Errorf("%d events, %v, %d MiB are still in use", events, d.Err(), m.HeapAlloc>>20)
	}
	runtime.KeepAlive(d)
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
