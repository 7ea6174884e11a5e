package dialect

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/streamassay/streamassay/spec"
)

// A coveredConstraints is the set of the constraints that requests with an additional list item
// have violated so far. It serves to make only one request for each constraint (see
// breakFurtherItems). A key consists of the id of the requirement on the refusal and the violated
// keyword of the schema.
type coveredConstraints map[[2]string]bool

// isNew reports whether the constraint that v violates is not yet in f, and adds it to f. The key
// contains the requirement of the first refusal in v.Refusals for which isDemanded returns true. If
// there is no such refusal, isNew adds nothing and returns false.
func (f coveredConstraints) isNew(v spec.Violation) bool {
	i := slices.IndexFunc(v.Refusals, isDemanded)
	if i < 0 {
		return false
	}
	key := [2]string{v.Refusals[i].Requirement, lastToken(v.SchemaPath)}
	known := f[key]
	f[key] = true
	return !known
}

// isDemanded reports whether the document requires the refusal r or recommends it: its level is not
// MAY.
func isDemanded(r spec.RefusalRequirement) bool { return r.Level != spec.May }

// addDemanded calls add for the request bad with the given name, and with m.valid as its valid
// counterpart. It does nothing if bad has more than one violation, or if the document does not
// demand that bad be refused (see isDemanded).
func (m *invalidRequestBuilder) addDemanded(name string, bad spec.Request) {
	if v := m.dialect.ValidateRequest(bad); len(v) == 1 && slices.ContainsFunc(v[0].Refusals, isDemanded) {
		m.add(name, bad, m.valid)
	}
}

// breakFurtherItems adds requests in which an invalid item is appended to a list in the body. A
// server that validates only the first item accepts such requests. The argument items is the schema
// of the items, list is the list, at is its location in the body, and depth is its nesting depth.
//
// The appended item is an invalid copy of the last item. If keepsVariant returns true, there are
// also requests with copies of earlier items that have other schemas. Only items that are objects
// are copied.
func (m *invalidRequestBuilder) breakFurtherItems(items node, list []any, at []string, depth int) {
	if m.base != nil {
		return
	}
	next := append(slices.Clone(at), strconv.Itoa(len(list)))
	for i, item := range slices.Backward(list) {
		item = anotherItem(item)
		key := "further " + items.pointer
		for _, n := range m.dialect.document.applicableSchemas(items, item) {
			key = "further " + n.pointer
		}
		if _, isObject := item.(map[string]any); !isObject || m.addedSchemas[key] || !m.wantsWithin(next) ||
			i < len(list)-1 && !m.keepsVariant() {
			continue
		}
		itemKind := m.itemKind
		m.further, m.itemKind = coveredConstraints{}, " after a valid item"
		if len(list) > 1 {
			m.itemKind += fmt.Sprintf(" like item %d", i)
		}
		if m.breakAddedValue(items, item, next, depth) {
			m.addedSchemas[key] = true
		}
		m.further, m.itemKind = nil, itemKind
	}
}

// anotherItem returns a copy of item, an item of a list, with different values for the members that
// identify it: its id, its name and the name of its function.
func anotherItem(item any) any {
	for _, at := range [][]string{{"id"}, {"name"}, {"function", "name"}} {
		if text, ok := firstAt(item, at).(string); ok {
			item = replaceAt(item, at, text+"_2")
		}
	}
	return item
}
