package redact

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// A secretForm is one form in which a secret can occur in a text, such as the hexadecimal digits of
// its bytes. It is searched for both in the text as it is and in the text with its escapes decoded.
type secretForm struct {
	text   []byte
	base64 bool // text is a part of Base64 text, and may be broken into lines
	// If extendBefore (or extendAfter) is true, the Base64 character before (or after) the text
	// also encodes bits of the secret and must be removed, too.
	extendBefore, extendAfter bool
}

// minFoldedHex is the minimum length, in characters, of a hexadecimal secret that is also searched
// for in upper case and in lower case. Shorter secrets would match too much by chance.
const minFoldedHex = 8

// secretPatterns returns the forms in which the secret s is searched for: s itself, the hexadecimal
// digits of its bytes, its forms in other encodings, and its forms within Base64 text.
func secretPatterns(s string) (all []secretForm) {
	digits := hex.EncodeToString([]byte(s))
	texts := []string{s, digits, strings.ToUpper(digits)}
	if len(s) >= minFoldedHex && isHex(s) {
		texts = append(texts, strings.ToLower(s), strings.ToUpper(s))
	}
	if !isASCII(s) {
		texts = append(texts, asLatin1(s))
	}
	valid := strings.ToValidUTF8(s, replacementChar)
	if utf8.RuneCountInString(strings.ReplaceAll(valid, replacementChar, "")) >= MinSecret {
		texts = append(texts, valid)
	}
	// Spaces as in a query, and single quotes as in a shell.
	texts = append(texts, strings.ReplaceAll(s, " ", "+"), strings.ReplaceAll(s, "'", "'''"))
	seen := map[string]bool{}
	for _, text := range texts {
		if !seen[text] {
			seen[text] = true
			all = append(all, secretForm{text: []byte(text)})
		}
	}
	return append(all, base64Patterns(s)...)
}

// replacementChar is U+FFFD, with which decoders of UTF-8 replace invalid bytes.
const replacementChar = "\ufffd"

// base64Patterns returns patterns that find s within Base64 text: one for each alphabet (standard
// and URL-safe) and each position at which s can begin within a group of three bytes. A pattern
// consists of the Base64 characters that depend only on s. There are no duplicates.
func base64Patterns(s string) (all []secretForm) {
	seen := map[string]bool{}
	for shift := range 3 {
		padded := append(make([]byte, shift), s...)
		bits := 8 * len(padded)
		from, to := (8*shift+5)/6, bits/6
		for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			core := alphabet.EncodeToString(padded)[from:to]
			if seen[core] {
				continue
			}
			seen[core] = true
			p := secretForm{text: []byte(core), base64: true, extendBefore: shift > 0, extendAfter: bits%6 > 0}
			all = append(all, p)
		}
	}
	return all
}

// isHex reports whether s consists only of hexadecimal digits and hyphens, as a UUID does.
func isHex(s string) bool { return strings.Trim(s, "0123456789abcdefABCDEF-") == "" }

// isASCII reports whether s consists only of ASCII characters.
func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

// asLatin1 decodes the bytes of s as ISO 8859-1 and returns the result in UTF-8. This is what a
// program writes for s if it mistakes UTF-8 for ISO 8859-1.
func asLatin1(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteRune(rune(s[i]))
	}
	return b.String()
}

// widen returns the range that must be removed if x, a range of text, matches the pattern. It is x,
// extended by the Base64 characters directly before and after x that also encode bits of the
// secret.
func (p *secretForm) widen(text []byte, x byteRange) byteRange {
	if p.extendBefore && x.from > 0 && isBase64Byte(text[x.from-1]) {
		x.from--
	}
	if p.extendAfter && x.to < len(text) && isBase64Byte(text[x.to]) {
		x.to++
	}
	return x
}

// isBase64Byte reports whether b is a character of the standard or the URL-safe Base64 alphabet. It
// returns false for the padding character '='.
func isBase64Byte(b byte) bool {
	return 'a' <= b|0x20 && b|0x20 <= 'z' || '0' <= b && b <= '9' || strings.IndexByte("+/-_", b) >= 0
}
