package dialect

import (
	"slices"
	"testing"
	"testing/fstest"
)

// TestShapes checks what a document leaves open: where members may be added, which values are
// numbers, and the form of events of unknown types.
func TestShapes(t *testing.T) {
	const document = `{"openapi": "3.2.0", "info": {"title": "t", "version": "1"}, "components": {"schemas": {
		"Open": {"type": "object", "properties": {"n": {"type": ["integer", "null"]}, "one": {"type": "integer", "enum": [1]}}},
		"Sealed": {"$ref": "#/components/schemas/Open", "additionalProperties": false},
		"Tree": {"properties": {"children": {"items": {"$ref": "#/components/schemas/Tree"}}}},
		"Other": {"x-kind": "other", "required": ["name", "run", "at"], "properties": {
			"name": {"type": "string", "x-slot": "type"}, "run": {"type": "string"}, "more": {"type": "string"}}}}},
		"paths": {"/": {"get": {"responses": {
			"200": {"content": {"text/event-stream": {"itemSchema": {"oneOf": [
				{"x-kind": "reply", "properties": {"kind": {"enum": ["reply"]}, "in": {"$ref": "#/components/schemas/Open"},
					"payload": {"x-slot": "text", "properties": {"x": {}}}, "tree": {"$ref": "#/components/schemas/Tree"}}},
				{"$ref": "#/components/schemas/Other"}]}}}},
			"400": {"content": {"application/json": {"schema": {"allOf": [{"$ref": "#/components/schemas/Sealed"}]}}}}}}}}}`
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	d, err := newRegistry(fstest.MapFS{"a/1.yaml": file(document), "a/1.requirements.yaml": file("[]")}).open("a@1")
	if err != nil {
		t.Fatal(err)
	}
	frames, replies := d.Shapes()
	in := frames.Members["in"]
	for name, got := range map[string]bool{
		"frames are open": frames.AllowsMembers(), "an object within is open": in.AllowsMembers(),
		"integer or null": in.Members["n"].Number, "the type of an unknown event is not a number": !frames.Members["name"].Number,
		"a fixed integer has one form": !in.Members["one"].Number, "a payload is left alone": !frames.Members["payload"].AllowsMembers(),
		"a sealed object is not open": !replies.AllowsMembers() && replies.Members["n"].Number,
		"items are open":              frames.Members["tree"].Members["children"].Items.AllowsMembers(),
		"a value is not open":         !in.Members["n"].AllowsMembers(),
	} {
		if !got {
			t.Errorf("not so: %s", name)
		}
	}
	deep, levels := frames.Members["tree"], 0
	for ; deep != nil && deep.AllowsMembers() && levels < 100; levels++ {
		deep = deep.Members["children"].Items
	}
	if levels < 2 || levels > maxDepth {
		t.Errorf("a recursive object is open on %d levels", levels)
	}
	form, ok := d.UnknownEventForm()
	if !ok || form.TypeMember != "name" || !slices.Equal(form.SharedMembers, []string{"at", "run"}) {
		t.Errorf("unknown events have the form %+v (%t)", form, ok)
	}
}
