package dialect

import (
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// Refusal is what is broken, and how the document wants it refused, where the
// parameter of o that carries a slot is well-formed and still of no use: a cursor
// that nobody handed out. Without such a parameter, or an x-error on it, the breach
// has no demands.
func (d *Dialect) Refusal(o *Operation, slot string) spec.Broken {
	i := slices.IndexFunc(o.parameters, func(p parameter) bool { return p.slot == slot })
	if i < 0 {
		return spec.Broken{Where: o.Name, Why: "has no parameter that carries the " + slot}
	}
	p := o.parameters[i]
	return d.because(p.in+" "+p.name, breach{
		places: []place{{p.node.at, 0}, {o.node.at, -1}}, keyword: "unknown", why: "is not known",
	})
}
