package mutant

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/streamassay/streamassay/mockserver/fault"
)

// An object is the data of a frame, or something in it.
type object = map[string]any

// frames changes the data of all frames that are objects.
func frames(change func(o object)) play {
	return func(fault.Args) fault.Effect {
		return fault.Effect{Frame: func(frame []byte, tell func([]byte)) {
			from, to, ok := dataOf(frame)
			var o object
			dec := json.NewDecoder(bytes.NewReader(frame[from:max(from, to)]))
			dec.UseNumber() // numbers stay as they are spelled
			if ok && dec.Decode(&o) == nil {
				before, _ := json.Marshal(o) // what was read can be written
				change(o)
				if data, err := json.Marshal(o); err == nil && !bytes.Equal(data, before) {
					frame = slices.Concat(frame[:from], data, frame[to:])
				}
			}
			tell(frame)
		}}
	}
}

// about is for frames about a kind of object: "message".
func about(what string, change func(o object)) play {
	return frames(func(o object) {
		if o["object"] == what || o["type"] == what {
			change(o)
		}
	})
}

// anywhere is for objects of a kind wherever they stand, in others as well.
func anywhere(what string, change func(o object)) play {
	var look func(v any)
	look = func(v any) {
		switch v := v.(type) {
		case object:
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
	return frames(func(o object) { look(o) })
}

// spelled says how a member is called: some say created_at, others createdAt.
func spelled(o object, names ...string) string {
	for _, name := range names {
		if _, there := o[name]; there {
			return name
		}
	}
	return ""
}

// with gives a member another value, where it is there and is something.
func with(value any, names ...string) func(o object) {
	return func(o object) {
		if name := spelled(o, names...); name != "" && o[name] != nil {
			o[name] = value
		}
	}
}

// without takes a member away.
func without(names ...string) func(o object) {
	return func(o object) { delete(o, spelled(o, names...)) }
}

// inside changes the object that a member is.
func inside(name string, change func(o object)) func(o object) {
	return func(o object) {
		if inner, ok := o[name].(object); ok {
			change(inner)
		}
	}
}

// breaking returns the kill of a mutant that violates the schema at one of some pointers.
func breaking(pointers string) map[string]string {
	return map[string]string{"wire.matches-schema": pointers}
}

// Each breaks what the documents say of one member of one kind of frame.
var schemaMutants = []*Mutant{
	{
		Name: "created-at-is-a-date", Doc: "the time at which the run began is a date in words",
		Play:   about("response", with("2026-01-01T00:00:00Z", "created_at", "createdAt")),
		Breaks: []string{"agentscope-java.resp.created-at", "agentscope.created-at"},
		Kills:  breaking("/createdAt /created_at"),
	}, {
		Name: "completed-at-is-a-date", Doc: "the time at which the run ended is a date in words",
		Play:   about("response", with("2026-01-01T00:00:00Z", "completed_at", "completedAt")),
		Breaks: []string{"agentscope-java.resp.completed-at", "agentscope.completed-at"},
		Kills:  breaking("/completedAt /completed_at"),
	}, {
		Name: "usage-is-a-number", Doc: "the usage of a run is a number",
		Play:   about("response", func(o object) { o["usage"] = 7 }),
		Breaks: []string{"agentscope.usage"},
		Kills:  breaking("/usage"),
	}, {
		Name: "error-is-a-text", Doc: "the error of a run that failed is a bare text",
		Play:   about("response", with("scripted failure", "error")),
		Breaks: []string{"agentscope-java.err.shape", "agentscope-java.err.object", "agentscope.error-shape", "agentscope.failed-has-error"},
		Kills:  breaking("/error"),
		Also:   []string{"script.error", "script.error-mid"}, // the words cannot be found where they should stand
	}, {
		Name: "error-without-a-code", Doc: "the error of a run that failed has no code",
		Play:   about("response", inside("error", without("code"))),
		Breaks: []string{"agentscope-java.err.shape", "agentscope.error-shape"},
		Kills:  breaking("/error /error/code"),
	}, {
		Name: "failure-without-an-error", Doc: "a run that failed has no error",
		Play:   about("response", with(nil, "error")),
		Breaks: []string{"agentscope-java.err.object", "agentscope.failed-has-error"},
		Kills:  breaking("/error"),
		Also:   []string{"script.error", "script.error-mid"}, // nor does it say why it failed
	}, {
		Name: "role-of-a-robot", Doc: "messages are a robot's",
		Play: about("message", func(o object) {
			if o["role"] == "assistant" {
				o["role"] = "robot"
			}
		}),
		Breaks: []string{"agentscope-java.msg.role", "agentscope.message-role"},
		Kills:  breaking("/role"),
		Also:   []string{"run.output-matches"}, // the end of the run lists them as what they are
	}, {
		Name: "message-code-is-a-number", Doc: "the code of a message is a number",
		Play:   about("message", func(o object) { o["code"] = 7 }),
		Breaks: []string{"agentscope.message-fields"},
		Kills:  breaking("/code"),
	}, {
		Name: "message-id-is-missing", Doc: "messages have no id",
		Play:   about("message", without("id")),
		Breaks: []string{"agentscope-java.msg.id", "agentscope.message-id"},
		Kills:  breaking("/id"),
		Also:   []string{"message.*", "script.*", "run.*", "content.*", "delta.*"}, // nothing can be assigned to what has no name
	}, {
		Name: "contents-are-a-text", Doc: "the contents that the end of a message repeats are a bare text",
		Play:   about("message", with("see above", "content")),
		Breaks: []string{"agentscope.message-content"},
		Kills:  breaking("/content"),
		Also:   []string{"message.content-equals", "run.output-matches"}, // what is not as documented cannot be read, and whatever it says is missing
	}, {
		Name: "delta-is-a-word", Doc: "whether a content is a piece is said in words",
		Play:   about("content", with("yes", "delta")),
		Breaks: []string{"agentscope-java.content.delta", "agentscope.delta-flag", "agentscope.content-fields", "agentscope.completed-not-delta", "agentscope-java.content.completed"},
		Kills:  breaking("/delta"),
	}, {
		Name: "place-is-missing", Doc: "contents do not say their place",
		Play:   about("content", without("index")),
		Breaks: []string{"agentscope-java.content.index", "agentscope.index-present"},
		Kills:  breaking("/index"),
		Also:   []string{"message.content-equals", "delta.joins-to-whole", "content.*", "message.*"}, // contents without a place cannot be told apart
	}, {
		Name: "place-is-a-word", Doc: "the place of a content is said in words",
		Play:   about("content", with("first", "index")),
		Breaks: []string{"agentscope-java.content.index", "agentscope.index-present", "agentscope.content-fields"},
		Kills:  breaking("/index"),
		Also:   []string{"message.content-equals", "delta.joins-to-whole", "content.*", "message.*"}, // as above
	}, {
		Name: "message-of-a-content-is-missing", Doc: "contents do not say to which message they belong",
		Play:   about("content", without("msg_id", "msgId")),
		Breaks: []string{"agentscope-java.content.msgid", "agentscope.msg-id"},
		Not:    []string{"agentscope@0.1"}, // there they may, while one message is open
		Kills:  breaking("/msgId /msg_id"),
		Also:   []string{"message.content-equals", "message.*", "content.*", "delta.joins-to-whole"}, // nobody knows whose they are
	}, {
		Name: "text-is-a-list", Doc: "the text of a content is a list",
		Play:   about("content", with([]any{"hello"}, "text")),
		Breaks: []string{"agentscope.content-payload"},
		Kills:  breaking("/text"),
		Also:   []string{"script.*", "message.content-equals", "content.is-whole", "delta.joins-to-whole"}, // what is not as documented cannot be read, and whatever it says is missing
	}, {
		Name: "arguments-are-an-object", Doc: "the arguments of a call are an object, not a text",
		Play:   anywhere("content", inside("data", with(object{"city": "Paris"}, "arguments"))),
		Breaks: []string{"agentscope-java.tool.call", "agentscope.tool-shape-call"},
		Kills:  breaking("/content /data/arguments"),
		Also:   []string{"message.content-equals", "tool.arguments-are-json", "script.tool", "script.client-tool*"}, // what is not as documented cannot be read, and whatever it says is missing
	}, {
		Name: "call-has-no-name", Doc: "the content of a call does not say which tool is called",
		Play:   anywhere("content", inside("data", without("name"))),
		Breaks: []string{"agentscope-java.tool.call", "agentscope.tool-shape-call"},
		Kills:  breaking("/content /data/name"),
		Also:   []string{"message.content-equals", "script.tool", "script.client-tool*"}, // what is not as documented cannot be read, and whatever it says is missing
	}, {
		Name: "result-is-an-object", Doc: "the result of a tool is an object, not a text",
		Play:   about("content", inside("data", with(object{"found": true}, "output"))),
		Breaks: []string{"agentscope.tool-shape"},
		Kills:  breaking("/data/output"),
		Also:   []string{"message.content-equals", "tool.result-after-call", "script.tool", "script.tools"}, // what is not as documented cannot be read, and whatever it says is missing
	}, {
		Name: "result-names-no-call", Doc: "the result of a tool does not say of which call it is",
		Play: anywhere("content", func(o object) {
			if data, ok := o["data"].(object); ok && data["output"] != nil {
				delete(data, "call_id")
			}
		}),
		Breaks: []string{"agentscope-java.tool.result"},
		Not:    []string{"agentscope-java@0.1"}, // there it need not
		Kills:  breaking("/content"),
		Also:   []string{"script.tool", "script.tools", "tool.result-after-call"}, // the call has no result
	}, {
		Name: "number-is-a-text", Doc: "the numbers of events are texts",
		Play:   frames(with("seven", "sequence_number", "sequenceNumber")),
		Breaks: []string{"agentscope-java.seq.present", "agentscope.sequence-increases", "agentscope.sequence-every"},
		Kills:  breaking("/sequence_number"),
		Also:   []string{"sequence.dense"}, // what is not as documented cannot be read, and whatever it says is missing
	}, {
		Name: "list-is-an-object", Doc: "the list of messages at the end of a run is an object",
		Play:   about("response", with(object{}, "output")),
		Breaks: []string{"agentscope-java.resp.output", "agentscope.response-fields", "agentscope.output-array"},
		Kills:  breaking("/output"),
		Also:   []string{"run.output-is-complete"}, // what is not as documented cannot be read, and whatever it says is missing
	}, {
		Name: "run-has-no-id", Doc: "the events of a run do not say which",
		Play:   about("response", without("id")),
		Breaks: []string{"agentscope-java.resp.id", "agentscope.response-id-stable"},
		Kills:  breaking("/id"),
	}, {
		Name: "piece-is-a-number", Doc: "a piece of a text is a number",
		Play:   about("text", with(7, "content")),
		Breaks: []string{"agkit.event.text"},
		Kills:  breaking("/content"),
		Also:   []string{"script.*"}, // what is not as documented cannot be read, and whatever it says is missing
	}, {
		Name: "piece-says-delta", Doc: "a piece of a text stands in delta",
		Play: about("text", func(o object) {
			o["delta"] = o["content"]
			delete(o, "content")
		}),
		Breaks: []string{"agkit.event.text"},
		Kills:  breaking("/content"),
		Also:   []string{"script.*"}, // what is not as documented cannot be read, and whatever it says is missing
	}, {
		Name: "call-is-nameless", Doc: "the event that opens a call does not say which tool is called",
		Play:   about("tool-call-start", without("toolCallName")),
		Breaks: []string{"agkit.event.tool-call-start"},
		Kills:  breaking("/toolCallName"),
		Also:   []string{"script.tool", "script.tools", "script.client-tool*", "tool.client-call-is-offered"}, // the name is missing
	}, {
		Name: "arguments-are-a-list", Doc: "a piece of the arguments is a list",
		Play:   about("tool-call-args", with([]any{}, "delta")),
		Breaks: []string{"agkit.event.tool-call-args"},
		Kills:  breaking("/delta"),
		Also:   []string{"script.tool", "script.tools", "script.client-tool*", "tool.arguments-are-json"}, // what is not as documented cannot be read, and whatever it says is missing
	}, {
		Name: "call-ends-by-number", Doc: "the event that ends a call names it by a number",
		Play:   about("tool-call-end", with(7, "toolCallId")),
		Breaks: []string{"agkit.event.tool-call-end"},
		Kills:  breaking("/toolCallId"),
		Also:   []string{"tool.all-end", "tool.arguments-are-json", "tool.starts-first", "tool.result-after-call"}, // of which call it is the end nobody knows
	}, {
		Name: "result-is-a-list", Doc: "the result of a tool is a list",
		Play:   about("tool-result", with([]any{"found"}, "result")),
		Breaks: []string{"agkit.event.tool-result"},
		Kills:  breaking("/result"),
		Also:   []string{"script.tool", "script.tools"}, // what is not as documented cannot be read, and whatever it says is missing
	}, {
		Name: "interrupt-has-no-id", Doc: "the id of an interrupt is empty",
		Play:   about("interrupt", with("", "id")),
		Breaks: []string{"agkit.event.interrupt"},
		Kills:  breaking("/id"),
	}, {
		Name: "failure-is-an-object", Doc: "why a run failed is an object, not a text",
		Play:   about("error", with(object{"message": "scripted failure"}, "error")),
		Breaks: []string{"agkit.event.error"},
		Kills:  breaking("/error"),
		Also:   []string{"script.error", "script.error-mid"}, // what is not as documented cannot be read, and whatever it says is missing
	}, {
		Name: "event-has-no-type", Doc: "a piece of a text does not say what it is",
		Play:   about("text", without("type")),
		Breaks: []string{"agkit.event.type"},
		Kills:  breaking("/type"),
		Also:   []string{"script.*"}, // what is not as documented cannot be read, and whatever it says is missing
	}, {
		Name: "event-does-not-name-its-run", Doc: "pieces of texts do not say to which run they belong",
		Play:   about("TEXT_MESSAGE_CONTENT", without("runId")),
		Breaks: []string{"runs.stream.run-id-present"},
		Kills:  breaking("/runId"),
	}, {
		Name: "end-does-not-name-its-run", Doc: "the end of a run does not say of which",
		Play:   about("RUN_FINISHED", without("runId")),
		Breaks: []string{"runs.stream.run-id-present"},
		Kills:  breaking("/runId"),
	},
}
