package printable

import (
	"encoding/json"
	"strings"
)

// SortJSON returns text, a JSON value, without insignificant white space and with the members of
// all objects sorted by name, so that equal values have equal texts. Numbers keep their form: 1.0
// and 1 differ. If text is not valid JSON, SortJSON returns "" and false.
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
