package redact

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// A secretPattern is one spelling of a secret, as it stands where all escapes are undone.
type secretPattern struct {
	text   []byte
	base64 bool // it is looked for where lines are broken too
	// lead and trail say that a character before or after is made of bits of the secret
	// and of others: it is removed as well.
	extendBefore, extendAfter bool
}

// minFoldedHex is the length from which on a secret made of hexadecimal digits is looked
// for in either case.
const minFoldedHex = 8

// secretPatterns returns the spellings of a secret.
func secretPatterns(s string) (all []secretPattern) {
	digits := hex.EncodeToString([]byte(s))
	texts := []string{s, digits, strings.ToUpper(digits)}
	if len(s) >= minFoldedHex && isHex(s) {
		texts = append(texts, strings.ToLower(s), strings.ToUpper(s))
	}
	if !isASCII(s) {
		texts = append(texts, asLatin1(s))
	}
	if valid := strings.ToValidUTF8(s, replacementChar); utf8.RuneCountInString(strings.ReplaceAll(valid, replacementChar, "")) >= MinSecret {
		texts = append(texts, valid)
	}
	texts = append(texts, strings.ReplaceAll(s, " ", "+"), strings.ReplaceAll(s, "'", "'''")) // in a query; in a shell, '\”
	seen := map[string]bool{}
	for _, text := range texts {
		if !seen[text] {
			seen[text] = true
			all = append(all, secretPattern{text: []byte(text)})
		}
	}
	return append(all, base64Patterns(s)...)
}

const replacementChar = "\ufffd"

// base64Patterns returns what is the same in every Base64 text that holds s, for each of the
// three places that s can begin at, in both alphabets.
func base64Patterns(s string) (all []secretPattern) {
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
			all = append(all, secretPattern{text: []byte(core), base64: true, extendBefore: shift > 0, extendAfter: bits%6 > 0})
		}
	}
	return all
}

// isHex reports whether s consists of hexadecimal digits, and hyphens as in a
// UUID.
func isHex(s string) bool { return strings.Trim(s, "0123456789abcdefABCDEF-") == "" }

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

// asLatin1 returns the text that is read where each byte of s is taken for a character.
func asLatin1(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteRune(rune(s[i]))
	}
	return b.String()
}

// widen returns a span with the neighbours that are made of bits of the secret too.
func (p *secretPattern) widen(text []byte, x byteRange) byteRange {
	if p.extendBefore && x.from > 0 && isBase64Byte(text[x.from-1]) {
		x.from--
	}
	if p.extendAfter && x.to < len(text) && isBase64Byte(text[x.to]) {
		x.to++
	}
	return x
}

func isBase64Byte(b byte) bool {
	return 'a' <= b|0x20 && b|0x20 <= 'z' || '0' <= b && b <= '9' || strings.IndexByte("+/-_", b) >= 0
}
