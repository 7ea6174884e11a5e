package sse_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/sse"
)

// TestAppend compares encoded frames with text that was written by hand.
func TestAppend(t *testing.T) {
	tests := []struct {
		name  string
		frame sse.Frame
		want  string
	}{
		{"nothing", sse.Frame{}, ""},
		{"data", sse.Frame{Data: []byte("a")}, "data: a\n\n"},
		{"empty data", sse.Frame{Data: []byte{}}, "data: \n\n"},
		{"data of three lines", sse.Frame{Data: []byte("a\nb\nc")}, "data: a\ndata: b\ndata: c\n\n"},
		{"data with all line ends", sse.Frame{Data: []byte("a\rb\r\nc\n\rd")}, "data: a\ndata: b\ndata: c\ndata: \ndata: d\n\n"},
		{"data that ends with a line end", sse.Frame{Data: []byte("a\n")}, "data: a\ndata: \n\n"},
		{"data that is a line end", sse.Frame{Data: []byte("\r\n")}, "data: \ndata: \n\n"},
		{"data that begins with a space", sse.Frame{Data: []byte(" a")}, "data:  a\n\n"},
		{"all fields", sse.Frame{ID: "1", Event: "e", Retry: "10", Data: []byte("a")}, "id: 1\nevent: e\nretry: 10\ndata: a\n\n"},
		{"an empty id", sse.Frame{HasID: true, Data: []byte("a")}, "id: \ndata: a\n\n"},
		{"an id that begins with a space", sse.Frame{ID: " 1", Data: []byte("a")}, "id:  1\ndata: a\n\n"},
		{"only an id", sse.Frame{ID: "1"}, "id: 1\n\n"},
		{"only retry", sse.Frame{Retry: "3000"}, "retry: 3000\n\n"},
		{"comments", sse.Frame{Comments: []string{" a", "b\r\nc", ""}, Data: []byte("x")}, ": a\n:b\n:c\n:\ndata: x\n\n"},
		{"only a comment", sse.Frame{Comments: []string{"a"}}, ":a\n\n"},
	}
	for _, tt := range tests {
		got, err := sse.Append([]byte("before"), tt.frame)
		if err != nil || string(got) != "before"+tt.want {
			t.Errorf("%s: got %q, %v, want %q", tt.name, got, err, tt.want)
		}
		var w writer
		if err := sse.Write(&w, tt.frame); err != nil || w.String() != tt.want || w.calls > 1 {
			t.Errorf("%s: wrote %q in %d calls, %v, want %q in one", tt.name, w.String(), w.calls, err, tt.want)
		}
	}
	if got := string(sse.AppendComment([]byte("x\n"), "a\nb")); got != "x\n:a\n:b\n\n" {
		t.Errorf("a comment of two lines: %q", got)
	}
}

// TestRefused checks that frames which cannot be represented are rejected, with the name of the
// field.
func TestRefused(t *testing.T) {
	for _, c := range []string{"\n", "\r", "\r\n", "\x00"} {
		for field, frame := range map[string]sse.Frame{
			"id":    {ID: "a" + c, HasID: true, Data: []byte("x")},
			"event": {Event: c + "a", Data: []byte("x")},
			"retry": {Retry: "1" + c, Data: []byte("x")},
		} {
			got, err := sse.Append([]byte("before"), frame)
			if !errors.Is(err, sse.ErrFrame) || !strings.Contains(err.Error(), "the "+field+" field") || string(got) != "before" {
				t.Errorf("%s with %q: got %q, %v", field, c, got, err)
			}
			var w writer
			if err := sse.Write(&w, frame); !errors.Is(err, sse.ErrFrame) || w.calls > 0 {
				t.Errorf("%s with %q: Write wrote %q, %v", field, c, w.String(), err)
			}
		}
	}
	for _, retry := range []string{"-1", "+1", "1s", " 1", "1.5", "١"} {
		if _, err := sse.Append(nil, sse.Frame{Retry: retry}); !errors.Is(err, sse.ErrFrame) {
			t.Errorf("retry %q: %v", retry, err)
		}
	}
}

// TestWriteFails checks that Write returns the error of the writer, wrapped.
func TestWriteFails(t *testing.T) {
	broken := errors.New("broken")
	if err := sse.Write(&writer{err: broken}, sse.Frame{Data: []byte("a")}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

// A writer is a buffer that counts the calls of Write. If err is not nil, Write returns err and
// writes nothing.
type writer struct {
	bytes.Buffer
	calls int
	err   error
}

func (w *writer) Write(p []byte) (int, error) {
	w.calls++
	if w.err != nil {
		return 0, w.err
	}
	return w.Buffer.Write(p)
}
