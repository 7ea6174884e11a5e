package rules

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxShownText is the maximum number of bytes of a text that a finding quotes when it compares two
// texts.
const maxShownText = 80

// quotePair returns got and want quoted, for a finding about texts that should be equal. Of a text
// longer than maxShownText it returns an excerpt around the first byte that differs. If one of the
// texts is that long, the lengths of both follow in parentheses, and for got also the offset of
// that byte.
func quotePair(got, want string) (quotedGot, quotedWant string) {
	return quotePairWith(quote, got, want)
}

// quoteJSONPair is like quotePair, but does not put valid JSON in quotation marks.
func quoteJSONPair(got, want string) (quotedGot, quotedWant string) {
	return quotePairWith(func(s string) string {
		if json.Valid([]byte(s)) {
			return s
		}
		return quote(s)
	}, got, want)
}

// quotePairWith is like quotePair, but quotes texts and excerpts with the function quote.
func quotePairWith(quote func(string) string, got, want string) (quotedGot, quotedWant string) {
	n := commonPrefixLen(got, want)
	quotedGot, quotedWant = excerptAround(got, n, quote), excerptAround(want, n, quote)
	if max(len(got), len(want)) <= maxShownText {
		return quotedGot, quotedWant
	}
	difference := ""
	if got != want {
		difference = fmt.Sprintf(", different from byte %d on", n)
	}
	return fmt.Sprintf("%s (%s%s)", quotedGot, pluralize(len(got), "byte"), difference),
		fmt.Sprintf("%s (%s)", quotedWant, pluralize(len(want), "byte"))
}

// quotePairs returns the lists got and want, each item quoted by quotePair. Items that only one of
// the lists has are compared with "".
func quotePairs(got, want []string) (quotedGot, quotedWant string) {
	lists := [2][]string{}
	for i := range min(max(len(got), len(want)), maxShownItems) {
		pair := [2]string{}
		for k, texts := range [2][]string{got, want} {
			if i < len(texts) {
				pair[k] = texts[i]
			}
		}
		pair[0], pair[1] = quotePair(pair[0], pair[1])
		for k, texts := range [2][]string{got, want} {
			if i < len(texts) {
				lists[k] = append(lists[k], pair[k])
			}
		}
	}
	list := func(quoted, texts []string) string {
		if n := len(texts) - len(quoted); n > 0 {
			quoted = append(quoted, fmt.Sprintf("… (%d more)", n))
		}
		return "[" + strings.Join(quoted, " ") + "]"
	}
	return list(lists[0], got), list(lists[1], want)
}

// maxShownItems is the maximum number of items of a list that quotePairs quotes.
const maxShownItems = 16

// commonPrefixLen returns the number of bytes, counted from the start, in which a and b agree.
func commonPrefixLen(a, b string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// quoteStart returns s quoted if it has at most maxShownText bytes, and otherwise a quotation of its
// start, followed by an ellipsis.
func quoteStart(s string) string { return excerptAround(s, 0, quote) }

// excerptAround returns quote(s) if s has at most maxShownText bytes. Otherwise it returns a
// quotation of about that many bytes around byte n, which does not split a character. An ellipsis
// outside of the quotation marks stands for each omitted end.
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

// quote returns s in quotation marks, with special characters escaped. A text that contains
// quotation marks, such as JSON, is put in backquotes instead if nothing else in it needs escapes.
func quote(s string) string {
	quoted := strconv.Quote(s)
	escaped := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s)
	if strings.Contains(s, `"`) && !strings.Contains(s, "`") && quoted == `"`+escaped+`"` {
		return "`" + s + "`"
	}
	return quoted
}
