package script

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/streamassay/streamassay/internal/near"
	"github.com/streamassay/streamassay/internal/yamltree"
)

// schemaText is the text of the JSON Schema of scripts.
//
//go:embed schema.json
var schemaText []byte

// Schema returns a copy of the JSON Schema of scripts (draft 2020-12), for use in editors. [Load]
// validates scripts against it. Load also checks what the schema does not cover: names, templates
// and the order of steps.
//
// A subschema can have the non-standard keyword errorMessage, which some editors support. It
// contains the message to show for a value that violates the subschema.
func Schema() []byte { return bytes.Clone(schemaText) }

// SchemaID is the "$id" of the JSON Schema of scripts.
const SchemaID = "https://github.com/streamassay/streamassay/internal/script/schema.json"

// A schemaNode is a JSON object in the decoded JSON Schema of scripts.
type schemaNode = map[string]any

// schemaDocument returns the JSON Schema of scripts as a decoded JSON value.
var schemaDocument = sync.OnceValue(func() any {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemaText))
	if err != nil { // cannot happen: a test decodes the same text
		panic(fmt.Sprintf("cannot decode the schema of scripts: %v", err))
	}
	return doc
})

// compiledSchema returns the JSON Schema of scripts, compiled for validation. It also validates the
// formats "go-duration" (see checkDuration) and "re2" (the syntax of package regexp), which are
// specific to scripts.
var compiledSchema = sync.OnceValue(func() *jsonschema.Schema {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.RegisterFormat(&jsonschema.Format{Name: "go-duration", Validate: textFormat(checkDuration)})
	c.RegisterFormat(&jsonschema.Format{Name: "re2", Validate: textFormat(func(text string) error {
		_, err := regexp.Compile(text)
		return err
	})})
	if err := c.AddResource(SchemaID, schemaDocument()); err != nil { // cannot happen, as above
		panic(fmt.Sprintf("cannot read the schema of scripts: %v", err))
	}
	return c.MustCompile(SchemaID)
})

// textFormat returns a validation function for a JSON Schema format. The function applies check to
// strings, and accepts all other values.
func textFormat(check func(text string) error) func(any) error {
	return func(v any) error {
		if text, ok := v.(string); ok {
			return check(text)
		}
		return nil
	}
}

// checkDuration returns an error unless text is a duration from 0 to maxDuration in the notation of
// [time.ParseDuration].
func checkDuration(text string) error {
	d, err := time.ParseDuration(text)
	if err == nil && (d < 0 || d > maxDuration) {
		err = errors.New("out of range")
	}
	return err
}

// checkSchema validates value, the decoded value of the node root, against the schema. It adds an
// error to d.problems for each violation, but omits duplicates and violations that may be due to an
// unknown key. It returns the locations of the invalid values, or nil if there are none. A location
// consists of the keys and indexes that lead from root to the value. If a value violates the schema
// in several ways, its location is returned several times.
func (d *decoder) checkSchema(root ast.Node, value any) (locations [][]string) {
	err, _ := compiledSchema().Validate(value).(*jsonschema.ValidationError)
	if err == nil {
		return nil
	}
	var problems []Problem
	violations := appendViolations(nil, root, err)
	for _, v := range violations {
		// A value that lacks something may have it under the unknown key.
		isConsequence := func(other schemaViolation) bool {
			return v.isIncomplete && other.hasUnknownKey && slices.Equal(v.location, other.location)
		}
		if slices.ContainsFunc(violations, isConsequence) {
			continue
		}
		problems = append(problems, d.problem(v.node, Error, "%s", v.message))
		locations = append(locations, v.location)
	}
	slices.SortStableFunc(problems, Problem.compare)
	for _, p := range slices.Compact(problems) { // several keywords of one schema may have the same message
		d.add(p)
	}
	return locations
}

// A schemaViolation is a violation of the schema by a value in a script.
type schemaViolation struct {
	location []string // the keys and indexes that lead to the value
	node     ast.Node // the node of the value, or of the key that is not allowed
	message  string   // the message for the user

	hasUnknownKey bool // the value has an unknown key
	isIncomplete  bool // the value has none of the keys of which it must have one
}

// appendViolations returns all with the violations that e describes appended. The argument e is an
// error from validating the value of root. If a value matches none of several alternative schemas,
// only the alternatives that accept the type of the value are considered.
func appendViolations(all []schemaViolation, root ast.Node, e *jsonschema.ValidationError) []schemaViolation {
	node, schema := lookup(root, e.InstanceLocation...), schemaAt(e.SchemaURL)
	text, _ := schema["errorMessage"].(string)
	causes := e.Causes
	add := func(n ast.Node, message string) {
		_, hasUnknownKey := e.ErrorKind.(*kind.AdditionalProperties)
		_, isIncomplete := e.ErrorKind.(*kind.AnyOf)
		all = append(all, schemaViolation{e.InstanceLocation, n, message, hasUnknownKey, isIncomplete})
	}
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		properties, _ := schema["properties"].(schemaNode)
		known := slices.Collect(maps.Keys(properties))
		keys := slices.Sorted(slices.Values(k.Properties)) // the validator returns them in any order
		if strings.HasSuffix(e.SchemaURL, "/$defs/step") {
			var message string
			if message, keys = misplacedKeys(keys); message != "" {
				add(node, message+", not to "+nameOf(node))
			}
		}
		for _, key := range keys {
			why := fmt.Sprintf("key %s is not allowed: %s %s", quoteTruncated(key), nameOf(node), text)
			if known != nil {
				why = "unknown key " + quoteTruncated(key) + " in " + nameOf(node) + near.Suggest(key, known)
			}
			add(member(node, key).Key, why)
		}
		return all
	case *kind.MaxProperties:
		properties, _ := schema["properties"].(schemaNode)
		known := 0
		for _, m := range yamltree.Fields(node) {
			if properties[scalarText(m.Key)] != nil {
				known++
			}
		}
		if known > 0 && known <= k.Want {
			return all // the other keys are unknown, which is a violation of its own
		}
	case *kind.AnyOf:
		causes = slices.DeleteFunc(slices.Clone(causes), func(c *jsonschema.ValidationError) bool {
			return len(c.InstanceLocation) == len(e.InstanceLocation) && !acceptsType(schemaAt(c.SchemaURL), node)
		})
	case *kind.Reference:
		if text != "" {
			causes = nil
		}
	case *kind.Schema, *kind.Group, *kind.AllOf:
	default:
		causes = nil
	}
	if len(causes) > 0 {
		for _, cause := range causes {
			all = appendViolations(all, root, cause)
		}
		return all
	}
	if text == "" {
		text = defaultMessage(e.ErrorKind)
	}
	if strings.HasPrefix(text, "must be ") {
		text += ", got " + describe(node)
	}
	add(node, nameOf(node)+" "+text)
	return all
}

// misplacedKeys splits the keys of a step into those that are keys of a rule or of the script, and
// others. The message says where the former belong, such as "times belongs to the rule"; it is ""
// if there are none.
func misplacedKeys(keys []string) (message string, others []string) {
	var parts []string
	for _, owner := range []struct{ name, url string }{
		{"script", SchemaID + "#/properties"}, {"rule", SchemaID + "#/$defs/rule/properties"},
	} {
		own := schemaAt(owner.url)
		var found []string
		others = nil
		for _, key := range keys {
			if own[key] != nil {
				found = append(found, key)
			} else {
				others = append(others, key)
			}
		}
		if keys = others; len(found) == 1 {
			parts = append(parts, found[0]+" belongs to the "+owner.name)
		} else if len(found) > 1 {
			parts = append(parts, joinNames(found)+" belong to the "+owner.name)
		}
	}
	return strings.Join(parts, " and "), others
}

// schemaAt returns the object in the JSON Schema of scripts to which schemaURL refers. The fragment
// of that URL is a JSON pointer. The result is nil if there is no such object.
func schemaAt(schemaURL string) schemaNode {
	u, err := url.Parse(schemaURL)
	if err != nil {
		return nil
	}
	v, _ := lookupPointer(schemaDocument(), u.Fragment)
	schema, _ := v.(schemaNode)
	return schema
}

// acceptsType reports whether the schema s accepts values of the type of the node n.
func acceptsType(s schemaNode, n ast.Node) bool {
	if to, ok := s["$ref"].(string); ok {
		s = schemaAt(to)
	}
	types := fmt.Sprint(s["type"])
	if _, ok := s["enum"]; ok {
		types = "string"
	}
	name := map[ast.NodeType]string{
		ast.MappingType: "object", ast.SequenceType: "array", ast.StringType: "string", ast.LiteralType: "string",
		ast.IntegerType: "integer", ast.FloatType: "number", ast.BoolType: "boolean", ast.NullType: "null",
	}[n.Type()]
	return strings.Contains(types, name) || name == "integer" && strings.Contains(types, "number")
}

// defaultMessage returns the message for a violation of a schema that has no errorMessage. The
// argument violated is the violated keyword. The message is a verb phrase that follows the name of
// the value, such as "needs name".
func defaultMessage(violated jsonschema.ErrorKind) string {
	switch k := violated.(type) {
	case *kind.Required:
		return "needs " + joinNames(k.Missing)
	case *kind.MaxItems:
		return fmt.Sprintf("has %d items, at most %d are allowed", k.Got, k.Want)
	case *kind.Enum:
		known := make([]string, len(k.Want))
		for i, v := range k.Want {
			known[i] = fmt.Sprint(v)
		}
		got := fmt.Sprint(k.Got)
		if name, _, ok := strings.Cut(got, ";"); ok && slices.Contains(known, name) { // the form of --fault
			return fmt.Sprintf("has the unknown value %s: parameters are an object (e.g. {%s: {event: 3}})",
				quoteTruncated(got), name)
		}
		return "has the unknown value " + quoteTruncated(got) + near.Suggest(got, known)
	case *kind.Type:
		want := strings.NewReplacer("array", "a list", "object", "an object", "string", "a string", "number", "a number",
			"integer", "an integer", "boolean", "true or false", "null", "null")
		return fmt.Sprintf("is %s, want %s", want.Replace(k.Got), want.Replace(strings.Join(k.Want, " or ")))
	}
	return "is not valid: " + violated.LocalizedString(message.NewPrinter(language.English))
}

// omittedPathParts matches the parts of a node's path that messages omit: "$" or "$.rules[N]" at
// the beginning, with a dot that follows, and indexes in brackets anywhere.
var omittedPathParts = regexp.MustCompile(`^\$(\.rules\[\d+\])?\.?|\[\d+\]`)

// nameOf returns the name of a node for messages. The name consists of the keys that lead from the
// rule to the node, without indexes, such as "when.text.matches" or "an item of reply". The name of
// a whole rule is "a rule", and that of the whole script is "a script".
func nameOf(n ast.Node) string {
	path := n.GetPath()
	switch name := truncate(omittedPathParts.ReplaceAllString(path, ""), 80); {
	case name != "" && strings.HasSuffix(path, "]"):
		return "an item of " + name
	case name != "":
		return name
	case path == "$":
		return "a script"
	default:
		return "a rule"
	}
}
