package fault

import "slices"

// All lists all faults, ordered by category.
var All = slices.Concat(
	inCategory(CategoryResponse, responseFaults),
	inCategory(CategoryProtocol, protocolFaults),
	inCategory(CategoryProtocol, inTurnFaults),
	inCategory(CategoryProtocol, stateFaults),
	inCategory(CategoryResume, resumeFaults),
	inCategory(CategoryWire, wireFaults),
)

// inCategory sets the category of each of the faults to c, and returns faults.
func inCategory(c Category, faults []*Fault) []*Fault {
	for _, f := range faults {
		f.Category = c
	}
	return faults
}
