package replay

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// newResponse returns the response of x for the current client. The map ids holds the id to use for
// each recorded id. In the body, newResponse replaces recorded ids that are complete JSON strings.
// In the header, it replaces those that are complete words. It replaces no ids if the response has
// a content coding. If from is not nil, the body begins at that resume point.
func (x *replayableExchange) newResponse(from *resumePoint, ids map[string]string) *Response {
	r := x.response
	a := &Response{
		Source: x.Name(), Status: r.Status, Header: replayedHeader(r.Header), Body: r.Body, End: streamEndOf(r),
	}
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

// arrivalsAfter returns the arrivals of the part of a body after the resume point from. The
// parameter reads holds the arrivals of the whole body. The offsets and times in the result are
// relative to the resume point.
func arrivalsAfter(reads []spec.Arrival, from resumePoint) (rest []spec.Arrival) {
	for _, read := range reads {
		if read.End > from.offset {
			rest = append(rest, spec.Arrival{End: read.End - from.offset, At: max(0, read.At-max(0, from.at))})
		}
	}
	return rest
}

// changedIDs returns the entries of ids whose key, a recorded id, differs from the value, the id
// that the client uses. In the result, keys and values are encoded as in JSON strings, without
// quotes.
func changedIDs(ids map[string]string) map[string]string {
	pairs := map[string]string{}
	for was, is := range ids {
		if is != was {
			pairs[jsonStringBody(was)] = jsonStringBody(is)
		}
	}
	return pairs
}

// jsonStringBody returns the JSON encoding of the string s, without the quotes.
func jsonStringBody(s string) string {
	text := compactJSON(s)
	return text[1 : len(text)-1]
}

// compactJSON returns v as JSON without insignificant white space. The argument v must be a string,
// a json.RawMessage with valid JSON, or a map of strings to such messages. The members of a map are
// sorted by name. The characters <, > and & are not escaped.
func compactJSON(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // cannot fail for a string or valid JSON
	return strings.TrimSuffix(b.String(), "\n")
}

// rewriteIDs returns a copy of body in which each JSON string that is a key of pairs is replaced
// with the value. This includes strings in JSON text that is itself encoded as a JSON string. The
// keys and values of pairs must be encoded as in JSON strings, without quotes. The second result is
// reads, the arrivals of body, with offsets in the new body. An offset inside a replaced id becomes
// the end of the new id. If nothing is replaced, the results are body and reads themselves.
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

// A replacedRange describes an id that was replaced in a text. The id was text[from:to] in the
// original text. The new id is longer by growth bytes, or shorter if growth is negative.
type replacedRange struct{ from, to, growth int }

// rewriteJSONStrings returns a copy of text in which each JSON string that is a key of pairs is
// replaced with the value. This includes strings in JSON text that is itself encoded as a JSON
// string. The keys and values of pairs must be encoded as in JSON strings, without quotes. The
// result replacements holds the replaced ranges in order; it is nil if there are none.
func rewriteJSONStrings(text []byte, pairs map[string]string) (out []byte, replacements []replacedRange) {
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
		at = from + n // the closing quote, which may also open the next string
		to := at
		nested := from > 1 && text[from-2] == '\\'
		if nested { // a JSON string within a JSON string
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
		replacements = append(replacements, replacedRange{from, to, len(is) - (to - from)})
		done = to
		at++
	}
	return append(out, text[done:]...), replacements
}

// rewriteWords returns text with all words that are keys of pairs replaced with the values. Words
// consist of ASCII letters and digits, hyphens, underscores and non-ASCII characters.
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
