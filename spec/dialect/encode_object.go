package dialect

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/streamassay/streamassay/spec"
)

// appendJSON spells the object that says e, at the end of dst: members by name, without
// spaces. said is whether it carries anything but constants.
func (f *objectLayout) appendJSON(dst []byte, e *spec.Event) (out []byte, hasContent bool) {
	dst = append(dst, '{')
	first := len(dst)
	for _, m := range f.fields {
		before := len(dst)
		if before > first {
			dst = append(dst, ',')
		}
		var present, memberHasContent bool
		if dst, present, memberHasContent = m.appendJSON(append(dst, m.encodedKey...), e); !present {
			dst = dst[:before]
		}
		hasContent = hasContent || memberHasContent
	}
	return append(dst, '}'), hasContent
}

// appendJSON spells the value of a member; there is whether it is to be there.
func (m *objectField) appendJSON(dst []byte, e *spec.Event) (out []byte, present, hasContent bool) {
	switch {
	case m.variants != nil:
		return m.appendParts(dst, e.Parts)
	case m.slotPointer != nil:
		if text := *m.slotPointer(e); text != "" {
			return m.appendText(dst, text), true, true
		}
	}
	switch {
	case m.hasFixedValue:
		return append(dst, m.encodedDefault...), true, false
	case m.object != nil:
		if inner, hasContent := m.object.appendJSON(dst, e); hasContent || m.required && !m.nullable {
			return inner, true, hasContent
		}
	}
	return append(dst, m.encodedDefault...), m.required, false
}

func (m *objectField) appendParts(dst []byte, parts []spec.Event) (out []byte, present, hasContent bool) {
	begin := len(dst)
	for i := range parts {
		w := variantFor(m.variants, parts[i].Kind, &parts[i])
		if w == nil {
			continue
		}
		switch {
		case hasContent && !m.isList:
			continue // one thing stands here, not a list
		case hasContent:
			dst = append(dst, ',')
		case m.isList:
			dst = append(dst, '[')
		}
		dst = w.appendJSON(dst, &parts[i])
		hasContent = true
	}
	switch {
	case hasContent && m.isList:
		return append(dst, ']'), true, true
	case hasContent:
		return dst, true, true
	}
	return append(dst[:begin], m.encodedDefault...), m.hasFixedValue || m.required, false
}

// emptyValue is what stands for nothing where the document requires a member.
func (m *objectField) emptyValue() any {
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
func (m *objectField) appendText(dst []byte, text string) []byte {
	has := func(name string) bool { return slices.Contains(m.types, name) }
	switch {
	case m.slot == "text" && has("string"), len(m.types) == 0 && slices.Contains(nameSlots, m.slot): // what is said is never a number, nor a name
		return appendString(dst, text)
	case (has("integer") || has("number")) && isNumber(text):
		return append(dst, text...)
	case has("string"):
		return appendString(dst, text)
	case has("boolean"):
		return append(dst, compactJSON(text == "true")...)
	}
	if v, err := decode([]byte(text)); err == nil {
		return append(dst, compactJSON(v)...)
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
		return append(dst, compactJSON(text)...)
	}
	return append(append(append(dst, '"'), text...), '"')
}

// isNumber says that a text is a JSON number and nothing else: no space around it.
func isNumber(text string) bool {
	return text != "" && !strings.ContainsAny(text, " \t\r\n") && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') && json.Valid([]byte(text))
}
