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

// A book is what a dialect's document leaves open.
type book struct {
	frames, replies *shape
	known           map[string]bool // names of members anywhere in the document
	unknown         *stranger       // an event of a type that nobody knows; nil: the document has no form for one
	named           bool            // the document gives events their names
	barred          map[Trait]bool
	says            string // what comments have to say, "" is anything
}

// A shape is what the document says about one place in a frame or reply, in all forms
// that can stand there.
type shape struct {
	described bool // an object whose members are named
	closed    bool // others may not stand there
	carried   bool // the value says something as a whole
	number    bool // a number whose form says nothing
	members   map[string]*shape
	items     *shape
}

// A stranger is how an event is spelled of which the document says only that such
// events may come: the type, and what it shares with the events around it.
type stranger struct {
	kind   string   // the member that is its type
	shared []string // the members that every such event has
}

// The checks that speak of how frames are spelled.
const (
	plainFrames  = "wire.frames-are-plain"
	keepAlive    = "wire.keep-alive-text"
	keepAliveSay = " keep-alive"
)

// books remembers what was read, as that takes longer than many a stream does.
var books sync.Map // *dialect.Dialect → *book

func bookOf(d *dialect.Dialect) *book {
	if known, ok := books.Load(d); ok {
		return known.(*book)
	}
	known, _ := books.LoadOrStore(d, read(d))
	return known.(*book)
}

// read reads what a dialect leaves open. Of a document that cannot be read nothing is
// open.
func read(d *dialect.Dialect) *book {
	b := &book{frames: &shape{}, replies: &shape{}, known: map[string]bool{}, barred: map[Trait]bool{}}
	text, err := d.Document()
	var tree map[string]any
	if err == nil {
		err = yaml.Unmarshal(text, &tree)
	}
	w := walker{tree: tree, book: b}
	if err == nil {
		w.paths()
		w.names(tree)
	}
	plain := demands(d, plainFrames)
	for _, t := range []Trait{Retry, UnknownFields} {
		b.barred[t] = plain
	}
	b.barred[EventNames] = plain || b.named
	b.barred[EventIDs] = plain || hasKind(d, spec.SlotCursor)
	b.barred[UnknownMembers] = err != nil
	b.barred[UnknownEvents] = b.unknown == nil
	b.barred[Cursors] = !openCursors(d)
	if demands(d, keepAlive) {
		b.says = keepAliveSay
	}
	return b
}

func (b *book) allows(t Trait) bool { return !b.barred[t] }

func hasKind(d *dialect.Dialect, k spec.Kind) bool { return slices.Contains(d.Kinds(), k) }

// A walker reads shapes out of a document.
type walker struct {
	tree map[string]any
	book *book
}

// paths reads the shapes of all that is answered.
func (w walker) paths() {
	for _, item := range object(w.tree["paths"]) {
		for _, operation := range w.object(item) {
			if object(w.object(operation)["x-stream"])["event"] != nil {
				w.book.named = true
			}
			for _, response := range w.object(w.object(operation)["responses"]) {
				for _, content := range w.object(w.object(response)["content"]) {
					content := w.object(content)
					if frame := content["itemSchema"]; frame != nil {
						w.shape(w.book.frames, frame, 0)
						w.strangers(frame, 0)
					} else if reply := content["schema"]; reply != nil {
						w.shape(w.book.replies, reply, 0)
					}
				}
			}
		}
	}
}

const deepest = 14 // documents may recur

// closing are the keywords that say something of members that are not named.
var closing = []string{"unevaluatedProperties", "additionalProperties", "patternProperties", "propertyNames", "maxProperties"}

// shape adds what a schema says to a shape.
func (w walker) shape(s *shape, schema any, depth int) {
	m := w.object(schema)
	if depth > deepest {
		s.closed = true
		return
	}
	for _, key := range closing {
		if v, there := m[key]; there && v != true {
			s.closed = true
		}
	}
	if _, slot := m["x-slot"]; slot {
		s.carried = true
	}
	if isNumber(m) {
		s.number = true
	}
	for _, key := range []string{"allOf", "oneOf", "anyOf"} {
		list, _ := m[key].([]any)
		for _, choice := range list {
			w.shape(s, choice, depth+1)
		}
	}
	if items := m["items"]; items != nil {
		if s.items == nil {
			s.items = &shape{}
		}
		w.shape(s.items, items, depth+1)
	}
	for name, property := range object(m["properties"]) {
		if s.members == nil {
			s.members = map[string]*shape{}
		}
		if s.members[name] == nil {
			s.members[name] = &shape{}
		}
		s.described = true
		w.shape(s.members[name], property, depth+1)
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

// strangers looks for the form of an event that the document does not name: any text
// is its type.
func (w walker) strangers(schema any, depth int) {
	m := w.object(schema)
	if m["x-kind"] == string(spec.Unrecognized) {
		required, _ := m["required"].([]any)
		found := &stranger{}
		for _, name := range required {
			name, _ := name.(string)
			property := w.object(object(m["properties"])[name])
			switch {
			case property["x-slot"] == "type" && openText(property):
				found.kind = name
			case name != "":
				found.shared = append(found.shared, name)
			}
		}
		if found.kind != "" {
			w.book.unknown = found
		}
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		list, _ := m[key].([]any)
		for _, choice := range list {
			if depth < deepest {
				w.strangers(choice, depth+1)
			}
		}
	}
}

// openText says that a schema takes every text.
func openText(schema map[string]any) bool {
	for _, key := range []string{"enum", "const", "pattern", "format", "maxLength", "minLength", "not"} {
		if _, there := schema[key]; there {
			return false
		}
	}
	return schema["type"] == "string"
}

// names notes every name of a member in the document.
func (w walker) names(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name := range object(v["properties"]) {
			w.book.known[name] = true
		}
		required, _ := v["required"].([]any)
		for _, name := range required {
			name, _ := name.(string)
			w.book.known[name] = true
		}
		for member := range maps.Values(v) {
			w.names(member)
		}
	case []any:
		for _, member := range v {
			w.names(member)
		}
	}
}

// object is an object, through references.
func (w walker) object(v any) map[string]any {
	m := object(v)
	for range 32 {
		ref, ok := m["$ref"].(string)
		if !ok || !strings.HasPrefix(ref, "#/") {
			break
		}
		var at any = w.tree
		for token := range strings.SplitSeq(ref[2:], "/") {
			at = object(at)[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)]
		}
		m = beside(object(at), m)
	}
	return m
}

// beside is a schema with what stands beside the reference to it.
func beside(target, reference map[string]any) map[string]any {
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

func object(v any) map[string]any { m, _ := v.(map[string]any); return m }
