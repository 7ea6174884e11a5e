package sse_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/streamassay/streamassay/internal/sse"
)

// frames splits a stream, given in pieces, and returns its frames and the rest after them.
func frames(pieces ...[]byte) (all []string, rest string) {
	var s sse.FrameSplitter
	for _, p := range pieces {
		for f := range s.Split(p) {
			all = append(all, string(f))
		}
	}
	return all, string(s.Rest())
}

func TestFrames(t *testing.T) {
	for _, c := range []struct {
		body, rest string
		want       []string
	}{
		{body: ""},
		{body: "data: a\n\ndata: b\n\n", want: []string{"data: a\n\n", "data: b\n\n"}},
		{body: ": c\n\nid: 1\ndata: a\n\nda", want: []string{": c\n\n", "id: 1\ndata: a\n\n"}, rest: "da"},
		{body: "data: a\r\n\r\ndata: b\r\rdata: c\n\rx", want: []string{"data: a\r\n\r\n", "data: b\r\r", "data: c\n\r"}, rest: "x"},
		{body: "\n\ndata: a\n", want: []string{"\n", "\n"}, rest: "data: a\n"},
	} {
		if got, rest := frames([]byte(c.body)); !slices.Equal(got, c.want) || rest != c.rest {
			t.Errorf("%q: %q and %q, want %q and %q", c.body, got, rest, c.want, c.rest)
		}
	}
}

// TestFramesOfPieces checks that a stream in pieces has the same frames as the whole stream, except
// that the LF of a CR LF that ends a frame may be a frame of its own, and that each frame with data
// is one event of the decoder.
func TestFramesOfPieces(t *testing.T) {
	check(t, func(t *rapid.T) {
		body := aStream().Draw(t, "body")
		whole, rest := frames(body)
		if join(whole)+rest != string(body) {
			t.Fatalf("%q is split into %q and %q", body, whole, rest)
		}
		whole = slices.DeleteFunc(whole, isBlank)
		for _, pieces := range [][][]byte{cut(t, body), bytewise(body)} {
			got, left := frames(pieces...)
			if join(got)+left != string(body) {
				t.Fatalf("%q is split into %q and %q", pieces, got, left)
			}
			got = slices.DeleteFunc(got, isBlank)
			if len(got) != len(whole) {
				t.Fatalf("%q is split into %q, whole into %q", pieces, got, whole)
			}
			for i := range got {
				if !strings.HasPrefix(whole[i], strings.TrimRight(got[i], "\r\n")) {
					t.Fatalf("%q is split into %q, whole into %q", pieces, got, whole)
				}
			}
		}
		var data []string
		for item := range sse.Items(body, 0) {
			if item.Kind == sse.Event && !item.Incomplete {
				data = append(data, string(item.Data))
			}
		}
		// The decoder omits one byte order mark at the beginning, the splitter none.
		whole, _ = frames(bytes.TrimPrefix(body, []byte(mark)))
		for _, f := range whole {
			if field, ok := sse.FindField([]byte(f), "data"); ok {
				if len(data) == 0 || !strings.HasPrefix(data[0], string(field.Value)) {
					t.Fatalf("frame %q has the data %q, want %q", f, field.Value, data)
				}
				data = data[1:]
			}
		}
		if len(data) > 0 {
			t.Fatalf("%q: no frames for %q", body, data)
		}
	})
}

func isBlank(frame string) bool { return strings.Trim(frame, "\r\n") == "" }

func join(all []string) string {
	return strings.Join(all, "")
}

func TestLines(t *testing.T) {
	const frame = ":  c\r\nid:7\nevent\rdata:  {}\n\ndata:"
	want := []sse.Line{
		{Name: "", Value: []byte("  c"), Start: 0, ValueStart: 1, Next: 6},
		{Name: "id", Value: []byte("7"), Start: 6, ValueStart: 9, Next: 11},
		{Name: "event", Value: []byte(""), Start: 11, ValueStart: 16, Next: 17},
		{Name: "data", Value: []byte(" {}"), Start: 17, ValueStart: 23, Next: 27},
		{Name: "data", Value: []byte(""), Start: 28, ValueStart: 33, Next: 33},
	}
	i := 0
	for l := range sse.Lines([]byte(frame)) {
		w := want[i]
		if l.Name != w.Name || string(l.Value) != string(w.Value) ||
			l.Start != w.Start || l.ValueStart != w.ValueStart || l.Next != w.Next {
			t.Errorf("line %d is %+v, want %+v", i, l, w)
		}
		if frame[l.ValueStart:l.ValueEnd()] != string(l.Value) {
			t.Errorf("line %d: the value is not at %d to %d", i, l.ValueStart, l.ValueEnd())
		}
		i++
	}
	if i != len(want) {
		t.Errorf("%d lines, want %d", i, len(want))
	}
	for text, has := range map[string]bool{": c\n\n": false, ": c\ndata: x\n\n": true, "\n": false, "x\n\n": true} {
		if sse.HasFields([]byte(text)) != has {
			t.Errorf("HasFields(%q) is %v", text, !has)
		}
	}
}
