package dialect

import (
	"testing"

	"github.com/streamassay/streamassay/spec"
)

// TestFillString checks that a string may have several placeholders, and that placeholders in the
// values of slots are not replaced.
func TestFillString(t *testing.T) {
	e := &spec.Event{Thread: "t1", Run: "{{text}}", Text: "{{thread}}"}
	for template, want := range map[string]string{
		"{{thread}}/{{run}}": "t1/{{text}}", "a {{text}} b": "a {{thread}} b", "{{text}}": "{{thread}}", "{{thread}} of {{text}}": "t1 of {{thread}}",
	} {
		if got, ok := fillString(template, e); got != want || !ok {
			t.Errorf("%s is filled to %v, %t; want %q", template, got, ok, want)
		}
	}
}

func TestFillPlaceholders(t *testing.T) {
	values := map[string]string{"text": "{{run}}", "run": "r1", "": "nothing"}
	lookup := func(name string) (string, bool) {
		v, ok := values[name]
		return v, ok
	}
	for text, want := range map[string]string{
		"":                        "",
		"no placeholder } {":      "no placeholder } {",
		"{{run}}":                 "r1",
		"a{{run}}b{{run}}c":       "ar1br1c",
		"{{text}}":                "{{run}}", // a value is not filled
		"{{unknown}}{{run}}":      "{{unknown}}r1",
		"{{{run}}}":               "{r1}",
		"{{ {{run}}":              "{{ r1",
		"{{run":                   "{{run",
		"{{run}":                  "{{run}",
		"{{}}":                    "nothing",
		`{"a": {"b": "{{run}}"}}`: `{"a": {"b": "r1"}}`,
	} {
		if got := fillPlaceholders(text, lookup); got != want {
			t.Errorf("fillPlaceholders(%q) = %q, want %q", text, got, want)
		}
	}
}
