package dialect

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/streamassay/streamassay/spec"
)

// A coveredConstraints is a set of constraints. It holds those that the requests for one
// additional list item already violate, so that breakFurtherItems makes only one request for each
// constraint. A key consists of the id of the requirement on the refusal and the violated keyword
// of the schema.
type coveredConstraints map[[2]string]bool

// isNew adds the constraint that v violates to f, and reports whether f lacked it. The requirement
// in its key is that of the first demanded refusal in v.Refusals (see isDemanded). If there is
// none, isNew adds nothing and returns false.
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

// isDemanded reports whether the document demands the refusal r, rather than only allowing it at
// level MAY.
func isDemanded(r spec.RefusalRequirement) bool { return r.Level != spec.May }

// addDemanded calls add for the request bad, with m.valid as its valid counterpart. It does nothing
// if the document does not demand that bad be refused (see isDemanded).
func (m *invalidRequestBuilder) addDemanded(name string, bad spec.Request) {
	if v := m.dialect.ValidateRequest(bad); len(v) == 1 && slices.ContainsFunc(v[0].Refusals, isDemanded) {
		m.add(name, bad, m.valid)
	}
}

// breakFurtherItems adds requests in which a list in the body has one more item, which violates the
// schema of the items. A server that validates only the first items accepts such requests. The
// argument items is the schema of the items, and list, at and depth are the list, its location in
// the body and its nesting depth.
//
// The additional item is an invalid copy of the last item or of an earlier item with a different
// schema. Whether an earlier item is used depends on keepsVariant. Only items that are objects are
// used.
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
