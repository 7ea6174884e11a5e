package mutation

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/spec"
)

// identityMutants are servers that report a wrong role, type, status or time of a message or run,
// or give the same id to several runs or threads. One of them sends an image without a URL.
var identityMutants = []*Mutant{
	{
		Name: "message-start-as-user", Doc: "sends a message with the role user in its start event and the role assistant in its end event",
		NewEffect: changeEvents(fault.OfKind(spec.MessageStart), func(e *spec.Event) { e.Role = "user" }),
		KilledBy:  map[string]string{"message.keeps-role-and-type": "message.end"},
		AlsoFails: []string{matchesSchema}, // a schema may say whose tool results are
	}, {
		Name: "message-end-as-system", Doc: "sends a message with the role assistant in its start event and the role system in its end event",
		NewEffect: changeEvents(fault.OfKind(spec.MessageEnd), func(e *spec.Event) { e.Role = "system" }),
		KilledBy:  map[string]string{"message.keeps-role-and-type": "message.end"},
		// The output has the role of the start, the answer is the system's, and a schema may say
		// whose tool results are.
		AlsoFails: []string{"run.output-matches", "script.text", matchesSchema},
	}, {
		Name: "answer-role-user", Doc: "sends the messages of an answer with the role user",
		NewEffect: replaceText(`"role":"assistant"`, `"role":"user"`),
		Needs:     []spec.Kind{spec.MessageStart}, // or else texts have no message with a role
		KilledBy:  map[string]string{"script.text": "message.end message.start"},
	}, {
		Name: "answer-role-system", Doc: "sends the messages of an answer with the role system",
		NewEffect: replaceText(`"role":"assistant"`, `"role":"system"`),
		Needs:     []spec.Kind{spec.MessageStart}, // or else texts have no message with a role
		KilledBy:  map[string]string{"script.text": "message.end message.start"},
	},
	replyMutant("image-without-url", "sends an image without a URL when the prompt asks for a text and an image",
		"contents", `[message: [text: see, image: '']]`, "script.contents", "http.close"),
	{
		Name: "run-id-same-for-all", Doc: "uses the same id for all runs",
		NewEffect: changeEvents(anyEvent, func(e *spec.Event) { e.Run = "the-run" }),
		KilledBy:  map[string]string{"run.ids-unique": "run.start"},
		// The id of a request is not repeated, and a repeated opening event differs.
		AlsoFails: []string{"echo.run", "sequence.never-falls"},
	}, {
		Name: "run-ids-only-sixteen", Doc: "uses only sixteen different run ids",
		NewEffect: changeEvents(anyEvent, func(e *spec.Event) { e.Run = "run-" + e.Run[:min(1, len(e.Run))] }),
		Needs:     []spec.Kind{spec.MessageStart}, // or else nearly all requests choose the id themselves
		KilledBy:  map[string]string{"run.ids-unique": "run.start"},
		AlsoFails: []string{"echo.run"}, // the id of a request is not repeated
	}, {
		Name: "run-completed-after-millisecond", Doc: "reports a completion time of the run that is one millisecond after its creation time",
		NewEffect: changeFrames(endAfter(1)),
		KilledBy:  map[string]string{"run.times-span-the-run": "run.end"},
	}, {
		Name: "run-completed-after-hour", Doc: "reports a completion time of the run that is one hour after its creation time",
		NewEffect: changeFrames(endAfter(3_600_000)),
		KilledBy:  map[string]string{"run.times-span-the-run": "run.end"},
	}, {
		Name: "run-completed-after-tenth", Doc: "reports a completion time of the run that is a tenth of a second after its creation time",
		NewEffect: changeFrames(endAfter(100)),
		KilledBy:  map[string]string{"run.times-span-the-run": "run.end"},
	}, {
		Name: "failed-run-canceled", Doc: "reports a failed run as canceled",
		NewEffect: replaceText(`"status":"failed"`, `"status":"canceled"`),
		KilledBy:  map[string]string{"error.says-failed": "run.error"},
	}, {
		Name: "failed-run-rejected", Doc: "reports a failed run as rejected",
		NewEffect: replaceText(`"status":"failed"`, `"status":"rejected"`),
		KilledBy:  map[string]string{"error.says-failed": "run.error"},
	}, {
		Name: "run-output-canceled", Doc: "lists the messages of the run as canceled in the terminal event",
		NewEffect: changeParts(fault.OfKind(spec.RunEnd), func(p *spec.Event) {
			if p.Kind == spec.MessageEnd || p.Kind == spec.ReasoningEnd {
				p.Status = "canceled"
			}
		}),
		KilledBy: map[string]string{"run.output-matches": "run.end"},
	}, {
		Name: "tool-call-type-text", Doc: "sends a message that contains a tool call with the type of a text message",
		Middleware: retypeMessages(func(types []string) map[string]string {
			return map[string]string{types[0]: strings.ToUpper(textType)}
		}),
		KilledBy:  map[string]string{"tool.message-type": "message.end tool.call"},
		AlsoFails: []string{matchesSchema, "tool.*", "script.*"}, // a schema may identify calls by the type of their message
	}, {
		Name: "tool-result-type-call", Doc: "sends a message that contains a tool result with the type of a tool call",
		Middleware: retypeMessages(func(types []string) map[string]string {
			other := map[string]string{}
			for _, t := range types[1:] {
				other[t] = types[0]
			}
			return other
		}),
		KilledBy:  map[string]string{"tool.message-type": "message.end tool.result"},
		AlsoFails: []string{matchesSchema, "tool.*", "script.*"}, // a schema may identify results by the type of their message
	}, {
		Name: "created-thread-id-same", Doc: "returns the same thread id for all requests that name no thread",
		Middleware: replaceCreatedThread(`"the-thread"`),
		KilledBy:   map[string]string{"echo.thread-made": "run.end"},
	},
}

// reportedTimes matches the members of a frame that state when a run ended and when it began, in
// this order and with numbers as values. It has three groups: what follows "completed" in the name
// of the first member, what is between the two numbers, and the second number.
var reportedTimes = regexp.MustCompile(`"completed(_at|At)":\d+(.*"created(?:_at|At)":)(\d+)`)

// endAfter returns a function for changeFrames. In each frame that states when a run began and when
// it ended, the function replaces the end by the time that is ms milliseconds after the beginning.
// The times must be in milliseconds. Other frames are returned unchanged.
func endAfter(ms int64) func(frame []byte) []byte {
	return func(frame []byte) []byte {
		m := reportedTimes.FindSubmatch(frame)
		if m == nil {
			return frame
		}
		began, _ := strconv.ParseInt(string(m[3]), 10, 64)
		return reportedTimes.ReplaceAll(frame, fmt.Appendf(nil, `"completed${1}":%d${2}${3}`, began+ms))
	}
}

// replaceText returns the effectFactory of a fault that replaces all occurrences of old in each
// frame with replacement.
func replaceText(old, replacement string) effectFactory {
	return changeFrames(func(frame []byte) []byte { return bytes.ReplaceAll(frame, []byte(old), []byte(replacement)) })
}

// retypeMessages returns a middleware that replaces the types of messages in streams. It calls
// retype for each frame. The result maps each type that is replaced in the frame to the new type.
// Some dialects have types in upper case, others in lower case: if a key of the result is in lower
// case, the new type is converted to lower case.
//
// The argument types lists the types of the messages in the stream up to this frame, each once, in
// the order of their first occurrence. It does not contain textType, in upper or lower case. While
// it would be empty, retype is not called.
func retypeMessages(retype func(types []string) map[string]string) middleware {
	isAbout := fault.OfKind(spec.MessageStart, spec.MessageProgress, spec.MessageEnd)
	return editFrames(func(v parsedRequest) func([]byte) []byte {
		var types []string
		return func(frame []byte) []byte {
			e := v.decodeFrame(frame)
			isNew := e.Type != "" && !strings.EqualFold(e.Type, textType) && !slices.Contains(types, e.Type)
			if isAbout(&e) && isNew {
				types = append(types, e.Type)
			}
			if len(types) == 0 {
				return frame
			}
			for from, to := range retype(types) {
				if from == strings.ToLower(from) {
					to = strings.ToLower(to)
				}
				frame = bytes.ReplaceAll(frame, []byte(`"type":`+strconv.Quote(from)), []byte(`"type":`+strconv.Quote(to)))
			}
			return frame
		}
	})
}

// textType is the type, in lower case, of a message that contains text.
const textType = "message"
