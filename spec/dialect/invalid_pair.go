package dialect

import (
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// pairSeparator stands between the names of two faults.
const pairSeparator = ", and "

// An requestEdit is a fault that can be had together with others.
type requestEdit struct {
	name      string
	violation spec.Violation
	apply     func(spec.Request) spec.Request
}

// addEdit is add for a fault that is made by a change of its own.
func (m *invalidRequestBuilder) addEdit(name string, valid spec.Request, change func(spec.Request) spec.Request) {
	if name += m.itemKind; !m.isWanted(name) {
		return
	}
	bad := change(m.valid)
	if m.base != nil && string(valid.Body) == string(m.valid.Body) && valid.Target == m.valid.Target {
		valid = *m.base
	}
	if m.add(name, bad, valid) && m.base == nil {
		m.edits = append(m.edits, requestEdit{name: name, apply: change, violation: m.dialect.ValidateRequest(bad)[0]})
	}
}

// maxPairs bounds how many requests break two constraints: what one fault hides of
// another is seen in a few.
const maxPairs = 6

// addPairs breaks two constraints at once: each of some faults, as far from each other in
// the list as they can be, with one of another place.
func (m *invalidRequestBuilder) addPairs() {
	n, made := len(m.edits), 0
	step := max(1, n/(2*maxPairs))
	for i := 0; i < n/2 && made < maxPairs; i += step {
		for j := i + n/2; j < n; j++ {
			if m.addPair(m.edits[i], m.edits[j]) {
				made++
				break
			}
		}
	}
}

// addPair keeps a request with both faults if they are just two, each as it is alone.
func (m *invalidRequestBuilder) addPair(a, b requestEdit) bool {
	name := a.name + pairSeparator + b.name
	if m.only != "" && m.only != name || m.names[name] {
		return false
	}
	bad := b.apply(a.apply(m.valid))
	violations := m.dialect.ValidateRequest(bad)
	if len(violations) != 2 {
		return false
	}
	for _, e := range []requestEdit{a, b} {
		if !slices.ContainsFunc(violations, func(b spec.Violation) bool {
			return b.SchemaPath == e.violation.SchemaPath && b.Location == e.violation.Location
		}) {
			return false
		}
	}
	m.names[name] = true
	m.requests = append(m.requests, InvalidRequest{name, bad, m.valid})
	return true
}
