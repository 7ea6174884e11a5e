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

	"github.com/streamassay/streamassay/spec/dialect"
)

// A jsonRewriter converts a valid JSON text to a different encoding with the same meaning. Its
// methods remove tokens from the beginning of input and append the rewritten tokens to output.
type jsonRewriter struct {
	variation     *Variation
	rng           *rand.Rand // source of the random choices
	input         []byte     // part of the text that is still to be rewritten
	output        []byte     // rewritten tokens
	allowNewlines bool       // insert line feeds between some tokens
}

// rewriteJSON returns text, a JSON text, in a different encoding with the same meaning. If text is
// not valid JSON, rewriteJSON returns it unchanged. Random choices are drawn from r. The parameter
// s summarizes the schemas that apply to the value; it is nil if the document of the dialect does
// not define the value. If allowNewlines is true, the result may contain line feeds between tokens.
func (v *Variation) rewriteJSON(r *rand.Rand, text []byte, s *dialect.ValueShape, allowNewlines bool) []byte {
	if !json.Valid(text) {
		return text
	}
	p := jsonRewriter{v, r, bytes.TrimSpace(text), make([]byte, 0, 2*len(text)), allowNewlines}
	p.addSpace()
	p.rewriteValue(s)
	p.addSpace()
	return p.output
}

// rewriteValue removes the next value from the input and appends a rewritten form of it to the
// output. The parameter s summarizes the schemas that apply to the value; it is nil if the document
// of the dialect does not define the value.
func (p *jsonRewriter) rewriteValue(s *dialect.ValueShape) {
	if s == nil {
		s = &dialect.ValueShape{}
	}
	switch p.input[0] {
	case '{':
		p.rewriteObject(s)
	case '[':
		p.rewriteList(s)
	case '"':
		p.rewriteString(p.takeToken())
	default:
		p.rewriteNumber(p.takeToken(), s)
	}
}

// rewriteObject removes the next value from the input and appends a rewritten form of it to the
// output. The value must be an object; s summarizes the schemas that apply to it.
func (p *jsonRewriter) rewriteObject(s *dialect.ValueShape) {
	members := p.rewriteEach('}', func() {
		name := p.takeToken()
		p.rewriteString(name)
		p.skipSpace()
		p.input = p.input[1:] // the colon
		p.skipSpace()
		p.addSpace()
		p.output = append(p.output, ':')
		p.addSpace()
		p.rewriteValue(memberShape(s, name))
	})
	if p.variation.Has(UnknownMembers) && s.AllowsMembers() {
		for range p.rng.IntN(3) {
			members = append(members, p.unknownMember(s, len(members)))
		}
	}
	if p.variation.Has(KeyOrder) {
		p.rng.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	}
	p.appendJoined('{', members, '}')
}

// rewriteList removes the next value from the input and appends a rewritten form of it to the
// output. The value must be an array; s summarizes the schemas that apply to it.
func (p *jsonRewriter) rewriteList(s *dialect.ValueShape) {
	items := s.Items
	if s.HasSlot { // then the array as a whole is the value of one field of an event
		items = nil
	}
	p.appendJoined('[', p.rewriteEach(']', func() { p.rewriteValue(items) }), ']')
}

// rewriteEach removes the next value from the input. The value must be an object or array; end is
// its closing bracket. For each member or item, rewriteEach calls rewrite, which must remove that
// member or item from the input and append its rewritten form to the output. The result contains
// the rewritten members or items. After the call, the output is the same as before.
func (p *jsonRewriter) rewriteEach(end byte, rewrite func()) (all [][]byte) {
	p.input = p.input[1:]
	for p.skipSpace(); p.input[0] != end; p.skipSpace() {
		if p.input[0] == ',' {
			p.input = p.input[1:]
			p.skipSpace()
		}
		all = append(all, p.capture(rewrite))
	}
	p.input = p.input[1:]
	return all
}

// capture calls write, which appends to the output, and returns what write appended. After the
// call, the output is the same as before.
func (p *jsonRewriter) capture(write func()) []byte {
	outer := p.output
	p.output = nil
	write()
	text := p.output
	p.output = outer
	return text
}

// memberShape returns a summary of the schemas that apply to a member of an object; s is the
// summary for the object. The parameter literal is the name of the member as a JSON string. The
// result is nil if the document does not define the member. It is also nil if the object as a whole
// is the value of a slot (see [dialect.ValueShape]): the members of such an object are
// arbitrary.
func memberShape(s *dialect.ValueShape, literal []byte) *dialect.ValueShape {
	var name string
	if s.HasSlot || json.Unmarshal(literal, &name) != nil {
		return nil
	}
	return s.Members[name]
}

// appendJoined appends an object or array with the given rewritten members or items to the output.
// The parameters open and end are its brackets.
func (p *jsonRewriter) appendJoined(open byte, members [][]byte, end byte) {
	p.output = append(p.output, open)
	for i, m := range members {
		if i > 0 {
			p.output = append(p.output, ',')
		}
		p.addSpace()
		p.output = append(p.output, m...)
		p.addSpace()
	}
	if len(members) == 0 {
		p.addSpace()
	}
	p.output = append(p.output, end)
}

// unknownMemberNames lists the beginnings of the names of unknown members, which are added to JSON
// objects although no document defines them. A number is added to make a name unique.
var unknownMemberNames = []string{"x", "X-Unknown ", "_", "$", "ünbekannt", "type.", "data:", "__proto__", "👽"}

// unknownMemberValues lists the values of unknown members as JSON texts. Clients must accept and
// ignore all of them.
var unknownMemberValues = []string{
	`null`, `true`, `-0.5e-3`, `9007199254740993`, `""`, `"data: [DONE]"`, `"\u0000\ud83d\ude00"`,
	`[]`, `{"type":"error","delta":"x"}`, `[[[[{}]]]]`,
}

// unknownMember returns the JSON text of a random member to add to an object: its name, a colon and
// its value. The parameter s summarizes the schemas of the object; unknownMember chooses a name
// that none of them defines. The parameter n is the number of members before the new one. It
// becomes part of the name, so that no two unknown members of the object have the same name.
func (p *jsonRewriter) unknownMember(s *dialect.ValueShape, n int) []byte {
	name := fmt.Sprint(unknownMemberNames[p.rng.IntN(len(unknownMemberNames))], n)
	if s.Members[name] != nil {
		name = strings.Repeat(name, 3)
	}
	return p.capture(func() {
		p.rewriteString([]byte(`"` + name + `"`))
		p.output = append(p.output, ':')
		p.addSpace()
		p.output = append(p.output, unknownMemberValues[p.rng.IntN(len(unknownMemberValues))]...)
	})
}

// takeToken removes the next token from the input and returns it. The token must be a string, a
// number or a keyword.
func (p *jsonRewriter) takeToken() []byte {
	end := 1
	if p.input[0] == '"' {
		for ; p.input[end] != '"'; end++ {
			if p.input[end] == '\\' {
				end++
			}
		}
		end++
	} else if end = bytes.IndexAny(p.input, " \t\r\n,]}"); end < 0 {
		end = len(p.input)
	}
	text := p.input[:end]
	p.input = p.input[end:]
	return text
}

// skipSpace removes white space from the beginning of the input.
func (p *jsonRewriter) skipSpace() { p.input = bytes.TrimLeft(p.input, " \t\r\n") }

// addSpace appends a random amount of white space, possibly none, to the output. It appends line
// feeds only if allowNewlines is true, and spaces and tabs only if the variation has the trait
// [Whitespace].
func (p *jsonRewriter) addSpace() {
	if p.allowNewlines && p.rng.IntN(5) == 0 {
		p.output = append(p.output, '\n')
	}
	if p.variation.Has(Whitespace) && p.rng.IntN(3) == 0 {
		p.output = append(p.output, []string{" ", "  ", "\t"}[p.rng.IntN(3)]...)
	}
}

// rewriteNumber appends text, which is a number, true, false or null, to the output. If the
// variation has the trait [Numbers] and s.Number is true, it may write a non-negative integer in a
// different form, such as 1.0. The parameter s summarizes the schemas that apply to the value.
func (p *jsonRewriter) rewriteNumber(text []byte, s *dialect.ValueShape) {
	p.output = append(p.output, text...)
	isInteger := len(text) <= 16 && bytes.Trim(text, "0123456789") == nil
	if !p.variation.Has(Numbers) || !s.Number || !isInteger || p.rng.IntN(2) == 0 {
		return
	}
	ends := []string{".0", "e0", "0E-1", ".00e+0"}
	if text[0] == '0' { // JSON numbers have no leading zeros
		ends[2] = ".00"
	}
	p.output = append(p.output, ends[p.rng.IntN(len(ends))]...)
}

// rewriteString appends literal, a JSON string, to the output. If the variation has the trait
// [Escapes], some of its characters, chosen at random, become escape sequences.
func (p *jsonRewriter) rewriteString(literal []byte) {
	if !p.variation.Has(Escapes) {
		p.output = append(p.output, literal...)
		return
	}
	p.output = append(p.output, '"')
	for in := literal[1 : len(literal)-1]; len(in) > 0; {
		if in[0] == '\\' {
			n := 2
			if in[1] == 'u' {
				n = 6
			}
			p.output = append(p.output, in[:n]...)
			in = in[n:]
			continue
		}
		r, n := utf8.DecodeRune(in)
		p.rewriteChar(r, in[:n])
		in = in[n:]
	}
	p.output = append(p.output, '"')
}

// rewriteChar appends the character r of a JSON string to the output, at random either unchanged or
// as an escape sequence. The character must not be escaped in the input; raw contains its bytes
// there.
func (p *jsonRewriter) rewriteChar(r rune, raw []byte) {
	chance := p.rng.IntN(8)
	switch {
	case r == utf8.RuneError || chance > 1 || chance > 0 && r < utf8.RuneSelf && r != '/':
		p.output = append(p.output, raw...)
	case r == '/' && chance == 0:
		p.output = append(p.output, `\/`...)
	case r > 0xffff:
		high, low := utf16.EncodeRune(r)
		p.output = fmt.Appendf(p.output, `\u%04x\u%04X`, high, low)
	default:
		p.output = fmt.Appendf(p.output, []string{`\u%04x`, `\u%04X`}[chance], r)
	}
}

// EncodeReply returns a different encoding of body, a JSON response body, with the same meaning. If
// body is not valid JSON, EncodeReply returns it unchanged. The encoding depends only on the
// variation, the seed and the body.
func (v *Variation) EncodeReply(seed uint64, body []byte) []byte {
	r := v.rng(strconv.FormatUint(seed, 10), body)
	return v.rewriteJSON(r, body, v.profile.replyShape, v.Has(Whitespace))
}
