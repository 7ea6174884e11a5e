package dialect

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/streamassay/streamassay/spec"
)

// TestMemoAgreesWithTheValidator checks that the cache agrees with the validator: a value in which
// any members were replaced gets the same result from both, the first and the second time.
func TestMemoAgreesWithTheValidator(t *testing.T) {
	odd := []any{nil, true, "", "x", "completed", "text", json.Number("0"), json.Number("-1"), json.Number("7"), json.Number("1.5"), json.Number("1e30"), []any{}, map[string]any{}}
	each(t, func(t *testing.T, d *Dialect) {
		var words []*variant
		for _, o := range d.operations {
			words = append(words, o.frameVariants...)
		}
		rapid.Check(t, func(t *rapid.T) {
			w := words[rapid.IntRange(0, len(words)-1).Draw(t, "word")]
			said := spec.Event{}
			fillSlots(t, w, &said)
			v := w.encode(said)
			for range 8 {
				name := rapid.SampledFrom(append(memberNames(w), "unknown")).Draw(t, "member")
				v[name] = rapid.SampledFrom(odd).Draw(t, "value")
				fits := w.validate(v) == nil
				for range 2 {
					e := spec.Event{}
					if w.checkSchema(&e, v); (len(e.Violations) == 0) != fits {
						t.Fatalf("%s: %s: the validator says it fits: %v, judged %v", w.node.pointer, compactJSON(v), fits, e.Violations)
					}
				}
			}
		})
	})
}

func memberNames(w *variant) (names []string) {
	for _, f := range w.encoding.fields {
		names = append(names, f.name)
	}
	return names
}
