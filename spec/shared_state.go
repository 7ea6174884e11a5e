package spec

// A sharedEntry is a value that several checks of one Run share, with the function that updates it.
type sharedEntry struct {
	value    any
	observe  func(Event)
	observed int // number of events passed to observe
}

// A sharedStateKey identifies a sharedEntry by name. Checks that see the events of all principals do not
// share with those that see only the primary user's.
type sharedStateKey struct {
	name          string
	allPrincipals bool
}

// SharedState returns a value that all checks of one [Run] share if they call it with the same
// name, and a function observe. Each of these checks must pass every event that it sees to observe,
// before it uses the value. The first call creates the value by calling create, whose second result
// is then called exactly once with each event. As all of a Run, the value is used by one goroutine
// only.
func SharedState[T any](p *Pass, name string, create func() (T, func(Event))) (shared T, observe func(Event)) {
	key := sharedStateKey{name: name}
	if p.obligation.Check != nil {
		key.allPrincipals = p.obligation.Check.AllPrincipals
	}
	if p.shared == nil {
		p.shared = map[sharedStateKey]*sharedEntry{}
	}
	entry := p.shared[key]
	if entry == nil {
		value, observe := create()
		entry = &sharedEntry{value: value, observe: observe}
		p.shared[key] = entry
	}
	seen := 0
	return entry.value.(T), func(e Event) {
		if seen++; seen > entry.observed {
			entry.observed = seen
			entry.observe(e)
		}
	}
}
