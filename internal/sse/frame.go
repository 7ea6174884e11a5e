package sse

import (
	"bytes"
	"iter"
)

// A FrameSplitter divides a stream of bytes into frames. A frame consists of the lines up to and
// including the next blank line. Lines end with LF, CR or CR LF. The frames that Split yields,
// followed by the result of Rest, contain all bytes of the stream. The zero value is ready to use.
// A FrameSplitter must not be used concurrently.
type FrameSplitter struct {
	rest []byte // bytes of the incomplete frame
	line int    // offset in rest of the current line
	scan int    // offset up to which rest was searched for the end of that line
}

// Split returns an iterator over the frames that p, the next piece of the stream, completes. A
// frame is complete after the CR of its blank line, even if the CR is the last byte of p. If the
// next piece then begins with LF, that LF is a separate frame without lines. The frames alias p or
// the memory of the splitter, and are valid until the next call to Split. If the iteration is
// stopped early, the frames of p that were not yielded are lost.
func (s *FrameSplitter) Split(p []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		held := s.rest
		if s.rest = nil; held != nil {
			p = append(held, p...)
		}
		for n := s.frameEnd(p); n >= 0; n = s.frameEnd(p) {
			s.line, s.scan = 0, 0
			if !yield(p[:n:n]) {
				return
			}
			p = p[n:]
		}
		switch {
		case held != nil && len(p) > 0:
			s.rest = p
		case len(p) > 0:
			s.rest = bytes.Clone(p)
		}
	}
}

// Rest returns the bytes after the last complete frame, which are the beginning of an incomplete
// one. It returns nil if there are none. The bytes are valid until the next call to Split.
func (s *FrameSplitter) Rest() []byte { return s.rest }

// frameEnd returns the length of the first frame of p, or -1 if that frame is incomplete. After a
// result of -1, the next call continues the search where this one ended, so its argument must begin
// with the bytes of p.
func (s *FrameSplitter) frameEnd(p []byte) int {
	for {
		if s.line > 0 && s.line < len(p) && p[s.line-1] == '\r' && p[s.line] == '\n' {
			s.line++ // the second byte of CR LF
		}
		s.scan = max(s.scan, s.line)
		i := indexLineEnd(p[s.scan:])
		if i < 0 {
			s.scan = len(p)
			return -1
		}
		at := s.scan + i
		next := at + lineEndLen(p[at:])
		if at == s.line {
			return next
		}
		s.line, s.scan = next, next
	}
}

// A Line is one line of a frame. It is a field or a comment.
type Line struct {
	Name  string // name of the field; "" for a comment
	Value []byte // bytes after the colon, without one leading space in a field; aliases the frame

	// Offsets in the frame: of the line, of its value, and of the next line.
	Start, ValueStart, Next int
}

// ValueEnd returns the offset in the frame at which the value of l ends. That is the offset of the
// line end or, if the line has none, the length of the frame.
func (l Line) ValueEnd() int { return l.ValueStart + len(l.Value) }

// Lines returns an iterator over the lines of frame, except blank ones. The last line need not have
// a line end.
func Lines(frame []byte) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		for rest, more := frame, true; more; {
			var line []byte
			at := len(frame) - len(rest)
			if line, rest, more = cutLine(rest); len(line) == 0 {
				continue
			}
			name, value := splitField(line)
			if len(name) == 0 {
				value = line[1:]
			}
			l := Line{Name: string(name), Value: value, Start: at, Next: len(frame) - len(rest)}
			if l.ValueStart = at + len(line) - len(value); !yield(l) {
				return
			}
		}
	}
}

// FindField returns the first line of frame that is a field with the given name. ok is false if
// there is no such line.
func FindField(frame []byte, name string) (field Line, ok bool) {
	for l := range Lines(frame) {
		if l.Name == name {
			return l, true
		}
	}
	return Line{}, false
}

// HasFields reports whether frame has at least one field. A frame that consists of comments has
// none.
func HasFields(frame []byte) bool {
	for l := range Lines(frame) {
		if l.Name != "" {
			return true
		}
	}
	return false
}

// splitField returns the name and the value of the field in line. It omits a space at the beginning
// of the value. If line has no colon, the whole line is the name. If line is a comment, name is
// empty.
func splitField(line []byte) (name, value []byte) {
	colon := bytes.IndexByte(line, ':')
	if colon < 0 {
		return line, line[len(line):]
	}
	if value = line[colon+1:]; len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	return line[:colon], value
}

// indexLineEnd returns the index of the first CR or LF in p, or -1 if there is none.
func indexLineEnd(p []byte) int {
	lf := bytes.IndexByte(p, '\n')
	if lf >= 0 {
		p = p[:lf]
	}
	if cr := bytes.IndexByte(p, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// lineEndLen returns the length of the line end at the beginning of p, which is 2 for CR LF and 1
// otherwise. p must begin with a line end.
func lineEndLen(p []byte) int {
	if p[0] == '\r' && len(p) > 1 && p[1] == '\n' {
		return 2
	}
	return 1
}
