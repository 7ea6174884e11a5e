package pace

import (
	"unicode"
)

// Split splits a text into chunks of the given unit and returns them in order. The chunks joined
// together are equal to the text, and no chunk begins within a code point. A word includes the
// spaces before it; in writing systems without spaces, each letter is a word. Split returns nil for
// an empty text.
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

// splitByCount splits a non-empty text into chunks of n characters (code points). The last chunk
// may be shorter.
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

// spacelessScripts lists writing systems that do not separate words with spaces.
var spacelessScripts = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer,
}

// splitByWord splits a non-empty text into words, each with the spaces before it. Spaces at the end
// of the text belong to the last word. A letter of a writing system without spaces is a word,
// together with the combining marks after it.
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
