package mutant

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

var replyMutants = slices.Concat(replyPromised, replyAccepted, replyHistory, replyAllowed)

// promised is a server that answers right requests that exercise a requirement in another
// way than the document promises.
func promised(law string, edit func(a *reply)) twist {
	return replying(func(v view, a *reply) {
		if v.upholds(law) && a.status/100 == 2 {
			edit(a)
		}
	})
}

func status(status int) func(a *reply) { return func(a *reply) { a.status = status } }

func media(media string) func(a *reply) {
	return func(a *reply) { a.header.Set("Content-Type", media) }
}

// Statuses and media types that are promised.
var replyPromised = []*Mutant{
	{
		Name: "accepted-201", Doc: "a run is accepted with 201",
		Breaks: []string{"runs.create.status-202"}, Kills: map[string]string{"reply.as-promised": "http.response"},
		Twist: promised("runs.create.status-202", status(http.StatusCreated)),
	}, {
		Name: "canceled-200", Doc: "a cancel is accepted with 200",
		Breaks: []string{"runs.cancel.status-202"}, Kills: map[string]string{"reply.as-promised": "http.response"},
		// The answer is none that accepts, so the run that ends was canceled by nobody.
		Also:  []string{"script.slow"},
		Twist: promised("runs.cancel.status-202", status(http.StatusOK)),
	}, {
		Name: "history-as-text", Doc: "a history is said to be plain text",
		Breaks: []string{"runs.history.plain-json"}, Kills: map[string]string{"reply.as-promised": "http.response"},
		Twist: promised("runs.history.plain-json", media("text/plain")),
	}, {
		Name: "stored-500", Doc: "an upload is stored, and answered with 500",
		Breaks: []string{"runs.attachments.upload"}, Kills: map[string]string{"reply.as-promised": "http.response"},
		Twist: promised("runs.attachments.upload", status(http.StatusInternalServerError)),
	}, {
		Name: "signed-as-html", Doc: "a new link is answered as HTML",
		Breaks: []string{"runs.attachments.signed"}, Kills: map[string]string{"reply.as-promised": "http.response"},
		Twist: promised("runs.attachments.signed", media("text/html")),
	}, {
		Name: "transcribed-500", Doc: "a recording is answered with 500",
		Breaks: []string{"runs.transcribe.endpoint"}, Kills: map[string]string{"reply.as-promised": "http.response"},
		Twist: promised("runs.transcribe.endpoint", status(http.StatusInternalServerError)),
	}, {
		Name: "health-204", Doc: "the health operation answers 204",
		Breaks: []string{"*.health"},
		Kills:  map[string]string{"health.answers": "http.response", "reply.as-promised": "http.response"},
		Twist:  health(http.StatusNoContent),
	}, {
		Name: "health-500", Doc: "the health operation answers 500",
		Breaks: []string{"*.health"},
		Kills:  map[string]string{"health.answers": "http.response", "reply.as-promised": "http.response"},
		Twist:  health(http.StatusInternalServerError),
	}, {
		Name: "health-503", Doc: "the health operation says that the server is busy",
		Breaks: []string{"*.health"}, Kills: map[string]string{"health.answers": "http.response"},
		Twist: health(http.StatusServiceUnavailable),
	},
}

func health(status int) twist {
	return replying(func(v view, a *reply) {
		if v.heard().Name == "health" && v.heard().Valid() {
			a.status = status
		}
	})
}

// made makes a server that says of each run that is accepted whether its conversation is
// new; first is whether it is, known whether its history was asked for before.
func made(says func(first, known bool) bool) twist {
	return func(next http.Handler) http.Handler {
		var mu sync.Mutex
		had, known := map[string]bool{}, map[string]bool{}
		return replying(func(v view, a *reply) {
			mu.Lock()
			defer mu.Unlock()
			thread := v.heard().Thread
			switch {
			case v.says("history"):
				known[thread] = true
			case v.opens() && a.status/100 == 2:
				a.json(func(m map[string]any) { m["created"] = says(!had[thread], known[thread]) })
				had[thread] = true
			}
		})(next)
	}
}

// Whether a conversation is new.
var replyAccepted = []*Mutant{
	{
		Name: "never-new", Doc: "no run is said to have made its conversation",
		Breaks: []string{"runs.create.created-true"}, Kills: map[string]string{"accepted.new-thread": "run.accepted"},
		Twist: made(func(_, _ bool) bool { return false }),
	}, {
		Name: "new-unless-read", Doc: "a conversation whose history was asked for is no longer new",
		Breaks: []string{"runs.create.created-true"}, Kills: map[string]string{"accepted.new-thread": "run.accepted"},
		Twist: made(func(first, known bool) bool { return first && !known }),
	}, {
		Name: "always-new", Doc: "every run is said to have made its conversation",
		Breaks: []string{"runs.create.created-false"}, Kills: map[string]string{"accepted.known-thread": "run.accepted"},
		Twist: made(func(_, _ bool) bool { return true }),
	}, {
		Name: "new-turned-round", Doc: "what says whether a conversation is new says whether it was there before",
		Breaks: []string{"runs.create.created-true", "runs.create.created-false"},
		Kills: map[string]string{
			"accepted.known-thread": "run.accepted",
			"accepted.new-thread":   `the first run on it says that it was there before`,
		},
		Twist: made(func(first, _ bool) bool { return !first }),
	},
}

// answerLess is whether a history holds a message of the user after which nothing was
// answered yet.
func answerLess(messages []any) bool {
	if len(messages) == 0 {
		return false
	}
	last, _ := messages[len(messages)-1].(map[string]any)
	return last["role"] == "user"
}

// What is kept when a run is accepted.
var replyHistory = []*Mutant{
	{
		Name: "kept-with-the-answer", Doc: "what the user said is kept when it is answered",
		Breaks: []string{"runs.create.persist-first"},
		Kills:  map[string]string{"accepted.keeps-prompt": "history"},
		Twist: histories(func(_ view, m map[string]any) {
			if messages, _ := m["messages"].([]any); answerLess(messages) {
				m["messages"] = messages[:len(messages)-1]
			}
		}),
	}, {
		Name: "unknown-while-asked", Doc: "a conversation is not known before the first answer",
		Breaks: []string{"runs.create.persist-first"},
		Kills:  map[string]string{"accepted.keeps-prompt": "problem"},
		Twist:  unknownWhileAsked,
	},
}

// unknownWhileAsked tells of a conversation without an answer what it told of it before
// there was any: that there is none.
var unknownWhileAsked twist = func(next http.Handler) http.Handler {
	var mu sync.Mutex
	unknown := map[string]reply{}
	return replying(func(v view, a *reply) {
		if !v.says("history") || v.heard().Thread == "" {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if a.status == http.StatusNotFound {
			unknown[v.heard().Thread] = *a
		}
		before, asked := unknown[v.heard().Thread]
		a.json(func(m map[string]any) {
			messages, _ := m["messages"].([]any)
			if asked && a.status == http.StatusOK && answerLess(messages) && len(messages) == 1 {
				*a = before
			}
		})
	})(next)
}

// refuses is a server that refuses right requests that exercise a requirement. Where such a
// request is the twin of one with a fault, that is said as well: refuse.as-documented has
// nothing to compare it with.
func refuses(name, doc string, besides string, law string) *Mutant {
	return &Mutant{
		Name: name, Doc: doc, Breaks: append(strings.Fields(besides), law),
		Kills: map[string]string{"accept.as-documented": "http.request"},
		Also:  []string{"refuse.as-documented"},
		Twist: refusing(carrying(law)),
	}
}

// everyRun is what every run exercises.
const everyRun = "runs.create.endpoint runs.create.status-202 runs.create.context-optional runs.create.state-any " +
	"runs.create.tools-optional runs.create.mode-chat runs.create.user-text-form runs.create.forwarded-any"

// Requests that the documents allow, each refused by one server.
// Requirements that one request exercises alone are broken together: it is refused for
// whatever it carries.
var replyAllowed = []*Mutant{
	refuses("refuses-what-was-said", "a run with what was said before is refused",
		"runs.create.assistant-accept runs.create.toolcall-accept runs.create.tool-accept", "runs.create.system-accept"),
	refuses("refuses-extras", "a run with a name of the user and a parent is refused", "runs.create.parent-run", "runs.create.user-extras"),
	refuses("refuses-patience", "a stream that says how long it may be silent is refused", "runs.stream.idle-max", "runs.stream.idle-min"),
	refuses("refuses-cancel", "a cancel without a body is refused", "runs.cancel.status-202", "runs.cancel.no-body"),
	refuses("refuses-images", "a run with an image that was uploaded is refused",
		"runs.attachments.url-usable runs.create.user-array-form "+everyRun, "runs.create.binary-accept"),
	refuses("refuses-text-parameters", "a tool is refused whose parameters are a text", "agkit.http.post", "agkit.client-tool.parameters-string"),
	refuses("refuses-parameters", "a request with parameters of the model, or tools, is refused", "agentscope.tool-offer", "agentscope.parameters"),
	refuses("refuses-developer", "a message of the developer is refused", "", "runs.create.developer"),
	refuses("refuses-reasoning", "a message of reasoning is refused", "", "runs.create.reasoning"),
	refuses("refuses-activity", "a message of an activity is refused", "", "runs.create.activity"),
	refuses("refuses-offers", "a run with tools of the client is refused", "", "runs.create.tool-def-accept"),
	refuses("refuses-automation", "a run in the mode automation is refused", "", "runs.create.mode-automation"),
	refuses("refuses-x-wav", "a recording of the type audio/x-wav is refused", "", "runs.transcribe.x-wav"),
	refuses("refuses-wave", "a recording of the type audio/wave is refused", "", "runs.transcribe.wave"),
	refuses("refuses-results", "the result of a client's tool is refused", "", "agkit.client-tool.result-accepted"),
	refuses("refuses-object-parameters", "a tool is refused whose parameters are an object", "", "agkit.client-tool.parameters-object"),
	refuses("refuses-resume", "an answer to an interrupt is refused", "", "agkit.resume.accepted"),
	refuses("refuses-unknown-fields", "a request with a member that nobody knows is refused", "", "*.unknown-field*"),
	refuses("refuses-history", "a request with what was said before is refused", "", "agentscope.history"),
	{
		Name: "refuses-many-words", Doc: "a prompt that asks for a long answer is refused",
		Breaks: []string{"agkit.http.post", "agentscope-java.http.status", "agentscope-java.req.roundtrip"},
		Kills:  map[string]string{"accept.as-documented": "http.request"},
		Twist: refusing(func(v view) bool {
			return strings.HasPrefix(v.heard().Text, "conformance:many ") || strings.HasPrefix(v.heard().Text, "conformance:large ")
		}),
	},
}
