package pace

import (
	"unicode"
)

// Split cuts a text into chunks, which are text again when put together. It never
// cuts inside a character (a code point). A word keeps the spaces before it; where
// a script writes no spaces, each of its letters is a word.
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

// splitByWord begins a piece where spaces begin after a word, and before and after each
// letter that stands for itself. Spaces at the end belong to the last word.
func splitByWord(text string) []string {
	var pieces []string
	from, word, alone := 0, false, false // whether the piece has a word; whether that is a letter alone
	for at, r := range text {
		space, lone := unicode.IsSpace(r), unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer) && !unicode.Is(unicode.M, r)
		mark := unicode.Is(unicode.M, r)
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
