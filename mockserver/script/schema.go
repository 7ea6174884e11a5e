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
	data, err := json.MarshalIndent(schema(), "", "  ")
	if err != nil { // it is made of maps, lists and texts
		panic(fmt.Sprintf("the schema of scripts: %v", err))
	}
	return append(data, '\n')
}

// SchemaID names the schema.
const SchemaID = "https://github.com/streamassay/streamassay/mockserver/script/schema.json"

type dict = map[string]any

func schema() dict {
	return dict{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"$id":     SchemaID,
		"title":   "A script of the mock server",
		"type":    "object", "additionalProperties": false, "required": []string{"rules"},
		"properties": dict{
			"dialects": about("the dialects that the rules are for: all, if nothing is said", ref("names")),
			"defaults": about("what rules have that say nothing else", closed(dict{"pace": ref("pace"), "faults": ref("faults")})),
			"rules":    dict{"type": "array", "maxItems": mostRules, "items": ref("rule")},
		},
		"$defs": shared(dict{
			"name":     dict{"type": plainTypes, "minLength": 1},
			"names":    dict{"anyOf": []any{ref("name"), dict{"type": "array", "minItems": 1, "items": ref("name")}}},
			"text":     dict{"type": plainTypes},
			"duration": dict{"anyOf": []any{dict{"type": "string", "pattern": `^\+?(0|([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`}, dict{"const": 0}}},
			"texts":    dict{"anyOf": []any{ref("text"), matching(ref("text"))}},
			"steps":    dict{"type": "object", "maxProperties": mostMembers, "additionalProperties": ref("name")},
			"call":     closed(dict{"name": ref("name"), "arguments": dict{}}, "name"),
			"answered": closed(dict{"name": ref("name"), "arguments": dict{}, "result": dict{}}, "name", "result"),
			"rule":     ruleSchema(),
			"when":     whenSchema(),
			"step":     stepSchema("text", "reasoning", "image", "message", "tool", "tools", "client-tool", "interrupt", "error", "raw", "wait"),
			"part":     stepSchema("text", "image", "wait", "error"),
			"pace":     paceSchema(),
			"faults":   faultsSchema(),
		}),
	}
}

// plainTypes are what a text may be written as.
var plainTypes = []string{"string", "number", "boolean"}

func ref(name string) dict { return dict{"$ref": "#/$defs/" + name} }

func about(what string, of dict) dict { of["description"] = what; return of }

// closed is an object of these members alone.
func closed(properties dict, required ...string) dict {
	d := dict{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		d["required"] = required
	}
	return d
}

func number(low, high int) dict { return dict{"type": "integer", "minimum": low, "maximum": high} }

func matching(equals dict) dict {
	d := closed(dict{
		"equals": equals, "contains": ref("text"), "exists": dict{"type": "boolean"},
		"matches": about("a regular expression (RE2); its groups are .Match in templates", dict{"type": plainTypes}),
	})
	d["minProperties"] = 1
	return d
}

func ruleSchema() dict {
	d := closed(dict{
		"name":     about("how the journal calls the rule", ref("name")),
		"priority": about("the higher ones are asked first, then the order of files and rules counts", number(-1_000_000, 1_000_000)),
		"when":     ref("when"),
		"reply": about("what is said, in words that every dialect can play", dict{"anyOf": []any{
			dict{"type": plainTypes}, dict{"type": "array", "maxItems": mostSteps, "items": ref("step")}}}),
		"status": about("a refusal instead of a reply", dict{"anyOf": []any{number(400, 599), closed(dict{
			"code": number(400, 599), "text": ref("text"), "problem": ref("text"), "retry-after": ref("duration")}, "code")}}),
		"default":  about("the server's own agent answers", dict{"const": true}),
		"pace":     ref("pace"),
		"faults":   ref("faults"),
		"set":      about("steps that scenarios go to when the rule matched", ref("steps")),
		"times":    about("how often it matches at most", number(1, 1_000_000_000)),
		"quota":    about("more than so many requests in so long are refused with 429", closed(dict{"requests": number(1, 1_000_000_000), "per": ref("duration")}, "requests", "per")),
		"violates": about("its raw frames break the protocol, and are meant to", dict{"const": true}),
	})
	var one []any
	for _, name := range []string{"reply", "status", "default", "pace", "faults", "quota", "set"} {
		one = append(one, dict{"required": []string{name}})
	}
	d["anyOf"] = one
	d["allOf"] = []any{
		dict{"not": dict{"required": []string{"reply", "status"}}},
		dict{"not": dict{"required": []string{"reply", "default"}}},
		dict{"not": dict{"required": []string{"status", "default"}}},
		dict{"not": dict{"required": []string{"reply", "when"}, "properties": dict{"when": dict{ // only runs are replied to
			"required": []string{"operation"}, "properties": dict{"operation": dict{"not": dict{"enum": []any{run, []string{run}}}}}}}}},
	}
	return d
}

func whenSchema() dict {
	operation := dict{"enum": deeds()}
	turn := dict{"anyOf": []any{number(1, 1<<31-1), closed(dict{"min": number(1, 1<<31-1), "max": number(1, 1<<31-1)})}}
	result := closed(dict{"name": ref("texts"), "call": ref("texts"), "text": ref("texts")})
	matched := matching(dict{})
	return closed(dict{
		"operation":   about("what is asked for; run if nothing is said", dict{"anyOf": []any{operation, dict{"type": "array", "minItems": 1, "items": operation}}}),
		"text":        about("what the user said last", ref("texts")),
		"turn":        about("which message of the user this is, from 1", turn),
		"last":        about("what is to be answered", dict{"enum": []string{lastUser, lastTool, lastResume}}),
		"resume":      about("the answer to an interrupt", ref("texts")),
		"tool-result": about("the result of a tool of the client", result),
		"offers":      about("tools that the client offers", ref("names")),
		"thread":      ref("texts"),
		"run":         ref("texts"),
		"header":      about("header fields, by name", dict{"type": "object", "maxProperties": mostMembers, "additionalProperties": ref("texts")}),
		"body": about("places of the body, by JSON pointer", dict{"type": "object", "maxProperties": mostMembers,
			"propertyNames":        dict{"pattern": `^(/([^~]|~[01])*)?$`},
			"additionalProperties": dict{"anyOf": []any{dict{"not": dict{"type": "object"}}, matched}}}),
		"state": about("steps at which scenarios are; "+Begun+" is where nobody has set one", ref("steps")),
	})
}

// steps are the words of replies, as the schema says them.
func steps() dict {
	return dict{
		"text":        about("a message of the assistant", dict{"type": plainTypes}),
		"reasoning":   about("what is thought and not answered", dict{"type": plainTypes}),
		"image":       about("a message with an image: its address", dict{"type": plainTypes}),
		"message":     about("texts and images in one message; an error at its end leaves it open", dict{"type": "array", "minItems": 1, "items": ref("part")}),
		"tool":        about("a call of a tool of the server, with what it gave", ref("answered")),
		"tools":       about("several calls, all open at once", dict{"type": "array", "minItems": 1, "maxItems": mostTools, "items": ref("answered")}),
		"client-tool": about("a call that is left to the client; its result comes with the next request", ref("call")),
		"interrupt":   about("a question to the client: any value", dict{}),
		"error": about("the run fails", dict{"anyOf": []any{dict{"type": plainTypes},
			closed(dict{"text": ref("text"), "code": ref("text")})}}),
		"raw":  about("a frame as it is: its lines, or an object that is its data", dict{}),
		"wait": about("a pause, on top of the pace", ref("duration")),
	}
}

// stepSchema is an object of one of the words.
func stepSchema(words ...string) dict {
	all, known := dict{}, steps()
	for _, w := range words {
		all[w] = known[w]
	}
	d := closed(all)
	d["minProperties"], d["maxProperties"] = 1, 1
	return d
}

func paceSchema() dict {
	jitter := closed(dict{"fixed": ref("duration"), "uniform": dict{"type": "number"}, "lognormal": dict{"type": "number"}})
	return about("how fast it comes; everything at once, if nothing is said", closed(dict{
		"first":  about("how long after the beginning the first token comes", ref("duration")),
		"rate":   about("tokens in a second", dict{"type": "number", "minimum": 0}),
		"jitter": jitter,
		"burst":  about("so many tokens come together", dict{"type": "integer", "minimum": 0}),
		"chunk": about("what a token is", dict{"anyOf": []any{
			dict{"enum": []string{"words", "characters", "whole"}}, dict{"type": "integer", "minimum": 1}}}),
		"speed": about("of recorded timing: 2 is twice as fast", dict{"type": "number", "exclusiveMinimum": 0}),
	}))
}

func faultsSchema() dict {
	var names []string
	all := dict{}
	for _, f := range fault.All {
		names = append(names, f.Name)
		settings := dict{}
		for _, p := range f.Settable() {
			settings[p.Name] = paramSchema(f, p)
		}
		all[f.Name] = about(f.Doc, dict{"anyOf": []any{closed(settings), dict{"type": "null"}}})
	}
	slices.Sort(names)
	use := closed(all)
	use["minProperties"], use["maxProperties"] = 1, 1
	return dict{"type": "array", "maxItems": 32, "items": dict{"anyOf": []any{dict{"enum": names}, use}}}
}

// paramSchema is what a parameter of a fault takes. Bounds are for [Load]: numbers may be
// written as texts. What many faults have is said once.
func paramSchema(f *fault.Fault, p fault.Param) dict {
	if !own(f, p.Name) {
		return ref("fault-" + p.Name)
	}
	return param(p)
}

func own(f *fault.Fault, name string) bool {
	return slices.ContainsFunc(f.Params, func(p fault.Param) bool { return p.Name == name })
}

func param(p fault.Param) dict {
	d := about(p.Doc, dict{"type": []string{"string", "number", "boolean", "array"}})
	if len(p.One) > 0 {
		d = about(p.Doc, dict{"enum": p.One})
	}
	if p.Default != "" {
		d["default"] = p.Default
	}
	return d
}

// shared adds the parameters that many faults have.
func shared(defs dict) dict {
	for _, f := range fault.All {
		for _, p := range f.Settable() {
			if !own(f, p.Name) {
				defs["fault-"+p.Name] = param(p)
			}
		}
	}
	return defs
}
