package dialect

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/streamassay/streamassay/spec"
)

// A markBlock is the first of 2,048 private-use characters that stand for the surrogates, in order,
// while a frame is being decoded. The zero value stands for none.
type markBlock rune

// markBlocks are the blocks from which [markSurrogates] chooses.
var markBlocks = []markBlock{0x10f800, 0xf0000}

// contains reports whether r is in the block.
func (b markBlock) contains(r rune) bool { return b != 0 && r >= rune(b) && r < rune(b)+0x800 }

// surrogate returns the surrogate for which r stands, or -1 if there is none.
func (b markBlock) surrogate(r rune) rune {
	if !b.contains(r) {
		return -1
	}
	return r - rune(b) + 0xd800
}

// mayOccur reports whether data, a JSON text, may contain a character of the block, as such or as
// an escape.
func (b markBlock) mayOccur(data []byte) bool {
	lower := bytes.ToLower(data)
	for _, r := range []rune{rune(b), rune(b) + 0x400} { // the first code units of the characters are two
		first, _ := utf16.EncodeRune(r)
		if bytes.Contains(lower, fmt.Appendf(nil, `\u%04x`, first)) {
			return true
		}
	}
	return bytes.ContainsFunc(data, b.contains)
}

// markSurrogates returns data, the JSON text of a frame, with each escape of a surrogate without
// its counterpart (such as \ud83d) replaced by a character of the block that is returned. A decoder
// of JSON would replace it by U+FFFD. If there are no such escapes, or if data contains characters
// of all blocks, the results are data and 0.
func markSurrogates(data []byte) ([]byte, markBlock) {
	if !bytes.Contains(data, []byte(`\ud`)) && !bytes.Contains(data, []byte(`\uD`)) {
		return data, 0
	}
	n := slices.IndexFunc(markBlocks, func(b markBlock) bool { return !b.mayOccur(data) })
	if n < 0 {
		return data, 0
	}
	block := markBlocks[n]
	var out []byte
	kept := 0 // the bytes of data before this offset are in out
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		switch r := escapedRune(data[i:]); {
		case !utf16.IsSurrogate(r):
			i++ // the escaped character, which may be a backslash
		case utf16.DecodeRune(r, escapedRune(data[i+6:])) != utf8.RuneError:
			i += 11
		default:
			out = utf8.AppendRune(append(out, data[kept:i]...), rune(block)+r-0xd800)
			kept = i + 6
			i += 5
		}
	}
	if kept == 0 {
		return data, 0
	}
	return append(out, data[kept:]...), block
}

// escapedRune returns the UTF-16 code unit of the escape \uXXXX with which data begins, or -1 if
// data begins with anything else.
func escapedRune(data []byte) rune {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(data[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// A surrogateJoiner joins surrogate pairs that are split between two deltas of one text. Servers
// that cut texts after any UTF-16 code unit send such deltas. The joined character becomes a part
// of the second delta.
// The zero value is ready to use.
type surrogateJoiner struct {
	block markBlock         // the block of the frame that is being decoded; see [markSurrogates]
	held  map[deltaKey]rune // by text: the first half of a pair at the end of the last delta
}

// A deltaKey identifies the text to which a delta belongs.
type deltaKey struct {
	kind                 spec.Kind
	message, call, index string
}

// join joins surrogates in e.Text, if e is a delta, and replaces those without a counterpart by
// U+FFFD.
func (j *surrogateJoiner) join(e *spec.Event) {
	if j.block == 0 && len(j.held) == 0 {
		return
	}
	text, joined := e.Text, ""
	key := deltaKey{e.Kind, e.Message, e.Call, e.Index}
	if first, ok := j.held[key]; ok {
		delete(j.held, key)
		second, size := utf8.DecodeRuneInString(text)
		pair := utf16.DecodeRune(first, j.block.surrogate(second))
		if joined = string(pair); pair != utf8.RuneError {
			text = text[size:]
		}
	}
	last, size := utf8.DecodeLastRuneInString(text)
	isDelta := e.Kind == spec.MessageDelta || e.Kind == spec.ReasoningDelta || e.Kind == spec.ToolDelta
	if high := j.block.surrogate(last); isDelta && high >= 0xd800 && high < 0xdc00 {
		if j.held == nil {
			j.held = map[deltaKey]rune{}
		}
		j.held[key], text = high, text[:len(text)-size]
	}
	e.Text = joined + strings.Map(func(r rune) rune {
		if j.block.contains(r) {
			return utf8.RuneError
		}
		return r
	}, text)
}
