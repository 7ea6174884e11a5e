// Package printable escapes text from untrusted sources for terminals and browsers: control
// characters, changes of direction, invisible characters and excessive combining marks.
// Letters of all languages are left unchanged. It also shortens text between two characters,
// writes numbers with their nouns, and writes equal JSON values as equal texts.
package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMarks is the maximum number of combining marks on one letter that [Escape] leaves unescaped.
// No language needs more. Many marks on one letter would cover the lines above it.
const maxMarks = 6

// invisible holds characters that are displayed as nothing or as a blank, although
// unicode.IsGraphic returns true for them.
var invisible = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x034f, Hi: 0x034f, Stride: 1}, {Lo: 0x115f, Hi: 0x1160, Stride: 1}, {Lo: 0x17b4, Hi: 0x17b5, Stride: 1},
	{Lo: 0x2800, Hi: 0x2800, Stride: 1},
	{Lo: 0x3164, Hi: 0x3164, Stride: 1}, {Lo: 0xffa0, Hi: 0xffa0, Stride: 1},
}}

// Count returns the number n followed by a noun, such as "1 check" or "2 checks". The argument noun
// is in the singular; Count appends an s to it unless n is 1.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Bytes returns the size of n bytes, such as "64 MiB", in the largest unit in which it is a whole
// number.
func Bytes(n int) string {
	for _, unit := range []struct {
		size int
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= unit.size && n%unit.size == 0 {
			return fmt.Sprintf("%d %s", n/unit.size, unit.name)
		}
	}
	return Count(n, "byte")
}

// Prefix returns text if it has at most limit bytes. Otherwise, it returns the first limit bytes,
// without an incomplete UTF-8 sequence at their end. It leaves out at most four bytes of them, even
// if text is not valid UTF-8. The result shares the memory of text.
func Prefix[T ~string | ~[]byte](text T, limit int) T {
	if len(text) <= limit {
		return text
	}
	n := limit
	for n > max(0, limit-utf8.UTFMax) && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// Escape returns s with unprintable characters replaced by escape sequences such as \n, \x1b and
// \u202e. It leaves the characters in keep and all backslashes unchanged. It replaces bytes that
// are not valid UTF-8 with U+FFFD. If a letter has more than six combining marks, it escapes those
// after the sixth, even if they are in keep.
func Escape(s, keep string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f }) { // nothing to escape
		return s
	}
	var b strings.Builder
	marks := 0
	for _, r := range s {
		if !unicode.In(r, unicode.Mn, unicode.Me) {
			marks = 0
		} else if marks++; marks > maxMarks {
			writeEscaped(&b, r)
			continue
		}
		if unicode.IsGraphic(r) && !unicode.Is(invisible, r) || strings.ContainsRune(keep, r) {
			b.WriteRune(r)
			continue
		}
		writeEscaped(&b, r)
	}
	return b.String()
}

// writeEscaped writes the escape sequence of r to b: \n, \r, \t, or the code point in hexadecimal,
// such as \x1b, \u202e or \U000e0041.
func writeEscaped(b *strings.Builder, r rune) {
	switch {
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\r':
		b.WriteString(`\r`)
	case r == '\t':
		b.WriteString(`\t`)
	case r < utf8.RuneSelf*2:
		fmt.Fprintf(b, `\x%02x`, r)
	case r < 0x10000:
		fmt.Fprintf(b, `\u%04x`, r)
	default:
		fmt.Fprintf(b, `\U%08x`, r)
	}
}
