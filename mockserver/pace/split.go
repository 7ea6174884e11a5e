package pace

import (
	"unicode"
)

// Split cuts a text into chunks whose concatenation is the text, but never within a code point. It
// returns nil for an empty text. A word includes the spaces before it; in writing systems without
// spaces, each letter counts as a word.
func Split(text string, chunk Chunk) []string {
	switch {
	case text == "":
		return nil
	case chunk == WholeText:
		return []string{text}
	case chunk > 0:
		return splitByCount(text, int(chunk))
	}
	return splitByWord(text)
}

// splitByCount cuts a text into chunks of n characters (code points), of which the last may be
// shorter.
func splitByCount(text string, n int) []string {
	pieces := make([]string, 0, len(text)/n+1)
	from, count := 0, 0
	for at := range text {
		if count == n {
			pieces = append(pieces, text[from:at])
			from, count = at, 0
		}
		count++
	}
	return append(pieces, text[from:])
}

// spacelessScripts are the writing systems that do not separate words by spaces.
var spacelessScripts = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer,
}

// splitByWord cuts a text into words, each with the spaces before it. Spaces at the end of the
// text belong to the last word, and combining marks to the letter before them.
func splitByWord(text string) []string {
	var pieces []string
	from, word, alone := 0, false, false // word: the piece contains a word; alone: that is a single letter
	for at, r := range text {
		mark := unicode.Is(unicode.M, r)
		space, lone := unicode.IsSpace(r), unicode.In(r, spacelessScripts...) && !mark
		if word && !mark && (space || lone || alone) {
			pieces = append(pieces, text[from:at])
			from, word, alone = at, false, false
		}
		word, alone = word || !space, alone || lone
	}
	if from < len(text) && !word && len(pieces) > 0 {
		pieces[len(pieces)-1] = text[from-len(pieces[len(pieces)-1]):]
		return pieces
	}
	return append(pieces, text[from:])
}
