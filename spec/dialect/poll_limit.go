package dialect

import "strconv"

// MaxPollLimit returns, in decimal, the largest number of polls without an event that a request of
// the given template, such as "listen", may ask for. This is the maximum of the parameter with the
// slot "limit". MaxPollLimit returns "" if the dialect has no such template or parameter, or if the
// parameter has no maximum.
func (d *Dialect) MaxPollLimit(template string) string {
	if longest, ok := d.parameterBound(template, "limit", "maximum"); ok {
		return strconv.Itoa(longest)
	}
	return ""
}

// MaxRunID returns the maximum length, in characters, of the run id in a request of the given
// template, such as "listen". This is the maximum length of the parameter with the slot "run".
// MaxRunID returns 0 if the dialect has no such template or parameter, or if the length of the
// parameter has no maximum.
func (d *Dialect) MaxRunID(template string) int {
	longest, _ := d.parameterBound(template, "run", "maxLength")
	return longest
}

// parameterBound returns the value of a keyword, such as "maximum", in the schema of the parameter
// that carries the given slot in requests of the given template. ok is false if there is no such
// template, parameter or keyword, or if the value is not an integer.
func (d *Dialect) parameterBound(template, slot, keyword string) (bound int, ok bool) {
	o, ok := d.TemplateOperation(template)
	if !ok {
		return 0, false
	}
	p, _ := o.parameterWith(slot)
	return intValue(p.schema.deref().get(keyword))
}
