package textfile

import (
	"errors"
	"strings"
	"testing"
)

// TestDecode checks that only valid UTF-8 is decoded, without its byte order mark, and that errors
// name the encoding or the position of the first invalid byte.
func TestDecode(t *testing.T) {
	for _, c := range []struct {
		data, want   string
		err          string // part of the message; "" if there is no error
		line, column int
	}{
		{data: "", want: ""},
		{data: "a: é\n", want: "a: é\n"},
		{data: "\ufeffa: b", want: "a: b"},
		{data: "a: \ufffd", want: "a: \ufffd"},
		{data: "a\x00", want: "a\x00"},
		{data: "\xff\xfea\x00:\x00", err: "UTF-16", line: 1, column: 1},
		{data: "\xfe\xff\x00a\x00:", err: "UTF-16", line: 1, column: 1},
		{data: "a\x00:\x00 \x00b\x00", err: "UTF-16", line: 1, column: 1},
		{data: "\x00a\x00:", err: "UTF-16", line: 1, column: 1},
		{data: "\x1f\x8b\x08\x00", err: "gzip", line: 1, column: 1},
		{data: "a: b\né: \xe9", err: "not valid UTF-8", line: 2, column: 4},
	} {
		got, err := Decode([]byte(c.data))
		if c.err == "" {
			if err != nil || string(got) != c.want {
				t.Errorf("Decode(%q) = %q, %v; want %q", c.data, got, err, c.want)
			}
			continue
		}
		e, ok := errors.AsType[*Error](err)
		if !ok || !strings.Contains(e.Message, c.err) || e.Line != c.line || e.Column != c.column {
			t.Errorf("Decode(%q): error %+v; want %q at %d:%d", c.data, err, c.err, c.line, c.column)
		}
	}
	if err := CheckFormat([]byte("HTTP/1.1 200 OK\n\n\xff\xfe")); err != nil {
		t.Errorf("CheckFormat refuses a recording with bytes that are not UTF-8: %v", err)
	}
}
