package dialect

import (
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// UnknownSlotViolation returns the violation of a request for o in which a parameter has a
// well-formed but unknown value, such as a cursor that the server never issued. The argument slot
// names the slot of [spec.Event] that the parameter carries, such as "cursor". The violation has no
// refusals if o has no such parameter, or if the document does not state how such a request is
// refused (x-error).
func (d *Dialect) UnknownSlotViolation(o *Operation, slot string) spec.Violation {
	p, ok := o.parameterWith(slot)
	if !ok {
		return spec.Violation{Location: o.Name, Message: o.Name + " has no parameter that carries the " + slot}
	}
	return d.newViolation(p.in+" "+p.name, schemaError{
		documentLocations: []documentLocation{{p.node.pointer, 0}, {o.node.pointer, -1}}, keyword: "unknown", problem: "is not known",
	})
}

// PartViolation returns the violation that a server reports if the body of a request for o contains
// an unacceptable file of kind k, such as a recording without speech. It is for errors that no
// schema detects. The refusals of the violation are those that the document specifies (x-error) for
// a file that violates the given keyword of its schema, such as "minLength". There are no refusals
// if no body of o has a file of kind k.
func (d *Dialect) PartViolation(o *Operation, k spec.Kind, keyword string) spec.Violation {
	for _, b := range o.bodies {
		for name, p := range b.node.get("schema").get("properties").members() {
			if p.get("x-kind").text() == string(k) {
				return d.newViolation("body "+name, schemaError{
					documentLocations: []documentLocation{{p.pointer, 0}, {b.node.pointer, 0}, {o.node.pointer, -1}},
					keyword:           keyword, problem: "does not fit", path: name,
				})
			}
		}
	}
	return spec.Violation{Location: o.Name, Message: o.Name + " has no such part"}
}

// TextRequirement returns the id of the requirement on the text of an answer. This is the
// requirement on the member for [spec.Event].Text in message deltas. In a dialect without message
// deltas, it is the requirement on that member in content parts or ends of messages. If the member
// has no requirement, TextRequirement returns the requirement on the frame as a whole. It returns
// "" if the dialect has none of these events.
func (d *Dialect) TextRequirement() string {
	for _, k := range []spec.Kind{spec.MessageDelta, spec.ContentEnd, spec.ContentPart, spec.MessageEnd} {
		for _, o := range d.operations {
			if i := slices.IndexFunc(o.frameVariants, func(w *variant) bool { return w.kind == k }); i >= 0 {
				return o.frameVariants[i].textRequirement()
			}
		}
	}
	return ""
}

// textRequirement returns the id of the first requirement on the member for [spec.Event].Text. If
// there is no such member, or if it has no requirement, textRequirement returns
// w.defaultRequirement.
func (w *variant) textRequirement() string {
	for _, site := range w.slots {
		if site.slot != "text" {
			continue
		}
		for _, location := range w.requirements {
			if slices.Equal(location.path, site.path) {
				return location.id
			}
		}
	}
	return w.defaultRequirement
}
