package dialect

import (
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/streamassay/streamassay/spec"
)

// maxAnswerSchema is the maximum size, in bytes, of the schemas that [Dialect.AnswersMatch]
// accepts.
const maxAnswerSchema = 64 << 10

// AnswersMatch reports whether the answers to interrupts in r match schema, the JSON text of the
// schema that an interrupt states for its answer ([spec.Event].AnswerSchema). It returns false if r
// contains no answer. It also returns false if schema is not a valid schema, refers to another
// document, or has more than maxAnswerSchema bytes.
func (d *Dialect) AnswersMatch(r spec.Request, schema string) bool {
	o := d.Operation(r)
	v, err := decode(r.Body)
	if o == nil || err != nil || len(schema) > maxAnswerSchema {
		return false
	}
	compiled, err := compileAnswerSchema(schema)
	if err != nil {
		return false
	}
	w := matchVariant(o.requestVariants, v)
	if w == nil {
		return false
	}
	answers := w.textsOfParts(v, spec.InputResume)
	return len(answers) > 0 &&
		!slices.ContainsFunc(answers, func(answer any) bool { return compiled.Validate(answer) != nil })
}

// textsOfParts returns, as decoded JSON, the texts ([spec.Event].Text) of those parts of v that
// have the given kind. The argument v is a value of the variant.
func (w *variant) textsOfParts(v any, kind spec.Kind) (texts []any) {
	for site, item := range w.partValues(v) {
		part := matchVariant(site.variants, item)
		if part == nil || part.kind != kind {
			continue
		}
		for _, s := range part.slots {
			if s.slot == "text" {
				texts = append(texts, valuesAt(item, s.path)...)
			}
		}
	}
	return texts
}

// compileAnswerSchema compiles the JSON text of a schema. It returns an error if text is not a
// valid schema or refers to another document, which it does not load.
func compileAnswerSchema(text string) (*jsonschema.Schema, error) {
	tree, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	const url = "answer:///schema"
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	if err := c.AddResource(url, tree); err != nil {
		return nil, err
	}
	return c.Compile(url)
}
