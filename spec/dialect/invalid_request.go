package dialect

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// An InvalidRequest is a request that violates one constraint of the document or, in a few cases,
// two (see [Dialect.InvalidRequests]). Valid is its counterpart: a valid request that differs from
// it as little as possible.
type InvalidRequest struct {
	Name           string // describes the violation, such as "body /runId has 129 characters"
	Request, Valid spec.Request
}

// InvalidRequests returns invalid requests that are derived from the valid request r. Most of them
// violate one constraint, and a few violate two. It leaves out violations for which the document
// does not specify a refusal. The order is deterministic. If r is not valid, the result is nil.
func (d *Dialect) InvalidRequests(r spec.Request) []InvalidRequest {
	return d.UnseenInvalidRequests(r, &DerivedInvalidRequests{})
}

// A DerivedInvalidRequests records which invalid requests of one operation have already been derived.
// The zero value is empty.
type DerivedInvalidRequests struct {
	// KeepVariant is called before a variant of another invalid request is derived, and reports
	// whether to derive it. Variants have a further value of a wrong type, such as true or "", an
	// invalid copy of a list item other than the last one, or a further file that exceeds a size
	// limit. If KeepVariant is nil, no variants are derived.
	KeepVariant func() bool

	// Wants, unless it is nil, reports whether to derive the request with the given name.
	Wants func(name string) bool

	// names has two keys for each request with one violation: one for the violated constraint, and
	// one for the schema whose value the request changes (see invalidRequestBuilder.key). For a
	// request with two violations, it has one key, which is the name of the request.
	names        map[string]bool
	schemaPaths  map[string]bool // pointers of the keywords that were violated
	addedSchemas map[string]bool // pointers of the schemas of values that were added to be made invalid
}

// UnseenInvalidRequests is like [Dialect.InvalidRequests], but leaves out the requests that seen
// contains and those that seen.Wants does not accept, and includes the variants for which
// seen.KeepVariant returns true. It adds the returned requests to seen.
func (d *Dialect) UnseenInvalidRequests(r spec.Request, seen *DerivedInvalidRequests) []InvalidRequest {
	return d.invalidRequests(r, seen, "")
}

// TemplatesBySimplicity returns the same names as [Operation.Templates], sorted, except that
// "prompt" comes first. The prompt template has the fewest members, which makes its request the
// best starting point for [Dialect.InvalidRequests].
func (o *Operation) TemplatesBySimplicity() []string {
	all := o.Templates()
	if i := slices.Index(all, "prompt"); i > 0 {
		all = slices.Insert(slices.Delete(all, i, i+1), 0, "prompt")
	}
	return all
}

// InvalidRequestByName returns the invalid request with the given name that is derived from the
// valid request r. It also finds variants (see [DerivedInvalidRequests].KeepVariant). ok is false if
// there is no request with that name.
func (d *Dialect) InvalidRequestByName(r spec.Request, name string) (m InvalidRequest, ok bool) {
	if all := d.invalidRequests(r, &DerivedInvalidRequests{}, name); len(all) > 0 {
		return all[0], true
	}
	return m, false
}

// invalidRequests is like [Dialect.UnseenInvalidRequests]. However, if only is not "", it returns
// only the request with that name, and does not call seen.KeepVariant.
func (d *Dialect) invalidRequests(r spec.Request, seen *DerivedInvalidRequests, only string) []InvalidRequest {
	if seen.names == nil {
		seen.names, seen.schemaPaths, seen.addedSchemas = map[string]bool{}, map[string]bool{}, map[string]bool{}
	}
	m := invalidRequestBuilder{dialect: d, valid: r, only: only, DerivedInvalidRequests: seen}
	m.build()
	m.addPairs()
	if only != "" { // both halves of a pair were added too
		return slices.DeleteFunc(m.requests, func(m InvalidRequest) bool { return m.Name != only })
	}
	return m.requests
}

// An invalidRequestBuilder derives invalid requests from one valid request and adds them to its
// field requests. In the methods, a parameter n is the schema of a value of the body, v or list is
// the value itself, at is its location in the body, and depth is its nesting depth.
type invalidRequestBuilder struct {
	*DerivedInvalidRequests
	dialect  *Dialect
	valid    spec.Request       // the valid request, possibly with an added value
	base     *spec.Request      // the valid request without the added value; nil if nothing was added
	part     string             // pointer of the schema of the message or tool that is changed; "" if none is
	schema   string             // pointer of the schema whose value is changed; "" if it is not a value of the body
	itemKind string             // suffix of names for an added list item
	apart    bool               // the edits are not to be combined in pairs
	again    bool               // add may add several requests in which an added value violates the same keyword
	only     string             // name of the only request to make; "" for all
	requests []InvalidRequest   // the result
	edits    []requestEdit      // the edits of requests that may be combined in pairs
	validity map[string]bool    // results of isValid, by request
	further  coveredConstraints // nil except during breakFurtherItems

	// onTry, unless nil, is called with each candidate for an invalid request, its name and its
	// violations, before it is decided whether to add the candidate.
	onTry func(name string, bad spec.Request, violations []spec.Violation)
}

// build adds all requests that violate one constraint to m.requests. It adds none if m.valid is not
// valid.
func (m *invalidRequestBuilder) build() {
	r := m.valid
	o, path := m.dialect.findOperation(r)
	if o == nil || len(m.dialect.ValidateRequest(r)) > 0 {
		return
	}
	m.breakMethod()
	for _, p := range o.parameters {
		m.breakParameter(p, path)
	}
	i := slices.IndexFunc(o.bodies, func(b documentedRequestBody) bool { return b.mediaType == jsonMediaType })
	if i >= 0 && len(r.Body) > 0 {
		m.breakContentType(o.bodies[i].node)
		if v, err := decode(r.Body); err == nil {
			m.breakValue(o.bodies[i].node.get("schema"), v, nil, 0)
			m.breakBodySize(o.bodies[i].limit, v)
		}
	}
	i = slices.IndexFunc(o.bodies, func(b documentedRequestBody) bool { return b.mediaType == formMediaType })
	if i >= 0 {
		m.breakForm(o.bodies[i])
	}
}

// isWanted reports whether to make the request with the given name. It returns false for a request
// that was made before, or that m.Wants does not accept. If m.only is not "", it returns true only
// for that name. If m.only is the name of a request with two violations, it instead returns true
// for the two requests that have one of these violations each, because addPairs combines them.
func (m *invalidRequestBuilder) isWanted(name string) bool {
	if m.Wants != nil && !m.Wants(name) || m.names[m.key(name, m.schema)] {
		return false
	}
	return m.only == "" || slices.Contains(strings.Split(m.only, pairSeparator), name)
}

// wantsWithin reports whether to derive requests that change the value at the given location in the
// body, or a value inside it. It returns false if m.only is the name of a request that changes
// something else. It returns true if m.only is "".
func (m *invalidRequestBuilder) wantsWithin(at []string) bool {
	return strings.Contains(m.only, "body "+jsonPointer(at)) || m.only == ""
}

// key returns the key under which m.names records a request; requests with the same key are
// considered equivalent. The argument name is the name of the request, and schema is the JSON
// pointer of the violated keyword or of the schema whose value the request changes. If the request
// changes a message or tool (m.part), list indexes do not matter, so that a change is made in only
// one of several messages of the same kind.
func (m *invalidRequestBuilder) key(name, schema string) string {
	if m.part != "" {
		name = itemIndex.ReplaceAllString(name, "/#")
	}
	return strings.Join([]string{name, schema, m.part}, " ")
}

// itemIndex matches the index of a list item in a JSON pointer.
var itemIndex = regexp.MustCompile(`/[0-9]+\b`)

// add adds the request bad to m.requests under the given name, with valid as its valid counterpart,
// and reports whether it did. It adds bad only if bad violates exactly one constraint, the document
// specifies how bad is refused, and the request valid violates no constraint.
//
// It does not add bad if isWanted returns false for the name, or if an equivalent request was added
// before (see key). If a value was added to m.valid in order to replace it with invalid ones, add
// adds only one request per constraint (see repeatsConstraint).
func (m *invalidRequestBuilder) add(name string, bad, valid spec.Request) bool {
	if !m.isWanted(name) {
		return false
	}
	violations := m.dialect.ValidateRequest(bad)
	if m.onTry != nil {
		m.onTry(name, bad, violations)
	}
	if len(violations) != 1 || len(violations[0].Refusals) == 0 || !m.isValid(valid) {
		return false
	}
	if m.names[m.key(name, violations[0].SchemaPath)] {
		m.names[m.key(name, m.schema)] = true
		return false
	}
	if m.further != nil && !m.further.isNew(violations[0]) || m.repeatsConstraint(violations[0].SchemaPath) {
		return false
	}
	m.names[m.key(name, m.schema)], m.names[m.key(name, violations[0].SchemaPath)] = true, true
	m.schemaPaths[violations[0].SchemaPath] = true
	m.requests = append(m.requests, InvalidRequest{name, bad, valid})
	return true
}

// repeatsConstraint reports whether m.valid has an added value, and an earlier request violates the
// keyword at schemaPath, a JSON pointer. One violation of a constraint is enough for added values,
// except for the items that breakFurtherItems adds, and for samples that set m.again.
func (m *invalidRequestBuilder) repeatsConstraint(schemaPath string) bool {
	return m.further == nil && m.base != nil && !m.again && m.schemaPaths[schemaPath]
}

// isValid reports whether r is valid. It caches the result, because many invalid requests have the
// same valid counterpart.
func (m *invalidRequestBuilder) isValid(r spec.Request) bool {
	key := fmt.Sprintf("%s %s %v %s", r.Method, r.Target, r.Header, r.Body)
	valid, known := m.validity[key]
	if !known {
		if m.validity == nil {
			m.validity = map[string]bool{}
		}
		valid = len(m.dialect.ValidateRequest(r)) == 0
		m.validity[key] = valid
	}
	return valid
}

// breakMethod adds requests with methods that the document does not define for the path.
func (m *invalidRequestBuilder) breakMethod() {
	for _, method := range []string{"PUT", "DELETE", "PATCH"} {
		bad := m.valid
		bad.Method = method
		m.add("method is "+method, bad, m.valid)
	}
	get := m.valid
	get.Method, get.Body, get.Header = "GET", nil, m.valid.Header.Without("Content-Type")
	m.addDemanded("method is GET", get)
}

// breakParameter adds requests in which the parameter p is missing or has an invalid value. It adds
// none if p is a path parameter. The argument path holds the values of the path parameters of the
// valid request, by name.
func (m *invalidRequestBuilder) breakParameter(p parameter, path map[string]string) {
	where := p.in + " " + p.name
	v, present := p.get(m.valid, path)
	if p.in == "path" {
		return // would be a request for another resource
	}
	if present {
		m.addEdit(where+" is missing", m.valid, func(r spec.Request) spec.Request { return p.set(r, nil) })
	}
	invalid := m.invalidValues(p.schema, v)
	if slices.Contains(p.schema.get("type").strings(), "integer") {
		for _, bad := range []string{"5x", "5.5"} {
			invalid = append(invalid, violationPair{name: fmt.Sprintf("is %q", bad), bad: bad})
		}
	}
	for _, f := range invalid {
		bad, ok := f.bad.(string)
		if !ok {
			bad = compactJSON(f.bad)
		}
		valid := m.valid
		if f.valid != nil && p.slot == "" { // a slot must name something that exists
			text := slotText(f.valid)
			valid = p.set(m.valid, &text)
		}
		m.addEdit(where+" "+f.name, valid, func(r spec.Request) spec.Request { return p.set(r, &bad) })
	}
}

// breakValue adds requests in which the value v of the body, or a value inside v, is replaced with
// one that violates its schema. The argument n is the schema of v, at is the location of v in the
// body, and depth is its nesting depth. breakValue does nothing if depth exceeds maxDepth.
func (m *invalidRequestBuilder) breakValue(n node, v any, at []string, depth int) {
	if depth > maxDepth {
		return
	}
	outer := m.part
	defer func() { m.part = outer }()
	schemas := m.dialect.document.applicableSchemas(n, v)
	if i := slices.IndexFunc(schemas, func(n node) bool { return n.get("x-kind").exists() }); i >= 0 {
		m.part = schemas[i].pointer
	}
	for _, n := range schemas {
		for _, f := range m.invalidValues(n, v) {
			if f.keyword != "" && m.repeatsConstraint(n.pointer+"/"+f.keyword) {
				continue // add would not add it, but validate it first
			}
			valid := m.valid
			if f.valid != nil {
				valid = withBodyValue(m.valid, at, f.valid)
			}
			m.again = f.again
			m.addBodyEdit(n, at, f.name, valid, f.bad)
			m.again = false
		}
		m.addFurtherWrongTypes(n, at)
		switch v := v.(type) {
		case map[string]any:
			m.breakMembers(n, v, at, depth)
		case []any:
			for i := range v {
				m.breakValue(n.get("items"), v[i], append(slices.Clone(at), strconv.Itoa(i)), depth+1)
			}
			m.breakItemKinds(n.get("items"), v, at, depth)
			m.breakFurtherItems(n.get("items"), v, at, depth)
		}
	}
}

// addFurtherWrongTypes adds a request for each value of furtherWrongTypes for which keepsVariant
// returns true. In the request, it replaces the value at the location at of the body. The argument
// n is the schema of the replaced value.
func (m *invalidRequestBuilder) addFurtherWrongTypes(n node, at []string) {
	m.apart = true
	for _, f := range furtherWrongTypes(n) {
		if m.keepsVariant() {
			m.addBodyEdit(n, at, f.name, m.valid, f.bad)
		}
	}
	m.apart = false
}

// keepsVariant returns the result of KeepVariant (see [DerivedInvalidRequests]), or false if
// KeepVariant is nil. If m.only is not "", it returns true without calling KeepVariant.
func (m *invalidRequestBuilder) keepsVariant() bool {
	return m.only != "" || m.KeepVariant != nil && m.KeepVariant()
}

// addBodyEdit adds a copy of m.valid in which the value at the location at of the body is replaced
// with v, or removed if v is omittedValue{}. The argument valid is the valid counterpart of that
// copy, as in addEdit. The argument n is the schema of the value or, if the edit adds or removes a
// member, of the object that contains it. The name of the added request is the location followed by
// what, such as "is missing".
func (m *invalidRequestBuilder) addBodyEdit(n node, at []string, what string, valid spec.Request, v any) {
	m.schema = n.pointer
	defer func() { m.schema = "" }()
	where := strings.TrimSpace("body " + jsonPointer(at))
	m.addEdit(where+" "+what, valid, func(r spec.Request) spec.Request { return withBodyValue(r, at, v) })
}

// breakMembers adds requests that violate what the schema n specifies for the members of an object
// in the body: which are required, which are forbidden, and what their values may be. The argument
// v is the object in the valid request, at is its location in the body, and depth is its nesting
// depth.
func (m *invalidRequestBuilder) breakMembers(n node, v map[string]any, at []string, depth int) {
	for _, name := range n.get("required").strings() {
		inside := append(slices.Clone(at), name)
		if _, ok := v[name]; ok {
			m.addBodyEdit(n, inside, "is missing", m.valid, omittedValue{})
		}
	}
	for _, name := range n.get("not").get("required").strings() {
		m.addBodyEdit(n, append(slices.Clone(at), name), "is present", m.valid, "x")
		m.addBodyEdit(n, append(slices.Clone(at), name), "is present and empty", m.valid, "")
	}
	if n.get("additionalProperties").value == false {
		m.addBodyEdit(n, append(slices.Clone(at), "alien"), "is present", m.valid, "x")
	}
	for name, property := range n.get("properties").members() {
		inside := append(slices.Clone(at), name)
		if one, ok := v[name]; ok {
			m.breakValue(property, one, inside, depth+1)
		} else {
			m.breakAbsentMember(property, inside, depth)
		}
	}
}
