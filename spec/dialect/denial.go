package dialect

import (
	"fmt"
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// denialReasons are the reasons that x-denied knows.
var denialReasons = []spec.DenialReason{spec.DeniedAnonymous, spec.DeniedUnknownUser, spec.DeniedOtherUser, spec.DeniedStreamLimit}

// A denialRule is one demand on how somebody is refused who may not ask.
type denialRule struct {
	reason       spec.DenialReason
	requiredSlot string // the slot that a request must carry
	refusal      spec.RefusalRequirement
}

func (o *Operation) addDenials(n node) error {
	names, lists := n.members()
	for i, name := range names {
		why := spec.DenialReason(name)
		if !slices.Contains(denialReasons, why) {
			return fmt.Errorf("x-denied: %q is none of %v", name, denialReasons)
		}
		for _, item := range refusalList(lists[i]) {
			d := denialRule{reason: why, requiredSlot: item.get("with").text()}
			d.refusal, _ = item.refusal("", true)
			if d.requiredSlot != "" && checkSlot(d.requiredSlot) != nil {
				return checkSlot(d.requiredSlot)
			}
			o.denials = append(o.denials, d)
		}
	}
	return nil
}

// denialsFor are the demands on how e is to be refused, if it is.
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

// RequiresCredentials says whether the document wants credentials anywhere.
func (d *Dialect) RequiresCredentials() bool {
	return slices.ContainsFunc(d.operations, func(o *Operation) bool { return o.RequiresCredentials })
}

// HasDenial says whether the document says how somebody is refused for this reason.
func (d *Dialect) HasDenial(why spec.DenialReason) bool {
	return slices.ContainsFunc(d.operations, func(o *Operation) bool {
		return slices.ContainsFunc(o.denials, func(x denialRule) bool { return x.reason == why })
	})
}
