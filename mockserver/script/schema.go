package script

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/streamassay/streamassay/mockserver/fault"
)

// Schema returns the JSON Schema of scripts (draft 2020-12), for editors. It describes the shape of
// a script; names, templates and the order of steps are checked by [Load] only. The file
// schema.json holds the same text.
func Schema() []byte {
	data, err := json.MarshalIndent(scriptSchema(), "", "  ")
	if err != nil { // cannot happen: the schema consists of maps, lists and strings
		panic(fmt.Sprintf("cannot encode the schema of scripts: %v", err))
	}
	return append(data, '\n')
}

// SchemaID is the "$id" of the JSON Schema of scripts.
const SchemaID = "https://github.com/streamassay/streamassay/mockserver/script/schema.json"

type schemaObject = map[string]any

func scriptSchema() schemaObject {
	return schemaObject{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"$id":     SchemaID,
		"title":   "A script of the mock server",
		"type":    "object", "additionalProperties": false, "required": []string{"rules"},
		"properties": schemaObject{
			"dialects": describe("the dialects that the rules are for (default: all)", schemaRef("names")),
			"defaults": describe("settings of rules that do not have their own", closedObject(schemaObject{
				"pace": schemaRef("pace"), "faults": schemaRef("faults")})),
			"rules": schemaObject{"type": "array", "maxItems": maxRules, "items": schemaRef("rule")},
		},
		"$defs": addSharedParams(schemaObject{
			"name": schemaObject{"type": textTypes, "minLength": 1},
			"names": schemaObject{"anyOf": []any{
				schemaRef("name"), schemaObject{"type": "array", "minItems": 1, "items": schemaRef("name")}}},
			"text": schemaObject{"type": textTypes},
			"duration": schemaObject{"anyOf": []any{
				schemaObject{"type": "string", "pattern": `^\+?(0|([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`},
				schemaObject{"const": 0}}},
			"texts": schemaObject{"anyOf": []any{schemaRef("text"), matcherSchema(schemaRef("text"))}},
			"steps": schemaObject{"type": "object", "maxProperties": maxMembers, "additionalProperties": schemaRef("name")},
			"call":  closedObject(schemaObject{"name": schemaRef("name"), "arguments": schemaObject{}}, "name"),
			"answered": closedObject(schemaObject{"name": schemaRef("name"), "arguments": schemaObject{}, "result": schemaObject{}},
				"name", "result"),
			"rule": ruleSchema(),
			"when": whenSchema(),
			"step": stepSchema("text", "reasoning", "image", "message", "tool", "tools", "client-tool", "interrupt",
				"error", "raw", "wait"),
			"part":   stepSchema("text", "image", "wait", "error"),
			"pace":   paceSchema(),
			"faults": faultsSchema(),
		}),
	}
}

// textTypes are the JSON types of values that scripts accept as text.
var textTypes = []string{"string", "number", "boolean"}

func schemaRef(name string) schemaObject { return schemaObject{"$ref": "#/$defs/" + name} }

// describe adds a description to a schema and returns the schema.
func describe(what string, of schemaObject) schemaObject { of["description"] = what; return of }

// closedObject returns the schema of an object that may have the given properties and no others.
// required lists the properties that it must have.
func closedObject(properties schemaObject, required ...string) schemaObject {
	d := schemaObject{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		d["required"] = required
	}
	return d
}

func intSchema(low, high int) schemaObject {
	return schemaObject{"type": "integer", "minimum": low, "maximum": high}
}

func matcherSchema(equals schemaObject) schemaObject {
	d := closedObject(schemaObject{
		"equals": equals, "contains": schemaRef("text"), "exists": schemaObject{"type": "boolean"},
		"matches": describe("a regular expression (RE2); its groups are .Match in templates", schemaObject{"type": textTypes}),
	})
	d["minProperties"] = 1
	return d
}

func ruleSchema() schemaObject {
	d := closedObject(schemaObject{
		"name": describe("the name of the rule in the journal", schemaRef("name")),
		"priority": describe("rules of higher priority are tried first, those of the same priority in order",
			intSchema(-1_000_000, 1_000_000)),
		"when": schemaRef("when"),
		"reply": describe("the events of the reply, independent of the dialect", schemaObject{"anyOf": []any{
			schemaObject{"type": textTypes}, schemaObject{"type": "array", "maxItems": maxSteps, "items": schemaRef("step")}}}),
		"status": describe("an error response instead of a reply", schemaObject{"anyOf": []any{
			intSchema(400, 599),
			closedObject(schemaObject{
				"code": intSchema(400, 599), "text": schemaRef("text"), "problem": schemaRef("text"),
				"retry-after": schemaRef("duration")}, "code")}}),
		"default": describe("the server's own agent replies", schemaObject{"const": true}),
		"pace":    schemaRef("pace"),
		"faults":  schemaRef("faults"),
		"set":     describe("the steps that scenarios move to when the rule matches", schemaRef("steps")),
		"times":   describe("the maximum number of matches", intSchema(1, 1_000_000_000)),
		"quota": describe("the number of requests per time window; further ones are refused with 429", closedObject(
			schemaObject{"requests": intSchema(1, 1_000_000_000), "per": schemaRef("duration")}, "requests", "per")),
		"violates": describe("the raw frames of the rule violate the protocol on purpose", schemaObject{"const": true}),
	})
	var one []any
	for _, name := range []string{"reply", "status", "default", "pace", "faults", "quota", "set"} {
		one = append(one, schemaObject{"required": []string{name}})
	}
	d["anyOf"] = one
	d["allOf"] = []any{
		schemaObject{"not": schemaObject{"required": []string{"reply", "status"}}},
		schemaObject{"not": schemaObject{"required": []string{"reply", "default"}}},
		schemaObject{"not": schemaObject{"required": []string{"status", "default"}}},
		// reply is for operation run only
		schemaObject{"not": schemaObject{"required": []string{"reply", "when"}, "properties": schemaObject{
			"when": schemaObject{
				"required": []string{"operation"}, "properties": schemaObject{"operation": schemaObject{
					"not": schemaObject{"enum": []any{runOperation, []string{runOperation}}}}}}}}},
	}
	return d
}

func whenSchema() schemaObject {
	operation := schemaObject{"enum": operationNames()}
	number := intSchema(1, 1<<31-1)
	turn := schemaObject{"anyOf": []any{number, closedObject(schemaObject{"min": number, "max": number})}}
	result := closedObject(schemaObject{
		"name": schemaRef("texts"), "call": schemaRef("texts"), "text": schemaRef("texts")})
	matched := matcherSchema(schemaObject{})
	return closedObject(schemaObject{
		"operation": describe("the operation that is requested (default: run)", schemaObject{"anyOf": []any{
			operation, schemaObject{"type": "array", "minItems": 1, "items": operation}}}),
		"text": describe("the text of the user's last message", schemaRef("texts")),
		"turn": describe("the number of the user's last message, from 1", turn),
		"last": describe("the kind of input that the request ends with", schemaObject{
			"enum": []string{lastUser, lastTool, lastResume}}),
		"resume":      describe("the answer to an interrupt", schemaRef("texts")),
		"tool-result": describe("the result of a client tool", result),
		"offers":      describe("the tools that the client offers", schemaRef("names")),
		"thread":      schemaRef("texts"),
		"run":         schemaRef("texts"),
		"header": describe("header fields, by name", schemaObject{
			"type": "object", "maxProperties": maxMembers, "additionalProperties": schemaRef("texts")}),
		"body": describe("values in the body, by JSON pointer", schemaObject{"type": "object", "maxProperties": maxMembers,
			"propertyNames":        schemaObject{"pattern": `^(/([^~]|~[01])*)?$`},
			"additionalProperties": schemaObject{"anyOf": []any{schemaObject{"not": schemaObject{"type": "object"}}, matched}}}),
		"state": describe("the current steps of scenarios, initially "+InitialStep, schemaRef("steps")),
	})
}

// stepSchemas returns the JSON Schema of the value of each kind of step, keyed by the name of the
// kind.
func stepSchemas() schemaObject {
	return schemaObject{
		"text":      describe("a message of the assistant", schemaObject{"type": textTypes}),
		"reasoning": describe("reasoning, which is not part of the answer", schemaObject{"type": textTypes}),
		"image":     describe("a message with an image: its URL", schemaObject{"type": textTypes}),
		"message": describe("text and images in one message; an error at its end leaves the message open",
			schemaObject{"type": "array", "minItems": 1, "items": schemaRef("part")}),
		"tool": describe("a call of a server tool, with its result", schemaRef("answered")),
		"tools": describe("several calls of server tools, all open at once",
			schemaObject{"type": "array", "minItems": 1, "maxItems": maxToolCalls, "items": schemaRef("answered")}),
		"client-tool": describe("a call of a client tool; the next request brings its result", schemaRef("call")),
		"interrupt":   describe("an interrupt with any value as its payload", schemaObject{}),
		"error": describe("the run fails", schemaObject{"anyOf": []any{schemaObject{"type": textTypes},
			closedObject(schemaObject{"text": schemaRef("text"), "code": schemaRef("text")})}}),
		"raw":  describe("a frame sent as written: its lines, or an object that becomes its data", schemaObject{}),
		"wait": describe("a pause in addition to the pace", schemaRef("duration")),
	}
}

// stepSchema returns the schema of a step. The parameter words lists the kinds of step that the
// schema permits.
func stepSchema(words ...string) schemaObject {
	all, known := schemaObject{}, stepSchemas()
	for _, w := range words {
		all[w] = known[w]
	}
	d := closedObject(all)
	d["minProperties"], d["maxProperties"] = 1, 1
	return d
}

func paceSchema() schemaObject {
	jitter := closedObject(schemaObject{
		"fixed": schemaRef("duration"), "uniform": schemaObject{"type": "number"}, "lognormal": schemaObject{"type": "number"}})
	return describe("the speed of the reply (default: everything at once)", closedObject(schemaObject{
		"first":  describe("the time from the start of the run to the first token", schemaRef("duration")),
		"rate":   describe("tokens per second", schemaObject{"type": "number", "minimum": 0}),
		"jitter": jitter,
		"burst":  describe("the number of tokens that are sent together", schemaObject{"type": "integer", "minimum": 0}),
		"chunk": describe("the unit that counts as a token", schemaObject{"anyOf": []any{
			schemaObject{"enum": []string{"words", "characters", "whole"}}, schemaObject{"type": "integer", "minimum": 1}}}),
		"speed": describe("the speed relative to recorded timing: 2 is twice as fast",
			schemaObject{"type": "number", "exclusiveMinimum": 0}),
	}))
}

func faultsSchema() schemaObject {
	var names []string
	all := schemaObject{}
	for _, f := range fault.All {
		names = append(names, f.Name)
		settings := schemaObject{}
		for _, p := range f.AllParams() {
			settings[p.Name] = paramSchema(f, p)
		}
		all[f.Name] = describe(f.Doc, schemaObject{"anyOf": []any{closedObject(settings), schemaObject{"type": "null"}}})
	}
	slices.Sort(names)
	use := closedObject(all)
	use["minProperties"], use["maxProperties"] = 1, 1
	items := schemaObject{"anyOf": []any{schemaObject{"enum": names}, use}}
	return schemaObject{"type": "array", "maxItems": 32, "items": items}
}

// paramSchema returns the schema of parameter p of fault f. For a parameter that several faults
// share, this is a reference to the common definition. The schema has no bounds, because numbers
// may be written as strings; [Load] checks the bounds.
func paramSchema(f *fault.Fault, p fault.Param) schemaObject {
	if !hasOwnParam(f, p.Name) {
		return schemaRef("fault-" + p.Name)
	}
	return paramValueSchema(p)
}

// hasOwnParam reports whether fault f itself declares the parameter with the given name. If it does
// not, the parameter is one that several faults share.
func hasOwnParam(f *fault.Fault, name string) bool {
	return slices.ContainsFunc(f.Params, func(p fault.Param) bool { return p.Name == name })
}

func paramValueSchema(p fault.Param) schemaObject {
	d := describe(p.Doc, schemaObject{"type": []string{"string", "number", "boolean", "array"}})
	if len(p.Enum) > 0 {
		d = describe(p.Doc, schemaObject{"enum": p.Enum})
	}
	if p.Default != "" {
		d["default"] = p.Default
	}
	return d
}

// addSharedParams adds a schema for each parameter that several faults share to defs, and returns
// defs.
func addSharedParams(defs schemaObject) schemaObject {
	for _, f := range fault.All {
		for _, p := range f.AllParams() {
			if !hasOwnParam(f, p.Name) {
				defs["fault-"+p.Name] = paramValueSchema(p)
			}
		}
	}
	return defs
}
