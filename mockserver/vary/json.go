package vary

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A pen spells one JSON text again. The text is valid.
type pen struct {
	v     *Variation
	r     *rand.Rand
	in    []byte
	out   []byte
	lines bool // line ends may stand between tokens
	words bool // letters need not stand as they are
}

// json spells a JSON text in another way, which says the same. What is not JSON is
// left as it is.
func (v *Variation) json(r *rand.Rand, text []byte, s *shape, p pen) []byte {
	if !json.Valid(text) {
		return text
	}
	p.v, p.r, p.in, p.out = v, r, bytes.TrimSpace(text), make([]byte, 0, 2*len(text))
	p.space()
	p.value(s)
	p.space()
	return p.out
}

// value spells the value that the text goes on with.
func (p *pen) value(s *shape) {
	if s == nil {
		s = &shape{}
	}
	switch p.in[0] {
	case '{':
		p.object(s)
	case '[':
		p.list(s)
	case '"':
		p.text(p.literal())
	default:
		p.number(p.literal(), s)
	}
}

func (p *pen) object(s *shape) {
	p.in = p.in[1:]
	var members [][]byte // spelled already
	for p.skip(); p.in[0] != '}'; p.skip() {
		if p.in[0] == ',' {
			p.in = p.in[1:]
			p.skip()
		}
		outer := p.out
		p.out = nil
		key := p.literal()
		p.text(key)
		p.skip()
		p.in = p.in[1:] // the colon
		p.skip()
		p.space()
		p.out = append(p.out, ':')
		p.space()
		p.value(s.member(key))
		members, p.out = append(members, p.out), outer
	}
	p.in = p.in[1:]
	if p.v.Has(UnknownMembers) && s.described && !s.closed && !s.carried {
		for range p.r.IntN(3) {
			members = append(members, p.unknown(len(members)))
		}
	}
	if p.v.Has(KeyOrder) {
		p.r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	}
	p.join('{', members, '}')
}

func (p *pen) list(s *shape) {
	p.in = p.in[1:]
	var items [][]byte
	for p.skip(); p.in[0] != ']'; p.skip() {
		if p.in[0] == ',' {
			p.in = p.in[1:]
			p.skip()
		}
		outer := p.out
		p.out = nil
		p.value(s.item())
		items, p.out = append(items, p.out), outer
	}
	p.in = p.in[1:]
	p.join('[', items, ']')
}

// member is the shape of a member, given by its name as a literal.
func (s *shape) member(literal []byte) *shape {
	var name string
	if s.carried || json.Unmarshal(literal, &name) != nil {
		return nil
	}
	return s.members[name]
}

func (s *shape) item() *shape {
	if s.carried {
		return nil
	}
	return s.items
}

func (p *pen) join(open byte, members [][]byte, end byte) {
	p.out = append(p.out, open)
	for i, m := range members {
		if i > 0 {
			p.out = append(p.out, ',')
		}
		p.space()
		p.out = append(p.out, m...)
		p.space()
	}
	if len(members) == 0 {
		p.space()
	}
	p.out = append(p.out, end)
}

// strangeNames are names of members, none of which a document has; a number follows.
var strangeNames = []string{"x", "X-Unknown ", "_", "$", "ünbekannt", "type.", "data:", "__proto__", "👽"}

// unknown is a member that the document does not name.
func (p *pen) unknown(n int) []byte {
	name := fmt.Sprint(strangeNames[p.r.IntN(len(strangeNames))], n)
	if p.v.book.known[name] {
		name = strings.Repeat(name, 3)
	}
	outer := p.out
	p.out = nil
	p.text([]byte(`"` + name + `"`))
	p.out = append(p.out, ':')
	p.space()
	values := []string{`null`, `true`, `-0.5e-3`, `9007199254740993`, `""`, `"data: [DONE]"`, `"\u0000\ud83d\ude00"`, `[]`, `{"type":"error","delta":"x"}`, `[[[[{}]]]]`}
	p.out = append(p.out, values[p.r.IntN(len(values))]...)
	text := p.out
	p.out = outer
	return text
}

// literal takes a string, number or word off the text.
func (p *pen) literal() []byte {
	end := 1
	if p.in[0] == '"' {
		for ; p.in[end] != '"'; end++ {
			if p.in[end] == '\\' {
				end++
			}
		}
		end++
	} else {
		for end < len(p.in) && !bytes.ContainsRune([]byte(" \t\r\n,]}"), rune(p.in[end])) {
			end++
		}
	}
	text := p.in[:end]
	p.in = p.in[end:]
	return text
}

func (p *pen) skip() { p.in = bytes.TrimLeft(p.in, " \t\r\n") }

// space puts what JSON allows between two tokens.
func (p *pen) space() {
	if p.lines && p.r.IntN(5) == 0 {
		p.out = append(p.out, '\n')
	}
	if p.v.Has(Whitespace) && p.r.IntN(3) == 0 {
		p.out = append(p.out, []string{" ", "  ", "\t"}[p.r.IntN(3)]...)
	}
}

// number spells a number in another form where the document says that it is one.
func (p *pen) number(text []byte, s *shape) {
	p.out = append(p.out, text...)
	whole := len(text) <= 16 && bytes.Trim(text, "0123456789") == nil
	if !p.v.Has(Numbers) || !s.number || !whole || p.r.IntN(2) == 0 {
		return
	}
	switch p.r.IntN(4) {
	case 0:
		p.out = append(p.out, ".0"...)
	case 1:
		p.out = append(p.out, "e0"...)
	case 2:
		p.out = append(p.out, "0E-1"...)
		if text[0] == '0' { // 00 is no number
			p.out = append(p.out[:len(p.out)-4], ".00"...)
		}
	case 3:
		p.out = append(p.out, ".00e+0"...)
	}
}

// text spells a string, given as a literal.
func (p *pen) text(literal []byte) {
	if !p.v.Has(Escapes) {
		p.out = append(p.out, literal...)
		return
	}
	p.out = append(p.out, '"')
	for in := literal[1 : len(literal)-1]; len(in) > 0; {
		if in[0] == '\\' {
			n := 2
			if in[1] == 'u' {
				n = 6
			}
			p.out = append(p.out, in[:n]...)
			in = in[n:]
			continue
		}
		r, n := utf8.DecodeRune(in)
		p.char(r, in[:n])
		in = in[n:]
	}
	p.out = append(p.out, '"')
}

// char spells one character of a string that stands there as it is.
func (p *pen) char(r rune, raw []byte) {
	chance := p.r.IntN(8)
	switch {
	case r == utf8.RuneError || chance > 1 || chance > 0 && r < utf8.RuneSelf && r != '/':
		p.out = append(p.out, raw...)
	case r == '/' && chance == 0:
		p.out = append(p.out, `\/`...)
	case r < utf8.RuneSelf && !p.words:
		p.out = append(p.out, raw...)
	case r > 0xffff:
		high, low := utf16.EncodeRune(r)
		p.out = fmt.Appendf(p.out, `\u%04x\u%04X`, high, low)
	default:
		p.out = fmt.Appendf(p.out, []string{`\u%04x`, `\u%04X`}[chance], r)
	}
}

// Reply spells a reply that is no stream in another way.
func (v *Variation) Reply(seed uint64, body []byte) []byte {
	r := v.chance(strconv.FormatUint(seed, 10), body)
	return v.json(r, body, v.book.replies, pen{lines: v.Has(Whitespace), words: true})
}
