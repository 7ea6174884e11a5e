package dialect

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// A InvalidRequest is a request that breaks exactly one constraint of the document, and
// its twin: as near to the border as one can stand on the right side.
type InvalidRequest struct {
	Name           string // "body /runId has 129 characters"
	Request, Valid spec.Request
}

// InvalidRequests makes from a request without fault all that break one constraint, and then a
// few that break two, in an order that does not change. What cannot be broken alone, or
// has no documented answer, is left out: Judge decides.
func (d *Dialect) InvalidRequests(r spec.Request) []InvalidRequest {
	return d.UnseenInvalidRequests(r, &SeenInvalidRequests{})
}

// A SeenInvalidRequests knows what was made of requests of one operation before.
type SeenInvalidRequests struct {
	names        map[string]bool // of mutants
	schemaPaths  map[string]bool // that were broken
	addedSchemas map[string]bool // the schemas of what was put there to be broken
}

// UnseenInvalidRequests is Mutate without the mutants that were made with the same memory.
func (d *Dialect) UnseenInvalidRequests(r spec.Request, seen *SeenInvalidRequests) []InvalidRequest {
	return d.invalidRequests(r, seen, "")
}

// TemplatesBySimplicity lists what can be said with o, the plain prompt first: what is broken in
// it has the least around it.
func (o *Operation) TemplatesBySimplicity() []string {
	all := o.Templates()
	slices.SortStableFunc(all, func(a, b string) int {
		switch {
		case a == b:
			return 0
		case a == "prompt":
			return -1
		case b == "prompt":
			return 1
		}
		return 0
	})
	return all
}

// InvalidRequestByName makes from a request without fault the one that breaks it in the way of this
// name; ok is false if there is none.
func (d *Dialect) InvalidRequestByName(r spec.Request, name string) (m InvalidRequest, ok bool) {
	if all := d.invalidRequests(r, &SeenInvalidRequests{}, name); len(all) > 0 {
		return all[0], true
	}
	return m, false
}

// invalidRequests is Mutate, for the mutants of one name only unless that is empty.
func (d *Dialect) invalidRequests(r spec.Request, seen *SeenInvalidRequests, only string) []InvalidRequest {
	if seen.names == nil {
		*seen = SeenInvalidRequests{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	}
	m := invalidRequestBuilder{dialect: d, valid: r, only: only, SeenInvalidRequests: seen}
	m.build()
	m.addPairs()
	if only != "" { // the two that make a pair were made as well
		return slices.DeleteFunc(m.requests, func(m InvalidRequest) bool { return m.Name != only })
	}
	return m.requests
}

// A invalidRequestBuilder makes the mutants of one request.
type invalidRequestBuilder struct {
	*SeenInvalidRequests
	dialect  *Dialect
	valid    spec.Request
	base     *spec.Request // what valid is without what was put there to be broken; nil: valid is that
	itemKind string        // what sort of item was put there, for names
	only     string        // the name of the one that is wanted, "" for all
	requests []InvalidRequest
	edits    []requestEdit                                                // how those came about that can be had together with others
	onTry    func(name string, bad spec.Request, broken []spec.Violation) // nil, or hears of all that is tried
}

// build makes every mutant of the valid request that breaks one constraint.
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
	i := slices.IndexFunc(o.bodies, func(b requestContent) bool { return b.mediaType == jsonMediaType })
	if i >= 0 && len(r.Body) > 0 {
		m.breakContentType()
		if v, err := decode(r.Body); err == nil {
			m.breakValue(o.bodies[i].node.get("schema"), v, nil, 0)
			m.breakBodySize(o.bodies[i].limit, v)
		}
	}
	if i := slices.IndexFunc(o.bodies, func(b requestContent) bool { return b.mediaType == formMediaType }); i >= 0 {
		m.breakForm(o.bodies[i])
	}
}

// isWanted says whether a mutant of this name is to be made.
func (m *invalidRequestBuilder) isWanted(name string) bool {
	return !m.names[name] && (m.only == "" || slices.Contains(strings.Split(m.only, pairSeparator), name))
}

// add keeps a mutant if it breaks one constraint, of which the document says how that is
// refused. It says whether it was kept.
func (m *invalidRequestBuilder) add(name string, bad, valid spec.Request) bool {
	if !m.isWanted(name) {
		return false
	}
	violations := m.dialect.ValidateRequest(bad)
	if m.onTry != nil {
		m.onTry(name, bad, violations)
	}
	if len(violations) != 1 || len(violations[0].Refusals) == 0 || len(m.dialect.ValidateRequest(valid)) > 0 {
		return false
	}
	if m.base != nil && m.schemaPaths[violations[0].SchemaPath] { // once is enough of what was put there to be broken
		return false
	}
	m.names[name], m.schemaPaths[violations[0].SchemaPath] = true, true
	m.requests = append(m.requests, InvalidRequest{name, bad, valid})
	return true
}

// breakMethod asks in a way that the path does not have.
func (m *invalidRequestBuilder) breakMethod() {
	for _, method := range []string{"PUT", "DELETE", "PATCH"} {
		bad := m.valid
		bad.Method = method
		m.add("method is "+method, bad, m.valid)
	}
}

// breakContentType sends what is not JSON, or does not say that it is.
func (m *invalidRequestBuilder) breakContentType() {
	for _, other := range []string{"text/plain", "application/x-www-form-urlencoded"} {
		bad := m.valid
		bad.Header = bad.Header.With("Content-Type", other)
		m.add("header Content-Type is "+other, bad, m.valid)
	}
	valid := string(m.valid.Body)
	for _, c := range []struct{ name, body string }{
		{"body ends too early to be JSON", valid[:len(valid)-1]},
		{"body is empty", ""},
		{"body has a comma too many", valid[:len(valid)-1] + "," + valid[len(valid)-1:]},
		{"body is two values", valid + valid},
		{"body is a word that is not JSON", "hello"},
	} {
		bad := m.valid
		bad.Body = []byte(c.body)
		m.add(c.name, bad, m.valid)
	}
}

func (m *invalidRequestBuilder) breakParameter(p parameter, path map[string]string) {
	where := p.in + " " + p.name
	v, present := p.get(m.valid, path)
	if p.in == "path" {
		return // another path is another request
	}
	if present {
		m.addEdit(where+" is missing", m.valid, func(r spec.Request) spec.Request { return p.set(r, nil) })
	}
	for _, f := range m.invalidValues(p.schema, v) {
		bad, ok := f.bad.(string)
		if !ok {
			bad = compactJSON(f.bad)
		}
		valid := m.valid
		if f.valid != nil && p.slot == "" { // what a slot names has to exist: it stays
			text := slotText(f.valid)
			valid = p.set(m.valid, &text)
		}
		m.addEdit(where+" "+f.name, valid, func(r spec.Request) spec.Request { return p.set(r, &bad) })
	}
}

// breakValue breaks what a schema says about v, which stands at a place in the body,
// and then what it says about the things in v.
func (m *invalidRequestBuilder) breakValue(n node, v any, at []string, depth int) {
	if depth > maxDepth {
		return
	}
	where := strings.TrimSpace("body " + jsonPointer(at))
	for _, n := range m.applicableSchemas(n, v) {
		for _, f := range m.invalidValues(n, v) {
			valid := m.valid
			if f.valid != nil {
				valid = withBodyValue(m.valid, at, f.valid)
			}
			m.addEdit(where+" "+f.name, valid, func(r spec.Request) spec.Request { return withBodyValue(r, at, f.bad) })
		}
		switch v := v.(type) {
		case map[string]any:
			m.breakMembers(n, v, at, depth)
		case []any:
			for i := range v {
				m.breakValue(n.get("items"), v[i], append(slices.Clone(at), strconv.Itoa(i)), depth+1)
			}
			m.breakItemKinds(n.get("items"), v, at, depth)
		}
	}
}

func (m *invalidRequestBuilder) breakMembers(n node, v map[string]any, at []string, depth int) {
	for _, name := range n.get("required").strings() {
		inside := append(slices.Clone(at), name)
		if _, ok := v[name]; ok {
			m.addEdit("body "+jsonPointer(inside)+" is missing", m.valid, func(r spec.Request) spec.Request { return withBodyValue(r, inside, removed{}) })
		}
	}
	for _, name := range n.get("not").get("required").strings() {
		inside := append(slices.Clone(at), name)
		m.addEdit("body "+jsonPointer(inside)+" is there", m.valid, func(r spec.Request) spec.Request { return withBodyValue(r, inside, "x") })
	}
	if n.get("additionalProperties").value == false {
		inside := append(slices.Clone(at), "alien")
		m.addEdit("body "+jsonPointer(inside)+" is there", m.valid, func(r spec.Request) spec.Request { return withBodyValue(r, inside, "x") })
	}
	names, props := n.get("properties").members()
	for i, name := range names {
		inside := append(slices.Clone(at), name)
		if one, ok := v[name]; ok {
			m.breakValue(props[i], one, inside, depth+1)
		} else {
			m.breakAbsentMember(props[i], inside, depth)
		}
	}
}

// applicableSchemas are the schemas that v is held to: n, what it must fit besides, and the
// one that was meant where it may choose.
func (m *invalidRequestBuilder) applicableSchemas(n node, v any) []node {
	n = n.deref()
	if !n.exists() {
		return nil
	}
	list := []node{n}
	for _, part := range n.get("allOf").items() {
		list = append(list, m.applicableSchemas(part, v)...)
	}
	for _, choice := range slices.Concat(n.get("oneOf").items(), n.get("anyOf").items()) {
		if m.dialect.document.validator(choice.deref().pointer)(v) == nil {
			list = append(list, m.applicableSchemas(choice, v)...)
			break
		}
	}
	return list
}

// removed stands for what is not there.
type removed struct{}

// withBodyValue is a request with one value of its body replaced.
func withBodyValue(r spec.Request, at []string, v any) spec.Request {
	body, err := decode(r.Body)
	if err != nil {
		return r // it has no values
	}
	r.Body = []byte(compactJSON(replaceAt(body, at, v)))
	return r
}

func replaceAt(in any, at []string, v any) any {
	if len(at) == 0 {
		return v
	}
	switch in := in.(type) {
	case map[string]any:
		out := maps.Clone(in)
		if member := replaceAt(in[at[0]], at[1:], v); member == (removed{}) {
			delete(out, at[0])
		} else {
			out[at[0]] = member
		}
		return out
	case []any:
		out := slices.Clone(in)
		switch i, err := strconv.Atoi(at[0]); {
		case err == nil && i < len(out):
			out[i] = replaceAt(in[i], at[1:], v)
		case err == nil && len(at) == 1: // the next one
			out = append(out, v)
		}
		return out
	}
	return in
}

// A bodyLimit is a limit on the bytes of a body, and how to try it.
type bodyLimit struct {
	maxBytes, over, under int
	merge                 any
	fillPath              []string
}

func bodyLimitOf(media node) (m bodyLimit) {
	n := media.get("x-max-bytes")
	m.maxBytes, _ = intValue(n.get("limit"))
	m.over, _ = intValue(n.get("over"))
	m.under, _ = intValue(n.get("under"))
	m.merge = n.get("with").value
	for token := range strings.SplitSeq(strings.TrimPrefix(n.get("fill").text(), "/"), "/") {
		m.fillPath = append(m.fillPath, unescape(token))
	}
	return m
}

func (m bodyLimit) isExceeded(body []byte) bool { return m.maxBytes > 0 && len(body) > m.maxBytes }

// breakBodySize makes the body larger than it may be.
func (m *invalidRequestBuilder) breakBodySize(limit bodyLimit, v any) {
	if limit.maxBytes == 0 {
		return
	}
	grown := func(bytes int) spec.Request {
		body := mergePatch(deepCopy(v), limit.merge)
		r := m.valid
		r.Body = []byte(compactJSON(replaceAt(body, limit.fillPath, "")))
		r.Body = []byte(compactJSON(replaceAt(body, limit.fillPath, strings.Repeat("a", max(0, bytes-len(r.Body))))))
		return r
	}
	m.add(fmt.Sprintf("body has %d bytes", limit.over), grown(limit.over), grown(limit.under))
}

// deepCopy is a deep copy of a decoded value.
func deepCopy(v any) any {
	out, err := decode([]byte(compactJSON(v)))
	if err != nil {
		return v
	}
	return out
}
