package dialect

import (
	"encoding/json"
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

// Mutate makes from a request without fault all that break one constraint, in an
// order that does not change. What cannot be broken alone, or has no documented
// answer, is left out: Judge decides.
func (d *Dialect) Mutate(r spec.Request) []Mutant { return d.mutate(r, "") }

// Mutant makes from a request without fault the one that breaks it in the way of this
// name; ok is false if there is none.
func (d *Dialect) Mutant(r spec.Request, name string) (m Mutant, ok bool) {
	if all := d.mutate(r, name); len(all) > 0 {
		return all[0], true
	}
	return m, false
}

// mutate is Mutate, for the mutants of one name only unless that is empty.
func (d *Dialect) mutate(r spec.Request, only string) []Mutant {
	o, path := d.find(r)
	if o == nil || len(d.Judge(r)) > 0 {
		return nil
	}
	m := mutator{d: d, valid: r, only: only}
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
	return m.mutants
}

type mutator struct {
	d       *Dialect
	valid   spec.Request
	only    string // the name of the one that is wanted, "" for all
	mutants []Mutant
}

func (m *mutator) add(name string, bad, twin spec.Request) {
	if m.only != "" && m.only != name {
		return
	}
	broken := m.d.Judge(bad)
	if len(broken) == 1 && len(broken[0].Demands) > 0 && len(m.d.Judge(twin)) == 0 {
		m.mutants = append(m.mutants, Mutant{name, bad, twin})
	}
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
	bad := m.valid
	bad.Header = bad.Header.With("Content-Type", "text/plain")
	m.add("header Content-Type is text/plain", bad, m.valid)
	bad = m.valid
	bad.Body = bad.Body[:len(bad.Body)-1]
	m.add("body ends too early to be JSON", bad, m.valid)
	bad = m.valid
	bad.Body = []byte{}
	m.add("body is empty", bad, m.valid)
}

func (m *mutator) parameter(p parameter, path map[string]string) {
	where := p.in + " " + p.name
	v, present := p.get(m.valid, path)
	if present && p.in != "path" {
		m.add(where+" is missing", p.set(m.valid, nil), m.valid)
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
		if p.in != "path" {
			m.add(where+" "+f.name, p.set(m.valid, &bad), twin)
		}
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
				twin = m.with(at, f.twin)
			}
			m.add(where+" "+f.name, m.with(at, f.bad), twin)
		}
		switch v := v.(type) {
		case map[string]any:
			m.members(n, v, at, depth)
		case []any:
			for i := range v {
				m.value(n.get("items"), v[i], append(slices.Clone(at), strconv.Itoa(i)), depth+1)
			}
		}
	}
}

func (m *mutator) members(n node, v map[string]any, at []string, depth int) {
	for _, name := range n.get("required").strings() {
		inside := append(slices.Clone(at), name)
		if _, ok := v[name]; ok {
			m.add("body "+pointer(inside)+" is missing", m.with(inside, gone{}), m.valid)
		}
	}
	for _, name := range n.get("not").get("required").strings() {
		inside := append(slices.Clone(at), name)
		m.add("body "+pointer(inside)+" is there", m.with(inside, "x"), m.valid)
	}
	names, props := n.get("properties").members()
	for i, name := range names {
		if inside, ok := v[name]; ok {
			m.value(props[i], inside, append(slices.Clone(at), name), depth+1)
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

// A fault is a value that breaks one keyword, and one that just does not; nil if
// the value there was will do.
type fault struct {
	name      string
	bad, twin any
}

// faults are the ways to break what a schema itself says about v.
func (m *mutator) faults(n node, v any) (list []fault) {
	add := func(bad, twin any, format string, args ...any) {
		list = append(list, fault{fmt.Sprintf(format, args...), bad, twin})
	}
	if types := n.get("type").strings(); len(types) > 0 {
		for _, bad := range []any{json.Number("42"), "x", []any{}, nil} {
			if !fits(types, bad) {
				add(bad, nil, "is of type %s", kindOf(bad))
			}
		}
	} else if n.get("oneOf").exists() || n.get("anyOf").exists() {
		add(json.Number("42"), nil, "is a number")
	}
	if len(n.get("enum").items()) > 0 {
		add("alien", nil, "is %q", "alien")
	}
	if n.get("format").exists() || n.get("pattern").exists() {
		add("%%wrong%%", nil, "is %q", "%%wrong%%")
	}
	if k, ok := integer(n.get("minLength")); ok && k > 0 {
		add(strings.Repeat("a", k-1), strings.Repeat("a", k), "has %d characters", k-1)
	}
	if k, ok := integer(n.get("maxLength")); ok {
		add(strings.Repeat("a", k+1), strings.Repeat("a", k), "has %d characters", k+1)
	}
	if k, ok := integer(n.get("minimum")); ok {
		add(number(k-1), number(k), "is %d", k-1)
	}
	if k, ok := integer(n.get("maximum")); ok {
		add(number(k+1), number(k), "is %d", k+1)
	}
	if items, ok := v.([]any); ok {
		list = append(list, listFaults(n, items)...)
	}
	return list
}

func number(n int) json.Number { return json.Number(strconv.Itoa(n)) }

func integer(n node) (int, bool) {
	k, ok := n.v.(json.Number)
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(canonical(k))
	return i, err == nil
}

// listFaults are the ways to break what a schema says about how many items there
// are, and which come first.
func listFaults(n node, items []any) (list []fault) {
	if k, ok := integer(n.get("maxItems")); ok && len(items) > 0 && k+1 > len(items) {
		many := slices.Concat(items, slices.Repeat(items[len(items)-1:], k+1-len(items)))
		list = append(list, fault{fmt.Sprintf("has %d items", k+1), many, many[:k]})
	}
	if k, ok := integer(n.get("minItems")); ok && k > 0 {
		list = append(list, fault{fmt.Sprintf("has %d items", k-1), items[:min(k-1, len(items))], nil})
	}
	if n.get("contains").exists() {
		list = append(list, fault{"is empty", []any{}, nil})
		if len(items) > 0 {
			list = append(list, fault{"has its first item twice", slices.Concat(items[:1], items), nil})
		}
	}
	if len(n.get("prefixItems").items()) > 0 && len(items) > 1 {
		swapped := slices.Clone(items)
		slices.Reverse(swapped)
		list = append(list, fault{"is in reverse order", swapped, nil})
	}
	return list
}

// gone stands for what is not there.
type gone struct{}

// with is the valid request with one value of its body replaced.
func (m *mutator) with(at []string, v any) spec.Request {
	body, _ := decode(m.valid.Body) // Judge has read it
	r := m.valid
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
		if i, err := strconv.Atoi(at[0]); err == nil && i < len(out) {
			out[i] = replace(in[i], at[1:], v)
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
