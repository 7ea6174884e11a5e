package sse_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/streamassay/streamassay/internal/sse"
)

// aStream returns a generator of streams that consist of syntactically relevant elements in any
// order.
func aStream() *rapid.Generator[[]byte] {
	token := rapid.SampledFrom([]string{
		"\n", "\n", "\r", "\r", "\r\n", "\r\n", "\n\n", "data", "data:", "data: ", "data: a", "event: e", "event", "id: 1",
		"id:", "id: \x00", "retry: 5", "retry: x", ":", ": c", " ", "\t", "x", "Data: y", "\x00", mark, "\xef\xbb", "\xbf", "é", "\u2028", "\xff", "\xe2\x82",
	})
	return rapid.Custom(func(t *rapid.T) []byte {
		return []byte(strings.Join(rapid.SliceOfN(token, 0, 60).Draw(t, "tokens"), ""))
	})
}

// cut returns body, cut into pieces in a way that it draws from t. Some pieces may be empty.
func cut(t *rapid.T, body []byte) [][]byte {
	at := rapid.SliceOfN(rapid.IntRange(0, len(body)), 0, 12).Draw(t, "cuts")
	slices.Sort(at)
	var pieces [][]byte
	before := 0
	for _, i := range append(at, len(body)) {
		pieces = append(pieces, body[before:i])
		before = i
	}
	return pieces
}

// check tests a property with more examples than rapid does by default, as each takes only
// microseconds.
func check(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	for range 30 {
		if rapid.Check(t, property); t.Failed() {
			return
		}
	}
}

// TestCutsChangeNothing checks that cuts change neither the items nor the error, and that the
// items agree with the standard.
func TestCutsChangeNothing(t *testing.T) {
	check(t, func(t *rapid.T) {
		body := aStream().Draw(t, "body")
		untouched := bytes.Clone(body)
		limit := rapid.OneOf(rapid.Just(0), rapid.IntRange(1, 40)).Draw(t, "limit")
		whole, err := decode(limit, body)
		for _, pieces := range [][][]byte{cut(t, body), bytewise(body)} {
			items, again := decode(limit, pieces...)
			if !slices.EqualFunc(items, whole, same) || fmt.Sprint(err) != fmt.Sprint(again) {
				t.Fatalf("limit %d, cut into %q\n got %+v, %v\nwant %+v, %v", limit, pieces, items, again, whole, err)
			}
		}
		if !bytes.Equal(body, untouched) {
			t.Fatalf("Feed wrote to its input %q", untouched)
		}
		if err == nil {
			agree(t, body, whole)
		}
	})
}

// text returns a generator of texts with characters that matter to the format. The parameter with
// lists further elements of the texts.
func text(with ...string) *rapid.Generator[string] {
	parts := append([]string{"a", "", " ", ":", "data: ", "é", "{}", mark, "\xff", "\t", "\u2028", "0"}, with...)
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 8).Draw(t, "parts"), "")
	})
}

// oneLF returns text with every line end replaced by LF, as in the data that a decoder returns.
func oneLF(text []byte) string {
	return strings.ReplaceAll(strings.ReplaceAll(string(text), "\r\n", "\n"), "\r", "\n")
}

// TestWhatIsWrittenIsRead checks that frames and comments are the same after encoding and decoding.
func TestWhatIsWrittenIsRead(t *testing.T) {
	check(t, func(t *rapid.T) {
		var body []byte
		var frames []sse.Frame
		var comments []string
		for range rapid.IntRange(1, 5).Draw(t, "frames") {
			comment := text("\n", "\r", "\r\n").Draw(t, "comment")
			comments = append(comments, strings.Split(oneLF([]byte(comment)), "\n")...)
			body = sse.AppendComment(body, comment)
			f := sse.Frame{
				HasID: rapid.Bool().Draw(t, "has id"), Event: text().Draw(t, "event"),
				Retry: rapid.StringMatching("[0-9]{0,5}").Draw(t, "retry"),
				Data:  []byte(text("\n", "\r", "\r\n", "\n\n", "\x00").Draw(t, "data")),
			}
			if f.HasID {
				f.ID = text().Draw(t, "id")
			}
			var err error
			if body, err = sse.Append(body, f); err != nil {
				t.Fatalf("%+v: %v", f, err)
			}
			frames = append(frames, f)
		}
		items, err := decode(0, cut(t, body)...)
		if err != nil {
			t.Fatal(err)
		}
		lastID := ""
		for _, item := range items {
			if item.Kind == sse.Comment && len(comments) > 0 && item.Text == comments[0] {
				comments = comments[1:]
				continue
			}
			if len(frames) == 0 {
				t.Fatalf("%q: %+v was not written", body, item)
			}
			f := frames[0]
			if frames = frames[1:]; f.HasID {
				lastID = f.ID
			}
			if item.Kind != sse.Event || item.Incomplete || item.Event != f.Event || item.HasID != f.HasID || item.ID != f.ID ||
				item.LastEventID != lastID || item.Retry != f.Retry || string(item.Data) != oneLF(f.Data) {
				t.Fatalf("%q\nwrote %+v\n read %+v", body, f, item)
			}
		}
		if len(frames)+len(comments) > 0 {
			t.Fatalf("%q: frames %+v and comments %q were not read", body, frames, comments)
		}
	})
}

// TestAppendRefuses checks that Append rejects frames that a decoder would not decode to the same
// values.
func TestAppendRefuses(t *testing.T) {
	check(t, func(t *rapid.T) {
		bad := text().Draw(t, "before") + rapid.SampledFrom([]string{"\n", "\r", "\x00", "\r\n"}).Draw(t, "bad") + text().Draw(t, "after")
		number := rapid.SampledFrom([]string{"-1", "+1", "1.5", " 1", "1 ", "1e3", "0x1", "١", "x", "1\n", "\x00"}).Draw(t, "number")
		for _, f := range []sse.Frame{{ID: bad, HasID: true}, {Event: bad}, {Retry: number}} {
			f.Data = []byte("a")
			if got, err := sse.Append([]byte("before"), f); !errors.Is(err, sse.ErrFrame) || string(got) != "before" {
				t.Fatalf("%+v: got %q, %v", f, got, err)
			}
		}
	})
}
