package replay

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// played is the answer of x from a mark on, with these recorded ids as the client has
// them.
func (x *exchange) played(from *mark, ids map[string]string) *Answer {
	r := x.answer
	a := &Answer{Source: x.Name(), Status: r.Status, Header: endToEnd(r.Header), Body: r.Body, End: endingOf(r)}
	a.Timed, a.pieces = len(r.Arrivals) > 0, r.Arrivals
	if from != nil {
		a.Body, a.pieces = r.Body[from.end:], after(r.Arrivals, *from)
	}
	pairs := pairsOf(ids)
	if len(pairs) == 0 || !x.plain() {
		return a
	}
	a.Body, a.pieces = swap(a.Body, a.pieces, pairs)
	for i, f := range a.Header {
		a.Header[i].Value = swapWords(f.Value, pairs)
	}
	return a
}

// after are the arrivals of what comes after a mark, as if it had been asked for there.
func after(reads []spec.Arrival, from mark) (rest []spec.Arrival) {
	for _, read := range reads {
		if read.End > from.end {
			rest = append(rest, spec.Arrival{End: read.End - from.end, At: max(0, read.At-max(0, from.at))})
		}
	}
	return rest
}

// pairsOf are the recorded ids that are others now, as JSON spells them.
func pairsOf(ids map[string]string) map[string]string {
	pairs := map[string]string{}
	for was, is := range ids {
		if is != was {
			pairs[inner(was)] = inner(is)
		}
	}
	return pairs
}

// inner is how JSON spells a string between its quotes.
func inner(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return s
	}
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), `"`), "\"\n")
}

// swap puts ids in the place of others wherever those are a JSON string of their own,
// also one inside a string. The reads end where they ended; one that ended inside an id
// ends after it.
func swap(body []byte, reads []spec.Arrival, pairs map[string]string) ([]byte, []spec.Arrival) {
	out, cuts := swapStrings(body, pairs)
	if cuts == nil {
		return body, reads
	}
	moved := make([]spec.Arrival, len(reads))
	next, grown := 0, 0
	for i, read := range reads {
		for next < len(cuts) && cuts[next].to <= read.End {
			grown += cuts[next].grown
			next++
		}
		end := read.End + grown
		if next < len(cuts) && cuts[next].from < read.End {
			end = cuts[next].to + grown + cuts[next].grown
		}
		moved[i] = spec.Arrival{End: end, At: read.At}
	}
	return out, moved
}

// A cut is a place where an id was replaced, by one that is longer by so much.
type cut struct{ from, to, grown int }

// swapStrings is text with the strings replaced that are ids.
func swapStrings(text []byte, pairs map[string]string) (out []byte, cuts []cut) {
	done := 0
	for at := 0; ; {
		n := bytes.IndexByte(text[at:], '"')
		if n < 0 {
			break
		}
		from := at + n + 1
		n = bytes.IndexByte(text[from:], '"')
		if n < 0 {
			break
		}
		at = from + n // the next string may begin where this one ends
		to := at
		nested := from > 1 && text[from-2] == '\\'
		if nested { // a string inside a string
			if to == from || text[to-1] != '\\' {
				continue
			}
			to--
		}
		is, ok := pairs[string(text[from:to])]
		if !ok {
			continue
		}
		if nested {
			is = inner(is)
		}
		out = append(append(out, text[done:from]...), is...)
		cuts = append(cuts, cut{from, to, len(is) - (to - from)})
		done = to
		at++
	}
	return append(out, text[done:]...), cuts
}

// swapWords is text with the ids replaced beside which no letter, digit or dash stands.
func swapWords(text string, pairs map[string]string) string {
	isWord := func(c rune) bool {
		return c == '-' || c == '_' || c > 0x7f || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}
	var b strings.Builder
	for text != "" {
		end := strings.IndexFunc(text, func(c rune) bool { return !isWord(c) })
		if end < 0 {
			end = len(text)
		}
		word := text[:end]
		if is, ok := pairs[word]; ok {
			word = is
		}
		b.WriteString(word)
		if text = text[end:]; text != "" {
			b.WriteByte(text[0])
			text = text[1:]
		}
	}
	return b.String()
}

// speed is an offset at another speed.
func speed(at time.Duration, times float64) time.Duration {
	if !(times > 0) {
		return 0
	}
	return time.Duration(float64(at) / times)
}
