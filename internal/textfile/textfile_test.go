package textfile

import (
	"strings"
	"testing"
)

// TestDecode checks that only valid UTF-8 is decoded, without its byte order mark, and that errors
// name the encoding or the position of the first invalid byte.
func TestDecode(t *testing.T) {
	for _, c := range []struct {
		data, want   string
		message      string // part of the message of the problem; "": no problem
		line, column int
	}{
		{data: "", want: ""},
		{data: "a: é\n", want: "a: é\n"},
		{data: "\ufeffa: b", want: "a: b"},
		{data: "a: \ufffd", want: "a: \ufffd"},
		{data: "a\x00", want: "a\x00"},
		{data: "\xff\xfea\x00:\x00", message: "UTF-16", line: 1, column: 1},
		{data: "\xfe\xff\x00a\x00:", message: "UTF-16", line: 1, column: 1},
		{data: "a\x00:\x00 \x00b\x00", message: "UTF-16", line: 1, column: 1},
		{data: "\x00a\x00:", message: "UTF-16", line: 1, column: 1},
		{data: "\x1f\x8b\x08\x00", message: "gzip", line: 1, column: 1},
		{data: "a: b\né: \xe9", message: "not valid UTF-8", line: 2, column: 4},
	} {
		got, problem := Decode([]byte(c.data))
		if c.message == "" {
			if problem != nil || string(got) != c.want {
				t.Errorf("Decode(%q) = %q, %+v; want %q", c.data, got, problem, c.want)
			}
			continue
		}
		if problem == nil || !strings.Contains(problem.Message, c.message) || problem.Line != c.line || problem.Column != c.column {
			t.Errorf("Decode(%q): problem %+v; want %q at %d:%d", c.data, problem, c.message, c.line, c.column)
		}
	}
	if problem := CheckFormat([]byte("HTTP/1.1 200 OK\n\n\xff\xfe")); problem != nil {
		t.Errorf("CheckFormat refuses a recording with bytes that are not UTF-8: %+v", problem)
	}
}
