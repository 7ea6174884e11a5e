package dialect

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// sampleSlots holds the slots with which checkTemplates fills in the templates of a document.
var sampleSlots = spec.Event{
	Thread: "550e8400-e29b-41d4-a716-446655440000", Run: "run-1", Message: "m-1", Call: "call-1", ID: "id-1", Name: "paint",
	Text: "hello", Description: "hello before", Cursor: "1-0", PollLimit: "3",
	Type: "image/png",
}

// checkTemplates returns an error about the first template that does not make a valid request for
// its operation when it is filled in with sampleSlots. It also returns an error if the text of
// sampleSlots is not the prompt of the template "prompt".
func (d *Dialect) checkTemplates() error {
	for _, name := range d.Templates() {
		o, _ := d.TemplateOperation(name)
		at := o.node.pointer
		if len(o.bodies) > 0 {
			value := o.bodies[0].node.get("examples").get(name).get("value")
			if err := d.checkPlaceholders(value, false); err != nil {
				return err
			}
			at = value.pointer
		}
		r, err := d.BuildRequest(name, sampleSlots)
		if err != nil {
			return d.errorAt(at, "the example %s is not a request: %v", name, err)
		}
		if o != d.Operation(r) {
			return d.errorAt(at, "the example %s is a request of %s %s, not of %s", name, r.Method, r.Target, o.Name)
		}
		if violations := d.ValidateRequest(r); len(violations) > 0 {
			return d.errorAt(at, "the example %s is not valid: %v (with its slots filled in: %s)", name, violations[0], r.Body)
		}
		e := d.ParseRequest(r)
		if name == "prompt" && e.Text != sampleSlots.Text {
			return d.errorAt(at, "the example prompt does not say {{text}} in a user message: the document reads %q", e.Text)
		}
	}
	return nil
}

// placeholders matches the placeholders in a string of a template. The group is the text between
// the braces.
var placeholders = regexp.MustCompile(`{{(.*?)}}`)

// checkPlaceholders returns an error about the first placeholder in n, a template or a value inside
// one, that [Dialect.BuildRequestAfter] would send as it is. The argument isItem states whether n
// is an item of a list: only such an item may be the placeholder for the history.
func (d *Dialect) checkPlaceholders(n node, isItem bool) error {
	for _, item := range n.items() {
		if err := d.checkPlaceholders(item, true); err != nil {
			return err
		}
	}
	for _, member := range n.members() {
		if err := d.checkPlaceholders(member, false); err != nil {
			return err
		}
	}
	if isItem && n.text() == historyPlaceholder {
		return nil
	}
	known := slices.Collect(maps.Keys(slotFields))
	for name := range d.settings {
		known = append(known, "set."+name)
	}
	for _, found := range placeholders.FindAllStringSubmatch(n.text(), -1) {
		name := found[1]
		if found[0] == n.text() && name != "" && strings.ContainsRune("?*#", rune(name[len(name)-1])) { // only alone
			name = name[:len(name)-1]
		}
		if !slices.Contains(known, name) {
			return d.errorAt(n.pointer, "unknown placeholder %s%s", found[0], suggestName(name, known))
		}
	}
	return nil
}

// checkExamples returns an error about the first invalid example in the document. It checks the
// examples of the component schemas, of replies and of streams.
func (d *Dialect) checkExamples() error {
	for _, s := range d.document.lookup("/components/schemas").members() {
		if err := d.checkValues(s, append(s.get("examples").items(), s.get("example"))...); err != nil {
			return err
		}
	}
	for _, o := range d.operations {
		for _, r := range o.node.get("responses").members() {
			for media, content := range r.get("content").members() {
				examples := []node{content.get("example")}
				for _, e := range content.get("examples").members() {
					examples = append(examples, e.get("value"))
				}
				err := d.checkValues(content.get("schema"), examples...)
				if media == spec.EventStream {
					err = d.checkStreamExamples(o, examples)
				}
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// checkValues returns an error about the first of the examples that violates the schema, or about
// the schema if it cannot be compiled. It skips examples without a value.
func (d *Dialect) checkValues(schema node, examples ...node) error {
	for _, e := range examples {
		if !e.exists() || !schema.exists() {
			continue
		}
		valid, err := d.document.compile(schema.pointer)
		if err != nil {
			return d.errorAt(schema.pointer, "not a valid schema: %v", err)
		}
		if found := d.document.schemaErrors(e.value, valid.Validate(e.value), nil); len(found) > 0 {
			return d.errorAt(e.pointer, "the example is not valid: %s", found[0].text("it"))
		}
	}
	return nil
}

// checkStreamExamples returns an error about the first of the examples that is not a valid stream
// of o. A stream is invalid if one of its frames cannot be decoded, violates a requirement of level
// MUST, or is not followed by a blank line. Examples without a value are skipped.
func (d *Dialect) checkStreamExamples(o *Operation, examples []node) error {
	for _, e := range examples {
		x := spec.Exchange{Response: spec.Response{
			Status: 200, Header: spec.Header{{Name: "Content-Type", Value: spec.EventStream}}, Body: []byte(e.text()),
		}}
		if names := o.Templates(); len(names) > 0 {
			x.Request, _ = d.BuildRequest(names[0], sampleSlots)
		}
		for event := range d.Events(spec.Trace{Exchanges: []spec.Exchange{x}}) {
			isBroken := func(b spec.Violation) bool {
				return cmp.Or(d.requirement(b.Requirement).Level, spec.Must) == spec.Must
			}
			broken := slices.IndexFunc(event.Violations, isBroken)
			switch {
			case !event.IsFrame() && event.Kind != spec.Incomplete:
			case event.Err != nil:
				return d.errorAt(e.pointer, "the example is not valid: %v in %s", event.Err, displayValue(string(event.Raw)))
			case event.Kind == spec.Incomplete:
				return d.errorAt(e.pointer, "the example is not valid: no blank line follows its last event")
			case broken >= 0:
				return d.errorAt(e.pointer, "the example is not valid: %v in %s",
					event.Violations[broken], displayValue(string(event.Raw)))
			}
		}
	}
	return nil
}
