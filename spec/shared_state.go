package spec

// A sharedState holds what the passes of one [Run] share: the values returned by [Shared], and the
// functions given to [Pass.AtEnd].
type sharedState struct {
	shared    map[sharedValueKey]any
	observers []eventObserver // update the shared values; called with each event before the checks
	atEnd     []func()        // to be called after the last event
}

// A sharedValueKey identifies a shared value. The field allPrincipals is the field AllPrincipals of
// the checks that share the value. Checks with AllPrincipals see more events than other checks, so
// the two groups do not share values.
type sharedValueKey struct {
	name          string
	allPrincipals bool
}

// AtEnd makes [Run] call f after the last event of the conversation. Run calls all functions that
// were given to AtEnd, by this check and by others, in the order in which they were given.
func (p *Pass) AtEnd(f func()) { p.run.atEnd = append(p.run.atEnd, f) }

// Shared returns a value that several checks of one [Run] share, such as a record of all valid
// requests. The first call with a given name creates the value by calling create. Later calls with
// the same name return the same value; they panic if their type T differs. However, checks whose
// field AllPrincipals is true do not share values with other checks.
//
// The second result of create, if it is not nil, is a function that updates the value. Run calls it
// with each event that the check sees, before any check sees the event. Run calls all functions
// from one goroutine, so the value needs no lock.
//
// A check must call Shared in its Watch function, before the first event. If both create and the
// check call [Pass.AtEnd], the check must call Shared first, so that the function given by create
// is called first.
func Shared[T any](p *Pass, name string, create func() (value T, observe func(Event))) T {
	key := sharedValueKey{name: name, allPrincipals: p.planned.Check.AllPrincipals}
	if value, ok := p.run.shared[key]; ok {
		return value.(T)
	}
	value, observe := create()
	p.run.shared[key] = value
	if observe != nil {
		p.run.observers = append(p.run.observers, eventObserver{observe, key.allPrincipals})
	}
	return value
}
