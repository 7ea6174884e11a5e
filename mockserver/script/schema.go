package script

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/streamassay/streamassay/mockserver/fault"
)

// Schema is the JSON Schema of scripts (draft 2020-12), for editors. It says the shape of a
// script; what names, templates and orders of steps are worth, only [Load] says. The file
// schema.json is the same, published.
func Schema() []byte {
	data, err := json.MarshalIndent(scriptSchema(), "", "  ")
	if err != nil { // it is made of maps, lists and texts
		panic(fmt.Sprintf("the schema of scripts: %v", err))
	}
	return append(data, '\n')
}

// SchemaID names the schema.
const SchemaID = "https://github.com/streamassay/streamassay/mockserver/script/schema.json"

type jsonObject = map[string]any

func scriptSchema() jsonObject {
	return jsonObject{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"$id":     SchemaID,
		"title":   "A script of the mock server",
		"type":    "object", "additionalProperties": false, "required": []string{"rules"},
		"properties": jsonObject{
			"dialects": describe("the dialects that the rules are for: all, if nothing is said", schemaRef("names")),
			"defaults": describe("what rules have that say nothing else", closedObject(jsonObject{"pace": schemaRef("pace"), "faults": schemaRef("faults")})),
			"rules":    jsonObject{"type": "array", "maxItems": maxRules, "items": schemaRef("rule")},
		},
		"$defs": addSharedParams(jsonObject{
			"name":     jsonObject{"type": textTypes, "minLength": 1},
			"names":    jsonObject{"anyOf": []any{schemaRef("name"), jsonObject{"type": "array", "minItems": 1, "items": schemaRef("name")}}},
			"text":     jsonObject{"type": textTypes},
			"duration": jsonObject{"anyOf": []any{jsonObject{"type": "string", "pattern": `^\+?(0|([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`}, jsonObject{"const": 0}}},
			"texts":    jsonObject{"anyOf": []any{schemaRef("text"), matcherSchema(schemaRef("text"))}},
			"steps":    jsonObject{"type": "object", "maxProperties": maxMembers, "additionalProperties": schemaRef("name")},
			"call":     closedObject(jsonObject{"name": schemaRef("name"), "arguments": jsonObject{}}, "name"),
			"answered": closedObject(jsonObject{"name": schemaRef("name"), "arguments": jsonObject{}, "result": jsonObject{}}, "name", "result"),
			"rule":     ruleSchema(),
			"when":     whenSchema(),
			"step":     stepSchema("text", "reasoning", "image", "message", "tool", "tools", "client-tool", "interrupt", "error", "raw", "wait"),
			"part":     stepSchema("text", "image", "wait", "error"),
			"pace":     paceSchema(),
			"faults":   faultsSchema(),
		}),
	}
}

// textTypes are what a text may be written as.
var textTypes = []string{"string", "number", "boolean"}

func schemaRef(name string) jsonObject { return jsonObject{"$ref": "#/$defs/" + name} }

func describe(what string, of jsonObject) jsonObject { of["description"] = what; return of }

// closedObject is an object of these members alone.
func closedObject(properties jsonObject, required ...string) jsonObject {
	d := jsonObject{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		d["required"] = required
	}
	return d
}

func intSchema(low, high int) jsonObject {
	return jsonObject{"type": "integer", "minimum": low, "maximum": high}
}

func matcherSchema(equals jsonObject) jsonObject {
	d := closedObject(jsonObject{
		"equals": equals, "contains": schemaRef("text"), "exists": jsonObject{"type": "boolean"},
		"matches": describe("a regular expression (RE2); its groups are .Match in templates", jsonObject{"type": textTypes}),
	})
	d["minProperties"] = 1
	return d
}

func ruleSchema() jsonObject {
	d := closedObject(jsonObject{
		"name":     describe("how the journal calls the rule", schemaRef("name")),
		"priority": describe("the higher ones are asked first, then the order of files and rules counts", intSchema(-1_000_000, 1_000_000)),
		"when":     schemaRef("when"),
		"reply": describe("what is said, in words that every dialect can play", jsonObject{"anyOf": []any{
			jsonObject{"type": textTypes}, jsonObject{"type": "array", "maxItems": maxSteps, "items": schemaRef("step")}}}),
		"status": describe("a refusal instead of a reply", jsonObject{"anyOf": []any{intSchema(400, 599), closedObject(jsonObject{
			"code": intSchema(400, 599), "text": schemaRef("text"), "problem": schemaRef("text"), "retry-after": schemaRef("duration")}, "code")}}),
		"default":  describe("the server's own agent answers", jsonObject{"const": true}),
		"pace":     schemaRef("pace"),
		"faults":   schemaRef("faults"),
		"set":      describe("steps that scenarios go to when the rule matched", schemaRef("steps")),
		"times":    describe("how often it matches at most", intSchema(1, 1_000_000_000)),
		"quota":    describe("more than so many requests in so long are refused with 429", closedObject(jsonObject{"requests": intSchema(1, 1_000_000_000), "per": schemaRef("duration")}, "requests", "per")),
		"violates": describe("its raw frames break the protocol, and are meant to", jsonObject{"const": true}),
	})
	var one []any
	for _, name := range []string{"reply", "status", "default", "pace", "faults", "quota", "set"} {
		one = append(one, jsonObject{"required": []string{name}})
	}
	d["anyOf"] = one
	d["allOf"] = []any{
		jsonObject{"not": jsonObject{"required": []string{"reply", "status"}}},
		jsonObject{"not": jsonObject{"required": []string{"reply", "default"}}},
		jsonObject{"not": jsonObject{"required": []string{"status", "default"}}},
		jsonObject{"not": jsonObject{"required": []string{"reply", "when"}, "properties": jsonObject{"when": jsonObject{ // only runs are replied to
			"required": []string{"operation"}, "properties": jsonObject{"operation": jsonObject{"not": jsonObject{"enum": []any{runOperation, []string{runOperation}}}}}}}}},
	}
	return d
}

func whenSchema() jsonObject {
	operation := jsonObject{"enum": operationNames()}
	turn := jsonObject{"anyOf": []any{intSchema(1, 1<<31-1), closedObject(jsonObject{"min": intSchema(1, 1<<31-1), "max": intSchema(1, 1<<31-1)})}}
	result := closedObject(jsonObject{"name": schemaRef("texts"), "call": schemaRef("texts"), "text": schemaRef("texts")})
	matched := matcherSchema(jsonObject{})
	return closedObject(jsonObject{
		"operation":   describe("what is asked for; run if nothing is said", jsonObject{"anyOf": []any{operation, jsonObject{"type": "array", "minItems": 1, "items": operation}}}),
		"text":        describe("what the user said last", schemaRef("texts")),
		"turn":        describe("which message of the user this is, from 1", turn),
		"last":        describe("what is to be answered", jsonObject{"enum": []string{lastUser, lastTool, lastResume}}),
		"resume":      describe("the answer to an interrupt", schemaRef("texts")),
		"tool-result": describe("the result of a tool of the client", result),
		"offers":      describe("tools that the client offers", schemaRef("names")),
		"thread":      schemaRef("texts"),
		"run":         schemaRef("texts"),
		"header":      describe("header fields, by name", jsonObject{"type": "object", "maxProperties": maxMembers, "additionalProperties": schemaRef("texts")}),
		"body": describe("places of the body, by JSON pointer", jsonObject{"type": "object", "maxProperties": maxMembers,
			"propertyNames":        jsonObject{"pattern": `^(/([^~]|~[01])*)?$`},
			"additionalProperties": jsonObject{"anyOf": []any{jsonObject{"not": jsonObject{"type": "object"}}, matched}}}),
		"state": describe("steps at which scenarios are; "+InitialStep+" is where nobody has set one", schemaRef("steps")),
	})
}

// stepSchemas are the words of replies, as the schema says them.
func stepSchemas() jsonObject {
	return jsonObject{
		"text":        describe("a message of the assistant", jsonObject{"type": textTypes}),
		"reasoning":   describe("what is thought and not answered", jsonObject{"type": textTypes}),
		"image":       describe("a message with an image: its address", jsonObject{"type": textTypes}),
		"message":     describe("texts and images in one message; an error at its end leaves it open", jsonObject{"type": "array", "minItems": 1, "items": schemaRef("part")}),
		"tool":        describe("a call of a tool of the server, with what it gave", schemaRef("answered")),
		"tools":       describe("several calls, all open at once", jsonObject{"type": "array", "minItems": 1, "maxItems": maxToolCalls, "items": schemaRef("answered")}),
		"client-tool": describe("a call that is left to the client; its result comes with the next request", schemaRef("call")),
		"interrupt":   describe("a question to the client: any value", jsonObject{}),
		"error": describe("the run fails", jsonObject{"anyOf": []any{jsonObject{"type": textTypes},
			closedObject(jsonObject{"text": schemaRef("text"), "code": schemaRef("text")})}}),
		"raw":  describe("a frame as it is: its lines, or an object that is its data", jsonObject{}),
		"wait": describe("a pause, on top of the pace", schemaRef("duration")),
	}
}

// stepSchema is an object of one of the words.
func stepSchema(words ...string) jsonObject {
	all, known := jsonObject{}, stepSchemas()
	for _, w := range words {
		all[w] = known[w]
	}
	d := closedObject(all)
	d["minProperties"], d["maxProperties"] = 1, 1
	return d
}

func paceSchema() jsonObject {
	jitter := closedObject(jsonObject{"fixed": schemaRef("duration"), "uniform": jsonObject{"type": "number"}, "lognormal": jsonObject{"type": "number"}})
	return describe("how fast it comes; everything at once, if nothing is said", closedObject(jsonObject{
		"first":  describe("how long after the beginning the first token comes", schemaRef("duration")),
		"rate":   describe("tokens in a second", jsonObject{"type": "number", "minimum": 0}),
		"jitter": jitter,
		"burst":  describe("so many tokens come together", jsonObject{"type": "integer", "minimum": 0}),
		"chunk": describe("what a token is", jsonObject{"anyOf": []any{
			jsonObject{"enum": []string{"words", "characters", "whole"}}, jsonObject{"type": "integer", "minimum": 1}}}),
		"speed": describe("of recorded timing: 2 is twice as fast", jsonObject{"type": "number", "exclusiveMinimum": 0}),
	}))
}

func faultsSchema() jsonObject {
	var names []string
	all := jsonObject{}
	for _, f := range fault.All {
		names = append(names, f.Name)
		settings := jsonObject{}
		for _, p := range f.AllParams() {
			settings[p.Name] = paramSchema(f, p)
		}
		all[f.Name] = describe(f.Doc, jsonObject{"anyOf": []any{closedObject(settings), jsonObject{"type": "null"}}})
	}
	slices.Sort(names)
	use := closedObject(all)
	use["minProperties"], use["maxProperties"] = 1, 1
	return jsonObject{"type": "array", "maxItems": 32, "items": jsonObject{"anyOf": []any{jsonObject{"enum": names}, use}}}
}

// paramSchema is what a parameter of a fault takes. Bounds are for [Load]: numbers may be
// written as texts. What many faults have is said once.
func paramSchema(f *fault.Fault, p fault.Param) jsonObject {
	if !hasOwnParam(f, p.Name) {
		return schemaRef("fault-" + p.Name)
	}
	return paramValueSchema(p)
}

func hasOwnParam(f *fault.Fault, name string) bool {
	return slices.ContainsFunc(f.Params, func(p fault.Param) bool { return p.Name == name })
}

func paramValueSchema(p fault.Param) jsonObject {
	d := describe(p.Doc, jsonObject{"type": []string{"string", "number", "boolean", "array"}})
	if len(p.Enum) > 0 {
		d = describe(p.Doc, jsonObject{"enum": p.Enum})
	}
	if p.Default != "" {
		d["default"] = p.Default
	}
	return d
}

// addSharedParams adds the parameters that many faults have.
func addSharedParams(defs jsonObject) jsonObject {
	for _, f := range fault.All {
		for _, p := range f.AllParams() {
			if !hasOwnParam(f, p.Name) {
				defs["fault-"+p.Name] = paramValueSchema(p)
			}
		}
	}
	return defs
}
