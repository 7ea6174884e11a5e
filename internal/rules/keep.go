package rules

import "github.com/streamassay/streamassay/spec"

// keeper returns a function that copies an event to the heap and returns a pointer to the copy.
// Checks use that function to retain events, which are large. If several checks of one [spec.Run]
// retain the same event one after the other, they share one copy, so they must not modify it.
func keeper(p *spec.Pass) (keep func(spec.Event) *spec.Event) {
	last := spec.Shared(p, "kept event", func() (**spec.Event, func(spec.Event)) {
		return new(*spec.Event), nil
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

// sameEvent reports whether a and b are the same event of a conversation. It compares their
// positions, kinds, ids, texts and some other fields. Equal positions alone are not enough, because
// the parts of an event have the position of that event, and because checks may fill in fields such
// as the message id.
func sameEvent(a, b *spec.Event) bool {
	return a.Exchange == b.Exchange && a.Frame == b.Frame && a.Offset == b.Offset && a.Kind == b.Kind &&
		a.Message == b.Message && a.Call == b.Call && a.Index == b.Index && a.ID == b.ID && a.Name == b.Name &&
		a.Role == b.Role && a.Type == b.Type && a.Status == b.Status && a.Text == b.Text &&
		a.Requirement == b.Requirement
}
