package dialect

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/streamassay/streamassay/spec"
)

// append spells the object that says e, at the end of dst: members by name, without
// spaces. said is whether it carries anything but constants.
func (f *form) append(dst []byte, e *spec.Event) (out []byte, said bool) {
	dst = append(dst, '{')
	first := len(dst)
	for _, m := range f.fields {
		before := len(dst)
		if before > first {
			dst = append(dst, ',')
		}
		var there, carries bool
		if dst, there, carries = m.append(append(dst, m.key...), e); !there {
			dst = dst[:before]
		}
		said = said || carries
	}
	return append(dst, '}'), said
}

// append spells the value of a member; there is whether it is to be there.
func (m *field) append(dst []byte, e *spec.Event) (out []byte, there, said bool) {
	switch {
	case m.parts != nil:
		return m.appendParts(dst, e.Parts)
	case m.said != nil:
		if text := *m.said(e); text != "" {
			return m.appendText(dst, text), true, true
		}
	}
	switch {
	case m.fixed:
		return append(dst, m.plain...), true, false
	case m.inner != nil:
		if inner, said := m.inner.append(dst, e); said || m.required && !m.nullable {
			return inner, true, said
		}
	}
	return append(dst, m.plain...), m.required, false
}

func (m *field) appendParts(dst []byte, parts []spec.Event) (out []byte, there, said bool) {
	begin := len(dst)
	for i := range parts {
		w := wordFor(m.parts, parts[i].Kind, &parts[i])
		if w == nil {
			continue
		}
		switch {
		case said && !m.list:
			continue // one thing stands here, not a list
		case said:
			dst = append(dst, ',')
		case m.list:
			dst = append(dst, '[')
		}
		dst = w.append(dst, &parts[i])
		said = true
	}
	switch {
	case said && m.list:
		return append(dst, ']'), true, true
	case said:
		return dst, true, true
	}
	return append(dst[:begin], m.plain...), m.fixed || m.required, false
}

// empty is what stands for nothing where the document requires a member.
func (m *field) empty() any {
	switch {
	case m.nullable:
		return nil
	case slices.Contains(m.types, "array"):
		return []any{}
	case slices.Contains(m.types, "object"):
		return map[string]any{}
	case slices.Contains(m.types, "integer"), slices.Contains(m.types, "number"):
		return json.Number("0")
	case slices.Contains(m.types, "boolean"):
		return false
	}
	return ""
}

// nameSlots carry names: texts, whatever they look like.
var nameSlots = []string{"thread", "run", "message", "call", "id", "name"}

// appendText spells a slot's text as the schema wants it.
func (m *field) appendText(dst []byte, text string) []byte {
	has := func(name string) bool { return slices.Contains(m.types, name) }
	switch {
	case m.slot == "text" && has("string"), len(m.types) == 0 && slices.Contains(nameSlots, m.slot): // what is said is never a number, nor a name
		return appendString(dst, text)
	case (has("integer") || has("number")) && isNumber(text):
		return append(dst, text...)
	case has("string"):
		return appendString(dst, text)
	case has("boolean"):
		return append(dst, compact(text == "true")...)
	}
	if v, err := decode([]byte(text)); err == nil {
		return append(dst, compact(v)...)
	}
	return appendString(dst, text)
}

// appendString spells a text as JSON; what needs no escapes is taken as it is.
func appendString(dst []byte, text string) []byte {
	simple := true
	for i := range len(text) {
		if c := text[i]; c < 0x20 || c == '"' || c == '\\' || c == 0xe2 || c >= 0x7f {
			simple = false
			break
		}
	}
	if !simple && (strings.ContainsAny(text, "\"\\\u2028\u2029\u007f") || strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 }) || !utf8.ValidString(text)) {
		return append(dst, compact(text)...)
	}
	return append(append(append(dst, '"'), text...), '"')
}

// isNumber says that a text is a JSON number and nothing else: no space around it.
func isNumber(text string) bool {
	return text != "" && !strings.ContainsAny(text, " \t\r\n") && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') && json.Valid([]byte(text))
}
