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

// A profile is what a dialect's document leaves open.
type profile struct {
	frameShape, replyShape *schemaShape
	memberNames            map[string]bool   // names of members anywhere in the document
	unknownEvent           *unknownEventForm // an event of a type that nobody knows; nil: the document has no form for one
	hasEventNames          bool              // the document gives events their names
	forbidden              map[Trait]bool
	keepAliveText          string // what comments have to say, "" is anything
}

// A schemaShape is what the document says about one place in a frame or reply, in all forms
// that can stand there.
type schemaShape struct {
	hasMembers bool // an object whose members are named
	closed     bool // others may not stand there
	hasSlot    bool // the value says something as a whole
	isNumber   bool // a number whose form says nothing
	members    map[string]*schemaShape
	items      *schemaShape
}

// A unknownEventForm is how an event is spelled of which the document says only that such
// events may come: the type, and what it shares with the events around it.
type unknownEventForm struct {
	typeMember    string   // the member that is its type
	sharedMembers []string // the members that every such event has
}

// The checks that speak of how frames are spelled.
const (
	plainFramesCheck = "wire.frames-are-plain"
	keepAliveCheck   = "wire.keep-alive-text"
	keepAliveComment = " keep-alive"
)

// profiles remembers what was read, as that takes longer than many a stream does.
var profiles sync.Map // *dialect.Dialect → *book

func profileOf(d *dialect.Dialect) *profile {
	if known, ok := profiles.Load(d); ok {
		return known.(*profile)
	}
	known, _ := profiles.LoadOrStore(d, loadProfile(d))
	return known.(*profile)
}

// loadProfile reads what a dialect leaves open. Of a document that cannot be read nothing is
// open.
func loadProfile(d *dialect.Dialect) *profile {
	b := &profile{frameShape: &schemaShape{}, replyShape: &schemaShape{}, memberNames: map[string]bool{}, forbidden: map[Trait]bool{}}
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

func (b *profile) allows(t Trait) bool { return !b.forbidden[t] }

func hasKind(d *dialect.Dialect, k spec.Kind) bool { return slices.Contains(d.Kinds(), k) }

// A schemaWalker reads shapes out of a document.
type schemaWalker struct {
	document map[string]any
	profile  *profile
}

// readPaths reads the shapes of all that is answered.
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

const maxDepth = 14 // documents may recur

// closingKeywords are the keywords that say something of members that are not named.
var closingKeywords = []string{"unevaluatedProperties", "additionalProperties", "patternProperties", "propertyNames", "maxProperties"}

// addShape adds what a schema says to a shape.
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

// isNumber says that a schema takes numbers and no values of which the form could
// matter.
func isNumber(schema map[string]any) bool {
	types, _ := schema["type"].([]any)
	if one, ok := schema["type"].(string); ok {
		types = []any{one}
	}
	_, fixed := schema["enum"]
	return !fixed && (slices.Contains(types, "integer") || slices.Contains(types, "number"))
}

// findUnknownEvent looks for the form of an event that the document does not name: any text
// is its type.
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

// isOpenText says that a schema takes every text.
func isOpenText(schema map[string]any) bool {
	for _, key := range []string{"enum", "const", "pattern", "format", "maxLength", "minLength", "not"} {
		if _, there := schema[key]; there {
			return false
		}
	}
	return schema["type"] == "string"
}

// collectNames notes every name of a member in the document.
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

// resolve is an object, through references.
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

// mergeReference is a schema with what stands beside the reference to it.
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

func asObject(v any) map[string]any { m, _ := v.(map[string]any); return m }
