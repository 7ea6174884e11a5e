package dialect

import (
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// pairSeparator separates the names of two violations in the name of a request that has both.
const pairSeparator = ", and "

// A requestEdit is a change that makes a valid request violate one constraint. The function apply
// returns a changed copy of its argument, and violation is the violation that results.
type requestEdit struct {
	name      string
	violation spec.Violation
	apply     func(spec.Request) spec.Request
}

// addEdit adds the request that change makes from m.valid, on the same conditions as add. The name
// of the request is the given name followed by m.itemKind. Its valid counterpart is one of these:
//
//   - the argument valid, if m.base is nil, that is, if no value was added to m.valid
//   - the argument valid, if a value was added, the target or body of valid differs from that of
//     m.valid, and the call is not part of breakFurtherItems
//   - *m.base, in all other cases
//
// If the request was added, m.base is nil and m.apart is false, addEdit also appends the change to
// m.edits, from which addPairs makes its requests.
func (m *invalidRequestBuilder) addEdit(name string, valid spec.Request, change func(spec.Request) spec.Request) {
	if name += m.itemKind; !m.isWanted(name) {
		return
	}
	bad := change(m.valid)
	isUnchanged := string(valid.Body) == string(m.valid.Body) && valid.Target == m.valid.Target
	if m.base != nil && (isUnchanged || m.further != nil) { // a limit may be on the sum of all items
		valid = *m.base
	}
	if m.add(name, bad, valid) && m.base == nil && !m.apart {
		m.edits = append(m.edits, requestEdit{name: name, apply: change, violation: m.dialect.ValidateRequest(bad)[0]})
	}
}

// maxPairs is the maximum number of requests with two violations that are derived from one valid
// request. A few are enough to find out whether a server reports either of two violations.
const maxPairs = 6

// addPairs adds up to maxPairs requests with two violations. Each combines two edits that are far
// apart in m.edits, and thus in the request, so that they do not affect each other.
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

// addPair adds a request with the changes of both a and b, provided that the request has exactly
// the violations of these two edits. It reports whether it added the request.
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
