// Package redact removes secrets from output: reports, transcripts, logs and the journal of
// the mock server. It finds a secret verbatim and in the forms that programs give it: escaped
// for JSON, a URL, HTML, a shell, Go or several of these, as hexadecimal digits, and within
// Base64 text.
//
// It also decides, for all packages, which header fields and query parameters hold secrets:
// see [IsCredential].
package redact

import (
	"bytes"
	"slices"
	"strings"
)

// Placeholder is the text that replaces a secret. If it contains one of the secrets of a
// [Redactor], that Redactor uses "***" instead.
const Placeholder = "REDACTED"

// DefaultCredential is the value of the header field Authorization in requests of a dialect that
// requires credentials, if the user has configured none. It need not be kept secret.
const DefaultCredential = "Bearer streamassay"

// MinSecret is the minimum length, in bytes, of a secret that is removed. Shorter values are too
// likely to occur in texts by chance.
const MinSecret = 4

// MinDetectedSecret is the minimum length, in bytes, of a value that is treated as a secret only
// because of the name of its header field or query parameter. Shorter values are too likely to
// occur elsewhere by chance.
const MinDetectedSecret = 6

// minFragment is the minimum length, in bytes, of a fragment of a secret that is removed at the
// beginning or the end of a text. Shorter fragments would match too much by chance.
const minFragment = 4

// jsonLiterals lists words that are never treated as secrets, in upper or lower case: the literals
// of JSON, whose removal would break all JSON, and "none".
var jsonLiterals = []string{"true", "false", "null", "none"}

// A Redactor removes a set of secrets from texts. It is safe for concurrent use. A nil *Redactor
// removes nothing.
type Redactor struct {
	placeholder string       // replaces a secret
	numberDigit byte         // replaces the digits of a secret within a JSON number
	patterns    []secretForm // all forms of all secrets
	longest     int          // length of the longest pattern in bytes
	shortest    int          // length of the shortest pattern in bytes
}

// New returns a Redactor for the given secrets. It ignores secrets shorter than [MinSecret] and the
// words true, false, null and none in any letter case. If no secret is left, it returns nil,
// which is a valid Redactor that removes nothing.
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

// String returns s with each secret replaced by [Placeholder], or by "***" if Placeholder contains
// one of the secrets. The digits of a secret within a JSON number are replaced by other digits
// instead, so that the text stays valid JSON. If r is nil, String returns s.
func (r *Redactor) String(s string) string { return r.replace(s, false) }

// Fragment is like [Redactor.String], but for a text s that was cut out of a longer one. It also
// removes what may be a part of a secret: the last bytes of a secret at the beginning of s, and
// the first bytes of a secret at the end of s.
func (r *Redactor) Fragment(s string) string { return r.replace(s, true) }

// Ellipsis marks the place where a message omits part of a value.
const Ellipsis = "…"

// Shortened is like [Redactor.String], but for a text s in which an [Ellipsis] may stand for an
// omitted part of a value. If s contains an Ellipsis, Shortened also removes parts of secrets
// directly before and after each Ellipsis, and at both ends of s.
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

// Bytes returns data with each secret overwritten by as many other bytes, so that offsets and lines
// do not change. It does not modify data. If data contains no secrets, it returns data itself, and
// otherwise a modified copy.
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

// Mask overwrites the secrets in data in place, without changing its length. It also overwrites
// what may be parts of secrets at the beginning and the end of data.
func (r *Redactor) Mask(data []byte) {
	if r != nil {
		r.maskRanges(data, r.secretRanges(data, true))
	}
}

// Contains reports whether data contains a secret.
func (r *Redactor) Contains(data []byte) bool {
	return r != nil && len(r.secretRanges(data, false)) > 0
}

// replace implements [Redactor.String] or, if edges is true, [Redactor.Fragment]. If a placeholder
// forms another secret together with the text around it, that secret is overwritten as well.
func (r *Redactor) replace(s string, edges bool) string {
	if r == nil || s == "" {
		return s
	}
	spans := r.secretRanges([]byte(s), edges)
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
	if rest := r.secretRanges([]byte(clean), false); len(rest) > 0 { // placeholder and context form another secret
		masked := []byte(clean)
		r.maskRanges(masked, rest)
		return string(masked)
	}
	return clean
}

// maskRanges overwrites the given ranges of data, without changing the length of data. Digits of a
// JSON number are overwritten with other digits. Any other range is filled with asterisks, and
// begins with the placeholder if that fits and the range contains no line end. Line ends are kept.
// None of the new bytes has a special meaning in JSON, SSE or HTML.
func (r *Redactor) maskRanges(data []byte, spans []byteRange) {
	for _, x := range spans {
		fill := byte('*')
		context := string(data[max(0, x.from-1):min(len(data), x.to+1)])
		from := min(x.from, 1)
		if inNumber(context, byteRange{from, from + x.to - x.from}) {
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

// inNumber reports whether the range x of s consists of digits that seem to belong to a JSON
// number, judging by the adjacent characters.
func inNumber(s string, x byteRange) bool {
	for i := x.from; i < x.to; i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return (x.from == 0 || strings.IndexByte(" \t\r\n:,[-+.eE0123456789", s[x.from-1]) >= 0) &&
		(x.to == len(s) || strings.IndexByte(" \t\r\n,]}.eE0123456789", s[x.to]) >= 0)
}
