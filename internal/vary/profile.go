package vary

import (
	"slices"
	"sync"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A variationConstraints describes which variations the OpenAPI document and the requirements of a
// dialect allow.
type variationConstraints struct {
	frameShape, replyShape *dialect.ValueShape      // for the data of frames, and for JSON response bodies
	unknownEvent           dialect.UnknownEventForm // form of events of unknown types
	forbidden              map[Trait]bool           // traits that no variation may have
	keepAliveText          string                   // text that all comments must have; "" if any text is allowed
}

// profiles caches the results of newProfile, by dialect, because newProfile is slow.
var profiles sync.Map // *dialect.Dialect → *variationConstraints

// profileOf returns the constraints on the variations for dialect d. All calls with
// the same d return the same pointer. profileOf is safe for concurrent use.
func profileOf(d *dialect.Dialect) *variationConstraints {
	known, ok := profiles.Load(d)
	if !ok {
		known, _ = profiles.LoadOrStore(d, newProfile(d))
	}
	return known.(*variationConstraints)
}

// newProfile derives the constraints on the variations for dialect d from the OpenAPI document and
// the requirements of d.
func newProfile(d *dialect.Dialect) *variationConstraints {
	b := &variationConstraints{}
	b.frameShape, b.replyShape = d.Shapes()
	unknownEvents, eventNames := false, false
	b.unknownEvent, unknownEvents = d.UnknownEventForm()
	for _, o := range d.Operations() {
		eventNames = eventNames || o.WritesEventNames()
		if text := o.KeepAlive(); text != "" {
			b.keepAliveText = text
		}
	}
	plain := requiresCheck(d, "wire.frames-are-plain")   // which fails if frames have optional fields
	onlyLF := requiresCheck(d, "wire.lines-end-with-lf") // which fails if a line ends with CR or CR LF
	b.forbidden = map[Trait]bool{
		CRLF: onlyLF, CR: onlyLF, MixedLineEnds: onlyLF,
		Retry: plain, UnknownFields: plain,
		EventNames:    plain || eventNames,
		EventIDs:      plain || hasKind(d, spec.SlotCursor),
		UnknownEvents: !unknownEvents,
		Cursors:       !allowsAnyCursor(d),
	}
	return b
}

// allows reports whether a variation for the dialect may have the trait t.
func (b *variationConstraints) allows(t Trait) bool { return !b.forbidden[t] }

// hasKind reports whether the OpenAPI document of dialect d describes events of kind k or, if k
// stands for a field of events, such as [spec.SlotCursor], a member or a parameter for that field.
func hasKind(d *dialect.Dialect, k spec.Kind) bool { return slices.Contains(d.Kinds(), k) }
