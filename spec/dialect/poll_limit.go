package dialect

import "strconv"

// MaxPollLimit returns the largest number of idle polls that the document lets a request of the
// given template ask for, or "" if it states none.
func (d *Dialect) MaxPollLimit(template string) string {
	o, ok := d.TemplateOperation(template)
	if !ok {
		return ""
	}
	for _, p := range o.parameters {
		if p.slot != "limit" {
			continue
		}
		if longest, ok := intValue(p.schema.deref().get("maximum")); ok {
			return strconv.Itoa(longest)
		}
	}
	return ""
}
