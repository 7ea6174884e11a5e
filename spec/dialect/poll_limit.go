package dialect

import "strconv"

// MaxPollLimit returns the maximum, in decimal, of the parameter for [spec.Event].PollLimit in
// requests of the given template, such as "listen" (see [Dialect.Templates]). The parameter is the
// number of polls without an event after which a stream ends. MaxPollLimit returns "" if the
// dialect has no such template or parameter, or if the parameter has no integer as its maximum.
func (d *Dialect) MaxPollLimit(template string) string {
	if longest, ok := d.parameterBound(template, "limit", "maximum"); ok {
		return strconv.Itoa(longest)
	}
	return ""
}

// MaxRunID returns the maximum length, in characters, of the run id that is a parameter of requests
// of the given template, such as "listen" (see [Dialect.Templates]). It returns 0 if the dialect
// has no such template or parameter, or if the parameter has no maxLength.
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
