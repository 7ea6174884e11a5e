package rules

import "github.com/streamassay/streamassay/spec"

// keeper returns a function that returns an event where it can stay. An event is large, a
// stream may have very many that a rule has to come back to, and several rules keep the
// same ones: what they keep one after the other is kept once for all of them.
func keeper(p *spec.Pass) (keep func(spec.Event) *spec.Event) {
	last, _ := spec.SharedState(p, "kept event", func() (**spec.Event, func(spec.Event)) {
		return new(*spec.Event), func(spec.Event) {}
	})
	return func(e spec.Event) *spec.Event {
		if *last == nil || !sameEvent(*last, &e) {
			kept := new(spec.Event)
			*kept = e
			*last = kept
		}
		return *last
	}
}

// sameEvent reports whether two events of a conversation are one: the parts of an event
// stand where it does, and a rule may know more of an event than was told.
func sameEvent(a, b *spec.Event) bool {
	return a.Exchange == b.Exchange && a.Frame == b.Frame && a.Offset == b.Offset && a.Kind == b.Kind && a.Message == b.Message &&
		a.Call == b.Call && a.Index == b.Index && a.ID == b.ID && a.Name == b.Name && a.Role == b.Role && a.Type == b.Type &&
		a.Status == b.Status && a.Text == b.Text && a.Requirement == b.Requirement
}
