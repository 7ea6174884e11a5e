package mutation

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/streamassay/streamassay/spec"
)

// dropPrompts returns a middleware that removes certain user messages from the histories that the
// server returns. It removes the messages whose text begins with "conformance:" followed by one of
// the given prefixes.
func dropPrompts(prefixes ...string) middleware {
	return editHistories(func(_ parsedRequest, e *spec.Event) {
		e.Parts = slices.DeleteFunc(e.Parts, func(m spec.Event) bool {
			return m.Kind == spec.HistoryUser && slices.ContainsFunc(prefixes, func(p string) bool {
				return strings.HasPrefix(m.Text, "conformance:"+p)
			})
		})
	})
}

// refuseLong returns a middleware that limits a text to the given number of bytes, although the
// document states the limit in characters. The text is value(ask), where ask is a decoded request
// to start a run. If the text has more bytes than limit, but not more characters, the middleware
// sends a refusal with status 422 in place of a successful response. Event streams are not
// replaced.
func refuseLong(limit int, value func(ask *spec.Event) string) middleware {
	return editResponses(func(v parsedRequest, a *completeResponse) {
		text := value(v.parsed())
		if !v.startsRun() || a.status/100 != 2 || len(text) <= limit || utf8.RuneCountInString(text) > limit {
			return
		}
		a.refuse(v, http.StatusUnprocessableEntity, "too long")
	})
}

// byteLimitMutants are servers that measure the lengths of run ids or texts in bytes instead of
// characters.
var byteLimitMutants = []*Mutant{
	{
		Name: "run-id-limit-in-bytes", Doc: "limits run ids to 128 bytes instead of 128 characters",
		KilledBy: map[string]string{acceptsAsDocumented: "http.request"}, Needs: []spec.Kind{spec.RunAccepted},
		AlsoFails:  []string{"refuse.same-form"}, // these refusals have no error code
		Middleware: refuseLong(128, func(ask *spec.Event) string { return ask.Run }),
	}, {
		Name: "text-limit-in-bytes", Doc: "limits the user's text to 10,000 bytes instead of 10,000 characters",
		KilledBy: map[string]string{acceptsAsDocumented: "http.request"}, Needs: []spec.Kind{spec.RunAccepted},
		// These refusals have no error code, and the server has stored the text before it refuses
		// it.
		AlsoFails:  []string{"refuse.same-form", "script.recall"},
		Middleware: refuseLong(10_000, func(ask *spec.Event) string { return ask.Text }),
	},
}

// dropUnreadAnswers is a middleware that removes messages from the histories that the server
// returns: the replies to the prompts of runs whose streams no client has requested.
func dropUnreadAnswers(next dialectHandler) dialectHandler {
	var unread sync.Map // threadRun → text of the prompt
	note := editResponses(func(v parsedRequest, a *completeResponse) {
		if v.startsRun() && v.event.Valid() && a.status/100 == 2 {
			unread.Store(threadRun{v.event.Thread, v.event.Run}, v.event.Text)
		}
	})
	read := editRequests(func(v parsedRequest) *http.Request {
		if v.isOperation("listen") {
			unread.Delete(threadRun{v.event.Thread, v.event.Run})
		}
		return v.httpRequest
	})
	edit := editHistories(func(_ parsedRequest, e *spec.Event) {
		prompts := map[string]bool{}
		unread.Range(func(run, text any) bool {
			prompts[text.(string)] = prompts[text.(string)] || run.(threadRun).thread == e.Thread
			return true
		})
		isDropped := false
		e.Parts = slices.DeleteFunc(e.Parts, func(m spec.Event) bool {
			if m.Kind == spec.HistoryUser {
				isDropped = prompts[m.Text]
				return false
			}
			return isDropped
		})
	})
	return note(read(edit(next)))
}

// historyOutcomeMutants are servers whose histories lack the prompts of failed or canceled runs, or
// the answers of runs whose streams no client requested.
var historyOutcomeMutants = []*Mutant{
	{
		Name: "history-failed-prompts-missing", Doc: "omits the prompts of failed runs from the history",
		KilledBy:   map[string]string{"accepted.keeps-prompt": "history"},
		Middleware: dropPrompts("error ", "error-mid "),
	}, {
		Name: "history-canceled-prompts-missing", Doc: "omits the prompts of canceled runs from the history",
		KilledBy:   map[string]string{"accepted.keeps-prompt": "history"},
		Middleware: dropPrompts("slow 61 "),
	}, {
		Name: "history-unstreamed-answer-missing", Doc: "omits the answer of a run from the history if no client requested the stream of the run",
		KilledBy:   map[string]string{"history.tells-the-answer": "history"},
		AlsoFails:  []string{"history.tells-tools"}, // what the tools of such a run returned is missing, too
		Middleware: dropUnreadAnswers,
	},
}
