package redact

import (
	"bytes"
	"cmp"
	"slices"
)

// A byteRange is the part text[from:to] of a text.
type byteRange struct{ from, to int }

// includeEscapes returns x, a range of data, extended so that neither of its ends is between a
// backslash and the byte that the backslash escapes. If x begins with an escaped byte, the
// backslash before it is added. If x ends with a backslash that escapes the next byte, that byte is
// added.
func includeEscapes(data []byte, x byteRange) byteRange {
	if countBackslashes(data, x.from)%2 == 1 {
		x.from--
	}
	if x.to < len(data) && countBackslashes(data, x.to)%2 == 1 {
		x.to++
	}
	return x
}

// countBackslashes returns the number of consecutive backslashes in data directly before the offset
// end.
func countBackslashes(data []byte, end int) (n int) {
	for n < end && data[end-1-n] == '\\' {
		n++
	}
	return n
}

// Parameters of the search. minWindow is the minimum number of bytes that are searched at a time.
// maxSpellingFactor is the maximum length of an escaped form of a [secretForm], in multiples of
// the length of the pattern; it is large because text can be escaped several times.
const (
	minWindow         = 16 << 10
	maxSpellingFactor = 128
)

// secretRanges returns the ranges of data that contain secrets, in order and without overlaps. If
// edges is true, these include parts of secrets at the beginning and the end of data.
func (r *Redactor) secretRanges(data []byte, edges bool) []byteRange {
	if len(data) < r.shortest && !edges {
		return nil
	}
	s := searcher{r: r}
	overlap := r.longest * maxSpellingFactor
	window := max(minWindow, overlap)
	for from := 0; ; {
		to := min(len(data), from+window+overlap)
		part := &unescapedView{text: data[from:to]}
		s.atStart, s.atEnd = edges && from == 0, edges && to == len(data)
		s.found = s.found[:0]
		s.searchView(part, 0, true)
		for _, x := range s.found {
			s.all = append(s.all, includeEscapes(data, byteRange{x.from + from, x.to + from}))
		}
		if to == len(data) {
			return mergeRanges(s.all)
		}
		from = splitPoint(data, from+window)
	}
}

// splitPoint returns an offset at which data can be split for the search without dividing an
// escape: the last such offset that is not greater than limit. If there is none among the 4096
// offsets up to limit, it returns limit.
func splitPoint(data []byte, limit int) int {
	const escape, far = 12, 4096
	for p := limit; p > limit-far; p-- {
		if !bytes.ContainsAny(data[p-escape:p], `\%&`) {
			return p
		}
	}
	return limit
}

// mergeRanges returns the union of the given ranges, in order and without overlaps. The result
// reuses the memory of the argument, which is overwritten.
func mergeRanges(all []byteRange) []byteRange {
	if len(all) < 2 {
		return all
	}
	slices.SortFunc(all, func(a, b byteRange) int { return cmp.Compare(a.from, b.from) })
	out := all[:1]
	for _, x := range all[1:] {
		if last := &out[len(out)-1]; x.from <= last.to {
			last.to = max(last.to, x.to)
			continue
		}
		out = append(out, x)
	}
	return out
}

// A searcher searches one text for the secrets of a Redactor and collects the ranges in which it
// finds them.
type searcher struct {
	r              *Redactor
	atStart, atEnd bool        // also find parts of secrets at the beginning or the end of the current part of the text
	found, all     []byteRange // the ranges found in the current part of the text, and those in the whole text
}

// Limits on the number of layers of escapes to decode, because each layer multiplies the work.
// maxLayers applies if all escapes of each layer are decoded. maxMixed applies if only the escapes
// of one kind are decoded in a layer that has several kinds.
const (
	maxMixed  = 2
	maxLayers = 4
)

// searchView adds to s.found the ranges of the secrets in v, and in the views that result from
// decoding the escapes of v. The arguments layer and complete limit how many layers of escapes are
// decoded; see maxLayers. The argument layer is the number of layers that were decoded to get v,
// and complete reports whether all escapes of each of these layers were decoded.
func (s *searcher) searchView(v *unescapedView, layer int, complete bool) {
	s.searchText(v)
	if layer == maxLayers || !complete && layer == maxMixed {
		return
	}
	var inside []*unescapedView
	for _, k := range []escapeKind{backslashes, percents, entities} {
		if inner := v.unescape(k); inner != nil {
			inside = append(inside, inner)
		}
	}
	for _, inner := range inside {
		s.searchView(inner, layer+1, complete && len(inside) == 1)
		inner.release()
	}
	if complete && len(inside) > 1 {
		inner := v.unescape(escapes)
		s.searchView(inner, layer+1, true)
		inner.release()
	}
}

// searchText adds to s.found the ranges of the secrets in the text of v. It decodes no escapes,
// but ignores line breaks within Base64. If s.atStart or s.atEnd is true, it also finds parts of
// secrets at the beginning or the end of the text.
func (s *searcher) searchText(v *unescapedView) {
	var lines *unescapedView
	if v.hasBrokenBase64() {
		lines = v.unescape(lineEnds)
	}
	for i := range s.r.patterns {
		p := &s.r.patterns[i]
		s.findOccurrences(v, p)
		if p.base64 && lines != nil {
			s.findOccurrences(lines, p)
		}
		if s.atStart {
			s.findSuffix(v, p)
		}
		if s.atEnd {
			s.findPrefix(v, p)
		}
	}
	if lines != nil {
		lines.release()
	}
}

// hasBrokenBase64 reports whether v may contain Base64 text that is broken into several lines, that
// is, whether v has a line break directly between two Base64 characters.
func (v *unescapedView) hasBrokenBase64() bool {
	for i := lineEnds.nextEscape(v.text, 0); i < len(v.text); i = lineEnds.nextEscape(v.text, i) {
		before := i
		for i < len(v.text) && (v.text[i] == '\r' || v.text[i] == '\n') {
			i++
		}
		if before > 0 && i < len(v.text) && isBase64Byte(v.text[before-1]) && isBase64Byte(v.text[i]) {
			return true
		}
	}
	return false
}

// findOccurrences adds to s.found the ranges of the original text that correspond to the
// occurrences of p in v, extended as widen does.
func (s *searcher) findOccurrences(v *unescapedView, p *secretForm) {
	for from := 0; ; {
		i := bytes.Index(v.text[from:], p.text)
		if i < 0 {
			return
		}
		x := p.widen(v.text, byteRange{from + i, from + i + len(p.text)})
		s.found = append(s.found, v.sourceRange(x))
		from += i + 1
	}
}

// findSuffix searches for a part of a secret at the beginning of v. If v begins with the last bytes
// of p, at least minFragment of them, findSuffix adds their range in the original text to s.found.
func (s *searcher) findSuffix(v *unescapedView, p *secretForm) {
	for n := min(len(p.text)-1, len(v.text)); n >= minFragment; n-- {
		if bytes.HasPrefix(v.text, p.text[len(p.text)-n:]) {
			s.found = append(s.found, v.sourceRange(byteRange{0, n}))
			return
		}
	}
}

// findPrefix searches for a part of a secret at the end of v. If v ends with the first bytes of p,
// at least minFragment of them, findPrefix adds their range in the original text to s.found. If a
// truncated escape follows these bytes, the range includes it.
func (s *searcher) findPrefix(v *unescapedView, p *secretForm) {
	const escape = 12
	text := v.text
	for range 2 {
		for n := min(len(p.text)-1, len(text)); n >= minFragment; n-- {
			if bytes.HasSuffix(text, p.text[:n]) {
				s.found = append(s.found, v.sourceRange(byteRange{len(text) - n, len(v.text)}))
				return
			}
		}
		last := max(0, len(text)-escape)
		cut := bytes.LastIndexAny(text[last:], `\%&`)
		if cut < 0 {
			return
		}
		text = text[:last+cut]
	}
}
