package dialect

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestLargeExponents checks that numbers with large exponents are validated quickly, and as the
// numbers that they are.
func TestLargeExponents(t *testing.T) {
	schema, err := jsonschema.UnmarshalJSON(strings.NewReader(
		`{"type": "array", "items": {"properties": {"n": {"type": "number", "minimum": 0, "maximum": 2}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	s := &document{url: "test:///schema", compiler: jsonschema.NewCompiler()}
	if err := s.compiler.AddResource(s.url, schema); err != nil {
		t.Fatal(err)
	}
	validate := s.validator("")
	for number, want := range map[string]string{
		"1":            "",
		"1e0000000":    "",
		"1e-9999999":   "",
		"1E-999999":    "",
		"1e9999999":    "maximum",
		"1E+000999999": "maximum",
		"-1e9999999":   "minimum",
	} {
		var list []any
		for range 1000 {
			list = append(list, map[string]any{"n": json.Number(number)})
		}
		err := validate(list)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %.200v, want %q", number, err, want)
		}
	}
}
