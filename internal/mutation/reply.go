// Package mutation proves that the checks can fail. A mutant is a correct server with one defect that
// violates one clause of a protocol document. The suite runs against it, and its results are
// compared with what the clause requires: the requirement must fail by a check that serves it, at
// the expected place, and nothing else may fail.
package mutation

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

// replyMutants are servers that refuse valid requests, or respond to them in another way than the
// document promises.
var replyMutants = slices.Concat(replyStatusMutants, replyAcceptedMutants, replyHistoryMutants, replyAllowedMutants)

// editPromisedReply returns a middleware that calls edit to change each successful response to a
// valid request that exercises the given requirement.
func editPromisedReply(requirement string, edit func(a *plainResponse)) middleware {
	return editResponses(func(v parsedRequest, a *plainResponse) {
		if v.exercises(requirement) && a.status/100 == 2 {
			edit(a)
		}
	})
}

func status(status int) func(a *plainResponse) { return func(a *plainResponse) { a.status = status } }

func media(media string) func(a *plainResponse) {
	return func(a *plainResponse) { a.header.Set("Content-Type", media) }
}

// replyStatusMutants are servers that respond to valid requests with another status or media type
// than the document promises.
var replyStatusMutants = []*Mutant{
	{
		Name: "accepted-201", Doc: "a run is accepted with 201",
		Violates: []string{"runs.create.status-202"}, KilledBy: map[string]string{"reply.as-promised": "http.response"},
		Middleware: editPromisedReply("runs.create.status-202", status(http.StatusCreated)),
	}, {
		Name: "canceled-200", Doc: "a cancel is accepted with 200",
		Violates: []string{"runs.cancel.status-202"}, KilledBy: map[string]string{"reply.as-promised": "http.response"},
		// The answer is none that accepts, so the run that ends was canceled by nobody.
		AlsoFails:  []string{"script.slow"},
		Middleware: editPromisedReply("runs.cancel.status-202", status(http.StatusOK)),
	}, {
		Name: "history-as-text", Doc: "a history has the media type text/plain",
		Violates: []string{"runs.history.plain-json"}, KilledBy: map[string]string{"reply.as-promised": "http.response"},
		Middleware: editPromisedReply("runs.history.plain-json", media("text/plain")),
	}, {
		Name: "stored-500", Doc: "an upload is stored, and answered with 500",
		Violates: []string{"runs.attachments.upload"}, KilledBy: map[string]string{"reply.as-promised": "http.response"},
		Middleware: editPromisedReply("runs.attachments.upload", status(http.StatusInternalServerError)),
	}, {
		Name: "signed-as-html", Doc: "a new link is answered as HTML",
		Violates: []string{"runs.attachments.signed"}, KilledBy: map[string]string{"reply.as-promised": "http.response"},
		Middleware: editPromisedReply("runs.attachments.signed", media("text/html")),
	}, {
		Name: "transcribed-500", Doc: "a recording is answered with 500",
		Violates: []string{"runs.transcribe.endpoint"}, KilledBy: map[string]string{"reply.as-promised": "http.response"},
		Middleware: editPromisedReply("runs.transcribe.endpoint", status(http.StatusInternalServerError)),
	}, {
		Name: "health-204", Doc: "the health operation answers 204",
		Violates:   []string{"*.health"},
		KilledBy:   map[string]string{"health.answers": "http.response", "reply.as-promised": "http.response"},
		Middleware: changeHealthStatus(http.StatusNoContent),
	}, {
		Name: "health-500", Doc: "the health operation answers 500",
		Violates:   []string{"*.health"},
		KilledBy:   map[string]string{"health.answers": "http.response", "reply.as-promised": "http.response"},
		Middleware: changeHealthStatus(http.StatusInternalServerError),
	}, {
		Name: "health-503", Doc: "the health operation is answered 503",
		Violates: []string{"*.health"}, KilledBy: map[string]string{"health.answers": "http.response"},
		Middleware: changeHealthStatus(http.StatusServiceUnavailable),
	},
}

func changeHealthStatus(status int) middleware {
	return editResponses(func(v parsedRequest, a *plainResponse) {
		if v.parsed().Name == "health" && v.parsed().Valid() {
			a.status = status
		}
	})
}

// changeCreatedFlag returns a middleware that changes the responses to requests to start a run: the
// member created, which tells whether the thread of the run is new, becomes isNew(first, known).
// The argument first tells whether the run is the first of its thread, and known whether the
// history of the thread was requested before.
func changeCreatedFlag(isNew func(first, known bool) bool) middleware {
	return func(next http.Handler) http.Handler {
		var mu sync.Mutex
		had, known := map[string]bool{}, map[string]bool{}
		return editResponses(func(v parsedRequest, a *plainResponse) {
			mu.Lock()
			defer mu.Unlock()
			thread := v.parsed().Thread
			switch {
			case v.isOperation("history"):
				known[thread] = true
			case v.startsRun() && a.status/100 == 2:
				a.editJSON(func(m map[string]any) { m["created"] = isNew(!had[thread], known[thread]) })
				had[thread] = true
			}
		})(next)
	}
}

// replyAcceptedMutants are servers whose responses to requests to start a run wrongly report
// whether the thread is new.
var replyAcceptedMutants = []*Mutant{
	{
		Name: "never-new", Doc: "no run is reported as the first of its conversation",
		Violates: []string{"runs.create.created-true"}, KilledBy: map[string]string{"accepted.new-thread": "run.accepted"},
		Middleware: changeCreatedFlag(func(_, _ bool) bool { return false }),
	}, {
		Name: "new-unless-read", Doc: "a conversation whose history was requested is not reported as new",
		Violates: []string{"runs.create.created-true"}, KilledBy: map[string]string{"accepted.new-thread": "run.accepted"},
		Middleware: changeCreatedFlag(func(first, known bool) bool { return first && !known }),
	}, {
		Name: "always-new", Doc: "every run is reported as the first of its conversation",
		Violates: []string{"runs.create.created-false"}, KilledBy: map[string]string{"accepted.known-thread": "run.accepted"},
		Middleware: changeCreatedFlag(func(_, _ bool) bool { return true }),
	}, {
		Name: "new-turned-round", Doc: "whether a conversation is new is reported inverted",
		Violates: []string{"runs.create.created-true", "runs.create.created-false"},
		KilledBy: map[string]string{
			"accepted.known-thread": "run.accepted",
			"accepted.new-thread":   "run.accepted",
		},
		Middleware: changeCreatedFlag(func(first, _ bool) bool { return !first }),
	},
}

// lacksReply reports whether the last message of a history is the user's, so that it has no reply
// yet.
func lacksReply(messages []any) bool {
	if len(messages) == 0 {
		return false
	}
	last, _ := messages[len(messages)-1].(map[string]any)
	return last["role"] == "user"
}

// replyHistoryMutants are servers that accept a prompt but do not return it in the history until it
// has been answered.
var replyHistoryMutants = []*Mutant{
	{
		Name: "kept-with-the-answer", Doc: "the user's message is stored only when it is answered",
		Violates: []string{"runs.create.persist-first"},
		KilledBy: map[string]string{"accepted.keeps-prompt": "history"},
		Middleware: editHistories(func(_ parsedRequest, m map[string]any) {
			if messages, _ := m["messages"].([]any); lacksReply(messages) {
				m["messages"] = messages[:len(messages)-1]
			}
		}),
	}, {
		Name: "unknown-while-asked", Doc: "a conversation is not known before the first answer",
		Violates:   []string{"runs.create.persist-first"},
		KilledBy:   map[string]string{"accepted.keeps-prompt": "problem"},
		Middleware: hideUnanswered,
	},
}

// hideUnanswered is a middleware that delays the appearance of threads in histories. If a thread
// was reported as not found before its first prompt, it is reported as not found until that prompt
// has been answered.
var hideUnanswered middleware = func(next http.Handler) http.Handler {
	var mu sync.Mutex
	unknown := map[string]plainResponse{}
	return editResponses(func(v parsedRequest, a *plainResponse) {
		if !v.isOperation("history") || v.parsed().Thread == "" {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if a.status == http.StatusNotFound {
			unknown[v.parsed().Thread] = *a
		}
		before, asked := unknown[v.parsed().Thread]
		a.editJSON(func(m map[string]any) {
			messages, _ := m["messages"].([]any)
			if asked && a.status == http.StatusOK && lacksReply(messages) && len(messages) == 1 {
				*a = before
			}
		})
	})(next)
}

// rejectingMutant returns a mutant that refuses valid requests that exercise the given requirement.
// others contains the ids, separated by spaces, of further requirements that the mutant thereby
// violates. The check refuse.as-documented may fail, too: it compares an invalid request with its
// valid counterpart, which this mutant may refuse.
func rejectingMutant(name, doc string, others string, requirement string) *Mutant {
	return &Mutant{
		Name: name, Doc: doc, Violates: append(strings.Fields(others), requirement),
		KilledBy:   map[string]string{"accept.as-documented": "http.request"},
		AlsoFails:  []string{"refuse.as-documented"},
		Middleware: refuseValid(exercisesRequirement(requirement)),
	}
}

// everyRunRequirements contains the ids, separated by spaces, of the requirements that every
// request to start a run exercises.
const everyRunRequirements = "runs.create.endpoint runs.create.status-202 runs.create.context-optional runs.create.state-any " +
	"runs.create.tools-optional runs.create.mode-chat runs.create.user-text-form runs.create.forwarded-any"

// replyAllowedMutants are servers that each refuse one kind of request that the document allows.
// Such a refusal violates all requirements that requests of this kind exercise.
var replyAllowedMutants = []*Mutant{
	rejectingMutant("refuses-what-was-said", "a run with earlier messages is refused",
		"runs.create.assistant-accept runs.create.toolcall-accept runs.create.tool-accept", "runs.create.system-accept"),
	rejectingMutant("refuses-extras", "a run with a name of the user and a parent is refused", "runs.create.parent-run", "runs.create.user-extras"),
	rejectingMutant("refuses-patience", "a stream with an idle limit is refused", "runs.stream.idle-max", "runs.stream.idle-min"),
	rejectingMutant("refuses-cancel", "a cancel without a body is refused", "runs.cancel.status-202", "runs.cancel.no-body"),
	rejectingMutant("refuses-images", "a run with an image that was uploaded is refused",
		"runs.attachments.url-usable runs.create.user-array-form "+everyRunRequirements, "runs.create.binary-accept"),
	rejectingMutant("refuses-text-parameters", "a tool whose parameters are a string is refused", "agkit.http.post", "agkit.client-tool.parameters-string"),
	rejectingMutant("refuses-parameters", "a request with parameters of the model, or tools, is refused", "agentscope.tool-offer", "agentscope.parameters"),
	rejectingMutant("refuses-developer", "a message of the developer is refused", "", "runs.create.developer"),
	rejectingMutant("refuses-reasoning", "a message of reasoning is refused", "", "runs.create.reasoning"),
	rejectingMutant("refuses-activity", "a message of an activity is refused", "", "runs.create.activity"),
	rejectingMutant("refuses-offers", "a run with tools of the client is refused", "", "runs.create.tool-def-accept"),
	rejectingMutant("refuses-automation", "a run in the mode automation is refused", "", "runs.create.mode-automation"),
	rejectingMutant("refuses-x-wav", "a recording of the type audio/x-wav is refused", "", "runs.transcribe.x-wav"),
	rejectingMutant("refuses-wave", "a recording of the type audio/wave is refused", "", "runs.transcribe.wave"),
	rejectingMutant("refuses-results", "the result of a client's tool is refused", "", "agkit.client-tool.result-accepted"),
	rejectingMutant("refuses-object-parameters", "a tool whose parameters are an object is refused", "", "agkit.client-tool.parameters-object"),
	rejectingMutant("refuses-resume", "an answer to an interrupt is refused", "", "agkit.resume.accepted"),
	rejectingMutant("refuses-unknown-fields", "a request with an unknown member is refused", "", "*.unknown-field*"),
	rejectingMutant("refuses-history", "a request with earlier messages is refused", "", "agentscope.history"),
	{
		Name: "refuses-many-words", Doc: "a prompt that asks for a long answer is refused",
		Violates: []string{"agkit.http.post", "agentscope-java.http.status", "agentscope-java.req.roundtrip"},
		KilledBy: map[string]string{"accept.as-documented": "http.request"},
		Middleware: refuseValid(func(v parsedRequest) bool {
			text := v.parsed().Text
			return strings.HasPrefix(text, "conformance:many ") || strings.HasPrefix(text, "conformance:large ")
		}),
	},
}
