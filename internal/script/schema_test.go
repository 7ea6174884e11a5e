package script

import (
	stdcmp "cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/reference"
)

// TestSchemaKnowsFaultsAndOperations checks that the schema lists all faults, with their
// parameters, and all operations. With -update, it writes them to the schema.
func TestSchemaKnowsFaultsAndOperations(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal(Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	defs := schema["$defs"].(map[string]any)
	operations := slices.DeleteFunc(slices.Clone(reference.OperationKinds), func(kind string) bool { return kind == "" })
	defs["operation"] = map[string]any{"enum": operations}
	for name := range defs {
		if strings.HasPrefix(name, "fault-") {
			delete(defs, name)
		}
	}
	var names []string
	all := map[string]any{}
	for _, f := range fault.All {
		names = append(names, f.Name)
		params := map[string]any{}
		for _, p := range f.AllParams() {
			isOwn := slices.ContainsFunc(f.Params, func(own fault.Param) bool { return own.Name == p.Name })
			if params[p.Name] = paramSchema(p); !isOwn { // shared by several faults
				defs["fault-"+p.Name] = paramSchema(p)
				params[p.Name] = map[string]any{"$ref": "#/$defs/fault-" + p.Name}
			}
		}
		all[f.Name] = map[string]any{
			"description": f.Doc, "type": []string{"object", "null"}, "additionalProperties": false, "properties": params,
		}
	}
	slices.Sort(names)
	options := defs["faults"].(map[string]any)["items"].(map[string]any)["anyOf"].([]any)
	options[0].(map[string]any)["enum"] = names
	options[1].(map[string]any)["properties"] = all
	golden(t, "schema.json", formatJSON(t, schema, 0)+"\n")
}

// formatJSON returns v as JSON text, indented by depth tabs. An object or array that fits in a line is
// written in one.
func formatJSON(t *testing.T, v any, depth int) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	line := strings.TrimSuffix(b.String(), "\n")
	const maxLine = 600
	var items []string
	open, end := "{", "}"
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			items = append(items, strconv.Quote(name)+": "+formatJSON(t, v[name], depth+1))
		}
	case []any:
		open, end = "[", "]"
		for _, item := range v {
			items = append(items, formatJSON(t, item, depth+1))
		}
	}
	if len(line)+depth <= maxLine || len(items) == 0 {
		return line
	}
	indent := "\n" + strings.Repeat("\t", depth)
	return open + indent + "\t" + strings.Join(items, ","+indent+"\t") + indent + end
}

// paramSchema returns the schema of a parameter of a fault. It has no bounds, because numbers may
// be written as strings; Load checks the bounds.
func paramSchema(p fault.Param) map[string]any {
	s := map[string]any{"description": p.Doc}
	if len(p.Enum) > 0 {
		s["enum"] = p.Enum
	} else {
		s["type"] = []string{"string", "number", "boolean", "array"}
	}
	if p.Default != "" {
		s["default"] = p.Default
	}
	return s
}

// TestSchemaFitsTheDecoder checks that every member that the schema knows has a place in the
// decoded rule, and that every kind of step has a kind of event.
func TestSchemaFitsTheDecoder(t *testing.T) {
	defs := schemaDocument().(schemaNode)["$defs"].(schemaNode)
	steps := slices.Sorted(maps.Keys(defs["step"].(schemaNode)["properties"].(schemaNode)))
	if diff := cmp.Diff(slices.Sorted(maps.Keys(stepKinds)), steps); diff != "" {
		t.Errorf("kinds of steps (-decoder +schema):\n%s", diff)
	}
	for def, of := range map[string]any{"rule": ruleDocument{}, "when": conditions{}} {
		var fields []string
		for field := range reflect.TypeOf(of).Fields() {
			fields = append(fields, stdcmp.Or(field.Tag.Get("yaml"), strings.ToLower(field.Name)))
		}
		slices.Sort(fields)
		known := slices.Sorted(maps.Keys(defs[def].(schemaNode)["properties"].(schemaNode)))
		if diff := cmp.Diff(fields, known); diff != "" {
			t.Errorf("members of %s (-decoder +schema):\n%s", def, diff)
		}
	}
}
