package sse_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/sse"
)

// clone returns a copy of an item that shares no memory with it.
func clone(item sse.Item) sse.Item {
	item.Raw, item.Data, item.Fields = bytes.Clone(item.Raw), bytes.Clone(item.Data), slices.Clone(item.Fields)
	item.Event, item.ID, item.LastEventID = strings.Clone(item.Event), strings.Clone(item.ID), strings.Clone(item.LastEventID)
	item.Retry, item.Text = strings.Clone(item.Retry), strings.Clone(item.Text)
	return item
}

// everything returns the whole corpus, in all renderings, as one body.
func everything() []byte {
	var body []byte
	for _, s := range corpus() {
		for _, r := range s.renderings() {
			body = append(append(body, r.body...), "\n\n"...)
		}
	}
	return body
}

// TestItemsStay checks that items do not change when more is fed, and that the decoder never
// writes to its input.
func TestItemsStay(t *testing.T) {
	body := everything()
	untouched := bytes.Clone(body)
	whole, err := decode(0, body)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1, 2, 3, 7, 64, 1000, 4095, 4096, 4097, 65536} {
		d := sse.NewDecoder(0)
		var items, copies []sse.Item
		for piece := range slices.Chunk(body, size) {
			for item := range d.Feed(piece) {
				items, copies = append(items, item), append(copies, clone(item))
			}
		}
		if rest, ok := d.Close(); ok {
			items, copies = append(items, rest), append(copies, clone(rest))
		}
		if !slices.EqualFunc(items, copies, same) {
			t.Errorf("pieces of %d bytes: an item changed after it was told", size)
		}
		if !slices.EqualFunc(items, whole, same) {
			t.Errorf("pieces of %d bytes: other items than in one piece", size)
		}
		if !bytes.Equal(body, untouched) {
			t.Fatalf("pieces of %d bytes: Feed wrote to its input", size)
		}
	}
}

// TestInputIsReused decodes through one reused buffer, as a reader of a connection does.
func TestInputIsReused(t *testing.T) {
	body := everything()
	whole, _ := decode(0, body)
	for _, size := range []int{1, 5, 100, 4096, 5000} {
		d, buf := sse.NewDecoder(0), make([]byte, size)
		var items []sse.Item
		for piece := range slices.Chunk(body, size) {
			n := copy(buf, piece)
			for item := range d.Feed(buf[:n]) {
				items = append(items, clone(item)) // may alias buf, which is overwritten next
			}
			for i := range buf {
				buf[i] = 0xee
			}
		}
		if rest, ok := d.Close(); ok {
			items = append(items, rest)
		}
		if !slices.EqualFunc(items, whole, same) {
			t.Errorf("a buffer of %d bytes: other items than in one piece", size)
		}
	}
}

// TestRoomIsNotShared checks that appending to the bytes of an item overwrites neither other items
// nor the input.
func TestRoomIsNotShared(t *testing.T) {
	body := everything()
	untouched := bytes.Clone(body)
	whole, _ := decode(0, untouched)
	for _, size := range []int{3, 5000, len(body)} {
		d := sse.NewDecoder(0)
		var items []sse.Item
		for piece := range slices.Chunk(body, size) {
			for item := range d.Feed(piece) {
				_, _ = append(item.Raw, 'X'), append(item.Data, 'Y')
				items = append(items, item)
			}
		}
		if rest, ok := d.Close(); ok {
			items = append(items, rest)
		}
		if !slices.EqualFunc(items, whole, same) || !bytes.Equal(body, untouched) {
			t.Errorf("pieces of %d bytes: appending to items changed others, or the input", size)
		}
	}
}

// TestBreakingOff checks that, after an iteration was stopped, the iteration of the next Feed
// continues with the next item.
func TestBreakingOff(t *testing.T) {
	body := everything()
	whole, _ := decode(0, body)
	for _, size := range []int{1, 50, 5000, len(body)} {
		d := sse.NewDecoder(0)
		var items []sse.Item
		one := func(piece []byte) bool {
			for item := range d.Feed(piece) {
				items = append(items, item)
				return true
			}
			return false
		}
		for piece := range slices.Chunk(body, size) {
			for one(piece) {
				piece = nil
			}
		}
		if rest, ok := d.Close(); ok {
			items = append(items, rest)
		}
		if !slices.EqualFunc(items, whole, same) {
			t.Errorf("pieces of %d bytes: %d items when each Feed is broken off, %d when not", size, len(items), len(whole))
		}
	}
}

// TestAfterClose checks that a closed decoder has no more items.
func TestAfterClose(t *testing.T) {
	d := sse.NewDecoder(0)
	if rest, ok := d.Close(); ok {
		t.Errorf("nothing was fed, and %+v was left", rest)
	}
	for item := range d.Feed([]byte("data: a\n\n")) {
		t.Errorf("got %+v after Close", item)
	}
	if rest, ok := d.Close(); ok || d.Err() != nil {
		t.Errorf("got %+v, %v from a second Close", rest, d.Err())
	}
}

// TestCloseAfterBreakingOff checks that Close drops items that were not consumed, but neither
// the incomplete item after them nor the error.
func TestCloseAfterBreakingOff(t *testing.T) {
	for _, tt := range []struct {
		body, rest string
		tooLarge   bool
	}{
		{"data: a\n\ndata: b\n\nid: 1\ndata: c", "id: 1\ndata: c", false},
		{"data: a\n\n: b\n\r\n", "", false},
		{"data: a\n\ndata: b\n\ndata: much too long for it\n\n", "", true},
	} {
		d := sse.NewDecoder(16)
		for item := range d.Feed([]byte(tt.body)) {
			if string(item.Data) != "a" {
				t.Errorf("%q: got %+v first", tt.body, item)
			}
			break
		}
		rest, ok := d.Close()
		if string(rest.Raw) != tt.rest || ok != (tt.rest != "") || ok && !rest.Incomplete || errors.Is(d.Err(), sse.ErrTooLarge) != tt.tooLarge {
			t.Errorf("%q: left %+v (%t), %v; want %q, too large: %t", tt.body, rest, ok, d.Err(), tt.rest, tt.tooLarge)
		}
	}
}
