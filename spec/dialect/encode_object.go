package dialect

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/streamassay/streamassay/spec"
)

// appendJSON appends to dst the encoding of e as a compact JSON object, with members ordered by
// name, and returns the result as out. hasContent reports whether at least one member has a value
// from e, rather than a constant of the document.
func (f *objectEncoding) appendJSON(dst []byte, e *spec.Event) (out []byte, hasContent bool) {
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

// appendJSON appends to dst the value of the member m in the encoding of e, as JSON, and returns
// the result as out. present is false if the object should lack the member; the caller must then
// discard out. hasContent reports whether the value comes from e, rather than from the document.
func (m *memberEncoding) appendJSON(dst []byte, e *spec.Event) (out []byte, present, hasContent bool) {
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
	case m.object != nil && m.isList:
		if inner, hasContent := m.object.appendJSON(append(dst, '['), e); hasContent || m.required && !m.nullable {
			return append(inner, ']'), true, hasContent
		}
	case m.object != nil:
		if inner, hasContent := m.object.appendJSON(dst, e); hasContent || m.required && !m.nullable {
			return inner, true, hasContent
		}
	}
	return append(dst, m.encodedDefault...), m.required, false
}

// appendParts is like appendJSON for a member whose value consists of parts of an event. It encodes
// only parts for which m.variants has a variant. If the member is a list, appendParts encodes all
// of these parts, and otherwise only the first one. If there are none, the value is
// m.encodedDefault.
func (m *memberEncoding) appendParts(dst []byte, parts []spec.Event) (out []byte, present, hasContent bool) {
	begin := len(dst)
	for i := range parts {
		w := variantFor(m.variants, parts[i].Kind, &parts[i])
		if w == nil {
			continue
		}
		switch {
		case hasContent && !m.isList:
			continue // a single value, not a list
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

// emptyValue returns the value that is encoded for a required member if the event has no value for
// it. This is nil if the schema allows null, otherwise the empty value of the member's type: [],
// {}, 0, false or "".
func (m *memberEncoding) emptyValue() any {
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

// nameSlots lists the slots of [spec.Event] that hold names and ids. If the schema does not state a
// type, the values of these slots are encoded as strings even if they look like numbers.
var nameSlots = []string{"thread", "run", "message", "call", "id", "name"}

// appendText appends to dst the text of a slot of [spec.Event] as a JSON value, and returns the
// result. The value has a type that the schema of the member allows, if possible. If the schema
// states no type or none that fits, the value is the JSON that text contains or, if text is not
// JSON, a string.
func (m *memberEncoding) appendText(dst []byte, text string) []byte {
	has := func(name string) bool { return slices.Contains(m.types, name) }
	switch {
	// The text of an answer, or a name, is a string even if it looks like a number.
	case m.slot == "text" && has("string"), len(m.types) == 0 && slices.Contains(nameSlots, m.slot):
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

// appendString appends text to dst as a JSON string and returns the result. It is faster than
// compactJSON if no character of text needs to be escaped.
func appendString(dst []byte, text string) []byte {
	simple := true
	for i := range len(text) {
		if c := text[i]; c < 0x20 || c == '"' || c == '\\' || c == 0xe2 || c >= 0x7f {
			simple = false
			break
		}
	}
	if !simple && (strings.ContainsAny(text, "\"\\\u2028\u2029\u007f") || !utf8.ValidString(text) ||
		strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 })) { // compactJSON escapes some of it
		return append(dst, compactJSON(text)...)
	}
	return append(append(append(dst, '"'), text...), '"')
}

// isNumber reports whether text is a JSON number without surrounding white space.
func isNumber(text string) bool {
	return text != "" && !strings.ContainsAny(text, " \t\r\n") &&
		(text[0] == '-' || text[0] >= '0' && text[0] <= '9') && json.Valid([]byte(text))
}
