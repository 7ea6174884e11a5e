package dialect

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/streamassay/streamassay/spec"
)

// TestLargeExponents checks that numbers with large exponents are validated quickly, and as the
// numbers that they are.
func TestLargeExponents(t *testing.T) {
	schema, err := jsonschema.UnmarshalJSON(strings.NewReader(
		`{"type": "array", "items": {"properties": {"n": {"type": "number", "minimum": 0, "maximum": 2}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	s := &openAPIDocument{url: "test:///schema", compiler: jsonschema.NewCompiler()}
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

// TestParametersAreNumbers checks that a query parameter with bounds is a number as JSON writes it.
// Other JSON values are texts of the wrong type.
func TestParametersAreNumbers(t *testing.T) {
	d := runs(t)
	for value, valid := range map[string]bool{
		"1": true, "3600": true, "3601": false, "-1": false, "2.5": false, "1e999999999": false,
		"null": false, "true": false, "%225%22": false, "[5]": false, "{}": false, "%205": false, "5%0A": false, "": false,
	} {
		violations := d.ValidateRequest(spec.Request{Method: "GET", Target: "/runs/00000000-0000-4000-8000-000000000001/events?" +
			"run_id=00000000-0000-4000-8000-000000000002&idle_limit=" + value})
		invalid := slices.ContainsFunc(violations, func(v spec.Violation) bool {
			return strings.Contains(v.Location, "idle_limit")
		})
		if invalid == valid {
			t.Errorf("idle_limit=%s: got %+v, want valid %t", value, violations, valid)
		}
	}
}
