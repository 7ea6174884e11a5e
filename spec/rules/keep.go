package rules

import "github.com/streamassay/streamassay/spec"

// keeper returns a function that copies an event to the heap and returns the copy. Checks
// that retain events use it: an event is large, and if several checks of a [spec.Run]
// retain the same event one after the other, they share one copy.
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

// sameEvent reports whether a and b are the same event of a conversation, with the same
// members. Parts have the position of the event that contains them, and a check may have
// added to an event, so the position does not suffice.
func sameEvent(a, b *spec.Event) bool {
	return a.Exchange == b.Exchange && a.Frame == b.Frame && a.Offset == b.Offset && a.Kind == b.Kind &&
		a.Message == b.Message && a.Call == b.Call && a.Index == b.Index && a.ID == b.ID && a.Name == b.Name &&
		a.Role == b.Role && a.Type == b.Type && a.Status == b.Status && a.Text == b.Text &&
		a.Requirement == b.Requirement
}
