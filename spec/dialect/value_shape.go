package dialect

import (
	"maps"
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// A ValueShape summarizes all schemas that may apply to a JSON value at one place in
// a frame or in the body of a response. Each of the fields Closed, HasSlot and Number is true if
// its comment holds for at least one of these schemas.
type ValueShape struct {
	Members map[string]*ValueShape // members of an object, by name; nil if no schema names any
	Items   *ValueShape            // items of an array; nil if no schema describes them
	Closed  bool                   // additional members, which no schema names, may be forbidden
	HasSlot bool                   // a slot of [spec.Event] holds the whole value, so it may have any members
	Number  bool                   // the value may be a number that is not restricted to an enumeration
}

// AllowsMembers reports whether the value is an object that may have additional members. No schema
// names such members, and clients must ignore them.
func (s *ValueShape) AllowsMembers() bool {
	return len(s.Members) > 0 && !s.Closed && !s.HasSlot
}

// Shapes returns two summaries: frames combines the schemas of the frames of all streams of the
// dialect, and replies combines the schemas of all other response bodies. Neither is nil.
func (d *Dialect) Shapes() (frames, replies *ValueShape) {
	frames, replies = &ValueShape{}, &ValueShape{}
	for _, o := range d.operations {
		for _, response := range o.node.get("responses").members() {
			for _, content := range response.get("content").members() {
				if frame := content.get("itemSchema"); frame.exists() {
					frames.add(frame, 0)
				} else {
					replies.add(content.get("schema"), 0)
				}
			}
		}
	}
	return frames, replies
}

// closingKeywords lists the schema keywords that may forbid members that the schema does not name.
var closingKeywords = []string{
	"unevaluatedProperties", "additionalProperties", "patternProperties", "propertyNames", "maxProperties",
}

// add includes the schema n in s, and the schemas of members and items in n in the summaries for
// these members and items. The argument depth is the number of schemas around n. If it exceeds
// maxDepth, add only sets s.Closed.
func (s *ValueShape) add(n node, depth int) {
	if depth > maxDepth {
		s.Closed = true
		return
	}
	for _, key := range closingKeywords {
		if keyword := n.get(key); keyword.exists() && keyword.value != true {
			s.Closed = true
		}
	}
	types := n.get("type").strings()
	number := slices.Contains(types, "integer") || slices.Contains(types, "number")
	s.Number = s.Number || number && !n.get("enum").exists()
	s.HasSlot = s.HasSlot || n.get("x-slot").exists()
	for _, key := range []string{"allOf", "oneOf", "anyOf"} {
		for _, schema := range n.get(key).items() {
			s.add(schema, depth+1)
		}
	}
	if items := n.get("items"); items.exists() {
		if s.Items == nil {
			s.Items = &ValueShape{}
		}
		s.Items.add(items, depth+1)
	}
	for name, property := range n.get("properties").members() {
		if s.Members == nil {
			s.Members = map[string]*ValueShape{}
		}
		if s.Members[name] == nil {
			s.Members[name] = &ValueShape{}
		}
		s.Members[name].add(property, depth+1)
	}
}

// An UnknownEventForm describes events whose types a document does not name. A document may allow
// servers to send such events.
type UnknownEventForm struct {
	TypeMember    string   // the name of the member that contains the type, which may be any string
	SharedMembers []string // the names of the other required members, sorted
}

// UnknownEventForm returns the form of the events whose types the document does not name. The
// second result is false if the document does not allow such events.
func (d *Dialect) UnknownEventForm() (UnknownEventForm, bool) {
	for _, o := range d.operations {
		for _, w := range o.frameVariants {
			if w.kind != spec.Unrecognized {
				continue
			}
			form, required := UnknownEventForm{}, map[string]bool{}
			for _, n := range withAllOf(w.node, 0) {
				(&objectEncoding{}).addMembers(n, required)
			}
			for _, m := range w.encoding.fields {
				if required[m.name] && m.slot == "type" && m.isOpenText() {
					form.TypeMember = m.name
					delete(required, m.name)
				}
			}
			if form.SharedMembers = slices.Sorted(maps.Keys(required)); form.TypeMember != "" {
				return form, true
			}
		}
	}
	return UnknownEventForm{}, false
}

// isOpenText reports whether every string, and nothing else, is a valid value of the member.
func (m *memberEncoding) isOpenText() bool {
	for _, key := range []string{"enum", "const", "pattern", "format", "maxLength", "minLength", "not"} {
		if m.firstKeyword(key).exists() {
			return false
		}
	}
	return slices.Equal(m.types, []string{"string"})
}
