package rules

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/streamassay/streamassay/internal/printable"
)

// maxShownText is the maximum number of bytes that a finding quotes from a text.
const maxShownText = 80

// quotePair returns got and want in quotation marks, for a finding about two texts that should be
// equal. Of a text longer than maxShownText, it quotes only an excerpt around the first byte that
// differs.
//
// If either text is longer than maxShownText, each result ends with the length of its text in
// bytes, in parentheses. If got is not empty and differs from want, the parentheses in quotedGot
// also contain the offset of the first byte that differs, or state that one of the texts is the
// beginning of the other.
func quotePair(got, want string) (quotedGot, quotedWant string) {
	return quotePairWith(quote, got, want)
}

// quoteJSONPair is like quotePair, but puts a text or an excerpt in quotation marks only if it is
// not valid JSON. If both texts are valid JSON, the members of their objects are first sorted by
// name.
func quoteJSONPair(got, want string) (quotedGot, quotedWant string) {
	sortedGot, gotJSON := printable.SortJSON(got)
	if sortedWant, wantJSON := printable.SortJSON(want); gotJSON && wantJSON {
		got, want = sortedGot, sortedWant
	}
	return quotePairWith(func(s string) string {
		if json.Valid([]byte(s)) {
			return s
		}
		return quote(s)
	}, got, want)
}

// quotePairWith is like quotePair, but calls quote to put a text or an excerpt in quotation marks.
func quotePairWith(quote func(string) string, got, want string) (quotedGot, quotedWant string) {
	n := commonPrefixLen(got, want)
	quotedGot, quotedWant = excerptAround(got, n, quote), excerptAround(want, n, quote)
	if max(len(got), len(want)) <= maxShownText {
		return quotedGot, quotedWant
	}
	difference := ""
	switch {
	case got == want || got == "":
	case n == len(got):
		difference = ", the beginning of the expected text"
	case n == len(want):
		difference = ", the expected text and more"
	default:
		difference = fmt.Sprintf(", first difference at byte offset %d", n)
	}
	return fmt.Sprintf("%s (%s%s)", quotedGot, pluralize(len(got), "byte"), difference),
		fmt.Sprintf("%s (%s)", quotedWant, pluralize(len(want), "byte"))
}

// quotePairs formats the lists got and want for a message: each in brackets, with its items quoted.
// Two items with the same index are quoted by quotePair, which makes their difference visible; if
// one list is shorter, its missing items count as "". At most maxShownItems items of a list are
// shown, followed by the number of items that are left out.
func quotePairs(got, want []string) (quotedGot, quotedWant string) {
	textAt := func(texts []string, i int) string {
		if i < len(texts) {
			return texts[i]
		}
		return ""
	}
	var gotItems, wantItems []string
	for i := range min(max(len(got), len(want)), maxShownItems) {
		g, w := quotePair(textAt(got, i), textAt(want, i))
		gotItems, wantItems = append(gotItems, g), append(wantItems, w)
	}
	list := func(items, texts []string) string {
		items = items[:min(len(items), len(texts))]
		if n := len(texts) - len(items); n > 0 {
			items = append(items, fmt.Sprintf("… (%d more)", n))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return list(gotItems, got), list(wantItems, want)
}

// maxShownItems is the maximum number of items of a list that quotePairs quotes.
const maxShownItems = 16

// commonPrefixLen returns the number of bytes in the longest common prefix of a and b.
func commonPrefixLen(a, b string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// quoteStart returns s in quotation marks. If s has more than maxShownText bytes, only its start is
// quoted, followed by an ellipsis.
func quoteStart(s string) string { return excerptAround(s, 0, quote) }

// excerptAround returns quote(s) if s has at most maxShownText bytes. Otherwise, it calls quote
// only with about maxShownText bytes of s around the byte at offset n, without splitting a
// character. In the result, an ellipsis outside the quotation marks stands for the text that is
// left out at the start or the end. The function quote puts its argument in quotation marks.
func excerptAround(s string, n int, quote func(string) string) string {
	if len(s) <= maxShownText {
		return quote(s)
	}
	runeStart := func(i int) int {
		for i > 0 && i < len(s) && !utf8.RuneStart(s[i]) {
			i--
		}
		return i
	}
	from := runeStart(max(0, n-maxShownText/2))
	to := runeStart(min(len(s), from+maxShownText))
	text := quote(s[from:to])
	if from > 0 {
		text = "…" + text
	}
	if to < len(s) {
		text += "…"
	}
	return text
}

// quote returns s in quotation marks, with special characters escaped. If s contains quotation
// marks, as JSON does, and can be shown in backquotes without escapes, quote puts s in backquotes
// instead.
func quote(s string) string {
	quoted := strconv.Quote(s)
	if !strings.Contains(s, `"`) || strings.Contains(s, "`") {
		return quoted
	}
	escaped := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s)
	if quoted == `"`+escaped+`"` {
		return "`" + s + "`"
	}
	return quoted
}
