package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

const redacted = "REDACTED"

// credentials are the fields whose values are nobody's business.
var credentials = []string{"Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-Api-Key"}

// A redactor keeps secrets from being written down.
type redactor struct {
	fields  []string
	secrets [][]byte
}

// newRedactor looks for each secret as it is, and as a URL or a JSON string spells
// it.
func newRedactor(t *Transcript) redactor {
	r := redactor{fields: append(slices.Clone(credentials), t.Redact...)}
	for _, s := range t.Secrets {
		spellings := []string{s, url.QueryEscape(s), url.PathEscape(s), inJSON(s, true), inJSON(s, false)}
		slices.Sort(spellings)
		for _, spelling := range slices.Compact(spellings) {
			if spelling != "" {
				r.secrets = append(r.secrets, []byte(spelling))
			}
		}
	}
	return r
}

// inJSON is how JSON spells a string between its quotes. Some writers spell <, >
// and & out too.
func inJSON(s string, html bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	if e.Encode(s) != nil {
		return ""
	}
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), `"`), "\"\n")
}

func (r redactor) text(s string) string {
	if len(r.secrets) == 0 {
		return s
	}
	clean, _ := r.body([]byte(s), nil)
	return string(clean)
}

func (r redactor) header(h spec.Header) spec.Header {
	out := make(spec.Header, 0, len(h))
	for _, f := range h {
		value := r.text(f.Value)
		if slices.ContainsFunc(r.fields, func(name string) bool { return strings.EqualFold(name, f.Name) }) {
			value = redacted
		}
		out = append(out, spec.Field{Name: r.text(f.Name), Value: value})
	}
	return out
}

// body replaces secrets. The reads that come back end where they ended; one that
// ended inside a secret ends after it. Without any secret in it, the body comes
// back as it is, not as a copy.
func (r redactor) body(body []byte, reads []spec.Read) ([]byte, []spec.Read) {
	spans := r.spans(body)
	if len(spans) == 0 {
		return body, reads
	}
	clean := make([]byte, 0, len(body)+len(spans)*len(redacted))
	reads = slices.Clone(reads)
	done, next := 0, 0
	for _, s := range spans {
		for ; next < len(reads) && reads[next].End <= s.from; next++ {
			reads[next].End += len(clean) - done
		}
		clean = append(append(clean, body[done:s.from]...), redacted...)
		for ; next < len(reads) && reads[next].End <= s.to; next++ {
			reads[next].End = len(clean)
		}
		done = s.to
	}
	for ; next < len(reads); next++ {
		reads[next].End += len(clean) - done
	}
	return append(clean, body[done:]...), reads
}

// A span is a part of a body.
type span struct{ from, to int }

// spans are the parts that give secrets away, in order and without overlaps.
func (r redactor) spans(body []byte) []span {
	var all []span
	for _, secret := range r.secrets {
		for from := 0; ; {
			i := bytes.Index(body[from:], secret)
			if i < 0 {
				break
			}
			all = append(all, span{from + i, from + i + len(secret)})
			from += i + 1
		}
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var apart []span
	for _, s := range all {
		if n := len(apart); n > 0 && s.from < apart[n-1].to {
			apart[n-1].to = max(apart[n-1].to, s.to)
			continue
		}
		apart = append(apart, s)
	}
	return apart
}
