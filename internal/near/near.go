// Package near guesses what somebody meant by a word that nobody knows. It does not know
// what the words are for.
package near

import (
	"fmt"
	"slices"
	"strings"
)

// maxListed is how many words are named where none is near.
const maxListed = 20

// Suggest is what somebody may have meant by a word, as the end of a sentence.
func Suggest(word string, known []string) string {
	known = slices.Sorted(slices.Values(known))
	best, least := "", 3
	for _, k := range known {
		d := editDistance(word, k)
		if word != "" && strings.HasPrefix(k, word) || len(word) > 3 && strings.Contains(k, word) {
			d = min(d, 1)
		}
		if d < least {
			best, least = k, d
		}
	}
	if best != "" {
		return "; did you mean " + best + "?"
	}
	if more := len(known) - maxListed; more > 0 {
		return fmt.Sprintf("; there is %s and %d more", strings.Join(known[:maxListed], ", "), more)
	}
	return "; there is " + strings.Join(known, ", ")
}

// editDistance is how many letters are to be put in, left out or changed between two words.
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
