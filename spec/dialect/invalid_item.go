package dialect

import (
	"slices"
	"strconv"

	"github.com/streamassay/streamassay/spec"
)

// A furtherItem records which requirements on refusals, and keywords of the schema, were violated
// in a list item that follows a valid item of the same kind. One request for each such pair is
// enough.
type furtherItem struct{ seen map[[2]string]bool }

// isNew reports whether no violation of the same keyword with the requirement of v was seen before,
// and notes v as seen.
func (f *furtherItem) isNew(v spec.Violation) bool {
	i := slices.IndexFunc(v.Refusals, isDemanded)
	if i < 0 {
		return false
	}
	key := [2]string{v.Refusals[i].Requirement, lastToken(v.SchemaPath)}
	known := f.seen[key]
	f.seen[key] = true
	return !known
}

// isDemanded reports whether the document demands the refusal r: whether its requirement has a
// level other than MAY.
func isDemanded(r spec.RefusalRequirement) bool { return r.Level != spec.May }

// addDemanded is like add, with the valid request as the counterpart, but adds only requests whose
// refusal the document demands.
func (m *invalidRequestBuilder) addDemanded(name string, bad spec.Request) {
	if v := m.dialect.ValidateRequest(bad); len(v) == 1 && slices.ContainsFunc(v[0].Refusals, isDemanded) {
		m.add(name, bad, m.valid)
	}
}

// breakFurtherItem adds requests in which the list has a second item, and that item violates the
// schema of the items. A server may validate only the first item. Nothing is added unless the list
// has exactly one item. items is the schema of the items, at is the location of the list in the
// body, and depth is the depth of the list.
func (m *invalidRequestBuilder) breakFurtherItem(items node, list []any, at []string, depth int) {
	if len(list) != 1 || m.base != nil {
		return
	}
	next := append(slices.Clone(at), strconv.Itoa(len(list)))
	item := anotherItem(list[0])
	key := "further " + items.pointer
	for _, n := range m.dialect.document.applicableSchemas(items, item) {
		key = "further " + n.pointer
	}
	if _, isObject := item.(map[string]any); !isObject || m.addedSchemas[key] {
		return
	}
	inside := m.withAddedValue(next, item)
	if inside == nil {
		return
	}
	m.addedSchemas[key] = true
	inside.further, inside.itemKind = &furtherItem{map[[2]string]bool{}}, " after a valid item"
	inside.breakValue(items, item, next, depth+1)
	m.requests, m.edits = inside.requests, inside.edits
}

// anotherItem returns a copy of a list item in which members that identify it have other values.
func anotherItem(item any) any {
	for _, at := range [][]string{{"id"}, {"name"}, {"function", "name"}} {
		if text, ok := firstAt(item, at).(string); ok {
			item = replaceAt(item, at, text+"_2")
		}
	}
	return item
}
