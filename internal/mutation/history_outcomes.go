package mutation

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/streamassay/streamassay/spec"
)

// dropPrompts returns a middleware that removes certain user messages from the histories that the
// server returns. It removes the messages whose text begins with "conformance:" followed by one of
// the given prompts.
func dropPrompts(prompts ...string) middleware {
	return editHistories(func(_ parsedRequest, e *spec.Event) {
		e.Parts = slices.DeleteFunc(e.Parts, func(m spec.Event) bool {
			return m.Kind == spec.HistoryUser && slices.ContainsFunc(prompts, func(p string) bool {
				return strings.HasPrefix(m.Text, "conformance:"+p)
			})
		})
	})
}

// refuseLong returns a middleware that limits a text to the given number of bytes, although the
// document states the limit in characters. The limited text is value(ask), where ask is the decoded
// request. If a request to start a run has a text of more than limit bytes, but of at most limit
// characters, the middleware sends a refusal with status 422 in place of a successful response.
// Event streams are not replaced.
func refuseLong(limit int, value func(ask *spec.Event) string) middleware {
	return editResponses(func(v parsedRequest, a *bufferedResponse) {
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
		Name: "run-id-limit-in-bytes", Doc: "ids of runs may have no more than 128 bytes",
		KilledBy: map[string]string{acceptsAsDocumented: "http.request"}, Needs: []spec.Kind{spec.RunAccepted},
		AlsoFails:  []string{"refuse.same-form"}, // these refusals have no error code
		Middleware: refuseLong(128, func(ask *spec.Event) string { return ask.Run }),
	}, {
		Name: "text-limit-in-bytes", Doc: "the user's text may have no more than 10,000 bytes",
		KilledBy: map[string]string{acceptsAsDocumented: "http.request"}, Needs: []spec.Kind{spec.RunAccepted},
		AlsoFails:  []string{"refuse.same-form"}, // these refusals have no error code
		Middleware: refuseLong(10_000, func(ask *spec.Event) string { return ask.Text }),
	},
}

// historyOutcomeMutants are servers whose histories lack the prompts of runs that did not succeed.
var historyOutcomeMutants = []*Mutant{
	{
		Name: "failed-prompt-forgotten", Doc: "the history lacks the prompts of runs that failed",
		KilledBy:   map[string]string{"accepted.keeps-prompt": "history"},
		Middleware: dropPrompts("error ", "error-mid "),
	}, {
		Name: "cancelled-prompt-forgotten", Doc: "the history lacks the prompts of runs that were cancelled",
		KilledBy:   map[string]string{"accepted.keeps-prompt": "history"},
		Middleware: dropPrompts("slow 61 "),
	},
}
