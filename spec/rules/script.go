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
var scriptChecks = []*spec.Check{
	ScriptText, ScriptEmpty, ScriptMessages, ScriptContents, ScriptReasoning, ScriptReasoningApart, ScriptTool, ScriptTools,
	ScriptClientTool, ScriptClientResult, ScriptInterrupt, ScriptResume, ScriptRecall, ScriptIsolated, ScriptSlow, ScriptMany, ScriptLarge,
	ScriptIdle, ScriptError, ScriptErrorMid, ScriptErrorMidHasText,
}

// scriptCheck is a rule about the answer to one prompt. judge gets the words after the
// prompt's name.
func scriptCheck(name, doc string, judge func(p *spec.Pass, a *assembledRun, argument string)) *spec.Check {
	return &spec.Check{
		ID: "script." + name, Doc: doc,
		Watch: eachScriptedRun(func(p *spec.Pass, a *assembledRun) {
			prompt, ok := a.request.Prompt()
			promptName, argument, _ := strings.Cut(prompt, " ")
			if ok && promptName == "conformance:"+name {
				judge(p, a, argument)
			}
		}),
	}
}

// judgeText judges the text of an answer.
func (a *assembledRun) judgeText(p *spec.Pass, want string) {
	p.Judge(a.bodyEnd, a.text() == want && a.isSuccessful(), "asked to say %q, it said %q%s", want, a.text(), a.describeEnd())
}

func (a *assembledRun) isSuccessful() bool { return a.failure.Kind == "" && a.bodyEnd.Err == nil }

// hasVisibleFailure says that a failure can be seen: an event says so, or the transfer is broken off.
func (a *assembledRun) hasVisibleFailure() bool {
	return a.failure.Kind != "" || isBrokenTransfer(a.bodyEnd)
}

// describeText says whether there is text.
func (a *assembledRun) describeText() string {
	if a.text() == "" {
		return "nothing"
	}
	return "something"
}

// describeEnd says how an answer that did not end well ended.
func (a *assembledRun) describeEnd() string {
	switch {
	case a.failure.Kind != "":
		return " and failed: " + a.failure.Text
	case a.bodyEnd.Err != nil:
		return " and " + a.bodyEnd.Err.Error()
	}
	return ""
}

// The rules of single prompts.
var (
	ScriptText = scriptCheck("text", "a target asked for certain words says just these, in one message",
		func(p *spec.Pass, a *assembledRun, words string) {
			a.judgeText(p, words)
			p.Judge(a.bodyEnd, !a.hasMessageIDs() || len(a.messageTexts()) <= 1, "asked for one message, it sent %d", len(a.messageTexts()))
		})

	ScriptEmpty = scriptCheck("empty", "a target asked for nothing says nothing, and ends its run",
		func(p *spec.Pass, a *assembledRun, _ string) { a.judgeText(p, "") })

	ScriptMessages = scriptCheck("messages", "a target asked for two messages sends one and two",
		func(p *spec.Pass, a *assembledRun, _ string) {
			got := a.messageTexts()
			p.Judge(a.bodyEnd, len(got) == 2 && got[0] == "one" && got[1] == "two" && a.isSuccessful(), "asked for the messages one and two, it sent %q%s", got, a.describeEnd())
		})

	ScriptContents = scriptCheck("contents", "a target asked for a text and an image sends both",
		func(p *spec.Pass, a *assembledRun, _ string) {
			others := 0
			for _, s := range a.messages {
				others += len(s.otherContents)
			}
			p.Judge(a.bodyEnd, a.text() == "see" && others > 0 && a.isSuccessful(), "asked for the text see and an image, it said %q and %d other contents%s", a.text(), others, a.describeEnd())
		})

	ScriptReasoning = scriptCheck("reasoning", "a target asked to reason answers afterwards",
		func(p *spec.Pass, a *assembledRun, words string) {
			p.Judge(a.bodyEnd, a.text() == words && a.isSuccessful(), "asked to say %q after thinking, it said %q%s", words, a.text(), a.describeEnd())
		})

	ScriptReasoningApart = &spec.Check{
		ID: "script.reasoning-apart", Doc: "a target asked to reason says so apart from its answer",
		Needs: []spec.Kind{spec.ReasoningStart},
		Watch: scriptCheck("reasoning", "", func(p *spec.Pass, a *assembledRun, _ string) {
			reasoning := a.reasoningText()
			p.Judge(a.bodyEnd, reasoning == "thinking", "asked to reason \"thinking\", it reasoned %q", reasoning)
		}).Watch,
	}

	ScriptTool = scriptCheck("tool", "a target asked to call its tool calls it with the arguments, has its result, and goes on",
		func(p *spec.Pass, a *assembledRun, words string) { a.judgeToolCalls(p, 1, words) })

	ScriptTools = scriptCheck("tools", "a target asked for two calls makes both, has both results, and goes on",
		func(p *spec.Pass, a *assembledRun, _ string) { a.judgeToolCalls(p, 2, "") })

	ScriptSlow  = scriptCheck("slow", "a target asked for deltas some time apart sends a message", judgeHasText)
	ScriptMany  = scriptCheck("many", "a target asked for many deltas sends a message", judgeHasText)
	ScriptLarge = scriptCheck("large", "a target asked for a large delta sends as much text", func(p *spec.Pass, a *assembledRun, words string) {
		want, err := strconv.Atoi(words)
		if err == nil {
			p.Judge(a.bodyEnd, len(a.text()) >= want && a.isSuccessful(), "asked for %d bytes of text, it sent %d%s", want, len(a.text()), a.describeEnd())
		}
	})

	ScriptIdle = scriptCheck("idle", "a target asked to be silent for a while says done afterwards",
		func(p *spec.Pass, a *assembledRun, _ string) { a.judgeText(p, "done") })

	ScriptError = scriptCheck("error", "a target asked to fail fails before any content, and says why",
		func(p *spec.Pass, a *assembledRun, words string) {
			p.Judge(a.bodyEnd, a.hasVisibleFailure(), "asked to fail, it ended like a success")
			if a.failure.Kind != "" { // a transfer that is broken off says nothing
				p.Judge(a.failure, a.text() == "", "asked to fail before any content, it said %q first", a.text())
				a.judgeFailureText(p, words)
			}
		})

	ScriptErrorMid = scriptCheck("error-mid", "a target asked to fail in the middle says why it failed",
		func(p *spec.Pass, a *assembledRun, words string) {
			p.Judge(a.bodyEnd, a.hasVisibleFailure(), "asked to fail in the middle, it ended like a success")
			if a.failure.Kind != "" {
				a.judgeFailureText(p, words)
			}
		})
)

// ScriptErrorMidHasText judges what comes before a failure.
var ScriptErrorMidHasText = &spec.Check{
	ID: "script.error-mid-says",
	Doc: `a target asked to fail in the middle says something first

It is not demanded where a server may lose what was said before a failure.`,
	Watch: scriptCheck("error-mid", "", func(p *spec.Pass, a *assembledRun, _ string) {
		p.Judge(a.bodyEnd, a.text() != "", "asked to fail in the middle, it had said nothing")
	}).Watch,
}

// judgeFailureText judges the words of a failure.
func (a *assembledRun) judgeFailureText(p *spec.Pass, words string) {
	if f := a.failure; f.Text == "" && words != "" {
		p.Judge(f, false, "the event %s has no text%s; expected one that contains %q", f.DisplayName(), describeViolations(f.Violations), words)
	} else {
		p.Judge(f, strings.Contains(f.Text, words), "asked to fail with %q, it failed with %q", words, f.Text)
	}
}

// describeViolations tells, in parentheses, where an event breaks its schema.
func describeViolations(broken []spec.Violation) string {
	if len(broken) == 0 {
		return ""
	}
	return " (" + joinViolations(broken) + ")"
}

// pluralizeWithVerb says that there was a number of things: 1 event was, 2 events were.
func pluralizeWithVerb(n int, thing string) string {
	if n == 1 {
		return pluralize(n, thing) + " was"
	}
	return pluralize(n, thing) + " were"
}

// describeError tells, in parentheses, why something ended, if it did not end well.
func describeError(err error) string {
	if err == nil {
		return ""
	}
	return " (" + err.Error() + ")"
}

// pluralize is a number of things: no call, 1 call, 2 calls.
func pluralize(n int, thing string) string {
	switch n {
	case 0:
		return "no " + thing
	case 1:
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

func judgeHasText(p *spec.Pass, a *assembledRun, _ string) {
	p.Judge(a.bodyEnd, a.text() != "" && a.isSuccessful(), "asked for a message, it said %s%s", a.describeText(), a.describeEnd())
}

// judgeToolCalls judges calls of the server's own tool.
func (a *assembledRun) judgeToolCalls(p *spec.Pass, n int, args string) {
	p.Judge(a.bodyEnd, len(a.toolCalls) == n, "asked for %s of lookup, it made %s%s", pluralize(n, "call"), pluralize(len(a.toolCalls), "call"), a.describeEnd())
	for _, u := range a.toolCalls {
		if args != "" {
			p.Judge(*u.callEvent, u.name == "lookup" && sameJSON(u.args(), args), "asked for lookup with %s, it called %s with %s", args, u.name, u.args())
		}
		p.Judge(*u.callEvent, u.hasResult, "the call %q of %s has no result", u.id, u.name)
	}
	p.Judge(a.bodyEnd, a.text() != "" && a.isSuccessful(), "asked for a message after the tool, it said %s%s", a.describeText(), a.describeEnd())
}

// ScriptClientTool judges a call of the client's tool.
var ScriptClientTool = &spec.Check{
	ID:    "script.client-tool",
	Doc:   "a target asked to call the client's tool calls it",
	Needs: []spec.Kind{spec.InputTool, spec.InputToolResult},
	Watch: eachScriptedRun(func(p *spec.Pass, a *assembledRun) {
		prompt, asked := a.request.Prompt()
		if args, now := strings.CutPrefix(prompt, "conformance:client-tool "); asked && now {
			a.judgeClientCall(p, args)
		}
	}),
}

// ScriptClientResult judges what becomes of it.
var ScriptClientResult = &spec.Check{
	ID:    "script.client-tool-result",
	Doc:   "a target that has called the client's tool goes on with what the client answers",
	Needs: []spec.Kind{spec.InputTool, spec.InputToolResult},
	Watch: eachScriptedRun(func(p *spec.Pass, a *assembledRun) {
		if _, asked := a.request.Prompt(); asked || !strings.HasPrefix(a.continuedPrompt, "conformance:client-tool ") {
			return
		}
		if results := a.toolResults(); len(results) > 0 {
			a.judgeText(p, "tool said: "+strings.Join(results, "\n"))
		}
	}),
}

// judgeClientCall judges the call of the first tool that the request offers, if it offers
// any.
func (a *assembledRun) judgeClientCall(p *spec.Pass, args string) {
	i := slices.IndexFunc(a.request.Parts, func(part spec.Event) bool { return part.Kind == spec.InputTool })
	if i < 0 {
		return
	}
	tool := a.request.Parts[i].Name
	p.Judge(a.bodyEnd, len(a.toolCalls) == 1 && a.isSuccessful(), "asked for 1 call of %s, it made %s%s", tool, pluralize(len(a.toolCalls), "call"), a.describeEnd())
	for _, u := range a.toolCalls {
		p.Judge(*u.callEvent, u.name == tool && sameJSON(u.args(), args), "asked for %s with %s, it called %s with %s", tool, args, u.name, u.args())
	}
}

// toolResults are the results that a request brings: not those that it repeats with what
// was said before.
func (a *assembledRun) toolResults() (texts []string) {
	for _, part := range a.request.Parts {
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
	Watch: scriptCheck("interrupt", "", func(p *spec.Pass, a *assembledRun, payload string) {
		got, with := "", ""
		if len(a.interrupts) > 0 {
			got = a.interrupts[0].Text
			with = " with " + got
		}
		p.Judge(a.bodyEnd, len(a.interrupts) == 1 && (sameJSON(got, payload) || sameJSON(quoteJSON(got), payload)), "asked for 1 interrupt with %s, it made %s%s", payload, pluralize(len(a.interrupts), "interrupt"), with)
	}).Watch,
}

// ScriptResume judges what becomes of it.
var ScriptResume = &spec.Check{
	ID:    "script.resume",
	Doc:   "a target that has interrupted itself goes on with what the client answers",
	Needs: []spec.Kind{spec.Interrupt, spec.InputResume},
	Watch: eachScriptedRun(func(p *spec.Pass, a *assembledRun) {
		if resume, resumes := a.request.Last(spec.InputResume); resumes && strings.HasPrefix(a.continuedPrompt, "conformance:interrupt ") {
			got, ok := strings.CutPrefix(a.text(), "resumed with: ")
			matches := ok && (sameJSON(got, resume.Text) || sameJSON(got, quoteJSON(resume.Text)))
			p.Judge(a.bodyEnd, matches && a.isSuccessful(), "resumed with %s, it said %q%s", resume.Text, a.text(), a.describeEnd())
		}
	}),
}

func quoteJSON(s string) string {
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
	Watch: eachScriptedRun(func(p *spec.Pass, a *assembledRun) {
		if prompt, ok := a.request.Prompt(); ok && prompt == "conformance:recall" && a.hasPreviousPrompt {
			before := a.previousPrompt
			if slices.Contains(a.possiblePrompts, a.text()) {
				before = a.text()
			}
			a.judgeText(p, before)
		}
	}),
}

// ScriptIsolated judges that conversations do not mix.
var ScriptIsolated = &spec.Check{
	ID:    "script.isolated",
	Doc:   "a target asked what was said before in a new conversation says nothing",
	Needs: []spec.Kind{spec.SlotThread},

	AllPrincipals: true,
	Watch: eachScriptedRun(func(p *spec.Pass, a *assembledRun) {
		prompt, ok := a.request.Prompt()
		if ok && prompt == "conformance:recall" && !a.hasPreviousPrompt && a.hasOtherThreads && a.request.Thread != "" {
			a.judgeText(p, "nothing")
		}
	}),
}

var errorChecks = []*spec.Check{ErrorVisible, NoStackTrace}

// ErrorVisible judges whether a failure can be told from a success.
var ErrorVisible = &spec.Check{
	ID: "error.visible",
	Doc: `a run that fails is not closed like one that ended well

By an event that says so, or by a transfer that is broken off.`,
	Watch: eachScriptedRun(func(p *spec.Pass, a *assembledRun) {
		if a.isToFail() {
			p.Judge(a.bodyEnd, a.hasVisibleFailure(), "the run was to fail, and its stream ended like a success")
		}
	}),
}

// stackTracePattern are how stack traces begin, in the languages that servers are written in.
var stackTracePattern = regexp.MustCompile(`Traceback \(most recent call last\)|(\n|\\n)(\t|\\t|    )at |goroutine \d+ \[`)

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
				shown := stackTracePattern.Find(e.Raw)
				p.Judge(e, shown == nil, "the error shows a stack trace (%q)", shown)
			}
		}
	},
}
