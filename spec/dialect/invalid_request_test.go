package dialect

import (
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/streamassay/streamassay/spec"
)

// A constraints is a list of pointers to keywords of the document that apply to requests.
type constraints struct {
	list []string
}

// facing lists the keywords that a value can violate by itself.
var facing = []string{
	"type", "enum", "const", "format", "pattern", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum",
	"exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems", "contains", "maxContains", "minProperties",
	"maxProperties", "additionalProperties", "unevaluatedProperties", "propertyNames", "not", "dependentRequired",
}

// choosing lists the keywords that apply to a part of the value, or hold alternative schemas.
var choosing = []string{
	"$ref", "$defs", "required", "properties", "items", "prefixItems", "allOf", "anyOf", "oneOf", "minContains",
}

// every holds at least one value of each JSON type.
var every = []any{nil, true, "x", json.Number("1"), json.Number("1.5"), []any{}, map[string]any{}}

// saying lists the keywords that constrain nothing.
var saying = []string{"title", "description", "default", "example", "examples", "deprecated"}

// text adds the constraints of the schema n of a parameter or of a text field of a form. It leaves
// out the type, because the value is always a string.
func (c *constraints) text(t *testing.T, n node) {
	from := len(c.list)
	c.schema(t, n, false, 0)
	c.list = slices.DeleteFunc(c.list, func(at string) bool {
		return slices.Index(c.list, at) >= from && strings.HasSuffix(at, "/type") && slices.Contains(n.get("type").strings(), "string")
	})
}

// form adds the constraints of the schema n of a form. It leaves out the type, because a form is
// always an object.
func (c *constraints) form(t *testing.T, n node) {
	for _, name := range n.get("required").strings() {
		c.list = append(c.list, n.deref().pointer+"/properties/"+escape(name)+"/required")
	}
	for _, f := range n.get("properties").members() {
		c.text(t, f)
		c.list = append(c.list, f.pointer+"/twice")
	}
}

// schema adds every constraint of the schema n and of the schemas inside it. told is whether the
// type and constants of n distinguish it from alternatives. Violating one of them then violates the
// choice between the alternatives.
func (c *constraints) schema(t *testing.T, n node, told bool, depth int) {
	if depth > maxDepth {
		return
	}
	if _, ref := n.object()["$ref"]; ref {
		c.schema(t, n.deref(), told, depth+1)
	}
	for name, m := range n.members() {
		switch {
		case strings.HasPrefix(name, "x-") || slices.Contains(saying, name) || slices.Contains(choosing, name):
		case !slices.Contains(facing, name):
			t.Errorf("%s/%s: no mutant knows this keyword", n.pointer, name)
		case name == "type" && !slices.ContainsFunc(every, func(v any) bool { return !fitsTypes(m.strings(), v) }): // all types are allowed
		case name == "contains" && n.object()["minContains"] != nil:
			c.list = append(c.list, n.pointer+"/minContains")
		case told && (name == "type" || name == "enum" && len(m.items()) == 1):
		case strings.HasSuffix(name, "Properties") && m.value != false:
		case name == "format" && m.text() == "binary": // an annotation
		default:
			c.list = append(c.list, n.pointer+"/"+name)
		}
	}
	own := n.object()
	for _, name := range (node{n.doc, n.pointer + "/required", own["required"]}).strings() {
		if mark := len(n.get("properties").get(name).get("enum").items()) == 1; !told || !mark {
			c.list = append(c.list, n.pointer+"/properties/"+escape(name)+"/required")
		}
	}
	for _, m := range (node{n.doc, n.pointer + "/properties", own["properties"]}).members() {
		one := len(m.get("enum").items()) == 1
		c.schema(t, m, told && one, depth+1)
	}
	if items, ok := own["items"]; ok {
		c.schema(t, node{n.doc, n.pointer + "/items", items}, false, depth+1)
	}
	for _, key := range []string{"prefixItems", "allOf"} {
		for _, part := range (node{n.doc, n.pointer + "/" + key, own[key]}).items() {
			c.schema(t, part, false, depth+1)
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		choices := node{n.doc, n.pointer + "/" + key, own[key]}.items()
		open := slices.ContainsFunc(choices, func(n node) bool { return len(n.deref().object()) == 0 })
		if len(choices) > 0 && !open {
			c.list = append(c.list, n.pointer+"/"+key)
		}
		for _, part := range choices {
			c.schema(t, part, true, depth+1)
		}
	}
}

// operation adds every constraint on requests of o.
func (c *constraints) operation(t *testing.T, o *Operation) {
	for _, p := range o.parameters {
		c.text(t, p.schema)
		if p.required && p.in != "path" { // without it, the path is another
			c.list = append(c.list, p.node.pointer+"/required")
		}
	}
	request := o.node.get("requestBody").deref()
	if len(o.bodies) > 0 {
		c.list = append(c.list, request.pointer+"/content-type")
	}
	for _, b := range o.bodies {
		switch b.mediaType {
		case jsonMediaType:
			c.list = append(c.list, b.node.pointer+"/json")
		case formMediaType:
			c.list = append(c.list, b.node.pointer+"/multipart")
			c.form(t, b.node.get("schema"))
			for _, s := range b.files {
				if len(s.mediaTypes) > 0 {
					c.list = append(c.list, s.node.pointer+"/content-type")
				}
			}
		}
		if b.limit.maxBytes > 0 {
			c.list = append(c.list, b.node.pointer+"/x-max-bytes/x-max-bytes")
		}
		if b.mediaType != formMediaType {
			c.schema(t, b.node.get("schema"), false, 0)
		}
	}
	c.list = append(c.list, "/paths/"+escape(o.path)+"/method")
}

// alone returns the constraints in alternatives that the body of r violates alone: each is the only
// reason why the body does not match one of several alternatives. Such a constraint cannot be
// violated in another way.
func (d *Dialect) alone(o *Operation, r spec.Request) (rules []string) {
	v, err := decode(r.Body)
	for _, b := range o.bodies {
		if err == nil && b.mediaType == jsonMediaType && b.validate != nil {
			if e, ok := errors.AsType[*jsonschema.ValidationError](b.validate(v)); ok {
				rules = append(rules, d.document.keywordsIn(e)...)
			}
		}
	}
	return rules
}

func (s *openAPIDocument) keywordsIn(e *jsonschema.ValidationError) (rules []string) {
	for _, cause := range e.Causes {
		if b := s.schemaErrors(nil, cause, nil); len(b) == 1 {
			rules = append(rules, b[0].schemaPath())
		}
		rules = append(rules, s.keywordsIn(cause)...)
	}
	return rules
}

// unbroken lists the constraints without an invalid request, by the dialect and by the beginning of
// their pointer, each with the reason: it cannot be violated alone, or the document specifies no
// refusal.
var unbroken = []struct{ dialect, pointer, reason string }{
	{"agentscope*", "/paths/~1/", silent},
	{"agentscope*", "/paths/~1health/", silent},
	{"agentscope*", "/paths/~1readiness/", silent},
	{"agentscope*", "/paths/~1liveness/", silent},
	{"agentscope@1.1", "/paths/~1stop/", silent},
	{"agentscope@1.1", "/components/schemas/StopRequest/", silent},
	{"agentscope@*", "/components/schemas/Ask*/content/items/anyOf", "a text that is wrong violates the schema of its own member"},
	{"agentscope-java@*", "/paths/~1process/post/parameters/0/", silent},
	{"agentscope-java@*", "/components/schemas/", silent},
	{"agkit@*", "/paths/~1healthz/", silent},
	{"agui@*", "/components/schemas/*/not", "a name in snake_case comes in place of another, whose absence is a second violation"},
	{"agkit@*", "/components/schemas/Ask/allOf/0/anyOf/0/", "the other alternative accepts every request"},
	{"agui@*", "/components/schemas/RunAgentInput/allOf/1/anyOf/0/", "the other alternative accepts every request"},
	{"agui@1.0", "/components/schemas/ResumeEntry/allOf/0/anyOf/", "the last alternative accepts every answer"},
	{"runs@*", "/paths/*/method", silent},
	{"runs@*", "/paths/*/twice", "which of two fields of one name counts, nobody says"},
	{"runs@*", "/paths/~1history/get/parameters/1/schema/pattern", "a value that breaks the pattern is not a date either, which is a second violation"},
}

const silent = "the document does not say how a request with this fault is refused"

// why returns the reason why the constraint with the pointer at has no invalid request, or "" if
// unbroken does not list it.
func why(d *Dialect, at string) string {
	for _, u := range unbroken {
		if which(d, at) == u.dialect+" "+u.pointer {
			return u.reason
		}
	}
	return ""
}

// which returns the entry of unbroken that covers the constraint with the pointer at, as a string,
// or "" if there is none.
func which(d *Dialect, at string) string {
	for _, u := range unbroken {
		named, _ := path.Match(u.dialect, d.Name)
		begin, end, starred := strings.Cut(u.pointer, "*")
		if rest, ok := strings.CutPrefix(at, begin); named && ok && (!starred || strings.HasSuffix(rest, end)) {
			return u.dialect + " " + u.pointer
		}
	}
	return ""
}

// TestEveryConstraintIsBroken checks that for every constraint on requests there is an invalid
// request that violates only that constraint, or a reason why not.
func TestEveryConstraintIsBroken(t *testing.T) {
	used := map[string]bool{}
	each(t, func(t *testing.T, d *Dialect) {
		n, missing, total := 0, 0, 0
		for _, o := range d.operations {
			broken, undemanded := map[string]string{}, map[string]string{}
			known := &DerivedInvalidRequests{names: map[string]bool{}, schemaPaths: map[string]bool{}, addedSchemas: map[string]bool{}}
			for _, phrase := range o.TemplatesBySimplicity() {
				r, err := d.BuildRequest(phrase, sampleSlots)
				if err != nil {
					t.Fatal(err)
				}
				m := invalidRequestBuilder{DerivedInvalidRequests: known, dialect: d, valid: r, onTry: func(name string, bad spec.Request, found []spec.Violation) {
					if len(found) != 1 {
						return
					}
					into := broken
					if len(found[0].Refusals) == 0 {
						into = undemanded
					}
					into[found[0].SchemaPath] = name
					if strings.HasSuffix(found[0].SchemaPath, "Of") {
						for _, rule := range d.alone(o, bad) {
							into[rule] = name
						}
					}
				}}
				m.build()
				m.addPairs()
				total += len(m.requests)
			}
			c := constraints{}
			c.operation(t, o)
			slices.Sort(c.list)
			for _, at := range slices.Compact(c.list) {
				n++
				reason := why(d, at)
				switch {
				case broken[at] != "":
				case reason == silent && undemanded[at] != "", reason != "" && reason != silent:
					missing++
					used[which(d, at)] = true
				default:
					t.Errorf("%s: no mutant breaks %s (without demands: %q)", o.Name, at, undemanded[at])
				}
				delete(broken, at)
			}
			for at, name := range broken {
				t.Logf("more: %s %s", at, name)
			}
		}
		t.Logf("%d constraints, %d with a reason why nothing breaks them, %d mutants", n, missing, total)
	})
	for _, u := range unbroken {
		if !used[u.dialect+" "+u.pointer] {
			t.Errorf("%s %s: nothing needs the reason", u.dialect, u.pointer)
		}
	}
}
