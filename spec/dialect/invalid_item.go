package dialect

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/streamassay/streamassay/spec"
)

// A violatedConstraints is the set of constraints that one additional list item has been made to
// violate so far, so that only one request is made for each (see breakFurtherItems). Each key
// consists of the id of the requirement on the refusal and the violated keyword of the schema.
type violatedConstraints map[[2]string]bool

// isNew reports whether f does not yet contain the constraint that v violates, and adds the
// constraint to f. The requirement in its key is that of the first refusal in v.Refusals that is
// demanded (see isDemanded). If none is demanded, isNew returns false and adds nothing.
func (f violatedConstraints) isNew(v spec.Violation) bool {
	i := slices.IndexFunc(v.Refusals, isDemanded)
	if i < 0 {
		return false
	}
	key := [2]string{v.Refusals[i].Requirement, lastToken(v.SchemaPath)}
	known := f[key]
	f[key] = true
	return !known
}

// isDemanded reports whether the document demands the refusal r. It returns true unless the
// requirement of r has level MAY.
func isDemanded(r spec.RefusalRequirement) bool { return r.Level != spec.May }

// addDemanded is like add with m.valid as the valid counterpart, but adds the request bad only if
// the document demands its refusal (see isDemanded).
func (m *invalidRequestBuilder) addDemanded(name string, bad spec.Request) {
	if v := m.dialect.ValidateRequest(bad); len(v) == 1 && slices.ContainsFunc(v[0].Refusals, isDemanded) {
		m.add(name, bad, m.valid)
	}
}

// breakFurtherItems adds requests in which a list in the body has one additional item that violates
// the schema of the items. Servers that validate only the first items accept such requests. The
// argument items is that schema, and list, at and depth are the list itself, its location in the
// body and its nesting depth. The additional item is a changed copy of the last item or of an
// earlier item of a different kind; keepsVariant decides which of the earlier items are copied.
// Items that are not objects are skipped.
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
		m.further, m.itemKind = violatedConstraints{}, " after a valid item"
		if len(list) > 1 {
			m.itemKind += fmt.Sprintf(" like item %d", i)
		}
		if m.breakAddedValue(items, item, next, depth) {
			m.addedSchemas[key] = true
		}
		m.further, m.itemKind = nil, itemKind
	}
}

// anotherItem returns a copy of item, an item of a list, in which the members that identify the
// item have other values. These are its id, its name and the name of its function.
func anotherItem(item any) any {
	for _, at := range [][]string{{"id"}, {"name"}, {"function", "name"}} {
		if text, ok := firstAt(item, at).(string); ok {
			item = replaceAt(item, at, text+"_2")
		}
	}
	return item
}
