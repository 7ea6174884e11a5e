package pace

import (
	"unicode"
)

// Split splits text into words, characters or larger pieces, as chunk specifies, and returns them
// in order. The pieces joined together are equal to text, and no piece begins in the middle of a
// character. A word includes the spaces before it; in writing systems without spaces, each letter
// is a word. Split returns nil if text is empty.
func Split(text string, chunk ChunkSize) []string {
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

// splitByCount splits text, which must not be empty, into pieces of n characters (code points). The
// last piece may be shorter.
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

// splitByWord splits text, which must not be empty, into words, each with the spaces before it.
// Spaces at the end of the text belong to the last word. A letter of a writing system without
// spaces is a word, together with the combining marks after it.
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
