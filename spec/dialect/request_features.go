package dialect

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// requestFeatures returns the features of r, a request for o, that other valid requests may lack.
// They concern the encoding of r (see encodingFeatures), its header fields (see fieldFeatures), and
// its body. Features of the body are members that are absent, null, unknown, long or of an unusual
// type, and lists with no items or with several. There are also features with IsUsual (see
// addUsual) and with IsValue (see addValue). The argument v is the decoded body of r, or nil if
// there is none.
func (d *Dialect) requestFeatures(o *Operation, r spec.Request, v any) []spec.RequestFeature {
	features := append(encodingFeatures(r), o.fieldFeatures(r)...)
	if len(o.bodies) == 0 {
		return features
	}
	schema := o.bodies[0].node.get("schema")
	c := requestFeatureCollector{dialect: d, unknown: schema.deref().get("x-unknown").text(), features: features}
	c.visit(schema, v, nil, "")
	return c.features
}

// encodingFeatures returns the features of r that concern only its encoding, such as white space
// before its JSON. None of them changes the meaning of r.
func encodingFeatures(r spec.Request) (features []spec.RequestFeature) {
	add := func(has bool, name string) {
		if has {
			features = append(features, spec.RequestFeature{Name: name})
		}
	}
	isJSON := r.Header.MediaType() == jsonMediaType
	add(isJSON && strings.Contains(r.Header.Get("Content-Type"), ";"), "with a parameter in its Content-Type")
	add(strings.Contains(r.Header.Get("Accept"), ","), "with a list in its Accept field")
	add(r.Header.Get("Transfer-Encoding") == "chunked", "with its body in chunks")
	add(r.Header.Has("Expect"), "with an Expect field")
	add(isJSON && bytes.HasPrefix(r.Body, []byte("\r\n\t")), "with white space before its JSON")
	add(isJSON && bytes.Contains(r.Body, []byte(`{"\u`)), "with escapes in the names of its JSON")
	return features
}

// fieldFeatures returns the features of r that concern its header fields: optional fields that it
// lacks (x-without), and fields with a value that the document gives as an example.
func (o *Operation) fieldFeatures(r spec.Request) (features []spec.RequestFeature) {
	for _, f := range o.OptionalHeaders {
		if r.Header != nil && !r.Header.Has(f.Name) {
			features = append(features, spec.RequestFeature{Name: "without the field " + f.Name, Requirement: f.Value})
		}
	}
	for _, p := range o.parameters {
		if v := r.Header.Get(p.name); slices.Contains(p.fieldExamples(), v) {
			features = append(features, spec.RequestFeature{Name: "with the field " + p.name + ": " + v})
		}
	}
	return features
}

// A requestFeatureCollector collects the features of one request.
type requestFeatureCollector struct {
	dialect  *Dialect
	unknown  string // id of the requirement on unknown members; "" if there is none
	features []spec.RequestFeature
}

// add adds a feature. Its name is prefix, such as "with null for", followed by the JSON pointer for
// at, a location in the body. The argument requirement is the id of the requirement that the
// feature exercises, or "" if there is none.
func (c *requestFeatureCollector) add(prefix string, at []string, requirement string) {
	c.features = append(c.features, spec.RequestFeature{Name: prefix + " " + jsonPointer(at), Requirement: requirement})
}

// visit adds the features of v and of the values inside v. The argument n is the schema of v, and
// at is the location of v in the body. The argument outer is the id of the requirement on the
// innermost value around v that has one, or "" if there is none.
func (c *requestFeatureCollector) visit(n node, v any, at []string, outer string) {
	if len(at) > maxDepth {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		c.visitObject(n, v, at, cmp.Or(c.dialect.valueRequirement(n, v), outer))
	case []any:
		items := c.dialect.document.itemSchema(n, v)
		switch len(v) {
		case 0:
			c.add("with no items in", at, cmp.Or(c.dialect.featureRequirement(n, false), outer))
		case 1:
		default:
			requirement := ""
			if c.dialect.document.hasKind(items, v[0], spec.InputTool) {
				requirement = c.dialect.valueRequirement(items, v[0])
			}
			c.add(fmt.Sprintf("with %d items in", len(v)), at, requirement)
		}
		for i := range v {
			c.visit(items, v[i], append(slices.Clone(at), strconv.Itoa(i)), outer)
		}
	}
}

// visitObject adds the features of the object v and of the values inside v. The arguments n and at
// are as in visit. The argument own is the id of the requirement on v or, if v has none, on the
// innermost value around v that has one. It is "" if there is none.
func (c *requestFeatureCollector) visitObject(n node, v map[string]any, at []string, own string) {
	members := c.dialect.document.membersOf(n, v, len(at) > 0)
	for _, m := range members {
		one, present := v[m.name]
		inside := append(slices.Clone(at), m.name)
		switch {
		case !present && m.mayBeAbsent:
			c.add("without", inside, cmp.Or(c.dialect.featureRequirement(m.schema, true), own))
		case present && one == nil && m.mayBeNull:
			c.add("with null for", inside, cmp.Or(c.dialect.featureRequirement(m.schema, false), own))
		case present:
			if other := variantType(m.schema, one); other != "" {
				c.add("with a value of type "+other+" for", inside, cmp.Or(c.dialect.featureRequirement(m.schema, false), own))
			}
			c.addUsual(m, one, own)
			c.addValue(m, one, inside, own)
			if text, _ := one.(string); len(text) > longAnswer && c.dialect.document.hasKind(n, v, spec.InputAssistant) {
				c.add("with a long text for", inside, own)
			}
			c.visit(m.schema, one, inside, own)
		}
	}
	if c.unknown == "" || !c.dialect.document.isOpen(n, v) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if !slices.ContainsFunc(members, func(m documentedMember) bool { return m.name == name }) {
			where := jsonPointer(append(slices.Clone(at), name))
			feature := "with the unknown member " + where + " of type " + jsonType(v[name])
			c.features = append(c.features, spec.RequestFeature{Name: feature, Requirement: c.unknown})
		}
	}
}

// addUsual adds a feature with IsUsual (see [spec.RequestFeature]) for the documented member m,
// whose value is v. It does so if the member has an enumeration of strings, such as the type of a
// content part. It also does so if the member is optional and v is neither null nor an empty list.
// The argument own is as in visitObject.
func (c *requestFeatureCollector) addUsual(m documentedMember, v any, own string) {
	name := ""
	text, isText := v.(string)
	list, isList := v.([]any)
	switch {
	case isText && len(m.schema.deref().get("enum").items()) > 0:
		name = fmt.Sprintf("with %q: %q", m.name, text)
	case !m.mayBeAbsent || v == nil || isList && len(list) == 0:
		return
	case isList:
		name = fmt.Sprintf("with items in %q", m.name)
	default:
		name = fmt.Sprintf("with the member %q", m.name)
	}
	requirement := cmp.Or(c.dialect.featureRequirement(m.schema, false), own)
	c.features = append(c.features, spec.RequestFeature{Name: name, Requirement: requirement, IsUsual: true})
}

// maxFeatureValue is the maximum length, in bytes, of a value that addValue adds.
const maxFeatureValue = 64

// addValue adds a feature with IsValue (see [spec.RequestFeature]) for the documented member m,
// whose value is v, at the given location in the body. It does so if v is a short text, a number or
// a boolean, the document does not list the allowed values, the value has no meaning that other
// checks judge (x-slot), and it is not in a list, as the values in messages are. The argument own
// is as in visitObject.
func (c *requestFeatureCollector) addValue(m documentedMember, v any, at []string, own string) {
	isIndex := func(token string) bool { _, err := strconv.Atoi(token); return err == nil }
	if n := m.schema.deref(); n.get("x-slot").exists() || v == nil || len(n.allowedValues()) > 0 || !isScalar(v) ||
		slices.ContainsFunc(at, isIndex) {
		return
	}
	text, err := json.Marshal(v)
	if err != nil || len(text) > maxFeatureValue {
		return
	}
	c.features = append(c.features, spec.RequestFeature{
		Name:        fmt.Sprintf("with %s for %s", text, jsonPointer(at)),
		Requirement: cmp.Or(c.dialect.featureRequirement(m.schema, false), own), IsValue: true,
	})
}

// hasKind reports whether v, a value in a request, has kind k, such as [spec.InputTool]. n is the
// schema of v.
func (s *openAPIDocument) hasKind(n node, v any, k spec.Kind) bool {
	return slices.ContainsFunc(s.applicableSchemas(n, v), func(n node) bool { return n.get("x-kind").text() == string(k) })
}

// valueRequirement returns the id of the requirement that a request exercises by containing the
// value v. It returns "" if there is none. The argument n is the schema of v. Requirements on
// values around or inside v do not count.
func (d *Dialect) valueRequirement(n node, v any) string {
	for _, n := range d.document.applicableSchemas(n, v) {
		if id := d.featureRequirement(n, false); id != "" {
			return id
		}
	}
	return ""
}

// featureRequirement returns the id of the requirement that a request exercises by having a member
// with the given schema or, if absent is true, by omitting it. It considers only requirements that
// the check acceptCheck judges. It returns "" if there is none.
func (d *Dialect) featureRequirement(member node, absent bool) string {
	var ids []string
	if absent {
		ids = append(ids, member.deref().get("x-absent").text())
	}
	ids = append(ids, requirementIDs(d.document.requirements[member.deref().pointer])...)
	i := slices.IndexFunc(ids, func(id string) bool { return slices.Contains(d.requirement(id).Checks, acceptCheck) })
	if i < 0 {
		return ""
	}
	return ids[i]
}

// requirement returns the requirement on servers with the given id, or the zero Requirement if
// there is none.
func (d *Dialect) requirement(id string) spec.Requirement {
	for _, r := range d.Requirements {
		if r.ID == id {
			return r
		}
	}
	return spec.Requirement{}
}
