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
	directive    = ":@" // how a direction begins
	markerBegins = "-- "
	markerEnds   = " --"

	rawWord, base64Word = "raw", "base64"

	perLine = 96 // bytes in a line of base64
)

// isClear says whether a character can stand in a text file: editors leave it
// alone, and it ends no line. Bytes that are no character do not count as one.
func isClear(r rune) bool {
	return r == '\t' || !unicode.IsControl(r) &&
		r != utf8.RuneError && r != '\ufeff' && r != '\u2028' && r != '\u2029'
}

// unclear is how many bytes of a line cannot stand in a text file.
func unclear(line []byte) (n int) {
	for i := 0; i < len(line); {
		if c := line[i]; c >= ' ' && c < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRune(line[i:])
		if !isClear(r) && (r != utf8.RuneError || size == 1) {
			n += size
		}
		i += size
	}
	return n
}

// clearText says whether a value can stand in a head as it is: it is neither
// trimmed nor mistaken for something else.
func clearText(s string) bool {
	return unclear([]byte(s)) == 0 && strings.TrimSpace(s) == s
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

// plainLine says whether a line of a body, without its newline, can stand as it is.
func plainLine(line []byte) bool {
	return !bytes.HasPrefix(line, []byte(directive)) &&
		!(bytes.HasPrefix(line, []byte(markerBegins)) && bytes.HasSuffix(line, []byte(markerEnds))) &&
		unclear(line) == 0
}

// A tail is what a body's last line turned out to be on paper.
type tail struct {
	plain bool // it stands as it is, neither raw nor in base64
	added bool // and the newline after it is not the body's
}

// writeLines writes a piece of a body.
func writeLines(b *bytes.Buffer, piece []byte, crlf bool) (last tail) {
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
		if !plainLine(text) {
			writeEncoded(b, line)
			last = tail{}
			continue
		}
		b.Write(text)
		b.WriteByte('\n')
		last = tail{plain: true, added: !whole}
	}
	return last
}

// writeEncoded writes bytes that text cannot hold: as a Go string while that can
// be read, in base64 else.
func writeEncoded(b *bytes.Buffer, line []byte) {
	if unclear(line) <= 2+len(line)/8 {
		b.WriteString(directive + " " + rawWord + " ")
		b.Write(strconv.AppendQuote(b.AvailableBuffer(), string(line)))
		b.WriteByte('\n')
		return
	}
	for len(line) > 0 {
		n := min(len(line), perLine)
		b.WriteString(directive + " " + base64Word + " ")
		b.Write(base64.StdEncoding.AppendEncode(b.AvailableBuffer(), line[:n]))
		b.WriteByte('\n')
		line = line[n:]
	}
}

// mostlyCRLF says whether a body is best written down with its lines ending with
// CR LF by default.
func mostlyCRLF(body []byte) bool {
	n := bytes.Count(body, []byte("\r\n"))
	return n > 0 && 2*n > bytes.Count(body, []byte("\n"))
}
