package sse

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// A Frame is one event to be encoded. The zero value is encoded as nothing.
type Frame struct {
	Comments []string // comments before the fields; a comment of several lines becomes several comment lines
	ID       string   // event id; omitted if empty, unless HasID is true
	HasID    bool     // encode the id field even if ID is empty, which resets the last event ID
	Event    string   // event name; omitted if empty
	Retry    string   // milliseconds as ASCII digits; omitted if empty
	Data     []byte   // one data field per line; if nil, there is no data field and clients dispatch no event
}

// ErrFrame means that a frame has a value that an event stream cannot represent.
var ErrFrame = errors.New("invalid frame")

// Append appends the encoding of f to dst and returns the result. Lines of f.Data may end with LF,
// CR or CR LF. A decoder returns them joined by LF, because the format does not preserve line ends.
// If f.ID or f.Event contains a line end or NUL, or if f.Retry is neither empty nor a decimal
// number, Append returns dst unchanged and an error that wraps [ErrFrame].
func Append(dst []byte, f Frame) ([]byte, error) {
	for _, field := range [...]struct{ name, value string }{{"id", f.ID}, {"event", f.Event}} {
		if strings.ContainsAny(field.value, "\r\n\x00") {
			return dst, fmt.Errorf("%w: the %s field %.100q contains a line end or NUL", ErrFrame, field.name, field.value)
		}
	}
	if f.Retry != "" && !isDigits([]byte(f.Retry)) {
		return dst, fmt.Errorf("%w: the retry field %.100q is not a number (digits 0 to 9)", ErrFrame, f.Retry)
	}
	begin := len(dst)
	for _, text := range f.Comments {
		dst = appendLines(dst, ":", []byte(text))
	}
	if f.HasID || f.ID != "" {
		dst = appendLines(dst, "id: ", []byte(f.ID))
	}
	if f.Event != "" {
		dst = appendLines(dst, "event: ", []byte(f.Event))
	}
	if f.Retry != "" {
		dst = appendLines(dst, "retry: ", []byte(f.Retry))
	}
	if f.Data != nil {
		dst = appendLines(dst, "data: ", f.Data)
	}
	if len(dst) > begin {
		dst = append(dst, '\n')
	}
	return dst, nil
}

// Write encodes f and writes it to w with one call of w.Write. If the encoding is empty, it does
// not call w.Write. If f cannot be encoded, Write returns an error that wraps [ErrFrame]. If
// writing to w fails, it returns an error that wraps the error from w.
func Write(w io.Writer, f Frame) error {
	text, err := Append(nil, f)
	if err != nil || len(text) == 0 {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("writing a frame: %w", err)
	}
	return nil
}

// AppendComment appends text to dst as a comment and returns the result. The comment has one
// comment line for each line of text, followed by a blank line. To put a comment within a frame,
// use [Frame.Comments] instead, because the blank line would end the frame.
func AppendComment(dst []byte, text string) []byte {
	return append(appendLines(dst, ":", []byte(text)), '\n')
}

// appendLines appends each line of text to dst, with prefix before the line and LF after it, and
// returns the result. An empty text counts as one empty line.
func appendLines(dst []byte, prefix string, text []byte) []byte {
	for more := true; more; {
		var line []byte
		line, text, more = cutLine(text)
		dst = append(append(append(dst, prefix...), line...), '\n')
	}
	return dst
}

// cutLine returns the first line of text, without its line end, and the text after the line end. If
// the line has no line end, rest is nil and more is false. If more is true, rest begins with a
// further line, which may be empty.
func cutLine(text []byte) (line, rest []byte, more bool) {
	i := indexLineEnd(text)
	if i < 0 {
		return text, nil, false
	}
	return text[:i:i], text[i+lineEndLen(text[i:]):], true
}
