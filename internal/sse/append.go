package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// A Frame is one event to write. Its zero value writes nothing.
type Frame struct {
	Comments []string // comment lines before the fields; one with line ends becomes several
	ID       string
	HasID    bool   // write the id field even if ID is empty, which resets the last event ID
	Event    string // "" writes no event field
	Retry    string // milliseconds, ASCII digits only; "" writes no retry field
	Data     []byte // each of its lines becomes a data field; nil: none, and so no event that a client sees
}

// ErrFrame says that a frame cannot be written so that it would be read back.
var ErrFrame = errors.New("the frame cannot be written")

// Append writes a frame at the end of dst. The lines of data may end with LF, CR or
// CR LF; a reader gets them joined by LF, as the format cannot tell which it was.
// Ids and event names with line ends or NUL, and a retry field that is no number,
// are refused; dst is then as it was.
func Append(dst []byte, f Frame) ([]byte, error) {
	for _, field := range [...]struct{ name, value string }{{"id", f.ID}, {"event", f.Event}} {
		if strings.ContainsAny(field.value, "\r\n\x00") {
			return dst, fmt.Errorf("%w: the %s field %.100q holds a line end or NUL; it is one line without either", ErrFrame, field.name, field.value)
		}
	}
	if f.Retry != "" && !isDigits([]byte(f.Retry)) {
		return dst, fmt.Errorf("%w: the retry field %.100q is not made of the digits 0 to 9", ErrFrame, f.Retry)
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

// Write writes a frame with one call of w.
func Write(w io.Writer, f Frame) error {
	text, err := Append(nil, f)
	if err != nil || len(text) == 0 {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("the frame was not written: %w", err)
	}
	return nil
}

// AppendComment writes a comment, each of its lines as one, and a blank line after
// it. Inside a block it would end the block: see [Frame] for comments before fields.
func AppendComment(dst []byte, text string) []byte {
	return append(appendLines(dst, ":", []byte(text)), '\n')
}

// appendLines writes each line of text behind the same prefix.
func appendLines(dst []byte, prefix string, text []byte) []byte {
	for more := true; more; {
		var line []byte
		line, text, more = cutLine(text)
		dst = append(append(append(dst, prefix...), line...), '\n')
	}
	return dst
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
