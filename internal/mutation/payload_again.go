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

// firstOfThread returns a middleware that changes valid requests to start a run. It replaces the
// text of the last input of kind k with the first such text that the same user sent in the thread.
func firstOfThread(k spec.Kind) middleware {
	return rewriteInput(k, func() func(parsedRequest, string) string {
		first := map[string]string{}
		return func(v parsedRequest, text string) string {
			key := v.user() + v.event.User + "\n" + v.event.Thread
			if first[key] == "" {
				first[key] = text
			}
			return first[key]
		}
	})
}

// rewriteLaterResult returns a middleware that changes requests with several tool results. It
// replaces the text of the last result with rewrite(first), where first is the text of the first
// result.
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

// recallReply returns a middleware that makes the server reply to the prompt conformance:recall
// with the last tool result, or answer to an interrupt, that a client has sent in the thread since
// the previous prompt. If there is none, the server receives the prompt unchanged.
func recallReply() middleware {
	return func(next dialectHandler) dialectHandler {
		var mu sync.Mutex
		replies := map[string]string{}
		return rewriteInput(spec.InputUser, func() func(parsedRequest, string) string {
			return func(v parsedRequest, text string) string {
				mu.Lock()
				defer mu.Unlock()
				reply := replies[v.event.Thread]
				delete(replies, v.event.Thread)
				if text == "conformance:recall" && reply != "" {
					return "conformance:text " + reply
				}
				return text
			}
		})(interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
			for _, k := range []spec.Kind{spec.InputToolResult, spec.InputResume} {
				if part, ok := v.event.Last(k); ok && v.event.Valid() {
					mu.Lock()
					replies[v.event.Thread] = part.Text
					mu.Unlock()
				}
			}
			next.ServeHTTP(w, v.httpRequest)
		})(next))
	}
}

// payloadAgainMutants are servers that cut long texts, use the first of two values in place of the
// second, recall a reply in place of a prompt, or return repeated messages only once.
var payloadAgainMutants = []*Mutant{
	{
		Name: "reasoned-text-cut", Doc: "texts after reasoning are cut after 1,024 bytes",
		KilledBy:   map[string]string{"script.reasoning": "message.delta http.close run.end"},
		AlsoFails:  storedToo,
		Needs:      []spec.Kind{spec.ReasoningStart},
		Middleware: rewriteArguments("reasoning", cutAt(1024)),
	}, {
		Name: "errors-cut", Doc: "the messages of errors are cut after 1,024 bytes",
		KilledBy:   map[string]string{"script.error": "run.error"},
		AlsoFails:  storedToo,
		Middleware: rewriteArguments("error", cutAt(1024)),
	}, {
		Name: "results-cut", Doc: "the results of client tools are cut after 1,024 bytes",
		KilledBy:   map[string]string{"script.client-tool-result": "message.delta http.close run.end"},
		Middleware: rewriteText(spec.InputToolResult, cutAt(1024)),
	}, {
		Name: "resume-cut", Doc: "replies to interrupts are cut after 1,024 bytes",
		KilledBy:   map[string]string{"script.resume": "message.delta http.close run.end"},
		Middleware: rewriteText(spec.InputResume, cutAt(1024)),
	}, {
		Name: "recall-cut", Doc: "recalled texts are cut after 1,024 bytes",
		KilledBy:   map[string]string{"script.recall": "message.delta http.close run.end"},
		AlsoFails:  storedToo,
		Middleware: replyToRecall(func(earlier []string) string { return cutAt(1024)(earlier[len(earlier)-1]) }),
	}, {
		Name: "second-error-is-the-first", Doc: "the second error of a conversation has the message of the first",
		KilledBy:   map[string]string{"script.error": "run.error"},
		AlsoFails:  storedToo,
		Middleware: repeatFirst("error"),
	}, {
		Name: "second-result-is-the-first", Doc: "the second result of a client tool is taken for the first",
		KilledBy:   map[string]string{"script.client-tool-result": "message.delta http.close run.end"},
		AlsoFails:  []string{"script.client-tool-results"}, // the last of several results is the second
		Middleware: firstOfThread(spec.InputToolResult),
	}, {
		Name: "first-of-two-results-used-twice", Doc: "of two results of client tools in one request, the first is used twice",
		KilledBy:   map[string]string{"script.client-tool-results": "message.delta http.close run.end"},
		Middleware: rewriteLaterResult(func(first string) string { return first }),
	}, {
		Name: "second-of-two-results-emptied", Doc: "of two results of client tools in one request, the second is taken for an empty one",
		KilledBy:   map[string]string{"script.client-tool-results": "message.delta http.close run.end"},
		Middleware: rewriteLaterResult(func(string) string { return "" }),
	}, {
		Name: "second-resume-is-the-first", Doc: "the second reply to an interrupt is taken for the first",
		KilledBy:   map[string]string{"script.resume": "message.delta http.close run.end"},
		Middleware: firstOfThread(spec.InputResume),
	}, {
		Name: "recalls-replies", Doc: "asked for the previous message after a tool result or a resumed run, the server repeats that reply",
		KilledBy:   map[string]string{"script.recall": "message.delta http.close run.end"},
		AlsoFails:  storedToo,
		Needs:      []spec.Kind{spec.InputTool, spec.InputResume},
		Middleware: recallReply(),
	}, {
		Name: "user-deduplicated", Doc: "the history has a text that the user sent twice only once",
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
		Name: "history-cut", Doc: "what the user said is cut after 1,024 bytes in the history",
		KilledBy:   map[string]string{"history.tells-the-user": "history"},
		AlsoFails:  []string{"accepted.keeps-prompt"},
		Middleware: editMessages(spec.HistoryUser, func(m *spec.Event) { m.Text = cutAt(1024)(m.Text) }),
	},
}
