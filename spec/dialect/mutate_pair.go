package dialect

import (
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// both stands between the names of two faults.
const both = ", and "

// An edit is a fault that can be had together with others.
type edit struct {
	name   string
	broken spec.Violation
	make   func(spec.Request) spec.Request
}

// edit is add for a fault that is made by a change of its own.
func (m *mutator) edit(name string, twin spec.Request, change func(spec.Request) spec.Request) {
	if name += m.sort; !m.wanted(name) {
		return
	}
	bad := change(m.valid)
	if m.bare != nil && string(twin.Body) == string(m.valid.Body) && twin.Target == m.valid.Target {
		twin = *m.bare
	}
	if m.add(name, bad, twin) && m.bare == nil {
		m.edits = append(m.edits, edit{name: name, make: change, broken: m.d.Judge(bad)[0]})
	}
}

// mostPairs bounds how many requests break two constraints: what one fault hides of
// another is seen in a few.
const mostPairs = 6

// pairs breaks two constraints at once: each of some faults, as far from each other in
// the list as they can be, with one of another place.
func (m *mutator) pairs() {
	n, made := len(m.edits), 0
	step := max(1, n/(2*mostPairs))
	for i := 0; i < n/2 && made < mostPairs; i += step {
		for j := i + n/2; j < n; j++ {
			if m.pair(m.edits[i], m.edits[j]) {
				made++
				break
			}
		}
	}
}

// pair keeps a request with both faults if they are just two, each as it is alone.
func (m *mutator) pair(a, b edit) bool {
	name := a.name + both + b.name
	if m.only != "" && m.only != name || m.names[name] {
		return false
	}
	bad := b.make(a.make(m.valid))
	broken := m.d.Judge(bad)
	if len(broken) != 2 {
		return false
	}
	for _, e := range []edit{a, b} {
		if !slices.ContainsFunc(broken, func(b spec.Violation) bool {
			return b.SchemaPath == e.broken.SchemaPath && b.Location == e.broken.Location
		}) {
			return false
		}
	}
	m.names[name] = true
	m.mutants = append(m.mutants, Mutant{name, bad, m.valid})
	return true
}
