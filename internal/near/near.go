// Package near suggests known words for an unknown one.
package near

import (
	"fmt"
	"slices"
	"strings"
)

// maxListed is the maximum number of known words that [Suggest] lists if no known word is similar
// to the unknown one.
const maxListed = 20

// Suggest returns the end of an error message about word, which is not one of the known words. If a
// known word is similar to word, the result names the most similar one, as in "; did you mean
// text?". Otherwise the result lists the known words in alphabetical order, as in " (want one of a,
// b)" or " (want a)", but only the first 20. See [Similar] for which words are similar. Suggest does
// not modify known.
func Suggest(word string, known []string) string {
	if best := Similar(word, known); best != "" {
		return "; did you mean " + best + "?"
	}
	if len(known) == 1 {
		return " (want " + known[0] + ")"
	}
	known = slices.Sorted(slices.Values(known))
	if more := len(known) - maxListed; more > 0 {
		return fmt.Sprintf(" (want one of %s and %d more)", strings.Join(known[:maxListed], ", "), more)
	}
	return " (want one of " + strings.Join(known, ", ") + ")"
}

// Similar returns the known word that is most similar to word; of several, it returns the first in
// alphabetical order. It returns "" if no known word is similar.
//
// A known word is similar if it begins with word or has an edit distance of 1 from it. If word has
// more than three bytes, a known word is also similar if it contains word, or if it has an edit
// distance of 2 from word and, unless word has more than five bytes, begins with the same byte.
// Similar does not modify known.
func Similar(word string, known []string) string {
	best, least := "", 2
	if len(word) > 3 {
		least = 3
	}
	for _, k := range slices.Sorted(slices.Values(known)) {
		d := editDistance(word, k)
		switch {
		case word != "" && strings.HasPrefix(k, word):
			d = min(d, 1)
		case len(word) > 3 && strings.Contains(k, word):
			d = min(d, 2)
		case d == 2 && len(word) < 6 && word[0] != k[0]:
			continue
		}
		if d < least {
			best, least = k, d
		}
	}
	return best
}

// editDistance returns the Levenshtein distance between a and b, counted in bytes. If a or b is
// longer than 64 bytes, it returns 64 without computing the distance.
func editDistance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, before+1)
		}
	}
	return row[len(b)]
}
