package transcript

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"
)

// Elements of the text form of a transcript.
const (
	directivePrefix = ":@"  // beginning of a directive
	markerPrefix    = "-- " // beginning of a marker line, which begins a section
	markerSuffix    = " --" // end of a marker line

	rawDirective, base64Directive = "raw", "base64" // names of the directives for encoded lines

	base64LineBytes = 96 // maximum number of bytes that one base64 directive encodes
)

// isTextRune reports whether a transcript can contain r without encoding, that is, whether editors
// preserve r and r does not end a line. It returns false for U+FFFD, which decoders also return for
// an invalid byte; a caller that knows the bytes can distinguish the two.
func isTextRune(r rune) bool {
	return r == '\t' || !unicode.IsControl(r) &&
		r != utf8.RuneError && r != '\ufeff' && r != '\u2028' && r != '\u2029'
}

// countUnprintable returns the number of bytes in line that belong to characters that a transcript
// can contain only in encoded form.
func countUnprintable(line []byte) (n int) {
	for i := 0; i < len(line); {
		if c := line[i]; c >= ' ' && c < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRune(line[i:])
		if !isTextRune(r) && (r != utf8.RuneError || size == 1) {
			n += size
		}
		i += size
	}
	return n
}

// isCleanValue reports whether the head of a section can contain s, such as the value of a header
// field, without encoding: s has neither unprintable characters nor white space at its ends.
func isCleanValue(s string) bool {
	return countUnprintable([]byte(s)) == 0 && strings.TrimSpace(s) == s
}

// isToken reports whether s is a token, such as a method or the name of a header field (RFC 9110
// section 5.6.2).
func isToken(s string) bool { return httpguts.ValidHeaderFieldName(s) }

// isPlainLine reports whether a transcript can contain line, a line of a body without its line end,
// without encoding: line looks neither like a directive nor like a marker line, and has no
// unprintable characters.
func isPlainLine(line []byte) bool {
	return !bytes.HasPrefix(line, []byte(directivePrefix)) &&
		!(bytes.HasPrefix(line, []byte(markerPrefix)) && bytes.HasSuffix(line, []byte(markerSuffix))) &&
		countUnprintable(line) == 0
}

// A lastLineEncoding describes how the last line of a body was written to a transcript. It
// determines whether a directive must mark the end of the body.
type lastLineEncoding struct {
	plain        bool // the line is not encoded
	newlineAdded bool // the newline after the line is not part of the body
}

// writeLines writes piece, a piece of a body, to b. It encodes the lines that a transcript cannot
// contain as they are. If crlf is true, lines of piece that end with CR LF are written with LF, as
// the directive ":@ lines crlf" requires. The result describes how the last line was written.
func writeLines(b *bytes.Buffer, piece []byte, crlf bool) (last lastLineEncoding) {
	for line := range bytes.Lines(piece) {
		text, hasNewline := bytes.CutSuffix(line, []byte(newline(crlf)))
		if !isPlainLine(text) {
			writeEncoded(b, line)
			last = lastLineEncoding{}
			continue
		}
		b.Write(text)
		b.WriteByte('\n')
		last = lastLineEncoding{plain: true, newlineAdded: !hasNewline}
	}
	return last
}

// newline returns the line ending of a body: CR LF if crlf is true, and LF otherwise.
func newline(crlf bool) string {
	if crlf {
		return "\r\n"
	}
	return "\n"
}

// writeEncoded writes line to b in encoded form. If most of the line is readable, it writes a raw
// directive, which contains a Go string literal. Otherwise it writes one or more base64 directives.
func writeEncoded(b *bytes.Buffer, line []byte) {
	if countUnprintable(line) <= 2+len(line)/8 {
		b.WriteString(directivePrefix + " " + rawDirective + " ")
		b.Write(strconv.AppendQuote(b.AvailableBuffer(), string(line)))
		b.WriteByte('\n')
		return
	}
	for len(line) > 0 {
		n := min(len(line), base64LineBytes)
		b.WriteString(directivePrefix + " " + base64Directive + " ")
		b.Write(base64.StdEncoding.AppendEncode(b.AvailableBuffer(), line[:n]))
		b.WriteByte('\n')
		line = line[n:]
	}
}

// usesCRLF reports whether more than half of the lines in body end with CR LF.
func usesCRLF(body []byte) bool {
	n := bytes.Count(body, []byte("\r\n"))
	return n > 0 && 2*n > bytes.Count(body, []byte("\n"))
}
