package redact

import (
	"bytes"
	"cmp"
	"slices"
)

// A span is a part of a text.
type span struct{ from, to int }

// unescaped returns a span with the backslash that its first byte is escaped by, and the
// byte that its last backslash escapes: half an escape would break the text.
func unescaped(data []byte, x span) span {
	if slashesBefore(data, x.from)%2 == 1 {
		x.from--
	}
	if x.to < len(data) && slashesBefore(data, x.to)%2 == 1 {
		x.to++
	}
	return x
}

func slashesBefore(data []byte, end int) (n int) {
	for n < end && data[end-1-n] == '\\' {
		n++
	}
	return n
}

// How much of a text is looked at at once, and how many times as long as a secret its
// spelling may be: a text in a text in a text.
const (
	minWindow = 16 << 10
	maxLonger = 128
)

// spans returns the parts of data that give secrets away, in order and apart from each
// other. With edges, parts of secrets at the edges of data count.
func (r *Redactor) spans(data []byte, edges bool) []span {
	if len(data) < r.shortest && !edges {
		return nil
	}
	s := search{r: r}
	overlap := r.longest * maxLonger
	window := max(minWindow, overlap)
	for from := 0; ; {
		to := min(len(data), from+window+overlap)
		part := &view{text: data[from:to]}
		s.head, s.tail = edges && from == 0, edges && to == len(data)
		s.found = s.found[:0]
		s.look(part, 0, true)
		for _, x := range s.found {
			s.all = append(s.all, unescaped(data, span{x.from + from, x.to + from}))
		}
		if to == len(data) {
			return apart(s.all)
		}
		from = between(data, from+window)
	}
}

// between returns a place before at, if there is one not too far, that is not within an
// escape.
func between(data []byte, at int) int {
	const escape, far = 12, 4096
	for p := at; p > at-far; p-- {
		if !bytes.ContainsAny(data[p-escape:p], `\%&`) {
			return p
		}
	}
	return at
}

// apart returns spans in order, each apart from the others.
func apart(all []span) []span {
	if len(all) < 2 {
		return all
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
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

// A search looks for secrets in one text.
type search struct {
	r          *Redactor
	head, tail bool // the view begins, or ends, where the text was cut
	found, all []span
}

// How many layers of escapes are undone: of one kind at a time, and of all kinds at
// once.
const (
	maxMixed  = 2
	maxLayers = 4
)

// look finds secrets in a view, and in what its escapes stand for. chain says that all
// escapes of the layers above were undone.
func (s *search) look(v *view, layer int, chain bool) {
	s.plain(v)
	if layer == maxLayers || !chain && layer == maxMixed {
		return
	}
	var inside []*view
	for _, k := range []kind{backslashes, percents, entities} {
		if inner := v.undo(k); inner != nil {
			inside = append(inside, inner)
		}
	}
	for _, inner := range inside {
		s.look(inner, layer+1, chain && len(inside) == 1)
		inner.free()
	}
	if chain && len(inside) > 1 {
		inner := v.undo(escapes)
		s.look(inner, layer+1, true)
		inner.free()
	}
}

// plain finds secrets in a view as it is.
func (s *search) plain(v *view) {
	var lines *view
	if v.broken() {
		lines = v.undo(lineEnds)
	}
	for i := range s.r.patterns {
		p := &s.r.patterns[i]
		s.occurrences(v, p)
		if p.base64 && lines != nil {
			s.occurrences(lines, p)
		}
		if s.head {
			s.end(v, p)
		}
		if s.tail {
			s.beginning(v, p)
		}
	}
	if lines != nil {
		lines.free()
	}
}

// broken reports whether a line of what may be Base64 goes on in the next one.
func (v *view) broken() bool {
	for i := lineEnds.next(v.text, 0); i < len(v.text); i = lineEnds.next(v.text, i) {
		before := i
		for i < len(v.text) && (v.text[i] == '\r' || v.text[i] == '\n') {
			i++
		}
		if before > 0 && i < len(v.text) && inBase64(v.text[before-1]) && inBase64(v.text[i]) {
			return true
		}
	}
	return false
}

func (s *search) occurrences(v *view, p *pattern) {
	for from := 0; ; {
		i := bytes.Index(v.text[from:], p.text)
		if i < 0 {
			return
		}
		x := p.widen(v.text, span{from + i, from + i + len(p.text)})
		s.found = append(s.found, v.source(x))
		from += i + 1
	}
}

// end finds the longest end of a secret that the view begins with.
func (s *search) end(v *view, p *pattern) {
	for n := min(len(p.text)-1, len(v.text)); n >= minPart; n-- {
		if bytes.HasPrefix(v.text, p.text[len(p.text)-n:]) {
			s.found = append(s.found, v.source(span{0, n}))
			return
		}
	}
}

// beginning finds the longest beginning of a secret that the view ends with. An escape
// that was cut in two may follow.
func (s *search) beginning(v *view, p *pattern) {
	const escape = 12
	text := v.text
	for range 2 {
		for n := min(len(p.text)-1, len(text)); n >= minPart; n-- {
			if bytes.HasSuffix(text, p.text[:n]) {
				s.found = append(s.found, v.source(span{len(text) - n, len(v.text)}))
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
