package dialect

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/streamassay/streamassay/spec"
)

// Validate returns an error if the document or the catalogue is invalid. The document may name only
// requirements of the catalogue. The catalogue may name only checks that are in checks and can
// judge the dialect. An error about one place in a file is a [*FileError]. Dialects that [Open]
// returns need no validation.
func (d *Dialect) Validate(checks []*spec.Check) error {
	if err := d.checkDocument(); err != nil {
		return err
	}
	return d.checkContents(checks)
}

// checkDocument validates the OpenAPI document and its extensions, without using d.operations. It
// returns the first error. Together with checkContents, it implements [Dialect.Validate].
func (d *Dialect) checkDocument() error {
	for _, check := range []func() error{d.checkOpenAPI, d.checkExtensions, d.checkOperations} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkContents validates what checkDocument does not: the schemas, streams, templates and examples
// of the document, and the catalogue. It returns the first error. d.operations must be set. The
// argument checks is as in [Dialect.Validate].
func (d *Dialect) checkContents(checks []*spec.Check) error {
	for _, check := range []func() error{
		d.checkSchemas, d.checkWritten,
		func() error { return d.checkCatalogue(checks) },
		func() error { return d.checkCitations(checks) },
		d.checkStreams, d.checkTemplates, d.checkExamples,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkSchemas returns an error if a schema of the document cannot be compiled. It does not use
// d.operations.
func (d *Dialect) checkSchemas() error {
	var all []node
	for _, schema := range d.document.lookup("/components/schemas").members() {
		all = append(all, schema)
	}
	for name, n := range d.document.keywords() {
		if name == "schema" || name == "itemSchema" {
			all = append(all, n)
		}
	}
	for _, schema := range all {
		if _, err := d.document.compile(schema.pointer); err != nil {
			return d.schemaCompileError(schema.pointer, err)
		}
	}
	return nil
}

// schemaCompileError returns an error for err, the result of compiling the schema at the given JSON
// pointer. If a keyword in that schema, or in one to which it refers, has an invalid value, the
// error is about that value. Otherwise, it is about the schema.
func (d *Dialect) schemaCompileError(pointer string, err error) error {
	message := strings.ReplaceAll(err.Error(), d.document.url+"#", "")
	invalid, _ := errors.AsType[*jsonschema.SchemaValidationError](err)
	var leaf *jsonschema.ValidationError // the first of those with the longest location
	var visit func(e *jsonschema.ValidationError)
	visit = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 && (leaf == nil || len(e.InstanceLocation) > len(leaf.InstanceLocation)) {
			leaf = e
		}
		for _, cause := range e.Causes {
			visit(cause)
		}
	}
	if invalid != nil {
		if root, ok := errors.AsType[*jsonschema.ValidationError](invalid.Err); ok {
			visit(root)
		}
	}
	if leaf != nil {
		_, fragment, _ := strings.Cut(invalid.URL, "#") // escaped by the compiler
		pointer, _ = url.PathUnescape(fragment)
		tokens := leaf.InstanceLocation
		name := "the schema"
		if n := len(tokens); n > 0 {
			name = tokens[n-1]
			if list, ok := d.document.lookup(pointer + jsonPointer(tokens[:n-1])).value.([]any); ok && len(list) > 0 && n > 1 {
				name = tokens[n-2] + "[" + name + "]"
			}
		}
		pointer += jsonPointer(tokens)
		b := schemaError{got: d.document.lookup(pointer).value}
		b.describe(leaf)
		message = b.text(name)
	}
	return d.errorAt(pointer, "not a valid schema: %s", strings.ReplaceAll(message, "\n", " "))
}

// checkStreams returns an error if no operation starts a run, or if a schema of a frame has no
// default requirement for its violations or lacks a slot (see requiredSlots). It also returns an
// error if an operation has the extension x-stream but no response that is an event stream, or such
// a response but no x-stream.
func (d *Dialect) checkStreams() error {
	if !slices.ContainsFunc(d.operations, func(o *Operation) bool { return o.StartsRun }) {
		return d.errorAt("/paths", "no operation starts a run: one must have a JSON body with an example named prompt")
	}
	for _, o := range d.operations {
		switch {
		case o.IsStream && len(o.frameVariants) == 0:
			return d.errorAt(o.node.pointer+"/responses", "the operation has x-stream, but no response with an itemSchema")
		case !o.IsStream && len(o.frameVariants) > 0:
			return d.errorAt(o.node.pointer, "the operation responds with %s, but has no x-stream", spec.EventStream)
		}
		for _, w := range o.frameVariants {
			if w.defaultRequirement == "" {
				return d.errorAt(w.node.pointer, "has no requirement: put an x-requirement on it or on the itemSchema")
			}
			if err := d.checkSlots(w); err != nil {
				return err
			}
		}
	}
	return nil
}

// requiredSlots maps kinds of frames to the slots without which checks cannot judge such frames.
var requiredSlots = map[spec.Kind][]string{
	spec.MessageDelta: {"text"}, spec.ReasoningDelta: {"text"},
	spec.ToolStart: {"call", "name"}, spec.ToolDelta: {"call", "text"}, spec.ToolEnd: {"call"},
	spec.ToolCall: {"call", "name"}, spec.ToolResult: {"call", "text"},
	spec.StateSnapshot: {"text"}, spec.StateDelta: {"text"},
}

// checkSlots returns an error if w, a variant of a frame, or one of the events that it carries has
// none of its members in one of the requiredSlots of its kind.
func (d *Dialect) checkSlots(w *variant) error {
	for _, name := range requiredSlots[w.kind] {
		if !slices.ContainsFunc(w.slots, func(l slotLocation) bool { return l.slot == name }) {
			return d.errorAt(w.node.pointer, "the kind %s needs a member with x-slot: %s", w.kind, name)
		}
	}
	for _, part := range w.parts {
		for _, carried := range part.variants {
			if !part.separate {
				continue
			}
			if err := d.checkSlots(carried); err != nil {
				return err
			}
		}
	}
	return nil
}

// levels lists the valid levels of a requirement in a catalogue.
var levels = []spec.Level{spec.Must, spec.Should, spec.May}

// checkCatalogue returns an error about the first invalid requirement of the catalogue. For
// example, a requirement is invalid if it lacks a member, if it names a check that is not in checks
// or cannot judge the dialect, or if it has neither a check nor a reason for having none.
func (d *Dialect) checkCatalogue(checks []*spec.Check) error {
	kinds := d.Kinds()
	seen := map[string]bool{}
	for i, r := range d.requirements {
		fail := func(member, format string, args ...any) error {
			return d.requirementError(i, member, fmt.Sprintf(format, args...))
		}
		switch {
		case r.ID == "":
			return fail("", "the requirement has no id")
		case r.Of != spec.Server && r.Of != spec.Client:
			return fail("of", "requirement %s is of %q: expected client, or no such member", r.ID, r.Of)
		case seen[r.ID]:
			return fail("", "requirement %s is listed twice", r.ID)
		case !slices.Contains(levels, r.Level):
			return fail("level", "requirement %s has the level %q: expected MUST, SHOULD or MAY", r.ID, r.Level)
		case r.Quote == "":
			return fail("", "requirement %s has no quote", r.ID)
		case r.Source == "":
			return fail("", "requirement %s has no source", r.ID)
		case len(r.Checks) == 0 && r.Excluded == nil:
			return fail("", "no check judges requirement %s: expected checks, or excluded with the reason", r.ID)
		case len(r.Checks) > 0 && r.Excluded != nil:
			return fail("excluded", "requirement %s has both checks and excluded", r.ID)
		case r.Excluded != nil && r.Excluded.Reason == "":
			return fail("excluded", "requirement %s is excluded without a reason", r.ID)
		case r.Excluded != nil && r.Excluded.Kind == "":
			return fail("excluded", "requirement %s is excluded without a kind: expected %s", r.ID, joinOr(spec.ExclusionKinds))
		case r.Excluded != nil && !slices.Contains(spec.ExclusionKinds, r.Excluded.Kind):
			return fail("excluded/kind", "requirement %s is excluded with the unknown kind %q (want %s)",
				r.ID, r.Excluded.Kind, joinOr(spec.ExclusionKinds))
		}
		seen[r.ID] = true
		for k, id := range r.Checks {
			member := "checks/" + strconv.Itoa(k)
			n := slices.IndexFunc(checks, func(c *spec.Check) bool { return c.ID == id })
			if n < 0 {
				return fail(member, "no check judges requirement %s: there is no check %q", r.ID, id)
			}
			if checks[n].Of != r.Of {
				return fail(member, "no check judges requirement %s: %s is about the other party (see of: client)", r.ID, id)
			}
			for _, need := range checks[n].Needs {
				if !slices.Contains(kinds, need) {
					return fail(member, "no check judges requirement %s: %s needs the kind %s, which the document does not have",
						r.ID, id, need)
				}
			}
		}
		for k, about := range r.About {
			if !slices.Contains(kinds, about) && !isTransportKind(about) && !d.hasFrame(string(about)) {
				return fail("about/"+strconv.Itoa(k), "requirement %s is about the kind %q, which the document does not have",
					r.ID, about)
			}
		}
	}
	return nil
}

// isTransportKind reports whether events of kind k describe HTTP or the event stream, rather than
// contents that a document describes. Such events can occur in every dialect.
func isTransportKind(k spec.Kind) bool {
	return slices.Contains([]spec.Kind{
		spec.HTTPRequest, spec.HTTPResponse, spec.BodyEnd, spec.Comment, spec.Incomplete, spec.Undecodable,
	}, k)
}

// requirementError returns an error about a member of d.requirements[i]. The argument member is a
// JSON pointer without the leading slash, such as "checks/0", or "" for the requirement as a whole.
func (d *Dialect) requirementError(i int, member, message string) error {
	r := d.requirements[i]
	for _, f := range d.catalogue {
		at := "/" + strconv.Itoa(i)
		if len(d.catalogue) > 1 || !isYAMLList(f.data) { // the index in d.requirements is not that in the file
			at = f.requirementPointer(r.ID)
		}
		if at != "" {
			if member != "" {
				at += "/" + member
			}
			return errorAt([]sourceFile{f}, at, message)
		}
	}
	return errorAt(d.catalogue[:1], "", message)
}

// requirementPointer returns the JSON pointer to the requirement with the given id in f, the file
// of a catalogue. If several have the id, it returns the pointer to the last one. It returns "" if
// there is none.
func (f sourceFile) requirementPointer(id string) (pointer string) {
	content, _ := f.parseCatalogue() // has been read before
	for i, r := range content.Requirements {
		if r.ID == id {
			pointer = "/requirements/" + strconv.Itoa(i)
		}
	}
	if isYAMLList(f.data) {
		pointer = strings.TrimPrefix(pointer, "/requirements")
	}
	return pointer
}

// checkCitations returns an error about the first place in the document that names an unsuitable
// requirement. A requirement is unsuitable if it is not in the catalogue, or if none of the given
// checks with ReadsDocument judges it.
func (d *Dialect) checkCitations(checks []*spec.Check) error {
	var readers []string
	for _, c := range checks {
		if c.ReadsDocument && c.Of == spec.Server {
			readers = append(readers, c.ID)
		}
	}
	judged := map[string]bool{}
	for _, r := range d.Requirements {
		judged[r.ID] = slices.ContainsFunc(r.Checks, func(id string) bool { return slices.Contains(readers, id) })
	}
	for _, n := range d.document.citations() {
		switch known, ok := judged[n.text()]; {
		case !ok:
			return d.errorAt(n.pointer, "the requirement %s is not in the catalogue", displayValue(n.text()))
		case !known:
			return d.errorAt(n.pointer, "the requirement %s is judged by no check that reads the document: expected one of %s",
				n.text(), strings.Join(readers, ", "))
		}
	}
	return nil
}

// citations returns the places in the document that name a requirement. The values of the results
// are the ids of the requirements.
func (s *openAPIDocument) citations() (all []node) {
	add := func(n node) { // one id, or a map to ids
		if _, ok := n.value.(string); ok {
			all = append(all, n)
		}
		for _, id := range n.members() {
			all = append(all, id)
		}
	}
	addRefusals := func(list node) {
		for _, entry := range refusalList(list) {
			add(entry.get("requirement"))
		}
	}
	for name, n := range s.keywords() {
		switch name {
		case "x-requirement", "x-absent", "x-without", "x-unknown":
			add(n)
		case "x-stream":
			add(n.get("requirements"))
		case "x-error":
			addRefusals(n)
		case "x-denied":
			for _, list := range n.members() {
				addRefusals(list)
			}
		}
	}
	return all
}
