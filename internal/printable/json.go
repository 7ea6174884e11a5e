package printable

import (
	"encoding/json"
	"strings"
)

// SortJSON returns the JSON text without insignificant white space and with the members of all
// objects sorted by name, so that equal values have equal texts. The digits of numbers are kept. ok
// is false if text is not valid JSON.
func SortJSON(text string) (sorted string, ok bool) {
	if !json.Valid([]byte(text)) {
		return "", false
	}
	var v any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if decoder.Decode(&v) != nil || encoder.Encode(v) != nil {
		return "", false
	}
	return strings.TrimSuffix(b.String(), "\n"), true
}
