package rules

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// What a scripted target says is told by its prompts. Their words are the same in
// every dialect, so these rules read them in the requests.
var scripts = []*spec.Check{
	ScriptText, ScriptEmpty, ScriptMessages, ScriptContents, ScriptReasoning, ScriptReasoningApart, ScriptTool, ScriptTools,
	ScriptClientTool, ScriptClientResult, ScriptInterrupt, ScriptResume, ScriptRecall, ScriptIsolated, ScriptSlow, ScriptMany, ScriptLarge,
	ScriptIdle, ScriptError, ScriptErrorMid, ScriptErrorMidSays,
}

// script is a rule about the answer to one prompt. judge gets the words after the
// prompt's name.
func script(name, doc string, judge func(p *spec.Pass, a *answer, words string)) *spec.Check {
	return &spec.Check{
		ID: "script." + name, Doc: doc,
		Watch: answers(func(p *spec.Pass, a *answer) {
			prompt, ok := a.ask.Prompt()
			asked, words, _ := strings.Cut(prompt, " ")
			if ok && asked == "conformance:"+name {
				judge(p, a, words)
			}
		}),
	}
}

// says judges the text of an answer.
func (a *answer) says(p *spec.Pass, want string) {
	p.Judge(a.closed, a.text() == want && a.good(), "asked to say %q, it said %q%s", want, a.text(), a.fate())
}

func (a *answer) good() bool { return a.failure.Kind == "" && a.closed.Err == nil }

// failed says that a failure can be seen: an event says so, or the transfer is broken off.
func (a *answer) failed() bool { return a.failure.Kind != "" || broke(a.closed) }

// something says whether there is text.
func (a *answer) something() string {
	if a.text() == "" {
		return "nothing"
	}
	return "something"
}

// fate says how an answer that did not end well ended.
func (a *answer) fate() string {
	switch {
	case a.failure.Kind != "":
		return " and failed: " + a.failure.Text
	case a.closed.Err != nil:
		return " and " + a.closed.Err.Error()
	}
	return ""
}

// The rules of single prompts.
var (
	ScriptText = script("text", "a target asked for certain words says just these, in one message",
		func(p *spec.Pass, a *answer, words string) {
			a.says(p, words)
			p.Judge(a.closed, !a.named() || len(a.texts()) <= 1, "asked for one message, it sent %d", len(a.texts()))
		})

	ScriptEmpty = script("empty", "a target asked for nothing says nothing, and ends its run",
		func(p *spec.Pass, a *answer, _ string) { a.says(p, "") })

	ScriptMessages = script("messages", "a target asked for two messages sends one and two",
		func(p *spec.Pass, a *answer, _ string) {
			got := a.texts()
			p.Judge(a.closed, len(got) == 2 && got[0] == "one" && got[1] == "two" && a.good(), "asked for the messages one and two, it sent %q%s", got, a.fate())
		})

	ScriptContents = script("contents", "a target asked for a text and an image sends both",
		func(p *spec.Pass, a *answer, _ string) {
			others := 0
			for _, s := range a.said {
				others += len(s.others)
			}
			p.Judge(a.closed, a.text() == "see" && others > 0 && a.good(), "asked for the text see and an image, it said %q and %d other contents%s", a.text(), others, a.fate())
		})

	ScriptReasoning = script("reasoning", "a target asked to reason answers afterwards",
		func(p *spec.Pass, a *answer, words string) {
			p.Judge(a.closed, a.text() == words && a.good(), "asked to say %q after thinking, it said %q%s", words, a.text(), a.fate())
		})

	ScriptReasoningApart = &spec.Check{
		ID: "script.reasoning-apart", Doc: "a target asked to reason says so apart from its answer",
		Needs: []spec.Kind{spec.ReasoningStart},
		Watch: script("reasoning", "", func(p *spec.Pass, a *answer, _ string) {
			thought := a.reasoning()
			p.Judge(a.closed, thought == "thinking", "asked to reason \"thinking\", it reasoned %q", thought)
		}).Watch,
	}

	ScriptTool = script("tool", "a target asked to call its tool calls it with the arguments, has its result, and goes on",
		func(p *spec.Pass, a *answer, words string) { a.uses(p, 1, words) })

	ScriptTools = script("tools", "a target asked for two calls makes both, has both results, and goes on",
		func(p *spec.Pass, a *answer, _ string) { a.uses(p, 2, "") })

	ScriptSlow  = script("slow", "a target asked for deltas some time apart sends a message", spoken)
	ScriptMany  = script("many", "a target asked for many deltas sends a message", spoken)
	ScriptLarge = script("large", "a target asked for a large delta sends as much text", func(p *spec.Pass, a *answer, words string) {
		want, err := strconv.Atoi(words)
		if err == nil {
			p.Judge(a.closed, len(a.text()) >= want && a.good(), "asked for %d bytes of text, it sent %d%s", want, len(a.text()), a.fate())
		}
	})

	ScriptIdle = script("idle", "a target asked to be silent for a while says done afterwards",
		func(p *spec.Pass, a *answer, _ string) { a.says(p, "done") })

	ScriptError = script("error", "a target asked to fail fails before any content, and says why",
		func(p *spec.Pass, a *answer, words string) {
			p.Judge(a.closed, a.failed(), "asked to fail, it ended like a success")
			if a.failure.Kind != "" { // a transfer that is broken off says nothing
				p.Judge(a.failure, a.text() == "", "asked to fail before any content, it said %q first", a.text())
				a.saysWhy(p, words)
			}
		})

	ScriptErrorMid = script("error-mid", "a target asked to fail in the middle says why it failed",
		func(p *spec.Pass, a *answer, words string) {
			p.Judge(a.closed, a.failed(), "asked to fail in the middle, it ended like a success")
			if a.failure.Kind != "" {
				a.saysWhy(p, words)
			}
		})
)

// ScriptErrorMidSays judges what comes before a failure.
var ScriptErrorMidSays = &spec.Check{
	ID: "script.error-mid-says",
	Doc: `a target asked to fail in the middle says something first

It is not demanded where a server may lose what was said before a failure.`,
	Watch: script("error-mid", "", func(p *spec.Pass, a *answer, _ string) {
		p.Judge(a.closed, a.text() != "", "asked to fail in the middle, it had said nothing")
	}).Watch,
}

// saysWhy judges the words of a failure.
func (a *answer) saysWhy(p *spec.Pass, words string) {
	if f := a.failure; f.Text == "" && words != "" {
		p.Judge(f, false, "the event %s has no text%s; expected one that contains %q", f.DisplayName(), because(f.Violations), words)
	} else {
		p.Judge(f, strings.Contains(f.Text, words), "asked to fail with %q, it failed with %q", words, f.Text)
	}
}

// because tells, in parentheses, where an event breaks its schema.
func because(broken []spec.Violation) string {
	if len(broken) == 0 {
		return ""
	}
	return " (" + together(broken) + ")"
}

// were says that there was a number of things: 1 event was, 2 events were.
func were(n int, thing string) string {
	if n == 1 {
		return counted(n, thing) + " was"
	}
	return counted(n, thing) + " were"
}

// reason tells, in parentheses, why something ended, if it did not end well.
func reason(err error) string {
	if err == nil {
		return ""
	}
	return " (" + err.Error() + ")"
}

// counted is a number of things: no call, 1 call, 2 calls.
func counted(n int, thing string) string {
	switch n {
	case 0:
		return "no " + thing
	case 1:
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

func spoken(p *spec.Pass, a *answer, _ string) {
	p.Judge(a.closed, a.text() != "" && a.good(), "asked for a message, it said %s%s", a.something(), a.fate())
}

// uses judges calls of the server's own tool.
func (a *answer) uses(p *spec.Pass, n int, args string) {
	p.Judge(a.closed, len(a.calls) == n, "asked for %s of lookup, it made %s%s", counted(n, "call"), counted(len(a.calls), "call"), a.fate())
	for _, u := range a.calls {
		if args != "" {
			p.Judge(*u.at, u.name == "lookup" && sameJSON(u.args(), args), "asked for lookup with %s, it called %s with %s", args, u.name, u.args())
		}
		p.Judge(*u.at, u.answered, "the call %q of %s has no result", u.id, u.name)
	}
	p.Judge(a.closed, a.text() != "" && a.good(), "asked for a message after the tool, it said %s%s", a.something(), a.fate())
}

// ScriptClientTool judges a call of the client's tool.
var ScriptClientTool = &spec.Check{
	ID:    "script.client-tool",
	Doc:   "a target asked to call the client's tool calls it",
	Needs: []spec.Kind{spec.InputTool, spec.InputToolResult},
	Watch: answers(func(p *spec.Pass, a *answer) {
		prompt, asked := a.ask.Prompt()
		if args, now := strings.CutPrefix(prompt, "conformance:client-tool "); asked && now {
			a.callsClient(p, args)
		}
	}),
}

// ScriptClientResult judges what becomes of it.
var ScriptClientResult = &spec.Check{
	ID:    "script.client-tool-result",
	Doc:   "a target that has called the client's tool goes on with what the client answers",
	Needs: []spec.Kind{spec.InputTool, spec.InputToolResult},
	Watch: answers(func(p *spec.Pass, a *answer) {
		if _, asked := a.ask.Prompt(); asked || !strings.HasPrefix(a.answers, "conformance:client-tool ") {
			return
		}
		if results := a.results(); len(results) > 0 {
			a.says(p, "tool said: "+strings.Join(results, "\n"))
		}
	}),
}

// callsClient judges the call of the first tool that the request offers, if it offers
// any.
func (a *answer) callsClient(p *spec.Pass, args string) {
	i := slices.IndexFunc(a.ask.Parts, func(part spec.Event) bool { return part.Kind == spec.InputTool })
	if i < 0 {
		return
	}
	tool := a.ask.Parts[i].Name
	p.Judge(a.closed, len(a.calls) == 1 && a.good(), "asked for 1 call of %s, it made %s%s", tool, counted(len(a.calls), "call"), a.fate())
	for _, u := range a.calls {
		p.Judge(*u.at, u.name == tool && sameJSON(u.args(), args), "asked for %s with %s, it called %s with %s", tool, args, u.name, u.args())
	}
}

// results are the results that a request brings: not those that it repeats with what
// was said before.
func (a *answer) results() (texts []string) {
	for _, part := range a.ask.Parts {
		switch part.Kind {
		case spec.InputUser, spec.InputAssistant:
			texts = nil
		case spec.InputToolResult:
			texts = append(texts, part.Text)
		}
	}
	return texts
}

// ScriptInterrupt judges an interrupt.
var ScriptInterrupt = &spec.Check{
	ID:    "script.interrupt",
	Doc:   "a target asked to interrupt itself does",
	Needs: []spec.Kind{spec.Interrupt, spec.InputResume},
	Watch: script("interrupt", "", func(p *spec.Pass, a *answer, payload string) {
		got, with := "", ""
		if len(a.interrupt) > 0 {
			got = a.interrupt[0].Text
			with = " with " + got
		}
		p.Judge(a.closed, len(a.interrupt) == 1 && (sameJSON(got, payload) || sameJSON(quoted(got), payload)), "asked for 1 interrupt with %s, it made %s%s", payload, counted(len(a.interrupt), "interrupt"), with)
	}).Watch,
}

// ScriptResume judges what becomes of it.
var ScriptResume = &spec.Check{
	ID:    "script.resume",
	Doc:   "a target that has interrupted itself goes on with what the client answers",
	Needs: []spec.Kind{spec.Interrupt, spec.InputResume},
	Watch: answers(func(p *spec.Pass, a *answer) {
		if resume, resumes := a.ask.Last(spec.InputResume); resumes && strings.HasPrefix(a.answers, "conformance:interrupt ") {
			said, ok := strings.CutPrefix(a.text(), "resumed with: ")
			right := ok && (sameJSON(said, resume.Text) || sameJSON(said, quoted(resume.Text)))
			p.Judge(a.closed, right && a.good(), "resumed with %s, it said %q%s", resume.Text, a.text(), a.fate())
		}
	}),
}

func quoted(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// ScriptRecall judges memory.
var ScriptRecall = &spec.Check{
	ID: "script.recall",
	Doc: `a target asked what was said before repeats it

The client sends the increment only, where the dialect has names for conversations:
the history lives on the server. What was said in a run whose good end nobody has heard
(it was left, broken off, canceled, or failed), by another user, or in place of what the
conversation was waiting for, may have been said before or not.`,
	AllPrincipals: true,
	Watch: answers(func(p *spec.Pass, a *answer) {
		if prompt, ok := a.ask.Prompt(); ok && prompt == "conformance:recall" && a.preceded {
			before := a.before
			if slices.Contains(a.perhaps, a.text()) {
				before = a.text()
			}
			a.says(p, before)
		}
	}),
}

// ScriptIsolated judges that conversations do not mix.
var ScriptIsolated = &spec.Check{
	ID:    "script.isolated",
	Doc:   "a target asked what was said before in a new conversation says nothing",
	Needs: []spec.Kind{spec.SlotThread},

	AllPrincipals: true,
	Watch: answers(func(p *spec.Pass, a *answer) {
		prompt, ok := a.ask.Prompt()
		if ok && prompt == "conformance:recall" && !a.preceded && a.others && a.ask.Thread != "" {
			a.says(p, "nothing")
		}
	}),
}

var failures = []*spec.Check{ErrorVisible, NoStackTrace}

// ErrorVisible judges whether a failure can be told from a success.
var ErrorVisible = &spec.Check{
	ID: "error.visible",
	Doc: `a run that fails is not closed like one that ended well

By an event that says so, or by a transfer that is broken off.`,
	Watch: answers(func(p *spec.Pass, a *answer) {
		if a.toFail() {
			p.Judge(a.closed, a.failed(), "the run was to fail, and its stream ended like a success")
		}
	}),
}

// traces are how stack traces begin, in the languages that servers are written in.
var traces = regexp.MustCompile(`Traceback \(most recent call last\)|(\n|\\n)(\t|\\t|    )at |goroutine \d+ \[`)

// NoStackTrace judges what error bodies give away.
var NoStackTrace = &spec.Check{
	ID:  "error.no-stack-trace",
	Doc: "no error shows a stack trace",

	AllPrincipals: true,
	Watch: func(p *spec.Pass) func(spec.Event) {
		status := 0
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.HTTPRequest:
				status = 0
			case e.Kind == spec.HTTPResponse:
				status = e.StatusCode
			case len(e.Raw) > 0 && (status >= 400 || e.Kind == spec.RunError || e.Kind == spec.RunRefused):
				shown := traces.Find(e.Raw)
				p.Judge(e, shown == nil, "the error shows a stack trace (%q)", shown)
			}
		}
	},
}
