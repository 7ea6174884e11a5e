package dialect

import (
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// denialReasons lists the reasons for refusing a valid request that a document may name in the
// extension x-denied.
var denialReasons = []spec.DenialReason{
	spec.DeniedAnonymous, spec.DeniedUnknownUser, spec.DeniedOtherUser, spec.DeniedStreamLimit,
}

// A denialRule is one entry of the extension x-denied of an operation. It specifies how a valid
// request is refused if its sender lacks permission.
type denialRule struct {
	reason       spec.DenialReason // why permission is denied
	requiredSlot string            // slot that a request must have for the rule to apply; "" if it applies to all
	refusal      spec.RefusalRequirement
}

// addDenials adds the denial rules in n to o.denials. The node n is the value of the operation's
// x-denied extension or, if there is none, a node without a value.
func (o *Operation) addDenials(n node) {
	for name, list := range n.members() {
		for _, item := range refusalList(list) {
			d := denialRule{reason: spec.DenialReason(name), requiredSlot: item.get("with").text()}
			d.refusal, _ = item.refusal("", true)
			o.denials = append(o.denials, d)
		}
	}
}

// denialsFor returns, by reason, how the request e must be refused if its sender lacks permission.
// The Level of the requirements is not set. denialsFor returns nil if the operation has no
// x-denied.
func (o *Operation) denialsFor(e *spec.Event) spec.DenialRequirements {
	if len(o.denials) == 0 {
		return nil
	}
	all := spec.DenialRequirements{}
	for _, d := range o.denials {
		if d.requiredSlot == "" || *slotField(e, d.requiredSlot) != "" {
			all[d.reason] = append(all[d.reason], d.refusal)
		}
	}
	return all
}

// RequiresCredentials reports whether any operation of the dialect requires credentials.
func (d *Dialect) RequiresCredentials() bool {
	return slices.ContainsFunc(d.operations, func(o *Operation) bool { return o.RequiresCredentials })
}

// Denials returns, by reason, the requirements (x-denied) on how a server refuses a valid request
// that the client is not permitted to make. It combines those of all operations, so a requirement
// that several operations name occurs several times. The Level of the requirements is not set.
func (d *Dialect) Denials() spec.DenialRequirements {
	all := spec.DenialRequirements{}
	for _, o := range d.operations {
		for _, x := range o.denials {
			all[x.reason] = append(all[x.reason], x.refusal)
		}
	}
	return all
}

// HasDenial reports whether the document specifies, for at least one operation, how a request is
// refused for the given reason.
func (d *Dialect) HasDenial(reason spec.DenialReason) bool { return len(d.Denials()[reason]) > 0 }
