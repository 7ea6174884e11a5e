package spec

// An account is what several checks want to know of a conversation. It is kept once for
// all of them.
type account struct {
	value any
	hear  func(Event)
	heard int
}

// An accountKey tells accounts apart: also by which events the checks see.
type accountKey struct {
	name      string
	overhears bool
}

// SharedState returns what the checks of one [Run] that give the same name share, and a
// function that a check calls with each event that it sees. open makes what is shared,
// and the function that hears of each event once, before the first of the checks goes on.
func SharedState[T any](p *Pass, name string, open func() (T, func(Event))) (shared T, hear func(Event)) {
	key := accountKey{name: name}
	if p.obligation.Check != nil {
		key.overhears = p.obligation.Check.AllPrincipals
	}
	if p.accounts == nil {
		p.accounts = map[accountKey]*account{}
	}
	a := p.accounts[key]
	if a == nil {
		value, hear := open()
		a = &account{value: value, hear: hear}
		p.accounts[key] = a
	}
	own := 0
	return a.value.(T), func(e Event) {
		if own++; own > a.heard {
			a.heard = own
			a.hear(e)
		}
	}
}
