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

// An object is what YAML and JSON call one, in its order.
type object []member

type member struct {
	key   string
	value any // object, []any, string, bool, int, int64, float64, or nil
}

func (o *object) set(key string, value any) { *o = append(*o, member{key, value}) }

// plainText is a text that YAML takes for nothing else where it is not quoted.
var plainText = regexp.MustCompile(`^[0-9.]+(ms|s|m)$|^[A-Za-z][A-Za-z0-9_-]*( ?[A-Za-z0-9_.,!?'()/-]+)*$`)

// otherThings are texts that some reader of YAML takes for something else.
var otherThings = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n", "inf", "nan"}

// scalar is a value in one line. What is not plain is quoted as JSON does it, which YAML
// reads alike.
func scalar(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		if plainText.MatchString(v) && !slices.Contains(otherThings, strings.ToLower(v)) {
			return v
		}
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		_ = e.Encode(v) // a string can be
		return strings.TrimSuffix(b.String(), "\n")
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case object:
		var parts []string
		for _, m := range v {
			parts = append(parts, quotedKey(m.key)+": "+flow(m.value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		var parts []string
		for _, item := range v {
			parts = append(parts, flow(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(v)
}

// flow is a value inside braces, where commas mean something.
func flow(v any) string {
	line := scalar(v)
	if _, ok := v.(string); ok && line[0] != '"' && strings.ContainsAny(line, ",?") {
		return `"` + line + `"` // a plain text has nothing that is to be escaped
	}
	return line
}

func quotedKey(key string) string {
	if key == "" {
		return `""`
	}
	return scalar(key)
}

// shortLine is how long an object may be that stands in one line.
const shortLine = 72

// writeYAML writes an object. Lists have a line for each item, and what is short and has
// no list in it but those inside, stands in one line.
func writeYAML(b *strings.Builder, o object, indent string) {
	for i, m := range o {
		if i > 0 {
			b.WriteString(indent)
		}
		b.WriteString(quotedKey(m.key) + ":")
		inner, isObject := m.value.(object)
		list, isList := m.value.([]any)
		line := ""
		if !isList || len(list) == 0 {
			line = scalar(m.value)
		}
		switch {
		case isList && len(list) > 0:
			b.WriteByte('\n')
			for _, item := range list {
				b.WriteString(indent + "  - ")
				writeItem(b, item, indent+"    ")
			}
		case isObject && len(line) > shortLine:
			b.WriteString("\n" + indent + "  ")
			writeYAML(b, inner, indent+"  ")
		default:
			b.WriteString(" " + line + "\n")
		}
	}
}

func writeItem(b *strings.Builder, item any, indent string) {
	if o, ok := item.(object); ok && len(o) > 0 {
		writeYAML(b, o, indent)
		return
	}
	b.WriteString(scalar(item) + "\n")
}

// ordered is JSON with its members in their order; ok is false where a script could not
// say the same: a number that is not what it seems, or a member that is there twice.
func ordered(data []byte) (v any, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	v, ok = next(dec, 0)
	return v, ok && !dec.More()
}

const deepest = 16

func next(dec *json.Decoder, depth int) (any, bool) {
	t, err := dec.Token()
	if err != nil || depth > deepest {
		return nil, false
	}
	switch t := t.(type) {
	case json.Number:
		return number(string(t))
	case json.Delim:
		if t == '[' {
			return items(dec, depth)
		}
		return members(dec, depth)
	}
	return t, true
}

func items(dec *json.Decoder, depth int) (any, bool) {
	list := []any{}
	for dec.More() {
		v, ok := next(dec, depth+1)
		if !ok {
			return nil, false
		}
		list = append(list, v)
	}
	_, err := dec.Token()
	return list, err == nil
}

func members(dec *json.Decoder, depth int) (any, bool) {
	o := object{}
	for dec.More() {
		key, err := dec.Token()
		name, isText := key.(string)
		v, ok := next(dec, depth+1)
		if err != nil || !isText || !ok || slices.ContainsFunc(o, func(m member) bool { return m.key == name }) {
			return nil, false
		}
		o.set(name, v)
	}
	_, err := dec.Token()
	return o, err == nil
}

func number(s string) (any, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, strconv.FormatInt(n, 10) == s
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && strconv.FormatFloat(f, 'f', -1, 64) == s
}

// literal is a text, or every text in a value, that no template changes.
func literal(v any) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "{{", `{{"{{"}}`)
	case object:
		out := make(object, 0, len(v))
		for _, m := range v {
			out.set(m.key, literal(m.value))
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, item := range v {
			out = append(out, literal(item))
		}
		return out
	}
	return v
}
