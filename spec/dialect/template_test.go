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
