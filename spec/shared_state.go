package spec

// A sharedEntry is a value that several checks share during one call of [Run], with the function
// that updates the value.
type sharedEntry struct {
	value    any
	observe  func(Event)
	observed int // number of events passed to observe
}

// A sharedStateKey identifies a sharedEntry by its name and by the events that update it. Checks
// that see the events of all principals do not share an entry with checks that see only the events
// of the primary user.
type sharedStateKey struct {
	name          string
	allPrincipals bool
}

// SharedState returns a value that several checks share, and a function observe that updates the
// value. Within one call of [Run], all checks that call SharedState with the same name get the same
// value, except that checks with AllPrincipals do not share with the others. The type T must be the
// same in all these calls. The first of them creates the value by calling create. The second result
// of create updates the value, and is called exactly once with each event.
//
// Every check that shares the value must pass each event that it sees to observe, before it uses
// the value. Run calls all checks from one goroutine, so the value needs no lock.
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
