package mutation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/streamassay/streamassay/spec"
)

// rewriteInput returns a middleware that changes the text of an input before the server receives
// the request. It affects valid requests to start a run that have an input of kind k. If k is
// [spec.InputUser], the request must end with such an input, and not with a tool result or an
// answer to an interrupt. Requests whose body is not JSON, or is larger than maxEagerBody, are not
// changed.
//
// The function begin is called once per server, and returns the function that rewrites texts. That
// function receives a request v and the text of the last input of kind k in v, and returns the new
// text, which replaces all strings in the body that equal the old one. Its calls for one server do
// not overlap.
//
// The input may also be a JSON object in the body, such as the answer to an interrupt. In that
// case, only the longest of its members that are strings is rewritten. If there is no such member,
// nothing is changed.
func rewriteInput(k spec.Kind, begin func() func(v parsedRequest, text string) string) middleware {
	return func(next dialectHandler) dialectHandler {
		var mu sync.Mutex
		rewrite := begin()
		return editRequests(func(v parsedRequest) *http.Request {
			part, ok := v.event.Last(k)
			if _, isPrompt := v.event.Prompt(); ok && v.startsRun() && v.event.Valid() && (k != spec.InputUser || isPrompt) {
				var body any
				isJSON := json.Unmarshal(v.raw.Body, &body) == nil
				received := part.Text
				if isJSON && !hasString(body, received) {
					received = longestString(received)
				}
				mu.Lock()
				text := rewrite(v, received)
				mu.Unlock()
				if text != received && isJSON {
					other := v.raw
					other.Body, _ = json.Marshal(replaceString(body, received, text))
					return v.withRequest(other)
				}
			}
			return v.httpRequest
		})(next)
	}
}

// keepFirstTexts is a middleware that edits valid requests that start a run before the server
// receives them. In each message that has several texts, it empties all texts except the first.
var keepFirstTexts = editRequests(func(v parsedRequest) *http.Request {
	var body any
	if !v.startsRun() || !v.event.Valid() || json.Unmarshal(v.raw.Body, &body) != nil {
		return v.httpRequest
	}
	for _, part := range v.event.Parts {
		for _, text := range part.Texts[min(1, len(part.Texts)):] {
			body = replaceString(body, text, "")
		}
	}
	other := v.raw
	other.Body, _ = json.Marshal(body)
	return v.withRequest(other)
})

// hasString reports whether the decoded JSON value v is a string equal to text, or contains such a
// string at any depth. Names of members do not count.
func hasString(v any, text string) bool {
	switch v := v.(type) {
	case string:
		return v == text
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return hasString(item, text) })
	case map[string]any:
		for _, member := range v {
			if hasString(member, text) {
				return true
			}
		}
	}
	return false
}

// longestString returns the longest string that is the value of a member of object, the text of a
// JSON object such as the payload of the answer to an interrupt. If several strings have that
// length, it returns the one whose member has the first name in alphabetical order. It returns
// object itself if no value is a non-empty string, or if object is not a JSON object.
func longestString(object string) string {
	var members map[string]any
	if json.Unmarshal([]byte(object), &members) != nil {
		return object
	}
	longest := ""
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if text, ok := members[name].(string); ok && len(text) > len(longest) {
			longest = text
		}
	}
	return cmp.Or(longest, object)
}

// replaceString returns the decoded JSON value v with text in place of each string that is equal to
// old, at any depth. Names of members are not replaced. The objects and arrays in v are modified in
// place.
func replaceString(v any, old, text string) any {
	switch v := v.(type) {
	case string:
		if v == old {
			return text
		}
	case []any:
		for i := range v {
			v[i] = replaceString(v[i], old, text)
		}
	case map[string]any:
		for name := range v {
			v[name] = replaceString(v[name], old, text)
		}
	}
	return v
}

// rewriteArguments returns a middleware that changes test prompts with the given name before the
// server receives them. A test prompt has the form "conformance:NAME ARGUMENTS". The arguments,
// which may contain spaces, are replaced with rewrite(arguments). A prompt without arguments is not
// changed.
func rewriteArguments(name string, rewrite func(arguments string) string) middleware {
	return rewriteInput(spec.InputUser, func() func(parsedRequest, string) string {
		return func(_ parsedRequest, text string) string {
			if arguments, ok := strings.CutPrefix(text, "conformance:"+name+" "); ok {
				return "conformance:" + name + " " + rewrite(arguments)
			}
			return text
		}
	})
}

// repeatFirst returns a middleware that replaces each test prompt with the given name with the
// first prompt of that name that the same user sent in the thread. The name does not include
// "conformance:". A prompt without arguments is not replaced.
func repeatFirst(name string) middleware {
	return firstOfThread(spec.InputUser, "conformance:"+name+" ")
}

// firstOfThread returns a middleware that edits valid requests that start a run. If the text of the
// last input of kind k begins with prefix, it is replaced with the first text with that prefix that
// the same user sent in the thread.
func firstOfThread(k spec.Kind, prefix string) middleware {
	return rewriteInput(k, func() func(parsedRequest, string) string {
		first := map[string]string{}
		return func(v parsedRequest, text string) string {
			if !strings.HasPrefix(text, prefix) {
				return text
			}
			key := threadKey(v)
			first[key] = cmp.Or(first[key], text)
			return first[key]
		}
	})
}

// threadKey returns a map key that identifies the user and the thread of the request v together.
func threadKey(v parsedRequest) string { return v.user() + v.event.User + "\n" + v.event.Thread }

// replyToRecall returns a middleware that makes the server reply to the prompt conformance:recall
// with the text recall(earlier). The argument earlier lists the earlier prompts of the user in the
// thread, oldest first. If there are none, the server receives the prompt unchanged.
func replyToRecall(recall func(earlier []string) string) middleware {
	return rewriteInput(spec.InputUser, func() func(parsedRequest, string) string {
		all := map[string][]string{}
		return func(v parsedRequest, text string) string {
			earlier := all[threadKey(v)]
			all[threadKey(v)] = append(earlier, text)
			if text == "conformance:recall" && len(earlier) > 0 {
				return "conformance:text " + recall(earlier)
			}
			return text
		}
	})
}

// rewriteText returns a middleware that edits valid requests that start a run. It replaces the text
// of the last input of kind k with rewrite(text). See rewriteInput for the requests that are not
// changed, and for the text of an input that is a JSON object.
func rewriteText(k spec.Kind, rewrite func(text string) string) middleware {
	return rewriteInput(k, func() func(parsedRequest, string) string {
		return func(_ parsedRequest, text string) string { return rewrite(text) }
	})
}

// dropNulls returns object, a JSON object, without the members whose value is null. Nested objects
// keep such members. If object is not a JSON object, it is returned unchanged.
func dropNulls(object string) string {
	return string(withoutMembers([]byte(object), func(_ string, v any) bool { return v == nil }))
}

// squeeze returns s without white space at its ends, and with a single space in place of each other
// sequence of white space.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// storedToo lists globs, for [Mutant.AlsoFails], that match the ids of the checks that may fail if
// a mutant changes a text before the server receives it, because the server then stores and returns
// the changed text.
var storedToo = []string{"script.*", "history.*", "accepted.keeps-prompt"}

// inText lists the locations, for [Mutant.KilledBy], of findings about the text of a run.
const inText = "message.delta http.close run.end"

// payloadMutant returns a mutant with the given name that only the check with the id check must
// find. The argument locations is the value for this check in [Mutant.KilledBy]. The other
// arguments are the fields Doc, AlsoFails, Middleware and Needs of the mutant.
func payloadMutant(
	name, doc, check, locations string, alsoFails []string, m middleware, needs ...spec.Kind,
) *Mutant {
	return &Mutant{
		Name: name, Doc: doc, KilledBy: map[string]string{check: locations}, AlsoFails: alsoFails,
		Middleware: m, Needs: needs,
	}
}

// payloadMutants are servers that change texts or JSON values that they receive, or lose parts of
// them, before they send or store them.
var payloadMutants = []*Mutant{
	payloadMutant("text-trimmed", "trims leading and trailing white space from a text",
		"script.text", inText, storedToo, rewriteArguments("text", strings.TrimSpace)),
	payloadMutant("text-crlf-normalized", "sends a carriage return and line feed in a text as a line feed",
		"script.text", inText, storedToo,
		rewriteArguments("text", func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") })),
	payloadMutant("text-after-reasoning-trimmed", "trims leading and trailing white space from a text that follows reasoning",
		"script.reasoning", inText, storedToo, rewriteArguments("reasoning", strings.TrimSpace), spec.ReasoningStart),
	payloadMutant("error-message-html-escaped", "escapes error messages for HTML",
		"script.error", "run.error", storedToo, rewriteArguments("error", html.EscapeString)),
	payloadMutant("recall-white-space-collapsed", "replaces each sequence of white space in a recalled text with one space",
		"script.recall", inText, storedToo,
		replyToRecall(func(earlier []string) string { return squeeze(earlier[len(earlier)-1]) })),
	{
		Name: "later-text-parts-dropped", Doc: "reads only the first text of a message with several parts",
		KilledBy:   map[string]string{"script.recall": inText},
		AlsoFails:  append([]string{"script.client-tool-result"}, storedToo...), // a result may be in parts, too
		Needs:      []spec.Kind{spec.StateSnapshot},                             // the dialects with such messages
		Middleware: keepFirstTexts,
	},
	payloadMutant("recall-repeats-first-message", "repeats the first message of the thread when the prompt asks for the previous message",
		"script.recall", inText, storedToo, replyToRecall(func(earlier []string) string { return earlier[0] })),
	{
		Name: "recall-skips-tool-calls", Doc: "skips messages that called a tool when the prompt asks for the previous message",
		KilledBy:  map[string]string{"script.recall": inText},
		AlsoFails: storedToo,
		Middleware: replyToRecall(func(earlier []string) string {
			i := len(earlier) - 1
			for i > 0 && strings.Contains(earlier[i], "tool {") {
				i--
			}
			return earlier[i]
		}),
	},
	payloadMutant("tool-call-null-arguments-dropped", "drops null members from the arguments of a call of the server's tool",
		"script.tool", "tool.*", storedToo, rewriteArguments("tool", dropNulls)),
	payloadMutant("client-call-null-arguments-dropped", "drops null members from the arguments of a call of a client tool",
		"script.client-tool", "tool.*", storedToo, rewriteArguments("client-tool", dropNulls)),
	payloadMutant("interrupt-null-members-dropped", "drops null members from the payload of an interrupt",
		"script.interrupt", "interrupt", storedToo, rewriteArguments("interrupt", dropNulls)),
	payloadMutant("client-tool-result-trimmed", "trims leading and trailing white space from the result of a client tool",
		"script.client-tool-result", inText, nil, rewriteText(spec.InputToolResult, strings.TrimSpace)),
	{
		Name: "client-tool-empty-result-null", Doc: "treats an empty result of a client tool as null",
		KilledBy:  map[string]string{"script.client-tool-result": inText},
		AlsoFails: []string{"script.client-tool-results"}, // one of two results may be empty
		Middleware: rewriteText(spec.InputToolResult, func(text string) string {
			if text == "" {
				return "null"
			}
			return text
		}),
	},
	payloadMutant("resume-answer-trimmed", "trims leading and trailing white space from the answer to an interrupt",
		"script.resume", inText, nil, rewriteText(spec.InputResume, strings.TrimSpace)),
}

// freshnessMutants are servers that send an earlier text, tool call, interrupt or message id where
// a new one is expected.
var freshnessMutants = []*Mutant{
	payloadMutant("second-text-repeats-first", "sends the first text again when the prompt asks for a second one",
		"script.text", inText, storedToo, repeatFirst("text")),
	payloadMutant("second-tool-call-repeats-first", "makes the second call of the server's tool with the arguments of the first",
		"script.tool", "tool.*", storedToo, repeatFirst("tool")),
	payloadMutant("second-client-call-repeats-first", "makes the second call of a client tool with the arguments of the first",
		"script.client-tool", "tool.*", storedToo, repeatFirst("client-tool")),
	payloadMutant("second-interrupt-repeats-first", "sends the second interrupt with the payload of the first",
		"script.interrupt", "interrupt", storedToo, repeatFirst("interrupt")),
	{
		Name: "message-ids-repeated-every-run", Doc: "uses the same message ids in every run",
		KilledBy:  map[string]string{"message.ids-fresh": "message.*"},
		NewEffect: repeatMessageIDs(1),
	}, {
		Name: "message-ids-repeated-every-eighth", Doc: "uses the same message ids again in every eighth run",
		KilledBy:  map[string]string{"message.ids-fresh": "message.*"},
		NewEffect: repeatMessageIDs(8),
	},
}

// historyPayloadMutants are servers whose histories contain messages twice, or texts that differ
// from the original ones only in white space or special characters.
var historyPayloadMutants = []*Mutant{
	{
		Name: "history-user-white-space-collapsed", Doc: "replaces each sequence of white space in a user message in the history with one space",
		KilledBy:   map[string]string{"history.tells-the-user": "history"},
		AlsoFails:  []string{"accepted.keeps-prompt"},
		Middleware: editMessages(spec.HistoryUser, func(m *spec.Event) { m.Text = squeeze(m.Text) }),
	}, {
		Name: "history-user-text-html-escaped", Doc: "escapes user messages in the history for HTML",
		KilledBy:   map[string]string{"history.tells-the-user": "history"},
		AlsoFails:  []string{"accepted.keeps-prompt", "history.tells-images", "history.tells-only-sent-prompts"},
		Middleware: editMessages(spec.HistoryUser, func(m *spec.Event) { m.Text = html.EscapeString(m.Text) }),
	}, {
		Name: "history-assistant-text-trimmed", Doc: "trims leading and trailing white space from assistant messages in the history",
		KilledBy:   map[string]string{"history.tells-the-answer": "history"},
		Middleware: editMessages(spec.HistoryAssistant, func(m *spec.Event) { m.Text = strings.TrimSpace(m.Text) }),
	},
	payloadMutant("history-user-messages-twice", "returns every user message twice in the history",
		"history.tells-once", "history", nil, repeatMessages(spec.HistoryUser)),
	payloadMutant("history-assistant-messages-twice", "returns every assistant message twice in the history",
		"history.tells-once", "history", nil, repeatMessages(spec.HistoryAssistant)),
}

// repeatMessages returns a middleware that repeats each message of kind k in the histories that the
// server returns. The copy comes right after the message and has a different id. All messages of
// the history are renumbered, from 1.
func repeatMessages(k spec.Kind) middleware {
	return editHistories(func(_ parsedRequest, e *spec.Event) {
		var all []spec.Event
		for _, m := range e.Parts {
			all = append(all, m)
			if m.Kind == k {
				m.ID += "-again"
				all = append(all, m)
			}
		}
		renumber(all, func(i int) int { return i + 1 })
		e.Parts = all
	})
}

// repeatMessageIDs returns the effectFactory of a fault that uses the same n sets of message ids
// over and over, one set per response. If n is 1, the messages of all responses have the same ids.
// Within a response, different messages still have different ids.
func repeatMessageIDs(n int64) effectFactory {
	var runs atomic.Int64
	return editEvents(func() eventEdit {
		names, run := map[string]string{}, runs.Add(1)%n
		return func(e *spec.Event, emit func(*spec.Event)) {
			other := *e
			changeNested(&other, func(e *spec.Event) {
				if e.Message == "" {
					return
				}
				if names[e.Message] == "" {
					names[e.Message] = fmt.Sprintf("message-%d-%d", run, len(names)+1)
				}
				e.Message = names[e.Message]
			})
			emit(&other)
		}
	})
}
