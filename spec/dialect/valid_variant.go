package dialect

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// acceptCheck is the id of the check that judges whether valid requests are accepted.
const acceptCheck = "accept.as-documented"

// A ValidRequestVariant is a valid request that differs from another valid request in one member of
// the body or in one header field. For example, it has null for an optional member that the other
// request omits.
type ValidRequestVariant struct {
	// Name describes the difference from the other request, such as "body /seed is null" or
	// "header NAME is VALUE".
	Name string

	// Form identifies the part of the document that the variant exercises, such as "POINTER is
	// null". POINTER is the JSON pointer of the schema of the member, or of the parameter for the
	// header field. Of several variants with the same Form, it is enough to send one.
	Form string

	Request spec.Request // the variant itself
}

// ValidVariants returns valid variants of r, each of which differs from r in one of these ways:
//   - A header field has a value that the document gives as an example.
//   - An optional member of the body is absent or null.
//   - The body has an unknown member.
//   - A member that may have several types has a value of a different type.
//   - A text of the assistant is long.
//   - A list is as long as the document allows.
//   - More client tools are offered.
//
// All variants have the prompt of r, and their order is deterministic. ValidVariants returns nil if
// r is not a valid request with a JSON body. It does not modify r.
func (d *Dialect) ValidVariants(r spec.Request) []ValidRequestVariant {
	o := d.Operation(r)
	v, err := decode(r.Body)
	if o == nil || len(o.bodies) == 0 || err != nil || len(d.ValidateRequest(r)) > 0 {
		return nil
	}
	schema := o.bodies[0].node.get("schema")
	b := validRequestVariantBuilder{
		dialect: d, request: r, parsed: d.ParseRequest(r),
		unknownAllowed: schema.deref().get("x-unknown").exists(),
	}
	for _, p := range o.parameters {
		for _, value := range p.fieldExamples() {
			b.addField(p, value)
		}
	}
	b.vary(schema, v, nil)
	return b.variants
}

// fieldExamples returns the values that the document gives as examples of the header field p. A
// server must accept them in every request. The result is nil if p is not a header field. It is
// also nil if p carries a slot of [spec.Event], because the value then depends on the conversation.
func (p parameter) fieldExamples() (values []string) {
	if p.in != "header" || p.slot != "" {
		return nil
	}
	for _, example := range p.node.get("examples").members() {
		values = append(values, example.get("value").text())
	}
	return values
}

// A validRequestVariantBuilder collects valid variants of one request.
type validRequestVariantBuilder struct {
	dialect        *Dialect
	request        spec.Request
	parsed         spec.Event // the request; variants must keep its prompt and its tool calls
	unknownAllowed bool       // a requirement of the document allows unknown members (x-unknown)
	variants       []ValidRequestVariant
}

// add adds the variant in which the value of the body at the given location is v or, if v is
// omittedValue{}, is absent. It does nothing if the variant is invalid, has a different prompt or
// has fewer tool calls than the request. A tool call must remain because the request may contain
// its result.
//
// The Form of the variant points to n: the schema of the value or, for an unknown member, of the
// object that contains it. The argument change is a verb phrase for the name of the variant, such
// as "is null".
func (b *validRequestVariantBuilder) add(change string, n node, at []string, v any) {
	r := withBodyValue(b.request, at, v)
	e := b.dialect.ParseRequest(r)
	if e.Valid() && e.Text == b.parsed.Text && countCalls(e) >= countCalls(b.parsed) {
		variant := ValidRequestVariant{"body " + jsonPointer(at) + " " + change, n.pointer + " " + change, r}
		b.variants = append(b.variants, variant)
	}
}

// addField adds the variant in which the header field p has the given value, if that variant is
// valid.
func (b *validRequestVariantBuilder) addField(p parameter, value string) {
	change := "is " + value
	if r := p.set(b.request, &value); b.dialect.ParseRequest(r).Valid() {
		name, class := "header "+p.name+" "+change, p.node.pointer+" "+change
		b.variants = append(b.variants, ValidRequestVariant{name, class, r})
	}
}

// countCalls returns the number of tool calls among the parts of e, at any depth.
func countCalls(e spec.Event) (count int) {
	for _, part := range e.Parts {
		if count += countCalls(part); part.Kind == spec.ToolCall {
			count++
		}
	}
	return count
}

// vary adds the variants that change v or a value inside v. The argument n is the schema of v, and
// at is the location of v in the body.
func (b *validRequestVariantBuilder) vary(n node, v any, at []string) {
	if len(at) > maxDepth {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for _, m := range b.dialect.document.membersOf(n, v, len(at) > 0) {
			inside := append(slices.Clone(at), m.name)
			if _, present := v[m.name]; present && m.mayBeAbsent {
				b.add("is missing", m.schema, inside, omittedValue{})
			}
			if m.mayBeNull && (v[m.name] != nil || !has(v, m.name)) {
				b.add("is null", m.schema, inside, nil)
			}
			if has(v, m.name) {
				b.vary(m.schema, v[m.name], inside)
				b.varyType(m.schema, v[m.name], inside)
			}
			text, ok := v[m.name].(string)
			isText := ok && m.schema.deref().get("x-slot").text() == "text"
			if isText && b.dialect.document.hasKind(n, v, spec.InputAssistant) {
				b.add("is a long text", m.schema, inside, strings.Repeat(text+" ", longAnswer/(len(text)+1)+1))
			}
		}
		if b.unknownAllowed && b.dialect.document.isOpen(n, v) {
			inside := append(slices.Clone(at), unknownMember)
			b.add("is present", n.deref(), inside, map[string]any{"a": []any{nil}})
			if len(at) == 0 {
				b.add("is present and a list", n.deref(), inside, []any{json.Number("1"), "a"})
				b.add("is present and null", n.deref(), inside, nil)
				b.add("is present, with an empty name", n.deref(), []string{""}, "a text")
			}
		}
	case []any:
		items := b.dialect.document.itemSchema(n, v)
		for i := range v {
			b.vary(items, v[i], append(slices.Clone(at), strconv.Itoa(i)))
		}
		if others := b.otherTools(items, v); len(others) > 0 {
			next := append(slices.Clone(at), strconv.Itoa(len(v)))
			b.add("is another tool", items, next, others[0])
			b.add("has many tools", n.deref(), at, slices.Concat(v, others))
		}
		if maxItems, ok := intValue(n.deref().get("maxItems")); ok {
			b.addFullLists(n.deref(), v, maxItems, at)
		}
	}
}

// longAnswer is the length, in bytes, above which a text of the assistant is considered long. It is
// greater than the limits on the texts of users.
const longAnswer = 12_000

// addFullLists adds variants in which list, the value at the given location in the body, is
// extended to maxItems items. The added items are copies of one message in the list, with other
// ids. Only messages that have a text and are not tool results are copied. There is one variant for
// each role of these messages. The argument n is the schema of list.
func (b *validRequestVariantBuilder) addFullLists(n node, list []any, maxItems int, at []string) {
	roles := map[string]bool{}
	for _, item := range list {
		role, text := roleSuffix(item), firstAt(item, []string{"content"})
		_, isResult := firstAt(item, []string{"toolCallId"}).(string)
		if _, hasText := text.(string); !hasText || isResult || roles[role] {
			continue
		}
		roles[role] = true
		full := slices.Clone(list)
		for i := len(list); i < maxItems; i++ {
			full = append(full, replaceAt(item, []string{"id"}, fmt.Sprintf("copy-%d", i)))
		}
		b.add(fmt.Sprintf("has %d items%s", maxItems, role), n, at, full)
	}
}

// otherTypes lists values that replace a value of a different type in a variant of a request.
var otherTypes = []struct {
	name   string // JSON Schema type of value
	change string // verb phrase for the name of the variant
	value  any
	falsy  bool // a careless server may mistake value for an absent one
}{
	{"string", "is a text", "a text", false},
	{"string", "is an empty text", "", true},
	{"number", "is a number", json.Number("1.5"), false},
	{"number", "is zero", json.Number("0"), true},
	{"boolean", "is false", false, true},
	{"array", "is a list", []any{map[string]any{}, nil}, false},
	{"array", "is a list of many levels", []any{nestedObject(manyLevels)}, false},
	{"object", "is an object", map[string]any{"a": []any{nil}}, false},
}

// allTypes is the number of types of JSON values: string, number, boolean, array, object and null.
const allTypes = 6

// manyLevels is the nesting depth of a deeply nested value in a variant of a request. It exceeds
// the depth of typical values, but is far below the limits of JSON parsers.
const manyLevels = 30

// nestedObject returns a decoded JSON object with the given number of nested objects, including
// itself.
func nestedObject(levels int) map[string]any {
	v := map[string]any{}
	for range levels - 1 {
		v = map[string]any{"a": v}
	}
	return v
}

// varyType adds variants in which a value of another type replaces v, the value at the given
// location in the body. The other type is one that the schema n names after its first type (see
// variantType). Falsy values (see otherTypes) are used only if n names all types: otherwise, n may
// name their type only because servers convert such values.
func (b *validRequestVariantBuilder) varyType(n node, v any, at []string) {
	types := n.deref().get("type").strings()
	for _, other := range otherTypes {
		if other.falsy && len(types) < allTypes {
			continue
		}
		if variantType(n, other.value) != "" && !fitsTypes([]string{other.name}, v) {
			b.add(other.change, n, at, other.value)
		}
	}
}

// variantType returns the JSON Schema type of v, such as "string", if the schema n names several
// types and the type of v is not the first one. Otherwise, it returns "". It also returns "" if v
// is null, or if n assigns the value to a slot of [spec.Event] (x-slot), which gives it a meaning.
func variantType(n node, v any) string {
	types := n.deref().get("type").strings()
	i := slices.IndexFunc(types, func(name string) bool { return name != "null" && fitsTypes([]string{name}, v) })
	if i < 1 || n.deref().get("x-slot").exists() {
		return ""
	}
	return types[i]
}

// manyTools is the number of client tools in a variant that offers many of them. It includes the
// tool of the original request.
const manyTools = 24

// otherTools returns copies, with different names, of the single item of list. It returns nil
// unless list has exactly one item and that item is a client tool with a name. The argument items
// is the schema of the items.
func (b *validRequestVariantBuilder) otherTools(items node, list []any) (tools []any) {
	if len(list) != 1 || !b.dialect.document.hasKind(items, list[0], spec.InputTool) {
		return nil
	}
	for _, at := range [][]string{{"name"}, {"function", "name"}} {
		if name, is := firstAt(list[0], at).(string); is {
			for i := 2; i <= manyTools; i++ {
				tools = append(tools, replaceAt(list[0], at, name+"_"+strconv.Itoa(i)))
			}
			return tools
		}
	}
	return nil
}

// unknownMember is a member name that occurs in no document.
const unknownMember = "xUnknownMember"

// has reports whether v has a member with the given name, even if its value is null.
func has(v map[string]any, name string) bool {
	_, ok := v[name]
	return ok
}

// A documentedMember describes one member of an object in a request, according to the document.
type documentedMember struct {
	name        string
	schema      node
	mayBeAbsent bool // servers must accept requests without the member
	mayBeNull   bool // servers must accept null as its value
}

// membersOf returns the members that the document describes for the object v, each once, in the
// order of the schemas. The argument n is the schema of v, and nested states whether v is inside
// another value.
//
// In a nested object, mayBeAbsent is false for members that may determine the meaning of the
// object. It is true only for an optional member that has a default, or that satisfies three
// conditions: its schema allows null, its name is not "type", and it carries the slot "message",
// "id", "name" or "text" of [spec.Event], or none.
func (s *openAPIDocument) membersOf(n node, v map[string]any, nested bool) (list []documentedMember) {
	var required []string
	schemas := s.applicableSchemas(n, v)
	for _, n := range schemas {
		required = append(required, n.get("required").strings()...)
	}
	for _, n := range schemas {
		for name, property := range n.get("properties").members() {
			if slices.ContainsFunc(list, func(m documentedMember) bool { return m.name == name }) {
				continue
			}
			p := property.deref()
			nullable := slices.Contains(p.get("type").strings(), "null")
			tolerated := p.get("x-tolerated").strings()
			m := documentedMember{
				name: name, schema: property, mayBeNull: nullable && !slices.Contains(tolerated, "null"),
				mayBeAbsent: !slices.Contains(required, name) && !slices.Contains(tolerated, "absent"),
			}
			if nested && !p.get("default").exists() {
				slotless := slices.Contains([]string{"", "message", "id", "name", "text"}, p.get("x-slot").text())
				m.mayBeAbsent = m.mayBeAbsent && nullable && name != "type" && slotless
			}
			list = append(list, m)
		}
	}
	return list
}

// itemSchema returns the schema of the items of list. This is the keyword "items" of the first
// schema that applies to list and has that keyword. If there is none, the result has no value. The
// argument n is the schema of list.
func (s *openAPIDocument) itemSchema(n node, list []any) (items node) {
	for _, n := range s.applicableSchemas(n, list) {
		if items = n.get("items"); items.exists() {
			break
		}
	}
	return items
}

// isOpen reports whether the object v may have members other than those that its schemas name. The
// argument n is the schema of v. isOpen returns false if no schema that applies to v names a
// member. It also returns false if n assigns v to a slot of [spec.Event] (x-slot), because the
// client then chooses the members of v, as in the JSON schema for the arguments of a tool.
func (s *openAPIDocument) isOpen(n node, v map[string]any) bool {
	if n.get("x-slot").exists() {
		return false // a value of the user, such as a JSON schema
	}
	defines := false
	for _, n := range s.applicableSchemas(n, v) {
		if n.get("additionalProperties").value == false {
			return false
		}
		defines = defines || len(n.get("properties").object()) > 0
	}
	return defines
}
