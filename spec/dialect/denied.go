package dialect

import (
	"fmt"
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// denials are the reasons that x-denied knows.
var denials = []spec.DenialReason{spec.DeniedAnonymous, spec.DeniedUnknownUser, spec.DeniedOtherUser, spec.DeniedStreamLimit}

// A denial is one demand on how somebody is refused who may not ask.
type denial struct {
	why    spec.DenialReason
	with   string // the slot that a request must carry
	demand spec.RefusalRequirement
}

func (o *Operation) addDenied(n node) error {
	names, lists := n.members()
	for i, name := range names {
		why := spec.DenialReason(name)
		if !slices.Contains(denials, why) {
			return fmt.Errorf("x-denied: %q is none of %v", name, denials)
		}
		for _, item := range demandList(lists[i]) {
			d := denial{why: why, with: item.get("with").text()}
			d.demand, _ = item.demand("", true)
			if d.with != "" && knownSlot(d.with) != nil {
				return knownSlot(d.with)
			}
			o.denied = append(o.denied, d)
		}
	}
	return nil
}

// deniedTo are the demands on how e is to be refused, if it is.
func (o *Operation) deniedTo(e *spec.Event) spec.DenialRequirements {
	if len(o.denied) == 0 {
		return nil
	}
	all := spec.DenialRequirements{}
	for _, d := range o.denied {
		if d.with == "" || *slotOf(e, d.with) != "" {
			all[d.why] = append(all[d.why], d.demand)
		}
	}
	return all
}

// Secured says whether the document wants credentials anywhere.
func (d *Dialect) Secured() bool {
	return slices.ContainsFunc(d.operations, func(o *Operation) bool { return o.Secured })
}

// Denies says whether the document says how somebody is refused for this reason.
func (d *Dialect) Denies(why spec.DenialReason) bool {
	return slices.ContainsFunc(d.operations, func(o *Operation) bool {
		return slices.ContainsFunc(o.denied, func(x denial) bool { return x.why == why })
	})
}
