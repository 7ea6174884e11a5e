package transcript

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	directivePrefix = ":@" // how a direction begins
	markerPrefix    = "-- "
	markerSuffix    = " --"

	rawDirective, base64Directive = "raw", "base64"

	base64LineBytes = 96 // bytes in a line of base64
)

// isTextRune says whether a character can stand in a text file: editors leave it
// alone, and it ends no line. Bytes that are no character do not count as one.
func isTextRune(r rune) bool {
	return r == '\t' || !unicode.IsControl(r) &&
		r != utf8.RuneError && r != '\ufeff' && r != '\u2028' && r != '\u2029'
}

// countUnprintable is how many bytes of a line cannot stand in a text file.
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

// isCleanValue says whether a value can stand in a head as it is: it is neither
// trimmed nor mistaken for something else.
func isCleanValue(s string) bool {
	return countUnprintable([]byte(s)) == 0 && strings.TrimSpace(s) == s
}

// isToken says whether s is what RFC 9110 section 5.6.2 calls a token.
func isToken(s string) bool {
	for _, c := range []byte(s) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
			strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return s != ""
}

// isPlainLine says whether a line of a body, without its newline, can stand as it is.
func isPlainLine(line []byte) bool {
	return !bytes.HasPrefix(line, []byte(directivePrefix)) &&
		!(bytes.HasPrefix(line, []byte(markerPrefix)) && bytes.HasSuffix(line, []byte(markerSuffix))) &&
		countUnprintable(line) == 0
}

// A lastLine is what a body's last line turned out to be on paper.
type lastLine struct {
	plain        bool // it stands as it is, neither raw nor in base64
	newlineAdded bool // and the newline after it is not the body's
}

// writeLines writes a piece of a body.
func writeLines(b *bytes.Buffer, piece []byte, crlf bool) (last lastLine) {
	newline := "\n"
	if crlf {
		newline = "\r\n"
	}
	for len(piece) > 0 {
		line := piece
		if i := bytes.IndexByte(piece, '\n'); i >= 0 {
			line = piece[:i+1]
		}
		piece = piece[len(line):]
		text, whole := bytes.CutSuffix(line, []byte(newline))
		if !isPlainLine(text) {
			writeEncoded(b, line)
			last = lastLine{}
			continue
		}
		b.Write(text)
		b.WriteByte('\n')
		last = lastLine{plain: true, newlineAdded: !whole}
	}
	return last
}

// writeEncoded writes bytes that text cannot hold: as a Go string while that can
// be read, in base64 else.
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

// usesCRLF says whether a body is best written down with its lines ending with
// CR LF by default.
func usesCRLF(body []byte) bool {
	n := bytes.Count(body, []byte("\r\n"))
	return n > 0 && 2*n > bytes.Count(body, []byte("\n"))
}
