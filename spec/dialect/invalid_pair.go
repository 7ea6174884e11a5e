package dialect

import (
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// pairSeparator separates the names of two violations in the name of a request that has both.
const pairSeparator = ", and "

// A requestEdit is a change that makes a valid request violate one constraint.
type requestEdit struct {
	name      string                          // name of the invalid request
	violation spec.Violation                  // the violation that results from the change
	apply     func(spec.Request) spec.Request // returns a changed copy of its argument
}

// addEdit adds, as add does, the invalid request that change returns for m.valid. The name of the
// request is the given name followed by m.itemKind. The argument valid is the valid counterpart of
// the request. However, if m.valid has an added value, and valid is equal to m.valid or m.further
// is set, the counterpart is *m.base, the request without that value.
//
// If the request is added, m.valid has no added value and m.apart is false, addEdit also appends
// the change to m.edits, from which addPairs makes requests with two violations.
func (m *invalidRequestBuilder) addEdit(name string, valid spec.Request, change func(spec.Request) spec.Request) {
	if name += m.itemKind; !m.isWanted(name) {
		return
	}
	bad := change(m.valid)
	isUnchanged := string(valid.Body) == string(m.valid.Body) && valid.Target == m.valid.Target
	// If valid differs from m.valid, it has a value just within a limit, and is kept. The items
	// that breakFurtherItems adds are an exception, because a limit may be on the sum of all items.
	if m.base != nil && (isUnchanged || m.further != nil) {
		valid = *m.base
	}
	if m.add(name, bad, valid) && m.base == nil && !m.apart {
		m.edits = append(m.edits, requestEdit{name: name, apply: change, violation: m.dialect.ValidateRequest(bad)[0]})
	}
}

// maxPairs is the maximum number of requests with two violations that are derived from one valid
// request. A few are enough to find out whether a server reports either of two violations.
const maxPairs = 6

// addPairs adds up to maxPairs requests with two violations. Each of them combines two changes from
// m.edits. The two are far apart in that list, so they usually change different places in the
// request and do not affect each other.
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

// addPair adds a request with the changes of both a and b, and reports whether it did. It adds the
// request only if the violations are exactly those of a and b. It also adds nothing if a request
// with the same name was added before, or if m.only is the name of another request.
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
