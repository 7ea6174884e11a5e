package spec

// A sharedState is what the passes of one [Run] share: the values that several checks use, and the
// functions to call at the end of the conversation.
type sharedState struct {
	shared    map[sharedValueKey]any
	observers []watcher // update the shared values, before any check sees an event
	atEnd     []func()  // to be called after the last event
}

// A sharedValueKey identifies a shared value by its name and by whether the events of all
// principals update it or only those of the primary user. Checks that see the events of all
// principals do not share values with checks that see only the events of the primary user.
type sharedValueKey struct {
	name          string
	allPrincipals bool
}

// AtEnd makes [Run] call f after the last event of the conversation. Run calls all functions that
// were given to AtEnd, by this check and by others, in the order in which they were given.
func (p *Pass) AtEnd(f func()) { p.run.atEnd = append(p.run.atEnd, f) }

// Shared returns a value of type T that several checks of one [Run] share, such as an account of
// the conversation. All checks that call Shared with the same name get the same value, except that
// checks with AllPrincipals do not share values with the others. All calls with the same name must
// have the same T; otherwise Shared panics. A check must call Shared in its Watch function, before
// the first event.
//
// The first call creates the value by calling create. Run then calls observe, the second result of
// create, with each event that the check sees, before any check sees it. If observe is nil, nothing
// updates the value. If create calls [Pass.AtEnd], the function that create gives to AtEnd is
// called before those of the checks that use the value. Run calls all checks from one goroutine, so
// the value needs no lock.
func Shared[T any](p *Pass, name string, create func() (value T, observe func(Event))) T {
	key := sharedValueKey{name: name, allPrincipals: p.obligation.Check.AllPrincipals}
	if value, ok := p.run.shared[key]; ok {
		return value.(T)
	}
	value, observe := create()
	p.run.shared[key] = value
	if observe != nil {
		p.run.observers = append(p.run.observers, watcher{observe, key.allPrincipals})
	}
	return value
}
