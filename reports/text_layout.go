package reports

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/streamassay/streamassay/internal/printable"
)

// lineWidth is the width to which the text report is wrapped, in columns.
const lineWidth = 100

// safeText returns s with escapes such as \n and \u202e in place of the characters that a terminal
// or browser might interpret instead of showing: control characters, bidirectional controls,
// invisible characters and excessive combining marks. Every text from the server must pass through
// safeText before it is shown.
func safeText(s string) string { return printable.Escape(s, "") }

// singleLine returns s as one line that is safe to print (see safeText). It replaces each sequence
// of white space, including line breaks, with one space, and removes white space at both ends.
func singleLine(s string) string { return safeText(strings.Join(strings.Fields(s), " ")) }

// truncateText returns s unchanged if it takes at most limit columns. Otherwise it returns the
// first limit columns of s, followed by a note with the number of characters left out. The note
// does not count toward the limit.
func truncateText(s string, limit int) string {
	at := 0
	for i, r := range s {
		if at += runeWidth(r); at > limit {
			return fmt.Sprintf("%s … (%d more characters)", s[:i], len([]rune(s[i:])))
		}
	}
	return s
}

// wrapText breaks s, which must not contain newlines, into lines of at most width columns, joined
// by newlines. A line ends after a word or between ideographs. A word that is longer than a line is
// broken where the line is full. Spaces are kept, except at the end of a line. All lines but the
// first begin with indent, which does not count toward width.
func wrapText(s, indent string, width int) string {
	var lines []string
	var now strings.Builder
	at := 0
	newLine := func() {
		lines = append(lines, strings.TrimRight(now.String(), " "))
		now.Reset()
		at = 0
	}
	for _, piece := range breakableParts(s) {
		if w := textWidth(strings.TrimRight(piece, " ")); at > 0 && at+w > width && w <= width {
			newLine()
		}
		for _, r := range piece {
			if at+runeWidth(r) > width && r != ' ' {
				newLine()
			}
			now.WriteRune(r)
			at += runeWidth(r)
		}
	}
	newLine()
	return strings.Join(lines, "\n"+indent)
}

// splitAtWidth breaks s into lines of at most width columns. A line may end between any two
// characters.
func splitAtWidth(s string, width int) (lines []string) {
	from, at := 0, 0
	for i, r := range s {
		if at+runeWidth(r) > width {
			lines, from, at = append(lines, s[from:i]), i, 0
		}
		at += runeWidth(r)
	}
	return append(lines, s[from:])
}

// breakableParts splits s at all places where a line may be broken. Spaces belong to the part
// before them.
func breakableParts(s string) (all []string) {
	from := 0
	runes := []rune(s)
	for i := 1; i <= len(runes); i++ {
		if i == len(runes) || canBreakBetween(runes[i-1], runes[i]) {
			all = append(all, string(runes[from:i]))
			from = i
		}
	}
	return all
}

// canBreakBetween reports whether a line may be broken between two adjacent characters. It may be
// broken after a space, except before another space, and before an ideograph or kana that follows
// another wide character. There is no break after opening punctuation.
func canBreakBetween(before, after rune) bool {
	if unicode.In(after, unicode.Han, unicode.Hiragana, unicode.Katakana) {
		return unicode.Is(wideRunes, before) && !unicode.In(before, unicode.Ps, unicode.Pi) || before == ' '
	}
	return before == ' ' && after != ' '
}

// textWidth returns how many columns of a terminal s takes.
func textWidth(s string) (n int) {
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// wideRunes contains the characters that take two columns (Unicode Standard Annex 11). It is
// approximate, which suffices for breaking lines.
var wideRunes = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x1100, Hi: 0x115f, Stride: 1}, {Lo: 0x2e80, Hi: 0x303e, Stride: 1}, {Lo: 0x3041, Hi: 0xa4cf, Stride: 1},
		{Lo: 0xac00, Hi: 0xd7a3, Stride: 1}, {Lo: 0xf900, Hi: 0xfaff, Stride: 1}, {Lo: 0xfe30, Hi: 0xfe6f, Stride: 1},
		{Lo: 0xff00, Hi: 0xff60, Stride: 1}, {Lo: 0xffe0, Hi: 0xffe6, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0x1f300, Hi: 0x1faff, Stride: 1}, {Lo: 0x20000, Hi: 0x3fffd, Stride: 1}},
}

// runeWidth returns how many columns of a terminal a character takes: 0, 1 or 2.
func runeWidth(r rune) int {
	switch {
	case unicode.Is(wideRunes, r):
		return 2
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	}
	return 1
}
