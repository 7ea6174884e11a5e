package dialect

import (
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// UnknownSlotViolation is what is broken, and how the document wants it refused, where the
// parameter of o that carries a slot is well-formed and still of no use: a cursor
// that nobody handed out. Without such a parameter, or an x-error on it, the breach
// has no demands.
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

// PartViolation is likewise what is broken where a part of o's body of this kind breaks a
// keyword in a way that no schema sees: a recording that holds nothing.
func (d *Dialect) PartViolation(o *Operation, k spec.Kind, keyword string) spec.Violation {
	for _, b := range o.bodies {
		names, properties := b.node.get("schema").get("properties").members()
		for i, p := range properties {
			if kind, ok := p.extension("x-kind"); ok && spec.Kind(kind.text()) == k {
				return d.newViolation("body "+names[i], schemaError{documentPlaces: []documentPlace{{p.pointer, 0}, {b.node.pointer, 0}, {o.node.pointer, -1}}, keyword: keyword, problem: "does not fit", path: names[i]})
			}
		}
	}
	return spec.Violation{Location: o.Name, Message: o.Name + " has no such part"}
}

// TextRequirement returns the requirement behind the text of an answer: that of the member
// that carries it in the first form of a message's delta, or of a whole content where the
// dialect has no deltas, and else that of the whole form. It is "" where the dialect has no
// words for text.
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

func (w *variant) textRequirement() string {
	for _, site := range w.slots {
		if site.slot != "text" {
			continue
		}
		for _, law := range w.requirements {
			if slices.Equal(law.path, site.path) {
				return law.id
			}
		}
	}
	return w.defaultRequirement
}
