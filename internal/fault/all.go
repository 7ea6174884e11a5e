package fault

import "slices"

// All lists all faults, ordered by category.
var All = slices.Concat(
	inCategory(CategoryResponse, responseFaults...),
	inCategory(CategoryProtocol, protocolFaults...),
	inCategory(CategoryResume, resumeFaults...),
	inCategory(CategoryWire,
		cleanEnd, abortEnd, abortLate, resetEnd, tornEnd, tornUTF8, stallEnd, drip, split, together, gathered,
		noLastBlankLine, garbage, oversize, gzipped, linger, noKeepAlive, otherKeepAlive, differentOnReplay),
)

// inCategory sets the category of the given faults and returns them.
func inCategory(c Category, faults ...*Fault) []*Fault {
	for _, f := range faults {
		f.Category = c
	}
	return faults
}
