package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// An orderedMap is an object of YAML or JSON whose members keep their order.
type orderedMap []mapEntry

// A mapEntry is a member of an orderedMap.
type mapEntry struct {
	key   string
	value any // orderedMap, []any, string, bool, int, int64, float64 or nil
}

// set appends a member. It does not look for a member with the same key.
func (o *orderedMap) set(key string, value any) { *o = append(*o, mapEntry{key, value}) }

// plainScalar matches strings that need no quotes in YAML, unless they are among reservedScalars.
// There are more such strings than it matches.
var plainScalar = regexp.MustCompile(`^[0-9.]+(ms|s|m)$|^[A-Za-z][A-Za-z0-9_-]*( ?[A-Za-z0-9_.,!?'()/-]+)*$`)

// reservedScalars lists words that need quotes in YAML, because some parsers read them as values of
// other types.
var reservedScalars = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n", "inf", "nan"}

// formatScalar returns a value as YAML on one line. Strings that need quotes are encoded as in
// JSON, which YAML accepts.
func formatScalar(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		if plainScalar.MatchString(v) && !slices.Contains(reservedScalars, strings.ToLower(v)) {
			return v
		}
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		_ = e.Encode(v) // encoding a string cannot fail
		return strings.TrimSuffix(b.String(), "\n")
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case orderedMap:
		var parts []string
		for _, m := range v {
			parts = append(parts, formatKey(m.key)+": "+formatInline(m.value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		var parts []string
		for _, item := range v {
			parts = append(parts, formatInline(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(v)
}

// formatInline is like formatScalar, but returns a value for use within braces or brackets, where
// strings with a comma or a question mark need quotes as well.
func formatInline(v any) string {
	line := formatScalar(v)
	if _, ok := v.(string); ok && line[0] != '"' && strings.ContainsAny(line, ",?") {
		return `"` + line + `"` // a plain scalar has no characters to escape
	}
	return line
}

// formatKey returns the key of an object member as YAML. The empty key is written in quotes.
func formatKey(key string) string {
	if key == "" {
		return `""`
	}
	return formatScalar(key)
}

// maxLineWidth is the maximum length, in bytes, of an object that is written on one line.
const maxLineWidth = 72

// writeYAML writes an object to b as YAML. It puts indent before each line but the first. Each item
// of a list begins a new line; an object is written on one line if it is not longer than
// maxLineWidth.
func writeYAML(b *strings.Builder, o orderedMap, indent string) {
	for i, m := range o {
		if i > 0 {
			b.WriteString(indent)
		}
		b.WriteString(formatKey(m.key) + ":")
		inner, isObject := m.value.(orderedMap)
		list, isList := m.value.([]any)
		line := ""
		if !isList || len(list) == 0 {
			line = formatScalar(m.value)
		}
		switch {
		case isList && len(list) > 0:
			b.WriteByte('\n')
			for _, item := range list {
				b.WriteString(indent + "  - ")
				writeItem(b, item, indent+"    ")
			}
		case isObject && len(line) > maxLineWidth:
			b.WriteString("\n" + indent + "  ")
			writeYAML(b, inner, indent+"  ")
		default:
			b.WriteString(" " + line + "\n")
		}
	}
}

// writeItem writes an item of a list to b as YAML. It puts indent before each line but the first.
func writeItem(b *strings.Builder, item any, indent string) {
	if o, ok := item.(orderedMap); ok && len(o) > 0 {
		writeYAML(b, o, indent)
		return
	}
	b.WriteString(formatScalar(item) + "\n")
}

// decodeOrdered decodes JSON, with objects as orderedMaps. ok is false if data is invalid, is
// nested deeper than maxDepth, or contains something that a script cannot represent exactly:
// duplicate members, or numbers that would be written differently.
func decodeOrdered(data []byte) (v any, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	v, ok = decodeValue(dec, 0)
	return v, ok && !dec.More()
}

// maxDepth is the maximum nesting of a JSON value that decodeOrdered accepts.
const maxDepth = 16

func decodeValue(dec *json.Decoder, depth int) (any, bool) {
	t, err := dec.Token()
	if err != nil || depth > maxDepth {
		return nil, false
	}
	switch t := t.(type) {
	case json.Number:
		return parseExactNumber(string(t))
	case json.Delim:
		if t == '[' {
			return decodeList(dec, depth)
		}
		return decodeMap(dec, depth)
	}
	return t, true
}

func decodeList(dec *json.Decoder, depth int) (any, bool) {
	list := []any{}
	for dec.More() {
		v, ok := decodeValue(dec, depth+1)
		if !ok {
			return nil, false
		}
		list = append(list, v)
	}
	_, err := dec.Token()
	return list, err == nil
}

func decodeMap(dec *json.Decoder, depth int) (any, bool) {
	o := orderedMap{}
	for dec.More() {
		key, err := dec.Token()
		name, isText := key.(string)
		v, ok := decodeValue(dec, depth+1)
		if err != nil || !isText || !ok || slices.ContainsFunc(o, func(m mapEntry) bool { return m.key == name }) {
			return nil, false
		}
		o.set(name, v)
	}
	_, err := dec.Token()
	return o, err == nil
}

// parseExactNumber returns a JSON number as int64 or float64, and true. It returns false if s is
// not a number or if formatting the value would change the text of the number.
func parseExactNumber(s string) (any, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, strconv.FormatInt(n, 10) == s
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && strconv.FormatFloat(f, 'f', -1, 64) == s
}

// escapeTemplates returns a copy of v in which each "{{" in a string, at any depth, is escaped, so
// that scripts do not read it as the beginning of a template action. The keys of objects are not
// changed.
func escapeTemplates(v any) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "{{", `{{"{{"}}`)
	case orderedMap:
		out := make(orderedMap, 0, len(v))
		for _, m := range v {
			out.set(m.key, escapeTemplates(m.value))
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, item := range v {
			out = append(out, escapeTemplates(item))
		}
		return out
	}
	return v
}
