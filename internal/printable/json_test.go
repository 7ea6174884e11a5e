package printable

import "testing"

func TestSortJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{"b": [2, {"d":1,"c":"<é>"}], "a" : null}`: `{"a":null,"b":[2,{"c":"<é>","d":1}]}`,
		"1.50":                    "1.50",
		"12345678901234567890123": "12345678901234567890123",
		` "a" `:                   `"a"`,
	} {
		if got, ok := SortJSON(text); !ok || got != want {
			t.Errorf("SortJSON(%s) = %s, %v; want %s", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "{", `{"a":1}x`, "NaN"} {
		if got, ok := SortJSON(text); ok || got != "" {
			t.Errorf("SortJSON(%q) = %q, %v; want no result", text, got, ok)
		}
	}
}
