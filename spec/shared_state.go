package spec

// An sharedEntry is what several checks want to know of a conversation. It is kept once for
// all of them.
type sharedEntry struct {
	value    any
	observe  func(Event)
	observed int
}

// An sharedKey tells accounts apart: also by which events the checks see.
type sharedKey struct {
	name          string
	allPrincipals bool
}

// SharedState returns what the checks of one [Run] that give the same name share, and a
// function that a check calls with each event that it sees. open makes what is shared,
// and the function that hears of each event once, before the first of the checks goes on.
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
