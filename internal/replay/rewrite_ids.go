package replay

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// newResponse returns the response of x for the current client. It replaces each recorded id that
// is a key of ids with the value of that key: in the body where the id is a complete JSON string,
// and in the header where it is a complete word. If the response has a content coding, it replaces
// nothing. If from is not nil, the body begins at that resume point.
func (x *storedExchange) newResponse(from *resumePoint, ids map[string]string) *Response {
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

// arrivalsAfter returns the arrivals of the part of a body that follows a resume point. The
// parameter reads holds the arrivals of the whole body, and from is the resume point. The offsets
// and times in the result are relative to that point.
func arrivalsAfter(reads []spec.Arrival, from resumePoint) (rest []spec.Arrival) {
	for _, read := range reads {
		if read.End > from.offset {
			rest = append(rest, spec.Arrival{End: read.End - from.offset, At: max(0, read.At-max(0, from.at))})
		}
	}
	return rest
}

// changedIDs returns a new map of the ids to replace. The keys of ids are recorded ids, and the
// values are the ids that the client uses; entries whose key and value are equal are left out. The
// keys and values of the new map are encoded as in JSON strings, without quotes.
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
// which is encoded, or valid JSON: a json.RawMessage or a map of them, which is sorted. The
// characters <, > and & are not escaped.
func compactJSON(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // cannot fail for a string or valid JSON
	return strings.TrimSuffix(b.String(), "\n")
}

// rewriteIDs replaces the keys of pairs with their values wherever they are complete JSON strings
// in body, including JSON strings within JSON strings. The parameter reads holds the arrivals of
// body. rewriteIDs returns the new body, and the arrivals with offsets in the new body. An offset
// within a replaced id moves to the end of the new id. The arguments are not modified.
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

// A replacedRange is a range of a text in which an id was replaced: the bytes of the original text
// from the offset from, inclusive, to the offset to, exclusive. The field growth is the number of
// bytes by which the text became longer; it may be negative.
type replacedRange struct{ from, to, growth int }

// rewriteJSONStrings returns a copy of text in which each JSON string that is a key of pairs is
// replaced with the value of the key. This includes JSON strings within JSON strings. The function
// also returns the ranges that were replaced, in order of their positions, or nil if nothing was
// replaced. The keys and values of pairs must be encoded as in JSON strings, without quotes.
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

// rewriteWords returns text with each word that is a key of pairs replaced with the value of the
// key. Words consist of ASCII letters, digits, hyphens, underscores and non-ASCII characters.
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
