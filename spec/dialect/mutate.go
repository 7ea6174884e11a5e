package dialect

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// A Mutant is a request that breaks exactly one constraint of the document, and
// its twin: as near to the border as one can stand on the right side.
type Mutant struct {
	Name          string // "body /runId has 129 characters"
	Request, Twin spec.Request
}

// Mutate makes from a request without fault all that break one constraint, and then a
// few that break two, in an order that does not change. What cannot be broken alone, or
// has no documented answer, is left out: Judge decides.
func (d *Dialect) Mutate(r spec.Request) []Mutant { return d.MutateFurther(r, &Memory{}) }

// A Memory knows what was made of requests of one operation before.
type Memory struct {
	names map[string]bool // of mutants
	rules map[string]bool // that were broken
	added map[string]bool // the schemas of what was put there to be broken
}

// MutateFurther is Mutate without the mutants that were made with the same memory.
func (d *Dialect) MutateFurther(r spec.Request, known *Memory) []Mutant {
	return d.mutate(r, known, "")
}

// PlainFirst lists what can be said with o, the plain prompt first: what is broken in
// it has the least around it.
func (o *Operation) PlainFirst() []string {
	all := o.Phrases()
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

// Mutant makes from a request without fault the one that breaks it in the way of this
// name; ok is false if there is none.
func (d *Dialect) Mutant(r spec.Request, name string) (m Mutant, ok bool) {
	if all := d.mutate(r, &Memory{}, name); len(all) > 0 {
		return all[0], true
	}
	return m, false
}

// mutate is Mutate, for the mutants of one name only unless that is empty.
func (d *Dialect) mutate(r spec.Request, known *Memory, only string) []Mutant {
	if known.names == nil {
		*known = Memory{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	}
	m := mutator{d: d, valid: r, only: only, Memory: known}
	m.all()
	m.pairs()
	if only != "" { // the two that make a pair were made as well
		return slices.DeleteFunc(m.mutants, func(m Mutant) bool { return m.Name != only })
	}
	return m.mutants
}

// A mutator makes the mutants of one request.
type mutator struct {
	*Memory
	d       *Dialect
	valid   spec.Request
	bare    *spec.Request // what valid is without what was put there to be broken; nil: valid is that
	sort    string        // what sort of item was put there, for names
	only    string        // the name of the one that is wanted, "" for all
	mutants []Mutant
	edits   []edit                                                       // how those came about that can be had together with others
	tried   func(name string, bad spec.Request, broken []spec.Violation) // nil, or hears of all that is tried
}

// all makes every mutant of the valid request that breaks one constraint.
func (m *mutator) all() {
	r := m.valid
	o, path := m.d.find(r)
	if o == nil || len(m.d.Judge(r)) > 0 {
		return
	}
	m.method()
	for _, p := range o.parameters {
		m.parameter(p, path)
	}
	i := slices.IndexFunc(o.bodies, func(b body) bool { return b.media == jsonMedia })
	if i >= 0 && len(r.Body) > 0 {
		m.media()
		if v, err := decode(r.Body); err == nil {
			m.value(o.bodies[i].node.get("schema"), v, nil, 0)
			m.size(o.bodies[i].maximum, v)
		}
	}
	if i := slices.IndexFunc(o.bodies, func(b body) bool { return b.media == formMedia }); i >= 0 {
		m.form(o.bodies[i])
	}
}

// wanted says whether a mutant of this name is to be made.
func (m *mutator) wanted(name string) bool {
	return !m.names[name] && (m.only == "" || slices.Contains(strings.Split(m.only, both), name))
}

// add keeps a mutant if it breaks one constraint, of which the document says how that is
// refused. It says whether it was kept.
func (m *mutator) add(name string, bad, twin spec.Request) bool {
	if !m.wanted(name) {
		return false
	}
	broken := m.d.Judge(bad)
	if m.tried != nil {
		m.tried(name, bad, broken)
	}
	if len(broken) != 1 || len(broken[0].Refusals) == 0 || len(m.d.Judge(twin)) > 0 {
		return false
	}
	if m.bare != nil && m.rules[broken[0].SchemaPath] { // once is enough of what was put there to be broken
		return false
	}
	m.names[name], m.rules[broken[0].SchemaPath] = true, true
	m.mutants = append(m.mutants, Mutant{name, bad, twin})
	return true
}

// method asks in a way that the path does not have.
func (m *mutator) method() {
	for _, method := range []string{"PUT", "DELETE", "PATCH"} {
		bad := m.valid
		bad.Method = method
		m.add("method is "+method, bad, m.valid)
	}
}

// media sends what is not JSON, or does not say that it is.
func (m *mutator) media() {
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

func (m *mutator) parameter(p parameter, path map[string]string) {
	where := p.in + " " + p.name
	v, present := p.get(m.valid, path)
	if p.in == "path" {
		return // another path is another request
	}
	if present {
		m.edit(where+" is missing", m.valid, func(r spec.Request) spec.Request { return p.set(r, nil) })
	}
	for _, f := range m.faults(p.schema, v) {
		bad, ok := f.bad.(string)
		if !ok {
			bad = compact(f.bad)
		}
		twin := m.valid
		if f.twin != nil && p.slot == "" { // what a slot names has to exist: it stays
			text := carry(f.twin)
			twin = p.set(m.valid, &text)
		}
		m.edit(where+" "+f.name, twin, func(r spec.Request) spec.Request { return p.set(r, &bad) })
	}
}

// value breaks what a schema says about v, which stands at a place in the body,
// and then what it says about the things in v.
func (m *mutator) value(n node, v any, at []string, depth int) {
	if depth > deepest {
		return
	}
	where := strings.TrimSpace("body " + pointer(at))
	for _, n := range m.facets(n, v) {
		for _, f := range m.faults(n, v) {
			twin := m.valid
			if f.twin != nil {
				twin = with(m.valid, at, f.twin)
			}
			m.edit(where+" "+f.name, twin, func(r spec.Request) spec.Request { return with(r, at, f.bad) })
		}
		switch v := v.(type) {
		case map[string]any:
			m.members(n, v, at, depth)
		case []any:
			for i := range v {
				m.value(n.get("items"), v[i], append(slices.Clone(at), strconv.Itoa(i)), depth+1)
			}
			m.kinds(n.get("items"), v, at, depth)
		}
	}
}

func (m *mutator) members(n node, v map[string]any, at []string, depth int) {
	for _, name := range n.get("required").strings() {
		inside := append(slices.Clone(at), name)
		if _, ok := v[name]; ok {
			m.edit("body "+pointer(inside)+" is missing", m.valid, func(r spec.Request) spec.Request { return with(r, inside, gone{}) })
		}
	}
	for _, name := range n.get("not").get("required").strings() {
		inside := append(slices.Clone(at), name)
		m.edit("body "+pointer(inside)+" is there", m.valid, func(r spec.Request) spec.Request { return with(r, inside, "x") })
	}
	if n.get("additionalProperties").v == false {
		inside := append(slices.Clone(at), "alien")
		m.edit("body "+pointer(inside)+" is there", m.valid, func(r spec.Request) spec.Request { return with(r, inside, "x") })
	}
	names, props := n.get("properties").members()
	for i, name := range names {
		inside := append(slices.Clone(at), name)
		if one, ok := v[name]; ok {
			m.value(props[i], one, inside, depth+1)
		} else {
			m.absent(props[i], inside, depth)
		}
	}
}

// facets are the schemas that v is held to: n, what it must fit besides, and the
// one that was meant where it may choose.
func (m *mutator) facets(n node, v any) []node {
	n = n.deref()
	if !n.exists() {
		return nil
	}
	list := []node{n}
	for _, part := range n.get("allOf").items() {
		list = append(list, m.facets(part, v)...)
	}
	for _, choice := range slices.Concat(n.get("oneOf").items(), n.get("anyOf").items()) {
		if m.d.source.validator(choice.deref().at)(v) == nil {
			list = append(list, m.facets(choice, v)...)
			break
		}
	}
	return list
}

// gone stands for what is not there.
type gone struct{}

// with is a request with one value of its body replaced.
func with(r spec.Request, at []string, v any) spec.Request {
	body, err := decode(r.Body)
	if err != nil {
		return r // it has no values
	}
	r.Body = []byte(compact(replace(body, at, v)))
	return r
}

func replace(in any, at []string, v any) any {
	if len(at) == 0 {
		return v
	}
	switch in := in.(type) {
	case map[string]any:
		out := maps.Clone(in)
		if member := replace(in[at[0]], at[1:], v); member == (gone{}) {
			delete(out, at[0])
		} else {
			out[at[0]] = member
		}
		return out
	case []any:
		out := slices.Clone(in)
		switch i, err := strconv.Atoi(at[0]); {
		case err == nil && i < len(out):
			out[i] = replace(in[i], at[1:], v)
		case err == nil && len(at) == 1: // the next one
			out = append(out, v)
		}
		return out
	}
	return in
}

// A maximum is a limit on the bytes of a body, and how to try it.
type maximum struct {
	limit, over, under int
	with               any
	fill               []string
}

func maximumOf(media node) (m maximum) {
	n := media.get("x-max-bytes")
	m.limit, _ = integer(n.get("limit"))
	m.over, _ = integer(n.get("over"))
	m.under, _ = integer(n.get("under"))
	m.with = n.get("with").v
	for token := range strings.SplitSeq(strings.TrimPrefix(n.get("fill").text(), "/"), "/") {
		m.fill = append(m.fill, unescape(token))
	}
	return m
}

func (m maximum) broken(body []byte) bool { return m.limit > 0 && len(body) > m.limit }

// size makes the body larger than it may be.
func (m *mutator) size(limit maximum, v any) {
	if limit.limit == 0 {
		return
	}
	grown := func(bytes int) spec.Request {
		body := mergePatch(cloned(v), limit.with)
		r := m.valid
		r.Body = []byte(compact(replace(body, limit.fill, "")))
		r.Body = []byte(compact(replace(body, limit.fill, strings.Repeat("a", max(0, bytes-len(r.Body))))))
		return r
	}
	m.add(fmt.Sprintf("body has %d bytes", limit.over), grown(limit.over), grown(limit.under))
}

// cloned is a deep copy of a decoded value.
func cloned(v any) any {
	out, err := decode([]byte(compact(v)))
	if err != nil {
		return v
	}
	return out
}
