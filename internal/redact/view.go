package redact

import (
	"bytes"
	"html"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// An unescapedView is a part of a text with some of its escapes decoded. The byte text[i]
// represents the bytes original[from[i]:to[i]] of the original text. If from and to are nil, no
// escapes were decoded, and text has the same offsets as the original text.
type unescapedView struct {
	text     []byte
	from, to []int32
}

// sourceRange returns the range of offsets in the original text that corresponds to x, a range of
// offsets in v.text. The range x must not be empty.
func (v *unescapedView) sourceRange(x byteRange) byteRange {
	if v.from == nil {
		return x
	}
	return byteRange{int(v.from[x.from]), int(v.to[x.to-1])}
}

// appendFrom appends other.text[from:to] to v.text, and the corresponding elements of other.from
// and other.to to v.from and v.to.
func (v *unescapedView) appendFrom(other *unescapedView, from, to int) {
	v.text = append(v.text, other.text[from:to]...)
	if other.from != nil {
		v.from, v.to = append(v.from, other.from[from:to]...), append(v.to, other.to[from:to]...)
		return
	}
	for i := from; i < to; i++ {
		v.from, v.to = append(v.from, int32(i)), append(v.to, int32(i+1))
	}
}

// An escapeKind is one syntax of escapes, or a set of such syntaxes.
type escapeKind int

// The kinds of escapes. The only supported combination of several kinds is escapes.
const (
	backslashes escapeKind = 1 << iota // JSON, Go, C, a shell
	percents                           // URLs, format strings
	entities                           // HTML
	lineEnds                           // line breaks in Base64; not escapes, but removed in the same way

	escapes = backslashes | percents | entities // all kinds except lineEnds
)

// escapeStarts maps each kind of escapes to the bytes with which such an escape can begin.
var escapeStarts = map[escapeKind]string{
	backslashes: `\`, percents: "%", entities: "&", escapes: `\%&`, lineEnds: "\r\n",
}

// nextEscape searches text[from:] for the first byte with which an escape of kind k may begin. It
// returns the offset of that byte in text, or the length of text if there is none.
func (k escapeKind) nextEscape(text []byte, from int) int {
	i := 0
	if set := escapeStarts[k]; len(set) == 1 {
		i = bytes.IndexByte(text[from:], set[0])
	} else {
		i = bytes.IndexAny(text[from:], set)
	}
	if i < 0 {
		return len(text)
	}
	return from + i
}

// viewPool holds views that are not in use. Views are reused because the search of a body, which
// may be large, needs several of them.
var viewPool = sync.Pool{New: func() any { return &unescapedView{} }}

// release makes v available for reuse, unless it is too large to be kept. The caller must not use v
// afterwards.
func (v *unescapedView) release() {
	const maxIdle = 4 << 20
	if cap(v.text) <= maxIdle {
		viewPool.Put(v)
	}
}

// unescape returns a new view of the text of v with the escapes of kind k decoded. It returns nil
// if v has no such escapes. The caller must release the result.
func (v *unescapedView) unescape(k escapeKind) *unescapedView {
	var out *unescapedView
	var buf [utf8.UTFMax]byte
	done := 0
	for i := k.nextEscape(v.text, 0); i < len(v.text); i = k.nextEscape(v.text, i) {
		plain, n := decode(buf[:0], v.text[i:], k)
		if n == 0 {
			i++
			continue
		}
		if out == nil {
			out = viewPool.Get().(*unescapedView)
			size := len(v.text)
			out.text = slices.Grow(out.text[:0], size)
			out.from, out.to = slices.Grow(out.from[:0], size), slices.Grow(out.to[:0], size)
		}
		out.appendFrom(v, done, i)
		written := v.sourceRange(byteRange{i, i + n})
		for _, b := range plain {
			out.text = append(out.text, b)
			out.from, out.to = append(out.from, int32(written.from)), append(out.to, int32(written.to))
		}
		i += n
		done = i
	}
	if out != nil {
		out.appendFrom(v, done, len(v.text))
	}
	return out
}

// decode decodes the escape at the beginning of s, which must not be empty. It returns dst with
// the characters that the escape represents appended, and the length n of the escape in bytes. A
// line end represents no characters: plain is nil and n is 1. If s does not begin with an escape
// of a kind in k, plain is nil and n is 0.
func decode(dst, s []byte, k escapeKind) (plain []byte, n int) {
	switch s[0] {
	case '\\':
		if k&backslashes != 0 && len(s) > 1 {
			return decodeBackslash(dst, s)
		}
	case '%':
		if k&percents != 0 && len(s) > 1 {
			if s[1] == '%' {
				return append(dst, '%'), 2
			}
			return decodeByte(dst, s, 1, 2, 16)
		}
	case '&':
		if k&entities != 0 {
			return decodeEntity(dst, s)
		}
	case '\r', '\n':
		if k&lineEnds != 0 {
			return nil, 1
		}
	}
	return nil, 0
}

// shortEscapes lists the escapes that consist of a backslash and a letter, as pairs of characters:
// the letter and the character that the escape represents.
const shortEscapes = "a\ab\bf\fn\nr\rt\tv\v"

// decodeBackslash is like [decode], but only for escapes that begin with a backslash. The argument
// s must begin with a backslash and have at least two bytes.
func decodeBackslash(dst, s []byte) ([]byte, int) {
	switch c := s[1]; {
	case c == 'u':
		return decodeUTF16(dst, s)
	case c == 'U':
		if code, n := parseDigits(s, 2, 8, 16); n > 0 {
			return utf8.AppendRune(dst, rune(code)), n
		}
	case c == 'x':
		return decodeByte(dst, s, 2, 2, 16)
	case '0' <= c && c <= '3':
		return decodeByte(dst, s, 1, 3, 8)
	case c > ' ' && c < utf8.RuneSelf && !isBase64Byte(c) || strings.IndexByte("/+-_", c) >= 0:
		return append(dst, c), 2
	default:
		if i := strings.IndexByte(shortEscapes, c); i >= 0 && i%2 == 0 {
			return append(dst, shortEscapes[i+1]), 2
		}
	}
	return nil, 0
}

// decodeUTF16 is like [decode], but only for an escape such as \u002d, or two such escapes that
// form a surrogate pair. s must begin with \u.
func decodeUTF16(dst, s []byte) ([]byte, int) {
	code, n := parseDigits(s, 2, 4, 16)
	if n == 0 {
		return nil, 0
	}
	r := rune(code)
	if low, m := parseDigits(s[n:], 2, 4, 16); m > 0 && utf16.IsSurrogate(r) && string(s[n:n+2]) == `\u` {
		if pair := utf16.DecodeRune(r, rune(low)); pair != utf8.RuneError {
			r, n = pair, n+m
		}
	}
	return utf8.AppendRune(dst, r), n
}

// decodeByte is like [decode], but only for an escape that represents one byte as a number. The
// number begins at s[after] and has the given number of digits in the given base.
func decodeByte(dst, s []byte, after, digits, base int) ([]byte, int) {
	code, n := parseDigits(s, after, digits, base)
	if n == 0 || code > 0xff {
		return nil, 0
	}
	return append(dst, byte(code)), n
}

// parseDigits returns the number that begins at s[after] and has the given number of digits in the
// given base. The result n is the offset after the last digit, or 0 if there are fewer digits at
// s[after].
func parseDigits(s []byte, after, digits, base int) (code uint32, n int) {
	if len(s) < after+digits {
		return 0, 0
	}
	for _, c := range s[after : after+digits] { // strconv.ParseUint would allocate an error for other characters
		digit := base
		switch {
		case '0' <= c && c <= '9':
			digit = int(c - '0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			digit = int(c|0x20-'a') + 10
		}
		if digit >= base {
			return 0, 0
		}
		code = code*uint32(base) + uint32(digit)
	}
	return code, after + digits
}

// maxEntity is the maximum length, in bytes, of an HTML character reference that is decoded. It
// limits the search for the semicolon after each ampersand.
const maxEntity = 32

// decodeEntity is like [decode], but only for HTML character references. s must begin with an
// ampersand.
func decodeEntity(dst, s []byte) ([]byte, int) {
	n := bytes.IndexByte(s[:min(len(s), maxEntity)], ';') + 1
	isOther := func(r rune) bool { return r != '#' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	if n < 3 || bytes.ContainsFunc(s[1:n-1], isOther) {
		return nil, 0
	}
	reference := string(s[:n])
	plain := html.UnescapeString(reference)
	if plain == reference || len(plain) > 1 && plain[len(plain)-1] == ';' { // only a prefix was a reference
		return nil, 0
	}
	return append(dst, plain...), n
}
