package dialect

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A violationPair is a value that violates one keyword of a schema, together with a similar value
// that does not.
type violationPair struct {
	name    string // describes the violation, such as "is null"
	bad     any    // the invalid value
	valid   any    // the similar valid value; nil for the original value in the request
	keyword string // the keyword of the schema that bad is meant to violate; "" if there are several candidates
	again   bool   // sets invalidRequestBuilder.again while the sample is used
}

// nearMisses maps a format to strings that resemble values of the format but are not valid, such as
// a date that does not exist.
var nearMisses = map[string][]string{
	"uuid": {
		"550e8400-e29b-41d4-a716-44665544000g", "550e8400-e29b-41d4-a716-446655440000\n",
		" 550e8400-e29b-41d4-a716-446655440000",
	},
	"date": {"2026-02-30"},
}

// otherWords maps a value of an enumeration to similar words to try as invalid values: words that
// other protocols use in its place, and other spellings.
var otherWords = map[string][]string{
	"user":      {"developer", "function"},
	"assistant": {"function"},
	"text":      {"image_url", "input_text"},
	"cancelled": {"canceled"},
}

// objectInText returns the JSON object that v, a string, contains as text. The result ok is false
// if v is not a string, or if its text is not a JSON object.
func objectInText(v any) (object map[string]any, ok bool) {
	text, _ := v.(string)
	if !strings.HasPrefix(text, "{") {
		return nil, false
	}
	decoded, err := decode([]byte(text))
	object, ok = decoded.(map[string]any)
	return object, ok && err == nil
}

// invalidValues returns samples of invalid values to try in place of the valid value v. Each is
// meant to violate one keyword of the schema n itself, rather than of the schemas of its members or
// items. A sample may happen to violate other keywords too, or to be valid, so callers must
// validate it.
func (m *invalidRequestBuilder) invalidValues(n node, v any) (list []violationPair) {
	keyword := "type"
	add := func(bad, valid any, format string, args ...any) {
		list = append(list, violationPair{name: fmt.Sprintf(format, args...), bad: bad, valid: valid, keyword: keyword})
	}
	if types := n.get("type").strings(); len(types) > 0 {
		for _, bad := range []any{json.Number("42"), "x", []any{}, nil} {
			if !fitsTypes(types, bad) {
				add(bad, nil, "is of type %s", jsonType(bad))
			}
		}
		list = append(list, unlistedValues(types, v)...)
		if text, ok := v.(string); ok && n.get("x-slot").text() == "text" {
			blocks := []any{map[string]any{"type": "text", "text": text}}
			if !fitsTypes(types, blocks) {
				add(blocks, nil, "is a list with its text")
			}
		}
		if object, ok := objectInText(v); ok && !fitsTypes(types, object) { // instead of a text that contains JSON
			list = append(list, violationPair{name: "is the object in its text", bad: object, keyword: keyword, again: true})
		}
	} else if n.get("oneOf").exists() || n.get("anyOf").exists() {
		keyword = ""
		add(json.Number("42"), nil, "is a number")
	}
	keyword = "enum"
	if len(n.get("enum").items()) > 0 {
		add("alien", nil, "is %q", "alien")
		add("constructor", nil, "is %q", "constructor") // a member that every JavaScript object inherits
		add("größer 世界", nil, "is %q", "größer 世界")     // servers quote it, and may count its characters as bytes
		if !n.get("type").exists() {
			add(nil, nil, "is null")
		}
		if text, ok := v.(string); ok {
			for _, near := range []string{strings.ToUpper(text), " " + text, text + "x"} {
				add(near, nil, "is %q", near)
			}
			add([]any{text}, nil, "is a list of its value")
			for _, other := range otherWords[text] {
				add(other, nil, "is %q", other)
			}
		}
	}
	keyword = ""
	if n.get("format").exists() || n.get("pattern").exists() {
		add("%%wrong%%", nil, "is %q", "%%wrong%%")
		for _, near := range nearMisses[n.get("format").text()] {
			add(near, nil, "is %q", near)
		}
		if text, ok := v.(string); ok {
			add("x"+text, nil, "has an x before its value")
			add(text+"x", nil, "has an x after its value")
			if n.get("format").exists() {
				add(" "+text, nil, "has a space before its value")
				add(text+"\n", nil, "has a line feed after its value") // "$" matches before it in many languages
			}
			if i := strings.IndexAny(text, "/-"); i > 0 {
				add(text[:i]+"x"+text[i:], nil, "has an x before its first %q", text[i:i+1])
			}
		}
	}
	if k, ok := intValue(n.get("minLength")); ok && k > 0 {
		var valid any // one character need not make a valid value, such as a URL
		if k > 1 {
			valid = strings.Repeat("a", k)
		}
		add(strings.Repeat("a", k-1), valid, "has %d characters", k-1)
	}
	if k, ok := intValue(n.get("maxLength")); ok {
		add(strings.Repeat("a", k+1), strings.Repeat("世", k), "has %d characters", k+1) // lengths are not in bytes
		add(strings.Repeat("a", k)+" ", nil, "has %d characters and a space", k)
	}
	if k, ok := intValue(n.get("minimum")); ok {
		add(jsonNumber(k-1), jsonNumber(k), "is %d", k-1)
		add(jsonNumber(k-farOff), jsonNumber(k), "is %d", k-farOff)
	}
	if k, ok := intValue(n.get("maximum")); ok {
		add(jsonNumber(k+1), jsonNumber(k), "is %d", k+1)
		add(jsonNumber(k+farOff), jsonNumber(k), "is %d", k+farOff)
		add(jsonNumber(k+1<<32), jsonNumber(k), "is %d", k+1<<32) // valid for a server that keeps 32 bits of it
		if _, isText := v.(string); !isText {                     // not a parameter
			text := strconv.Itoa(k + 1) // out of range even for a server that converts it
			list = append(list, violationPair{name: fmt.Sprintf("is %q", text), bad: text, again: true})
		}
	}
	if items, ok := v.([]any); ok {
		list = append(list, invalidLists(n, items)...)
	}
	return list
}

// furtherWrongTypes returns values of types that the schema n does not allow, in addition to those
// that invalidValues returns. Some servers convert such values to the documented type, or treat
// empty and zero values as absent. If n allows numbers, the result has no booleans and no empty
// string, because widely used parsers convert them to numbers. The result is nil if n has neither a
// type nor an enum.
func furtherWrongTypes(n node) (list []violationPair) {
	types := n.get("type").strings()
	candidates := []any{true, false, "", map[string]any{}, json.Number("0"), json.Number("1.5")}
	switch {
	case len(types) == 0 && len(n.get("enum").items()) == 0:
		return nil
	case slices.Contains(types, "number"), slices.Contains(types, "integer"):
		candidates = candidates[3:]
	}
	for _, bad := range candidates {
		if len(types) == 0 || !fitsTypes(types, bad) {
			list = append(list, violationPair{name: "is " + compactJSON(bad), bad: bad})
		}
	}
	return list
}

// farOff is the distance of a second invalid number from a minimum or maximum. Some servers refuse
// only the number next to the limit, which is tried first.
const farOff = 100

// unlistedValues returns samples in which an object replaces the list v. One is an empty object,
// which a server may mistake for an absent list. If v has exactly one item and that item is an
// object, the other sample is the item. The argument types lists the types that the schema of v
// allows. If "array" is not one of them, or if one is neither "array" nor "null", the result is
// nil.
func unlistedValues(types []string, v any) (list []violationPair) {
	isOther := func(name string) bool { return name != "array" && name != "null" }
	if !slices.Contains(types, "array") || slices.ContainsFunc(types, isOther) {
		return nil
	}
	list = append(list, violationPair{name: "is {}", bad: map[string]any{}, keyword: "type", again: true})
	if items, _ := v.([]any); len(items) == 1 {
		if item, ok := items[0].(map[string]any); ok {
			list = append(list, violationPair{name: "is its item instead of a list", bad: item, keyword: "type", again: true})
		}
	}
	return list
}

// jsonNumber returns n as a decoded JSON number.
func jsonNumber(n int) json.Number { return json.Number(strconv.Itoa(n)) }

// intValue returns the value of n as an int. The second result is false if the value is not an
// integer or does not fit in an int.
func intValue(n node) (int, bool) {
	k, ok := n.value.(json.Number)
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(canonicalNumber(k))
	return i, err == nil
}

// invalidLists returns samples of lists to try in place of items, a valid list. Each is meant to
// violate one of the keywords maxItems, minItems, contains and prefixItems of the schema n. A
// sample may happen to be valid, so callers must validate it.
func invalidLists(n node, items []any) (list []violationPair) {
	if k, ok := intValue(n.get("maxItems")); ok && len(items) > 0 && k+1 > len(items) {
		many := slices.Concat(items, slices.Repeat(items[len(items)-1:], k+1-len(items)))
		list = append(list, violationPair{name: fmt.Sprintf("has %d items", k+1), bad: many, valid: many[:k]})
	}
	if k, ok := intValue(n.get("minItems")); ok && k > 0 {
		list = append(list, violationPair{name: fmt.Sprintf("has %d items", k-1), bad: items[:min(k-1, len(items))]})
	}
	if n.get("contains").exists() {
		list = append(list, violationPair{name: "is empty", bad: []any{}})
		if len(items) > 0 {
			first := items[:1]
			list = append(list, violationPair{name: "has its first item twice", bad: slices.Concat(first, items)})
			list = append(list, violationPair{name: "has its first item three times", bad: slices.Concat(first, first, items)})
		}
		if len(items) > 1 {
			list = append(list, violationPair{name: "has its first item again at the end", bad: slices.Concat(items, items[:1])})
		}
	}
	if len(n.get("prefixItems").items()) > 0 {
		for i := 1; i < len(items); i++ {
			moved := slices.Insert(slices.Delete(slices.Clone(items), i, i+1), 0, items[i])
			list = append(list, violationPair{name: fmt.Sprintf("has item %d%s first", i, roleSuffix(items[i])), bad: moved})
		}
		if len(items) > 2 {
			moved := slices.Concat(items[1:3], items[:1], items[3:])
			list = append(list, violationPair{name: "has its first item third", bad: moved})
		}
	}
	return list
}

// roleSuffix returns the role of v, a message, in the form " (user)", or "" if v has no role.
func roleSuffix(v any) string {
	if role, ok := firstAt(v, []string{"role"}).(string); ok {
		return " (" + role + ")"
	}
	return ""
}
