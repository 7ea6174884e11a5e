package replay

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
)

// A scriptObject is a mapping in a script. It is written as YAML with its members in the order of
// the slice.
type scriptObject []mapEntry

// A mapEntry is a member of a scriptObject.
type mapEntry struct {
	key   string
	value any // scriptObject, []any, string, bool, int, int64, float64 or nil
}

// set appends a member to o, even if o already has a member with the same key.
func (o *scriptObject) set(key string, value any) { *o = append(*o, mapEntry{key, value}) }

// MarshalYAML implements the InterfaceMarshaler interface of goccy/go-yaml. The error is always
// nil.
func (o scriptObject) MarshalYAML() (any, error) {
	m := make(yaml.MapSlice, len(o))
	for i, entry := range o {
		m[i] = yaml.MapItem{Key: entry.key, Value: entry.value}
	}
	return m, nil
}

// formatYAML returns o as YAML. It returns an error if o has a value that the encoder cannot
// encode.
func formatYAML(o scriptObject) ([]byte, error) {
	return yaml.MarshalWithOptions(o, yaml.IndentSequence(true), yaml.CustomMarshaler(formatString),
		yaml.CustomMarshaler(func(f float64) ([]byte, error) { return strconv.AppendFloat(nil, f, 'f', -1, 64), nil }))
}

// plainText matches strings that the YAML encoder writes correctly. The encoder omits necessary
// quotes for some other strings, such as "---" and strings with control characters.
var plainText = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.,!?'()/ -]*$`)

// formatString returns s as a YAML scalar. If s matches plainText, the scalar is formatted by the
// YAML encoder; otherwise it is s in double quotes, escaped as in JSON. formatString returns an
// error if the YAML encoder fails.
func formatString(s string) ([]byte, error) {
	if plainText.MatchString(s) {
		return yaml.Marshal(s)
	}
	return []byte(`"` + jsonStringBody(s) + `"`), nil
}

// decodeOrdered decodes data, a JSON value. Objects become scriptObjects, lists become []any, and
// numbers become int64 or float64. The result ok is false if data is invalid, is nested deeper than
// maxDepth, or cannot be represented exactly in a script: it has duplicate members, keys that the
// YAML encoder does not support, or numbers that would be written differently.
func decodeOrdered(data []byte) (v any, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	v, ok = decodeValue(dec, 0)
	_, err := dec.Token()
	return v, ok && err == io.EOF
}

// maxDepth is the maximum number of levels of nesting in a JSON value that decodeOrdered accepts.
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
	o := scriptObject{}
	for dec.More() {
		key, err := dec.Token()
		name, isText := key.(string)
		v, ok := decodeValue(dec, depth+1)
		isDuplicate := slices.ContainsFunc(o, func(m mapEntry) bool { return m.key == name })
		if err != nil || !isText || !ok || isDuplicate || !isKey(name) {
			return nil, false
		}
		o.set(name, v)
	}
	_, err := dec.Token()
	return o, err == nil
}

// isKey reports whether a string is a key that the YAML encoder writes correctly. The empty string
// is such a key.
var isKey = regexp.MustCompile(`^([\pL\pN_$@]\PC*)?$`).MatchString

// parseExactNumber parses s, a JSON number, as an int64 or, if it is not a 64-bit integer, as a
// float64. The second result is false if s is not a number, or if a script would contain a
// different text for it, as for 1.0 and 1e3.
func parseExactNumber(s string) (any, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, strconv.FormatInt(n, 10) == s
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && strconv.FormatFloat(f, 'f', -1, 64) == s
}

// escapeTemplates returns a copy of v in which "{{", which begins a template action in a script, is
// escaped in all strings at any depth. It does not change the keys of objects.
func escapeTemplates(v any) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "{{", `{{"{{"}}`)
	case scriptObject:
		out := make(scriptObject, 0, len(v))
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
