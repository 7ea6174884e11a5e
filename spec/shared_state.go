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
func SharedState[T any](p *Pass, name string, open func() (T, func(Event))) (shared T, hear func(Event)) {
	key := sharedKey{name: name}
	if p.obligation.Check != nil {
		key.allPrincipals = p.obligation.Check.AllPrincipals
	}
	if p.shared == nil {
		p.shared = map[sharedKey]*sharedEntry{}
	}
	a := p.shared[key]
	if a == nil {
		value, hear := open()
		a = &sharedEntry{value: value, observe: hear}
		p.shared[key] = a
	}
	own := 0
	return a.value.(T), func(e Event) {
		if own++; own > a.observed {
			a.observed = own
			a.observe(e)
		}
	}
}
