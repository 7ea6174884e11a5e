package mutation

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/streamassay/streamassay/spec"
)

// cutAt returns a function that shortens a text to at most n bytes without splitting a character.
func cutAt(n int) func(text string) string {
	return func(text string) string {
		if len(text) <= n {
			return text
		}
		return strings.ToValidUTF8(text[:n], "")
	}
}

// rewriteLaterResult returns a middleware that changes requests with several tool results. It
// replaces the text of the last result with rewrite(first), where first is the text of the first
// one.
func rewriteLaterResult(rewrite func(first string) string) middleware {
	return rewriteInput(spec.InputToolResult, func() func(parsedRequest, string) string {
		return func(v parsedRequest, text string) string {
			if results := v.event.PartsOf(spec.InputToolResult); len(results) > 1 {
				return rewrite(results[0].Text)
			}
			return text
		}
	})
}

// repeatedToo lists the checks, for [Mutant.AlsoFails], that also fail if the last of several tool
// results in a request is changed. In dialects whose requests repeat the conversation, a request
// with one new result also contains the results of earlier runs, so the new one is changed, too.
var repeatedToo = []string{"script.client-tool-result"}

// recallReply is a middleware that makes the server reply to the prompt conformance:recall with a
// wrong text: the last tool result, or answer to an interrupt, that a client has sent in the thread
// since the previous prompt. If there is none, the server receives the prompt unchanged.
func recallReply(next dialectHandler) dialectHandler {
	var replies sync.Map // thread id → text
	recall := rewriteInput(spec.InputUser, func() func(parsedRequest, string) string {
		return func(v parsedRequest, text string) string {
			reply, _ := replies.LoadAndDelete(v.event.Thread)
			if said, _ := reply.(string); text == "conformance:recall" && said != "" {
				return "conformance:text " + said
			}
			return text
		}
	})
	remember := editRequests(func(v parsedRequest) *http.Request {
		for _, k := range []spec.Kind{spec.InputToolResult, spec.InputResume} {
			if part, ok := v.event.Last(k); ok && v.event.Valid() {
				replies.Store(v.event.Thread, part.Text)
			}
		}
		return v.httpRequest
	})
	return recall(remember(next))
}

// payloadAgainMutants are further servers that damage payloads; see payloadMutants. They truncate
// long texts, use the value of an earlier request in place of a later one, return a reply instead
// of the user's previous prompt, or list a message only once although it was sent repeatedly.
var payloadAgainMutants = []*Mutant{
	payloadMutant("text-after-reasoning-truncated", "truncates texts that follow reasoning to 1,024 bytes",
		"script.reasoning", inText, storedToo, rewriteArguments("reasoning", cutAt(1024)), spec.ReasoningStart),
	payloadMutant("error-message-truncated", "truncates error messages to 1,024 bytes",
		"script.error", "run.error", storedToo, rewriteArguments("error", cutAt(1024))),
	payloadMutant("client-tool-result-truncated", "truncates the results of client tools to 1,024 bytes",
		"script.client-tool-result", inText, nil, rewriteText(spec.InputToolResult, cutAt(1024))),
	payloadMutant("resume-answer-truncated", "truncates answers to interrupts to 1,024 bytes",
		"script.resume", inText, nil, rewriteText(spec.InputResume, cutAt(1024))),
	payloadMutant("recall-text-truncated", "truncates recalled texts to 1,024 bytes",
		"script.recall", inText, storedToo,
		replyToRecall(func(earlier []string) string { return cutAt(1024)(earlier[len(earlier)-1]) })),
	payloadMutant("second-error-repeats-first", "sends the second error of a thread with the error message of the first",
		"script.error", "run.error", storedToo, repeatFirst("error")),
	{
		Name: "second-client-result-repeats-first", Doc: "uses the first result of a client tool in place of the second",
		KilledBy:   map[string]string{"script.client-tool-result": inText},
		AlsoFails:  []string{"script.client-tool-results"}, // the last of several results is the second
		Middleware: firstOfThread(spec.InputToolResult, ""),
	},
	payloadMutant("first-client-result-used-twice", "uses the first of two results of client tools in one request in place of the second",
		"script.client-tool-results", inText, repeatedToo, rewriteLaterResult(func(first string) string { return first })),
	payloadMutant("second-client-result-emptied", "treats the second of two results of client tools in one request as empty",
		"script.client-tool-results", inText, repeatedToo, rewriteLaterResult(func(string) string { return "" })),
	payloadMutant("second-resume-answer-repeats-first", "uses the first answer to an interrupt in place of the second",
		"script.resume", inText, nil, firstOfThread(spec.InputResume, "")),
	payloadMutant("recall-repeats-result-or-answer", "repeats the preceding tool result or answer to an interrupt when the prompt asks for the previous message",
		"script.recall", inText, storedToo, recallReply, spec.InputTool, spec.InputResume),
	{
		Name: "history-user-messages-deduplicated", Doc: "returns a text that the user sent twice only once in the history",
		KilledBy: map[string]string{"history.tells-the-user": "history"},
		Middleware: editHistories(func(_ parsedRequest, e *spec.Event) {
			seen := map[string]bool{}
			e.Parts = slices.DeleteFunc(e.Parts, func(m spec.Event) bool {
				again := m.Kind == spec.HistoryUser && seen[m.Text]
				seen[m.Text] = seen[m.Text] || m.Kind == spec.HistoryUser
				return again
			})
		}),
	}, {
		Name: "history-user-text-1024-bytes", Doc: "truncates user messages in the history to 1,024 bytes",
		KilledBy:   map[string]string{"history.tells-the-user": "history"},
		AlsoFails:  []string{"accepted.keeps-prompt"},
		Middleware: editMessages(spec.HistoryUser, func(m *spec.Event) { m.Text = cutAt(1024)(m.Text) }),
	},
}
