package replay

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// newResponse is the answer of x from a mark on, with these recorded ids as the client has
// them.
func (x *exchange) newResponse(from *resumePoint, ids map[string]string) *Response {
	r := x.response
	a := &Response{Source: x.Name(), Status: r.Status, Header: endToEndHeaders(r.Header), Body: r.Body, End: streamEndOf(r)}
	a.HasTiming, a.arrivals = len(r.Arrivals) > 0, r.Arrivals
	if from != nil {
		a.Body, a.arrivals = r.Body[from.offset:], arrivalsAfter(r.Arrivals, *from)
	}
	pairs := changedIDs(ids)
	if len(pairs) == 0 || !x.isUnencoded() {
		return a
	}
	a.Body, a.arrivals = rewriteIDs(a.Body, a.arrivals, pairs)
	for i, f := range a.Header {
		a.Header[i].Value = rewriteWords(f.Value, pairs)
	}
	return a
}

// arrivalsAfter are the arrivals of what comes after a mark, as if it had been asked for there.
func arrivalsAfter(reads []spec.Arrival, from resumePoint) (rest []spec.Arrival) {
	for _, read := range reads {
		if read.End > from.offset {
			rest = append(rest, spec.Arrival{End: read.End - from.offset, At: max(0, read.At-max(0, from.at))})
		}
	}
	return rest
}

// changedIDs are the recorded ids that are others now, as JSON spells them.
func changedIDs(ids map[string]string) map[string]string {
	pairs := map[string]string{}
	for was, is := range ids {
		if is != was {
			pairs[jsonStringBody(was)] = jsonStringBody(is)
		}
	}
	return pairs
}

// jsonStringBody is how JSON spells a string between its quotes.
func jsonStringBody(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return s
	}
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), `"`), "\"\n")
}

// rewriteIDs puts ids in the place of others wherever those are a JSON string of their own,
// also one inside a string. The reads end where they ended; one that ended inside an id
// ends after it.
func rewriteIDs(body []byte, reads []spec.Arrival, pairs map[string]string) ([]byte, []spec.Arrival) {
	out, replacements := rewriteJSONStrings(body, pairs)
	if replacements == nil {
		return body, reads
	}
	moved := make([]spec.Arrival, len(reads))
	next, growth := 0, 0
	for i, read := range reads {
		for next < len(replacements) && replacements[next].to <= read.End {
			growth += replacements[next].growth
			next++
		}
		end := read.End + growth
		if next < len(replacements) && replacements[next].from < read.End {
			end = replacements[next].to + growth + replacements[next].growth
		}
		moved[i] = spec.Arrival{End: end, At: read.At}
	}
	return out, moved
}

// A replacement is a place where an id was replaced, by one that is longer by so much.
type replacement struct{ from, to, growth int }

// rewriteJSONStrings is text with the strings replaced that are ids.
func rewriteJSONStrings(text []byte, pairs map[string]string) (out []byte, replacements []replacement) {
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
			is = jsonStringBody(is)
		}
		out = append(append(out, text[done:from]...), is...)
		replacements = append(replacements, replacement{from, to, len(is) - (to - from)})
		done = to
		at++
	}
	return append(out, text[done:]...), replacements
}

// rewriteWords is text with the ids replaced beside which no letter, digit or dash stands.
func rewriteWords(text string, pairs map[string]string) string {
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

// scaleDelay is an offset at another speed.
func scaleDelay(at time.Duration, times float64) time.Duration {
	if !(times > 0) {
		return 0
	}
	return time.Duration(float64(at) / times)
}
