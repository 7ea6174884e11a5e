package spec

// A sharedEntry is a value that several checks of one Run share.
type sharedEntry struct {
	value    any
	observe  func(Event)
	observed int // number of events passed to observe
}

// A sharedKey identifies a sharedEntry. Checks that see different events do not share.
type sharedKey struct {
	name          string
	allPrincipals bool
}

// SharedState returns a value that all checks of one [Run] with the same name share, and a
// function to which each of them must pass every event that it sees, before it uses the
// value. The first call creates the value with create, whose second result then observes
// each event exactly once. Like all of a Run, it is for one goroutine.
func SharedState[T any](p *Pass, name string, create func() (T, func(Event))) (shared T, observe func(Event)) {
	key := sharedKey{name: name}
	if p.obligation.Check != nil {
		key.allPrincipals = p.obligation.Check.AllPrincipals
	}
	if p.shared == nil {
		p.shared = map[sharedKey]*sharedEntry{}
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
