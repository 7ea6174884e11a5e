package dialect

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/streamassay/streamassay/spec"
)

// What a memo remembers is what the validator says: values with any member
// replaced by anything are judged the same the first time and the second.
func TestMemoAgreesWithTheValidator(t *testing.T) {
	odd := []any{nil, true, "", "x", "completed", "text", json.Number("0"), json.Number("-1"), json.Number("7"), json.Number("1.5"), json.Number("1e30"), []any{}, map[string]any{}}
	each(t, func(t *testing.T, d *Dialect) {
		for _, o := range d.operations {
			for _, w := range o.frames {
				t.Run(w.name, rapid.MakeCheck(func(t *rapid.T) {
					said := spec.Event{}
					fillSlots(t, w, &said)
					v := w.spell(said)
					for range 4 {
						name := rapid.SampledFrom(append(memberNames(w), "unknown")).Draw(t, "member")
						v[name] = rapid.SampledFrom(odd).Draw(t, "value")
						fits := w.validate(v) == nil
						for range 2 {
							e := spec.Event{}
							if w.judge(d.source, &e, v); (len(e.Broken) == 0) != fits {
								t.Fatalf("%s: %s: the validator says it fits: %v, judged %v", w.name, compact(v), fits, e.Broken)
							}
						}
					}
				}))
			}
		}
	})
}

func memberNames(w *word) (names []string) {
	for _, f := range w.form.fields {
		names = append(names, f.name)
	}
	return names
}
