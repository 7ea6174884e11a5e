// Package printable spells out what a terminal or a browser might obey instead of
// showing it: control characters, directions, characters without width, marks that are
// piled up. Letters of all languages are left alone.
package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMarks is how many marks may be put on one letter: no language puts more, and a
// hundred of them cover the lines above.
const maxMarks = 6

// invisible are characters that count as graphic and show nothing.
var invisible = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x034f, Hi: 0x034f, Stride: 1}, {Lo: 0x115f, Hi: 0x1160, Stride: 1}, {Lo: 0x17b4, Hi: 0x17b5, Stride: 1}, {Lo: 0x2800, Hi: 0x2800, Stride: 1},
	{Lo: 0x3164, Hi: 0x3164, Stride: 1}, {Lo: 0xffa0, Hi: 0xffa0, Stride: 1},
}}

// Escape returns s with what is not shown as itself spelled as Go does: \n, \x1b, \u202e. Of
// the control characters those in keep stay.
func Escape(s, keep string) string {
	if isPlainASCII(s) {
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

// isPlainASCII reports whether s is made of printable ASCII alone, as most texts are.
func isPlainASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

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
