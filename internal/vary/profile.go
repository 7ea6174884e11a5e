package vary

import (
	"slices"
	"sync"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A profile describes which variations the document and the catalogue of a dialect allow.
type profile struct {
	frameShape, replyShape *dialect.Shape
	unknownEvent           dialect.UnknownEventForm
	forbidden              map[Trait]bool
	keepAliveText          string // required text of comments; "": any
}

// plainFramesCheck is the id of the check that demands frames without optional fields. It applies
// to dialects that have a requirement for it.
const plainFramesCheck = "wire.frames-are-plain"

// profiles caches the profiles of dialects, because it takes long to derive a profile from a
// document.
var profiles sync.Map // *dialect.Dialect → *profile

// profileOf returns the profile of a dialect, from the cache if possible.
func profileOf(d *dialect.Dialect) *profile {
	if known, ok := profiles.Load(d); ok {
		return known.(*profile)
	}
	known, _ := profiles.LoadOrStore(d, newProfile(d))
	return known.(*profile)
}

// newProfile derives the profile of a dialect from its document and catalogue.
func newProfile(d *dialect.Dialect) *profile {
	b := &profile{}
	b.frameShape, b.replyShape = d.Shapes()
	unknownEvents, eventNames := false, false
	b.unknownEvent, unknownEvents = d.UnknownEventForm()
	for _, o := range d.Operations() {
		eventNames = eventNames || o.WritesEventNames()
		if text := o.KeepAlive(); text != "" {
			b.keepAliveText = text
		}
	}
	plain := requiresCheck(d, plainFramesCheck)
	b.forbidden = map[Trait]bool{
		Retry: plain, UnknownFields: plain,
		EventNames:    plain || eventNames,
		EventIDs:      plain || hasKind(d, spec.SlotCursor),
		UnknownEvents: !unknownEvents,
		Cursors:       !allowsAnyCursor(d),
	}
	return b
}

// allows reports whether responses of the dialect may have the trait t.
func (b *profile) allows(t Trait) bool { return !b.forbidden[t] }

// hasKind reports whether the document of dialect d defines k, an event kind or a slot.
func hasKind(d *dialect.Dialect, k spec.Kind) bool { return slices.Contains(d.Kinds(), k) }
