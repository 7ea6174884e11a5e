// Package redact removes secrets from what is written down: reports, transcripts,
// logs, the journal of the mock server. A secret is found as it is and in the forms
// that its way through a program gives it: escaped for JSON, a URL, HTML, a shell, Go
// or several of these, as hexadecimal digits, and inside longer Base64 text.
//
// Which header fields and query parameters hold secrets is decided here too, by
// [Credential], once for all packages.
package redact

import (
	"bytes"
	"slices"
	"strings"
)

// Placeholder stands in the place of a secret.
const Placeholder = "REDACTED"

// MinSecret is the length, in bytes, from which on a value is removed wherever it
// occurs. Shorter ones occur in every text.
const MinSecret = 4

// MinDetectedSecret is the same for values that were found in traffic by the names of their fields,
// and of which nobody said that they are secrets.
const MinDetectedSecret = 6

// minFragment is how many characters of a secret at the edge of a text are taken for a
// part of it.
const minFragment = 4

// jsonLiterals are values that are no secrets although they are long enough: removing them
// would leave no JSON intact.
var jsonLiterals = []string{"true", "false", "null", "none"}

// A Redactor removes a set of secrets. It is safe for concurrent use; a nil Redactor
// removes nothing.
type Redactor struct {
	placeholder string
	numberDigit byte // stands for the digits of a JSON number
	patterns    []secretPattern
	longest     int // bytes of a pattern
	shortest    int
}

// New returns a Redactor of secrets, or nil if none of them can be removed. Secrets
// shorter than [MinSecret], and the words true, false, null and none, are left out.
func New(secrets ...string) *Redactor {
	r := &Redactor{placeholder: Placeholder, numberDigit: '9'}
	seen := map[string]bool{}
	for _, s := range secrets {
		if len(s) < MinSecret || seen[s] || slices.Contains(jsonLiterals, strings.ToLower(s)) {
			continue
		}
		seen[s] = true
		r.patterns = append(r.patterns, secretPatterns(s)...)
		if strings.Contains(Placeholder, s) {
			r.placeholder = "***"
		}
		if strings.Trim(s, "9") == "" {
			r.numberDigit = '8'
		}
	}
	if len(r.patterns) == 0 {
		return nil
	}
	r.shortest = len(r.patterns[0].text)
	for _, p := range r.patterns {
		r.shortest = min(r.shortest, len(p.text))
		r.longest = max(r.longest, len(p.text))
	}
	return r
}

// String returns s with [Mark] in the place of each secret. A JSON number stays a
// number.
func (r *Redactor) String(s string) string {
	if r == nil || s == "" {
		return s
	}
	return r.replaceRanges(s, r.secretRanges([]byte(s), false))
}

// Fragment is like String for a text that was cut out of a longer one: what may be the end
// of a secret at its beginning, or the beginning of one at its end, is removed too.
func (r *Redactor) Fragment(s string) string {
	if r == nil || s == "" {
		return s
	}
	return r.replaceRanges(s, r.secretRanges([]byte(s), true))
}

// Ellipsis stands in a message for what was cut out of a value.
const Ellipsis = "…"

// Shortened is like String for a text in which values were cut short: what is left of a secret
// before or after an [Ellipsis] is removed too.
func (r *Redactor) Shortened(s string) string {
	if r == nil {
		return s
	}
	s = r.String(s)
	if !strings.Contains(s, Ellipsis) {
		return s
	}
	pieces := strings.Split(s, Ellipsis)
	for i, piece := range pieces {
		pieces[i] = r.Fragment(piece)
	}
	return strings.Join(pieces, Ellipsis)
}

// Bytes returns data with secrets masked byte by byte, so that the offsets and the
// lines of all else stay. Data without secrets is returned as it is, not as a copy.
func (r *Redactor) Bytes(data []byte) []byte {
	if r == nil {
		return data
	}
	spans := r.secretRanges(data, false)
	if len(spans) == 0 {
		return data
	}
	data = bytes.Clone(data)
	r.maskRanges(data, spans)
	return data
}

// Mask masks secrets in data itself, and parts of secrets at its edges.
func (r *Redactor) Mask(data []byte) {
	if r != nil {
		r.maskRanges(data, r.secretRanges(data, true))
	}
}

// Contains reports whether data holds a secret.
func (r *Redactor) Contains(data []byte) bool {
	return r != nil && len(r.secretRanges(data, false)) > 0
}

func (r *Redactor) replaceRanges(s string, spans []byteRange) string {
	if len(spans) == 0 {
		return s
	}
	var b strings.Builder
	done := 0
	for _, x := range spans {
		b.WriteString(s[done:x.from])
		if inNumber(s, x) {
			b.WriteString(strings.Repeat(string(r.numberDigit), x.to-x.from))
		} else {
			b.WriteString(r.placeholder)
		}
		done = x.to
	}
	b.WriteString(s[done:])
	clean := b.String()
	if rest := r.secretRanges([]byte(clean), false); len(rest) > 0 { // the mark and its neighbours spell another one
		masked := []byte(clean)
		r.maskRanges(masked, rest)
		return string(masked)
	}
	return clean
}

// maskRanges overwrites spans with as many bytes that spell neither a secret nor anything
// that JSON, SSE or HTML gives a meaning. Line ends stay.
func (r *Redactor) maskRanges(data []byte, spans []byteRange) {
	for _, x := range spans {
		fill := byte('*')
		if inNumber(string(data[max(0, x.from-1):min(len(data), x.to+1)]), byteRange{min(x.from, 1), min(x.from, 1) + x.to - x.from}) {
			fill = r.numberDigit
		}
		for i := x.from; i < x.to; i++ {
			if data[i] != '\n' && data[i] != '\r' {
				data[i] = fill
			}
		}
		if fill == '*' && x.to-x.from >= len(r.placeholder) && !bytes.ContainsAny(data[x.from:x.to], "\r\n") {
			copy(data[x.from:], r.placeholder)
		}
	}
}

// inNumber reports whether a span stands where JSON has a number, or a part of one.
func inNumber(s string, x byteRange) bool {
	for i := x.from; i < x.to; i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return (x.from == 0 || strings.IndexByte(" \t\r\n:,[-+.eE0123456789", s[x.from-1]) >= 0) &&
		(x.to == len(s) || strings.IndexByte(" \t\r\n,]}.eE0123456789", s[x.to]) >= 0)
}
