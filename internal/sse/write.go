package sse

import (
	"bytes"
	"errors"
	"strings"
)

// A Frame is one event to write.
type Frame struct {
	ID    string
	HasID bool // write the id, even if it is empty
	Event string
	Retry string // milliseconds, digits only; "" is none
	Data  []byte // each of its lines becomes a data line
}

// ErrFrame says that a frame cannot be written so that it would be read back.
var ErrFrame = errors.New("an id, event or retry field cannot hold line ends or NUL, retry only digits")

// Append writes a frame at the end of dst.
func Append(dst []byte, f Frame) ([]byte, error) {
	if strings.ContainsAny(f.ID+f.Event, "\r\n\x00") || f.Retry != "" && !digits([]byte(f.Retry)) {
		return dst, ErrFrame
	}
	if f.HasID {
		dst = append(append(append(dst, "id: "...), f.ID...), '\n')
	}
	if f.Event != "" {
		dst = append(append(append(dst, "event: "...), f.Event...), '\n')
	}
	if f.Retry != "" {
		dst = append(append(append(dst, "retry: "...), f.Retry...), '\n')
	}
	for rest, more := f.Data, true; more; {
		var line []byte
		line, rest, more = cutLine(rest)
		dst = append(append(append(dst, "data: "...), line...), '\n')
	}
	return append(dst, '\n'), nil
}

// AppendComment writes a comment, each of its lines as one.
func AppendComment(dst []byte, text string) []byte {
	for rest, more := []byte(text), true; more; {
		var line []byte
		line, rest, more = cutLine(rest)
		dst = append(append(append(dst, ':'), line...), '\n')
	}
	return append(dst, '\n')
}

// cutLine takes the first line off; more says whether another follows.
func cutLine(text []byte) (line, rest []byte, more bool) {
	i := bytes.IndexAny(text, "\r\n")
	if i < 0 {
		return text, nil, false
	}
	line, rest = text[:i], text[i+1:]
	if text[i] == '\r' && len(rest) > 0 && rest[0] == '\n' {
		rest = rest[1:]
	}
	return line, rest, true
}
