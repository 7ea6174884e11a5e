package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// slotFields are the fields of an event that a document can name with x-slot.
var slotFields = map[string]func(*spec.Event) *string{
	"thread":    func(e *spec.Event) *string { return &e.Thread },
	"user":      func(e *spec.Event) *string { return &e.User },
	"run":       func(e *spec.Event) *string { return &e.Run },
	"message":   func(e *spec.Event) *string { return &e.Message },
	"call":      func(e *spec.Event) *string { return &e.Call },
	"id":        func(e *spec.Event) *string { return &e.ID },
	"name":      func(e *spec.Event) *string { return &e.Name },
	"role":      func(e *spec.Event) *string { return &e.Role },
	"type":      func(e *spec.Event) *string { return &e.Type },
	"status":    func(e *spec.Event) *string { return &e.Status },
	"index":     func(e *spec.Event) *string { return &e.Index },
	"text":      func(e *spec.Event) *string { return &e.Text },
	"seq":       func(e *spec.Event) *string { return &e.Seq },
	"cursor":    func(e *spec.Event) *string { return &e.Cursor },
	"code":      func(e *spec.Event) *string { return &e.Code },
	"created":   func(e *spec.Event) *string { return &e.Created },
	"completed": func(e *spec.Event) *string { return &e.Completed },
	"limit":     func(e *spec.Event) *string { return &e.PollLimit },
	"day":       func(e *spec.Event) *string { return &e.Day },
	"more":      func(e *spec.Event) *string { return &e.HasMore },
	"about":     func(e *spec.Event) *string { return &e.Description },
}

func checkSlot(name string) error {
	if slotFields[name] == nil {
		return fmt.Errorf("x-slot %q: no such slot", name)
	}
	return nil
}

// slotField is the field of e that a slot's name stands for.
func slotField(e *spec.Event, name string) *string { return slotFields[name](e) }

// jsonType is the JSON Schema type of a decoded value.
func jsonType(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case json.Number:
		if isInteger(v) {
			return "integer"
		}
	}
	return "number"
}

func isInteger(n json.Number) bool {
	return !strings.ContainsAny(string(n), ".eE") || canonicalNumber(n) != string(n) && !strings.ContainsAny(canonicalNumber(n), ".e")
}

// fitsTypes says whether a value may stand where the schema allows types.
func fitsTypes(types []string, v any) bool {
	kind := jsonType(v)
	return len(types) == 0 || slices.Contains(types, kind) || kind == "integer" && slices.Contains(types, "number")
}

// slotText is a decoded value as a slot holds it: text as it is, numbers in canonical
// form, what is larger as compact JSON.
func slotText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return canonicalNumber(v)
	}
	return compactJSON(v)
}

// slotText is the value of a place as its slot holds it. Where the document lets
// anything stand, a text is carried as JSON too: nothing else tells it from what it
// spells.
func (s slotLocation) slotText(v any) string {
	if s.slot == "text" && len(s.types) == 0 && v != nil {
		return compactJSON(v)
	}
	return slotText(v)
}

// canonicalNumber spells a number one way: 1.0 and 1e0 are 1.
func canonicalNumber(n json.Number) string {
	text := string(n)
	if !strings.ContainsAny(text, ".eE") || len(text) > 64 {
		return text
	}
	if e := strings.IndexAny(text, "eE"); e >= 0 && len(text)-e > 4 {
		return text // an exponent that no time stamp or number of an event has
	}
	r, ok := new(big.Rat).SetString(text)
	switch {
	case !ok:
		return text
	case r.IsInt():
		return r.Num().String()
	}
	f, _ := r.Float64()
	return fmt.Sprint(f)
}

// compactJSON spells a value as JSON without spaces, members by name.
func compactJSON(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}
