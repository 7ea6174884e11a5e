package script

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// compiled returns the JSON Schema of scripts, compiled for validation.
func compiled(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(SchemaID, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(SchemaID)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// instance returns a script as a decoded JSON value, which can be validated against the schema. ok
// is false if the script is not valid YAML or is empty.
func instance(t testing.TB, script string) (v any, ok bool) {
	t.Helper()
	root, err := parseYAML([]byte(script))
	if err != nil || root == nil {
		return nil, false
	}
	data, err := json.Marshal(root.decode())
	if err != nil {
		t.Fatal(err)
	}
	if v, err = jsonschema.UnmarshalJSON(bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	return v, true
}

func TestSchemaIsPublished(t *testing.T) { golden(t, "schema.json", string(Schema())) }

func TestExamplesFitTheSchema(t *testing.T) {
	s := compiled(t)
	for _, source := range examples(t) {
		v, _ := instance(t, string(source.Data))
		if err := s.Validate(v); err != nil {
			t.Errorf("%s: %v", source.Name, err)
		}
	}
}

// beyond lists the names of the invalid scripts that the schema accepts, because it cannot express
// what is wrong with them.
var beyond = map[string]bool{
	"expression": true, "after the error": true, "after the client's call": true, "after the interrupt": true,
	"template": true, "template names": true, "raw": true, "dialect": true,
}

func TestSchemaRefusesBadShapes(t *testing.T) {
	s := compiled(t)
	tried := 0
	for _, tt := range invalidScripts {
		v, ok := instance(t, tt.script)
		if !ok {
			continue
		}
		tried++
		if err := s.Validate(v); (err == nil) != beyond[tt.name] {
			t.Errorf("%s: the schema says %v", tt.name, err)
		}
	}
	if tried < 20 {
		t.Errorf("only %d scripts were tried", tried)
	}
}

func TestSchemaKnowsAllThatScriptsKnow(t *testing.T) {
	data := string(Schema())
	r := &scriptParser{}
	for word := range r.stepDecoders() {
		if !strings.Contains(data, `"`+word+`"`) {
			t.Errorf("the schema does not know %s", word)
		}
	}
}
