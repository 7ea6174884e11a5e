package rules

import (
	"fmt"
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// ScriptRecall judges whether a target that is asked for the previous prompt of the conversation
// repeats that prompt.
var ScriptRecall = &spec.Check{
	ID: "script.recall",
	Doc: `asked to recall, the server repeats the previous prompt of the conversation

If the dialect has thread ids, the history is on the server, and the client may send only the new
message. It is unknown whether the server has stored the prompts of another user, of runs that have
not succeeded, and of requests that were sent while the conversation was waiting for other input. If
such a prompt comes last, the target may also repeat an earlier one.

A dialect may require less of the history on the server than of the test prompts. The answer "nothing" to
a request that does not repeat the earlier prompts then counts only against the weaker requirement, unless
the server has repeated a prompt of another such request before.`,
	AllPrincipals: true,
	Watch: func(p *spec.Pass) func(spec.Event) {
		remembers := false // the server has repeated a prompt that the request did not contain
		return eachScriptedRun(func(p *spec.Pass, a *assembledRun) {
			if prompt, ok := a.request.Prompt(); !ok || prompt != "conformance:recall" || !a.hasPreviousPrompt {
				return
			}
			before := textInParts(a.previousPrompt, a.previousTexts, a.text())
			if slices.Contains(a.possiblePrompts, a.text()) {
				before = a.text()
			}
			got, expected := a.quoteText(before)
			if expected += a.expectedEnd(); len(a.possiblePrompts) > 0 {
				expected += ", or a prompt that the server may or may not have stored, such as " +
					quoteStart(a.possiblePrompts[0])
			}
			evidence, isRight := a.firstDifference(before, false), a.hasText(before)
			switch {
			case len(a.request.PartsOf(spec.InputUser)) > 1: // the request repeats the earlier prompts
			case isRight:
				remembers = remembers || before != "nothing"
			case a.hasText("nothing") && !remembers:
				evidence.Requirement = p.WeakestRequirement()
			}
			p.Judge(evidence, isRight,
				"asked for the user's previous prompt, got %s%s; expected %s", got, a.describeEnd(), expected)
		})(p)
	},
}

// ScriptIsolated judges whether a target that is asked in a new thread for the previous prompt
// answers "nothing". Any other answer might reveal a prompt of another thread.
var ScriptIsolated = &spec.Check{
	ID: "script.isolated",
	Doc: `asked to recall in a new conversation, the server answers "nothing"

The conversation is new if the thread id in the request was not used before. If the request names no
thread, the thread id in the response must be new.`,
	Needs: []spec.Kind{spec.SlotThread}, AllPrincipals: true,
	Watch: eachScriptedRun(func(p *spec.Pass, a *assembledRun) {
		prompt, ok := a.request.Prompt()
		isNew := a.hasOtherThreads && (a.request.Thread != "" || a.madeThread)
		if ok && prompt == "conformance:recall" && !a.hasPreviousPrompt && isNew {
			where := "a new conversation"
			if a.request.Thread != "" {
				where = fmt.Sprintf("the new conversation %q", a.request.Thread)
			}
			got, expected := a.quoteText("nothing")
			p.Judge(a.firstDifference("nothing", false), a.hasText("nothing"),
				"asked for the previous prompt in %s, got %s%s; expected %s%s", where, got, a.describeEnd(), expected,
				a.expectedEnd())
		}
	}),
}
