// Package mutation proves that the checks can fail. A mutant is a correct server with one defect that
// violates one clause of a protocol document. The suite runs against it, and its results are
// compared with what the clause requires: the requirement must fail by a check that serves it, at
// the expected place, and nothing else may fail.
package mutation

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/mockserver/fault"
)

// A jsonObject is the decoded JSON object in the data of a frame, or an object nested in it.
type jsonObject = map[string]any

// editFrameData returns a fault that calls change to edit the data of each frame. Data that is not
// a JSON object stays unchanged.
func editFrameData(change func(o jsonObject)) newEffect {
	return func(fault.Args) fault.Effect {
		return fault.Effect{OnFrame: func(frame []byte, emit func([]byte)) {
			line, ok := sse.FindField(frame, "data")
			var o jsonObject
			dec := json.NewDecoder(bytes.NewReader(line.Value))
			dec.UseNumber() // keep the form of numbers
			if ok && dec.Decode(&o) == nil {
				before, _ := json.Marshal(o) // encoding a decoded value cannot fail
				change(o)
				if data, err := json.Marshal(o); err == nil && !bytes.Equal(data, before) {
					frame = slices.Concat(frame[:line.ValueStart], data, frame[line.ValueEnd():])
				}
			}
			emit(frame)
		}}
	}
}

// editObjects returns a fault that calls change to edit the data of certain frames: those whose
// member "object" or "type" equals the parameter what, such as "message".
func editObjects(what string, change func(o jsonObject)) newEffect {
	return editFrameData(func(o jsonObject) {
		if o["object"] == what || o["type"] == what {
			change(o)
		}
	})
}

// editNestedObjects returns a fault that calls change to edit certain objects in the data of
// frames, at any depth: those whose member "object" or "type" equals the parameter what.
func editNestedObjects(what string, change func(o jsonObject)) newEffect {
	var look func(v any)
	look = func(v any) {
		switch v := v.(type) {
		case jsonObject:
			for _, inner := range v {
				look(inner)
			}
			if v["object"] == what || v["type"] == what {
				change(v)
			}
		case []any:
			for _, inner := range v {
				look(inner)
			}
		}
	}
	return editFrameData(func(o jsonObject) { look(o) })
}

// findMember returns the first of the given names that is a member of o, or "" if there is none. It
// takes several names because the same member has different names in different dialects, such as
// created_at and createdAt.
func findMember(o jsonObject, names ...string) string {
	for _, name := range names {
		if _, there := o[name]; there {
			return name
		}
	}
	return ""
}

// setMember returns an edit that changes one member of an object to the given value: the first of
// the named members that exists. It does nothing if none of them exists or that member is null.
func setMember(value any, names ...string) func(o jsonObject) {
	return func(o jsonObject) {
		if name := findMember(o, names...); name != "" && o[name] != nil {
			o[name] = value
		}
	}
}

// deleteMember returns an edit that removes one member of an object: the first of the named members
// that exists. It does nothing if none of them exists.
func deleteMember(names ...string) func(o jsonObject) {
	return func(o jsonObject) { delete(o, findMember(o, names...)) }
}

// editInside returns an edit that applies change to the value of the named member of an object. It
// does nothing if that value is not itself an object.
func editInside(name string, change func(o jsonObject)) func(o jsonObject) {
	return func(o jsonObject) {
		if inner, ok := o[name].(jsonObject); ok {
			change(inner)
		}
	}
}

// killedAt returns the value of Mutant.KilledBy for a mutant whose events violate the schema at one
// of the given JSON pointers, which are separated by spaces.
func killedAt(pointers string) map[string]string {
	return map[string]string{"wire.matches-schema": pointers}
}

// schemaMutants are servers that each send one member of one kind of frame with a value that the
// schema does not allow, or without the member.
var schemaMutants = []*Mutant{
	{
		Name: "created-at-is-a-date", Doc: "the time at which the run began is a date in words",
		NewEffect: editObjects("response", setMember("2026-01-01T00:00:00Z", "created_at", "createdAt")),
		Violates:  []string{"agentscope-java.resp.created-at", "agentscope.created-at"},
		KilledBy:  killedAt("/createdAt /created_at"),
	}, {
		Name: "completed-at-is-a-date", Doc: "the time at which the run ended is a date in words",
		NewEffect: editObjects("response", setMember("2026-01-01T00:00:00Z", "completed_at", "completedAt")),
		Violates:  []string{"agentscope-java.resp.completed-at", "agentscope.completed-at"},
		KilledBy:  killedAt("/completedAt /completed_at"),
	}, {
		Name: "usage-is-a-number", Doc: "the usage of a run is a number",
		NewEffect: editObjects("response", func(o jsonObject) { o["usage"] = 7 }),
		Violates:  []string{"agentscope.usage"},
		KilledBy:  killedAt("/usage"),
	}, {
		Name: "error-is-a-text", Doc: "the error of a run that failed is a bare text",
		NewEffect: editObjects("response", setMember("scripted failure", "error")),
		Violates:  []string{"agentscope-java.err.shape", "agentscope-java.err.object", "agentscope.error-shape", "agentscope.failed-has-error"},
		KilledBy:  killedAt("/error"),
		AlsoFails: []string{"script.error", "script.error-mid"}, // the error text is missing where the prompt expects it
	}, {
		Name: "error-without-a-code", Doc: "the error of a run that failed has no code",
		NewEffect: editObjects("response", editInside("error", deleteMember("code"))),
		Violates:  []string{"agentscope-java.err.shape", "agentscope.error-shape"},
		KilledBy:  killedAt("/error /error/code"),
	}, {
		Name: "failure-without-an-error", Doc: "a run that failed has no error",
		NewEffect: editObjects("response", setMember(nil, "error")),
		Violates:  []string{"agentscope-java.err.object", "agentscope.failed-has-error"},
		KilledBy:  killedAt("/error"),
		AlsoFails: []string{"script.error", "script.error-mid"}, // the reason of the failure is missing, too
	}, {
		Name: "role-of-a-robot", Doc: "messages are a robot's",
		NewEffect: editObjects("message", func(o jsonObject) {
			if o["role"] == "assistant" {
				o["role"] = "robot"
			}
		}),
		Violates:  []string{"agentscope-java.msg.role", "agentscope.message-role"},
		KilledBy:  killedAt("/role"),
		AlsoFails: []string{"run.output-matches"}, // the terminal event lists them with their correct type
	}, {
		Name: "message-code-is-a-number", Doc: "the code of a message is a number",
		NewEffect: editObjects("message", func(o jsonObject) { o["code"] = 7 }),
		Violates:  []string{"agentscope.message-fields"},
		KilledBy:  killedAt("/code"),
	}, {
		Name: "message-id-is-missing", Doc: "messages have no id",
		NewEffect: editObjects("message", deleteMember("id")),
		Violates:  []string{"agentscope-java.msg.id", "agentscope.message-id"},
		KilledBy:  killedAt("/id"),
		AlsoFails: []string{"message.*", "script.*", "run.*", "content.*", "delta.*"}, // events cannot be attributed to a message without an id
	}, {
		Name: "contents-are-a-text", Doc: "the contents that the end of a message repeats are a bare text",
		NewEffect: editObjects("message", setMember("see above", "content")),
		Violates:  []string{"agentscope.message-content"},
		KilledBy:  killedAt("/content"),
		AlsoFails: []string{"message.content-equals", "run.output-matches"}, // an event that violates the schema is not decoded, so its content is missing
	}, {
		Name: "delta-is-a-word", Doc: "the delta flag of a content is a string",
		NewEffect: editObjects("content", setMember("yes", "delta")),
		Violates:  []string{"agentscope-java.content.delta", "agentscope.delta-flag", "agentscope.content-fields", "agentscope.completed-not-delta", "agentscope-java.content.completed"},
		KilledBy:  killedAt("/delta"),
	}, {
		Name: "place-is-missing", Doc: "contents have no index",
		NewEffect: editObjects("content", deleteMember("index")),
		Violates:  []string{"agentscope-java.content.index", "agentscope.index-present"},
		KilledBy:  killedAt("/index"),
		AlsoFails: []string{"message.content-equals", "delta.joins-to-whole", "content.*", "message.*"}, // contents without an index cannot be distinguished
	}, {
		Name: "place-is-a-word", Doc: "the index of a content is a string",
		NewEffect: editObjects("content", setMember("first", "index")),
		Violates:  []string{"agentscope-java.content.index", "agentscope.index-present", "agentscope.content-fields"},
		KilledBy:  killedAt("/index"),
		AlsoFails: []string{"message.content-equals", "delta.joins-to-whole", "content.*", "message.*"}, // contents without a valid index cannot be distinguished
	}, {
		Name: "message-of-a-content-is-missing", Doc: "contents do not name their message",
		NewEffect: editObjects("content", deleteMember("msg_id", "msgId")),
		Violates:  []string{"agentscope-java.content.msgid", "agentscope.msg-id"},
		ExceptIn:  []string{"agentscope@0.1"}, // this dialect allows it while a single message is open
		KilledBy:  killedAt("/msgId /msg_id"),
		AlsoFails: []string{"message.content-equals", "message.*", "content.*", "delta.joins-to-whole"}, // deltas without an id cannot be attributed to a message
	}, {
		Name: "text-is-a-list", Doc: "the text of a content is a list",
		NewEffect: editObjects("content", setMember([]any{"hello"}, "text")),
		Violates:  []string{"agentscope.content-payload"},
		KilledBy:  killedAt("/text"),
		AlsoFails: []string{"script.*", "message.content-equals", "content.is-whole", "delta.joins-to-whole"}, // an event that violates the schema is not decoded, so its content is missing
	}, {
		Name: "arguments-are-an-object", Doc: "the arguments of a call are an object, not a text",
		NewEffect: editNestedObjects("content", editInside("data", setMember(jsonObject{"city": "Paris"}, "arguments"))),
		Violates:  []string{"agentscope-java.tool.call", "agentscope.tool-shape-call"},
		KilledBy:  killedAt("/content /data/arguments"),
		AlsoFails: []string{"message.content-equals", "tool.arguments-are-json", "script.tool", "script.client-tool*"}, // an event that violates the schema is not decoded, so its content is missing
	}, {
		Name: "call-has-no-name", Doc: "the content of a tool call does not name the tool",
		NewEffect: editNestedObjects("content", editInside("data", deleteMember("name"))),
		Violates:  []string{"agentscope-java.tool.call", "agentscope.tool-shape-call"},
		KilledBy:  killedAt("/content /data/name"),
		AlsoFails: []string{"message.content-equals", "script.tool", "script.client-tool*"}, // an event that violates the schema is not decoded, so its content is missing
	}, {
		Name: "result-is-an-object", Doc: "the result of a tool is an object, not a text",
		NewEffect: editObjects("content", editInside("data", setMember(jsonObject{"found": true}, "output"))),
		Violates:  []string{"agentscope.tool-shape"},
		KilledBy:  killedAt("/data/output"),
		AlsoFails: []string{"message.content-equals", "tool.result-after-call", "script.tool", "script.tools"}, // an event that violates the schema is not decoded, so its content is missing
	}, {
		Name: "result-names-no-call", Doc: "a tool result does not name its call",
		NewEffect: editNestedObjects("content", func(o jsonObject) {
			if data, ok := o["data"].(jsonObject); ok && data["output"] != nil {
				delete(data, "call_id")
			}
		}),
		Violates:  []string{"agentscope-java.tool.result"},
		ExceptIn:  []string{"agentscope-java@0.1"}, // this dialect does not require it
		KilledBy:  killedAt("/content"),
		AlsoFails: []string{"script.tool", "script.tools", "tool.result-after-call"}, // the tool call has no result
	}, {
		Name: "number-is-a-text", Doc: "the numbers of events are texts",
		NewEffect: editFrameData(setMember("seven", "sequence_number", "sequenceNumber")),
		Violates:  []string{"agentscope-java.seq.present", "agentscope.sequence-increases", "agentscope.sequence-every"},
		KilledBy:  killedAt("/sequence_number"),
		AlsoFails: []string{"sequence.dense"}, // an event that violates the schema is not decoded, so its content is missing
	}, {
		Name: "list-is-an-object", Doc: "the list of messages at the end of a run is an object",
		NewEffect: editObjects("response", setMember(jsonObject{}, "output")),
		Violates:  []string{"agentscope-java.resp.output", "agentscope.response-fields", "agentscope.output-array"},
		KilledBy:  killedAt("/output"),
		AlsoFails: []string{"run.output-is-complete"}, // an event that violates the schema is not decoded, so its content is missing
	}, {
		Name: "run-has-no-id", Doc: "the events of a run do not name it",
		NewEffect: editObjects("response", deleteMember("id")),
		Violates:  []string{"agentscope-java.resp.id", "agentscope.response-id-stable"},
		KilledBy:  killedAt("/id"),
	}, {
		Name: "piece-is-a-number", Doc: "a piece of a text is a number",
		NewEffect: editObjects("text", setMember(7, "content")),
		Violates:  []string{"agkit.event.text"},
		KilledBy:  killedAt("/content"),
		AlsoFails: []string{"script.*"}, // an event that violates the schema is not decoded, so its content is missing
	}, {
		Name: "piece-says-delta", Doc: "a piece of a text stands in delta",
		NewEffect: editObjects("text", func(o jsonObject) {
			o["delta"] = o["content"]
			delete(o, "content")
		}),
		Violates:  []string{"agkit.event.text"},
		KilledBy:  killedAt("/content"),
		AlsoFails: []string{"script.*"}, // an event that violates the schema is not decoded, so its content is missing
	}, {
		Name: "call-is-nameless", Doc: "the event that starts a tool call does not name the tool",
		NewEffect: editObjects("tool-call-start", deleteMember("toolCallName")),
		Violates:  []string{"agkit.event.tool-call-start"},
		KilledBy:  killedAt("/toolCallName"),
		AlsoFails: []string{"script.tool", "script.tools", "script.client-tool*", "tool.client-call-is-offered"}, // the name of the tool is missing
	}, {
		Name: "arguments-are-a-list", Doc: "a piece of the arguments is a list",
		NewEffect: editObjects("tool-call-args", setMember([]any{}, "delta")),
		Violates:  []string{"agkit.event.tool-call-args"},
		KilledBy:  killedAt("/delta"),
		AlsoFails: []string{"script.tool", "script.tools", "script.client-tool*", "tool.arguments-are-json"}, // an event that violates the schema is not decoded, so its content is missing
	}, {
		Name: "call-ends-by-number", Doc: "the event that ends a call names it by a number",
		NewEffect: editObjects("tool-call-end", setMember(7, "toolCallId")),
		Violates:  []string{"agkit.event.tool-call-end"},
		KilledBy:  killedAt("/toolCallId"),
		AlsoFails: []string{"tool.all-end", "tool.arguments-are-json", "tool.starts-first", "tool.result-after-call"}, // an end without an id cannot be attributed to a call
	}, {
		Name: "result-is-a-list", Doc: "the result of a tool is a list",
		NewEffect: editObjects("tool-result", setMember([]any{"found"}, "result")),
		Violates:  []string{"agkit.event.tool-result"},
		KilledBy:  killedAt("/result"),
		AlsoFails: []string{"script.tool", "script.tools"}, // an event that violates the schema is not decoded, so its content is missing
	}, {
		Name: "interrupt-has-no-id", Doc: "the id of an interrupt is empty",
		NewEffect: editObjects("interrupt", setMember("", "id")),
		Violates:  []string{"agkit.event.interrupt"},
		KilledBy:  killedAt("/id"),
	}, {
		Name: "failure-is-an-object", Doc: "why a run failed is an object, not a text",
		NewEffect: editObjects("error", setMember(jsonObject{"message": "scripted failure"}, "error")),
		Violates:  []string{"agkit.event.error"},
		KilledBy:  killedAt("/error"),
		AlsoFails: []string{"script.error", "script.error-mid"}, // an event that violates the schema is not decoded, so its content is missing
	}, {
		Name: "event-has-no-type", Doc: "a text delta has no type",
		NewEffect: editObjects("text", deleteMember("type")),
		Violates:  []string{"agkit.event.type"},
		KilledBy:  killedAt("/type"),
		AlsoFails: []string{"script.*"}, // an event that violates the schema is not decoded, so its content is missing
	}, {
		Name: "event-does-not-name-its-run", Doc: "text deltas do not name their run",
		NewEffect: editObjects("TEXT_MESSAGE_CONTENT", deleteMember("runId")),
		Violates:  []string{"runs.stream.run-id-present"},
		KilledBy:  killedAt("/runId"),
	}, {
		Name: "end-does-not-name-its-run", Doc: "the terminal event does not name its run",
		NewEffect: editObjects("RUN_FINISHED", deleteMember("runId")),
		Violates:  []string{"runs.stream.run-id-present"},
		KilledBy:  killedAt("/runId"),
	},
}
