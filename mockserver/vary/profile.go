package vary

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A profile describes which variations the document and the catalogue of a dialect allow.
type profile struct {
	frameShape, replyShape *schemaShape
	memberNames            map[string]bool   // all member names in the document
	unknownEvent           *unknownEventForm // form of events of unknown types; nil: not allowed
	hasEventNames          bool              // the document defines event names
	forbidden              map[Trait]bool
	keepAliveText          string // required text of comments; "": any
}

// A schemaShape summarizes the schemas that apply to a value at one place in a frame or response
// body. A field is set if at least one of these schemas states the property.
type schemaShape struct {
	hasMembers bool // an object with named members
	closed     bool // additional members are not allowed
	hasSlot    bool // the value as a whole is the value of a slot
	isNumber   bool // a number, in any form
	members    map[string]*schemaShape
	items      *schemaShape
}

// An unknownEventForm describes how a document allows events of types that it does not name.
type unknownEventForm struct {
	typeMember    string   // the member that contains the type
	sharedMembers []string // other required members, which have the same values as in known events
}

// The ids of the checks that restrict the encoding of frames in dialects with requirements that
// they serve, and the text of comments that keepAliveCheck demands.
const (
	plainFramesCheck = "wire.frames-are-plain"
	keepAliveCheck   = "wire.keep-alive-text"
	keepAliveComment = " keep-alive"
)

// profiles caches the profiles of dialects, because it takes long to derive a profile from a
// document.
var profiles sync.Map // *dialect.Dialect → *profile

// profileOf returns the profile of a dialect, from the cache if possible.
func profileOf(d *dialect.Dialect) *profile {
	if known, ok := profiles.Load(d); ok {
		return known.(*profile)
	}
	known, _ := profiles.LoadOrStore(d, loadProfile(d))
	return known.(*profile)
}

// loadProfile derives the profile of a dialect from its document and catalogue. If the
// document does not parse, additional members and events are forbidden.
func loadProfile(d *dialect.Dialect) *profile {
	b := &profile{
		frameShape: &schemaShape{}, replyShape: &schemaShape{},
		memberNames: map[string]bool{}, forbidden: map[Trait]bool{},
	}
	text, err := d.Document()
	var tree map[string]any
	if err == nil {
		err = yaml.Unmarshal(text, &tree)
	}
	w := schemaWalker{document: tree, profile: b}
	if err == nil {
		w.readPaths()
		w.collectNames(tree)
	}
	plain := requiresCheck(d, plainFramesCheck)
	for _, t := range []Trait{Retry, UnknownFields} {
		b.forbidden[t] = plain
	}
	b.forbidden[EventNames] = plain || b.hasEventNames
	b.forbidden[EventIDs] = plain || hasKind(d, spec.SlotCursor)
	b.forbidden[UnknownMembers] = err != nil
	b.forbidden[UnknownEvents] = b.unknownEvent == nil
	b.forbidden[Cursors] = !allowsAnyCursor(d)
	if requiresCheck(d, keepAliveCheck) {
		b.keepAliveText = keepAliveComment
	}
	return b
}

// allows reports whether responses of the dialect may have the trait t.
func (b *profile) allows(t Trait) bool { return !b.forbidden[t] }

// hasKind reports whether the document of dialect d defines k, an event kind or a slot.
func hasKind(d *dialect.Dialect, k spec.Kind) bool { return slices.Contains(d.Kinds(), k) }

// A schemaWalker walks through the schemas of an OpenAPI document and collects what they allow in a
// profile.
type schemaWalker struct {
	document map[string]any
	profile  *profile
}

// readPaths adds the shapes of the frames and bodies of all responses in the document to the
// profile, and sets hasEventNames in the profile if events have names.
func (w schemaWalker) readPaths() {
	for _, item := range asObject(w.document["paths"]) {
		for _, operation := range w.resolve(item) {
			if asObject(w.resolve(operation)["x-stream"])["event"] != nil {
				w.profile.hasEventNames = true
			}
			for _, response := range w.resolve(w.resolve(operation)["responses"]) {
				for _, content := range w.resolve(w.resolve(response)["content"]) {
					content := w.resolve(content)
					if frame := content["itemSchema"]; frame != nil {
						w.addShape(w.profile.frameShape, frame, 0)
						w.findUnknownEvent(frame, 0)
					} else if reply := content["schema"]; reply != nil {
						w.addShape(w.profile.replyShape, reply, 0)
					}
				}
			}
		}
	}
}

// maxDepth is the number of nested schemas after which the walk through a document stops, because
// schemas may be recursive.
const maxDepth = 14

// closingKeywords lists the schema keywords that may forbid members that the schema does not name.
var closingKeywords = []string{
	"unevaluatedProperties", "additionalProperties", "patternProperties", "propertyNames", "maxProperties",
}

// addShape adds to the shape s the properties that schema states, and does the same for the members
// and items inside it. depth is the number of schemas around this one. If it exceeds maxDepth,
// addShape only marks s as closed, so that no members are added there.
func (w schemaWalker) addShape(s *schemaShape, schema any, depth int) {
	m := w.resolve(schema)
	if depth > maxDepth {
		s.closed = true
		return
	}
	for _, key := range closingKeywords {
		if v, there := m[key]; there && v != true {
			s.closed = true
		}
	}
	if _, slot := m["x-slot"]; slot {
		s.hasSlot = true
	}
	if isNumber(m) {
		s.isNumber = true
	}
	for _, key := range []string{"allOf", "oneOf", "anyOf"} {
		list, _ := m[key].([]any)
		for _, choice := range list {
			w.addShape(s, choice, depth+1)
		}
	}
	if items := m["items"]; items != nil {
		if s.items == nil {
			s.items = &schemaShape{}
		}
		w.addShape(s.items, items, depth+1)
	}
	for name, property := range asObject(m["properties"]) {
		if s.members == nil {
			s.members = map[string]*schemaShape{}
		}
		if s.members[name] == nil {
			s.members[name] = &schemaShape{}
		}
		s.hasMembers = true
		w.addShape(s.members[name], property, depth+1)
	}
}

// isNumber reports whether a schema accepts numbers in any form: its type is a number, and it does
// not list the allowed values.
func isNumber(schema map[string]any) bool {
	types, _ := schema["type"].([]any)
	if one, ok := schema["type"].(string); ok {
		types = []any{one}
	}
	_, fixed := schema["enum"]
	return !fixed && (slices.Contains(types, "integer") || slices.Contains(types, "number"))
}

// findUnknownEvent searches schema, a schema of frames, and its alternatives for the variant that
// describes events of unknown types. If there is one, it stores the form of such events in the
// profile. depth is the number of schemas around this one.
func (w schemaWalker) findUnknownEvent(schema any, depth int) {
	m := w.resolve(schema)
	if m["x-kind"] == string(spec.Unrecognized) {
		required, _ := m["required"].([]any)
		found := &unknownEventForm{}
		for _, name := range required {
			name, _ := name.(string)
			property := w.resolve(asObject(m["properties"])[name])
			switch {
			case property["x-slot"] == "type" && isOpenText(property):
				found.typeMember = name
			case name != "":
				found.sharedMembers = append(found.sharedMembers, name)
			}
		}
		if found.typeMember != "" {
			w.profile.unknownEvent = found
		}
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		list, _ := m[key].([]any)
		for _, choice := range list {
			if depth < maxDepth {
				w.findUnknownEvent(choice, depth+1)
			}
		}
	}
}

// isOpenText reports whether a schema accepts every string.
func isOpenText(schema map[string]any) bool {
	for _, key := range []string{"enum", "const", "pattern", "format", "maxLength", "minLength", "not"} {
		if _, there := schema[key]; there {
			return false
		}
	}
	return schema["type"] == "string"
}

// collectNames adds the names of members to the profile: all those that a schema within v, a part
// of the document, defines or requires.
func (w schemaWalker) collectNames(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name := range asObject(v["properties"]) {
			w.profile.memberNames[name] = true
		}
		required, _ := v["required"].([]any)
		for _, name := range required {
			name, _ := name.(string)
			w.profile.memberNames[name] = true
		}
		for member := range maps.Values(v) {
			w.collectNames(member)
		}
	case []any:
		for _, member := range v {
			w.collectNames(member)
		}
	}
}

// resolve returns v, a part of the document, as an object. If v is a reference, it returns the
// object to which the reference points. If v is not an object, it returns nil.
func (w schemaWalker) resolve(v any) map[string]any {
	m := asObject(v)
	for range 32 {
		ref, ok := m["$ref"].(string)
		if !ok || !strings.HasPrefix(ref, "#/") {
			break
		}
		var at any = w.document
		for token := range strings.SplitSeq(ref[2:], "/") {
			at = asObject(at)[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)]
		}
		m = mergeReference(asObject(at), m)
	}
	return m
}

// mergeReference returns target, the object to which reference points, with the other keywords of
// reference added. It copies target if it has to add any.
func mergeReference(target, reference map[string]any) map[string]any {
	if len(reference) == 1 {
		return target
	}
	both := maps.Clone(target)
	if both == nil {
		both = map[string]any{}
	}
	for key, v := range reference {
		if key != "$ref" {
			both[key] = v
		}
	}
	return both
}

// asObject returns v if it is an object, otherwise nil.
func asObject(v any) map[string]any { m, _ := v.(map[string]any); return m }
