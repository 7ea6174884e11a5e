package dialect

import (
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// UnknownSlotViolation returns the violation of a request in which the parameter of o that carries
// the slot has a well-formed but unknown value, such as a cursor that the server never issued. The
// violation has no refusals if o has no such parameter or the document has no x-error for it.
func (d *Dialect) UnknownSlotViolation(o *Operation, slot string) spec.Violation {
	i := slices.IndexFunc(o.parameters, func(p parameter) bool { return p.slot == slot })
	if i < 0 {
		return spec.Violation{Location: o.Name, Message: o.Name + " has no parameter that carries the " + slot}
	}
	p := o.parameters[i]
	return d.newViolation(p.in+" "+p.name, schemaError{
		documentPlaces: []documentPlace{{p.node.pointer, 0}, {o.node.pointer, -1}}, keyword: "unknown", problem: "is not known",
	})
}

// PartViolation returns the violation of a keyword of x-error, such as "content-type", by a file of
// kind k in a body of o. Servers use it for errors that no schema detects, such as a recording
// without speech. The violation has no refusals if bodies of o have no such file.
func (d *Dialect) PartViolation(o *Operation, k spec.Kind, keyword string) spec.Violation {
	for _, b := range o.bodies {
		names, properties := b.node.get("schema").get("properties").members()
		for i, p := range properties {
			if kind, ok := p.extension("x-kind"); ok && spec.Kind(kind.text()) == k {
				return d.newViolation("body "+names[i], schemaError{
					documentPlaces: []documentPlace{{p.pointer, 0}, {b.node.pointer, 0}, {o.node.pointer, -1}},
					keyword:        keyword, problem: "does not fit", path: names[i],
				})
			}
		}
	}
	return spec.Violation{Location: o.Name, Message: o.Name + " has no such part"}
}

// TextRequirement returns the id of the requirement on the text of an answer: the requirement on
// the text member of the first variant for message deltas, or else the default requirement of that
// variant. In dialects without deltas, it is taken from the first variant for contents or ends of
// messages. TextRequirement returns "" if the dialect has no such variant.
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

// textRequirement returns the id of the requirement on the member that carries the slot text, or
// the variant's default requirement if that member has none.
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
