package dialect

import "strconv"

// MaxPollLimit returns, in decimal, the maximum of the parameter with which a request of the given
// template limits the number of polls without an event (slot limit). It returns "" if the dialect
// has no such template or parameter, or if the parameter has no maximum.
func (d *Dialect) MaxPollLimit(template string) string {
	if longest, ok := d.parameterBound(template, "limit", "maximum"); ok {
		return strconv.Itoa(longest)
	}
	return ""
}

// MaxRunID returns the largest number of characters of the parameter with which a request of the
// given template names a run. It returns 0 if the dialect has no such template or parameter, or if
// the length of the parameter has no maximum.
func (d *Dialect) MaxRunID(template string) int {
	longest, _ := d.parameterBound(template, "run", "maxLength")
	return longest
}

// parameterBound returns the value of a keyword of the schema of the parameter with the given slot.
// ok is false if there is none.
func (d *Dialect) parameterBound(template, slot, keyword string) (bound int, ok bool) {
	o, found := d.TemplateOperation(template)
	if !found {
		return 0, false
	}
	for _, p := range o.parameters {
		if p.slot == slot {
			return intValue(p.schema.deref().get(keyword))
		}
	}
	return 0, false
}
