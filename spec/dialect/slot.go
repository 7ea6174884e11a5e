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

// slotFields maps the name of each slot (x-slot) to a function that returns a pointer to the field
// of an event that holds the slot.
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
	"state":     func(e *spec.Event) *string { return &e.State },
	"answer":    func(e *spec.Event) *string { return &e.AnswerSchema },
	"lane":      func(e *spec.Event) *string { return &e.Lane },
}

// slotField returns a pointer to the field of e that holds the slot with the given name. It panics
// if there is no such slot.
func slotField(e *spec.Event, name string) *string { return slotFields[name](e) }

// jsonType returns the JSON Schema type of v, a value that was decoded with numbers as json.Number.
// The type of a number is "integer" if [isInteger] returns true for it, and "number" otherwise.
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

// isInteger reports whether n is an integer in any notation, such as 1.0 or 1e3. It returns false
// for numbers with so many characters or so large an exponent that canonicalNumber leaves them
// unchanged.
func isInteger(n json.Number) bool {
	canonical := canonicalNumber(n)
	return !strings.ContainsAny(string(n), ".eE") || canonical != string(n) && !strings.ContainsAny(canonical, ".e")
}

// fitsTypes reports whether v is of one of the given JSON Schema types. It returns true if types is
// empty.
func fitsTypes(types []string, v any) bool {
	kind := jsonType(v)
	return len(types) == 0 || slices.Contains(types, kind) || kind == "integer" && slices.Contains(types, "number")
}

// slotText returns a decoded JSON value in the form in which a slot of [spec.Event] holds it. A
// string is unchanged, a number is in canonical form (see canonicalNumber), null becomes "", and
// any other value becomes compact JSON.
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

// slotText returns v, the value at the location s, in the form in which the slot holds it. This is
// the result of the function slotText. However, if the slot is "text" or "state" and the schema
// allows any type, it is compact JSON, so that the string "1" and the number 1 differ.
func (s slotLocation) slotText(v any) string {
	if (s.slot == "text" || s.slot == "state") && len(s.types) == 0 && v != nil {
		return compactJSON(v)
	}
	return slotText(v)
}

// canonicalNumber returns n in a form that is the same for equal numbers: 1.0 and 1e0 become 1, and
// 1.50 becomes 1.5. A number with more than 64 characters or an exponent of more than 3 characters
// is unchanged, because it could take too much memory to expand.
func canonicalNumber(n json.Number) string {
	text := string(n)
	if !strings.ContainsAny(text, ".eE") || len(text) > 64 {
		return text
	}
	if e := strings.IndexAny(text, "eE"); e >= 0 && len(text)-e > 4 {
		return text // too large to expand, and not a plausible value
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

// compactJSON returns v as JSON without white space between tokens and with the members of objects
// ordered by name. It returns "" if v cannot be encoded.
func compactJSON(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}
