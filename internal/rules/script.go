package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// scriptChecks lists the checks of what a scripted target does when it gets a test prompt. A target
// is scripted if it understands these prompts; see [spec.Trace.Scripted]. The checks apply to every
// protocol, because the test prompts are the same in all of them.
var scriptChecks = []*spec.Check{
	ScriptText, ScriptEmpty, ScriptMessages, ScriptContents, ScriptReasoning, ScriptReasoningApart, ScriptTool,
	ScriptTools, ScriptClientTool, ScriptClientResult, ScriptClientResults, ScriptInterrupt, ScriptResume,
	ScriptRecall, ScriptIsolated, ScriptState, ScriptSteps, ScriptSlow, ScriptMany, ScriptLarge, ScriptIdle,
	ScriptError, ScriptErrorMid, ScriptErrorMidHasText,
}

// scriptCheck returns a check that calls judge with each run a that answers the test prompt with
// the given name, such as "text" for conformance:text. The check has the id "script." followed by
// name, and doc is its documentation. The string argument of judge is the text after the name of
// the prompt and a space, or "" if there is none.
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

// judgeText judges whether the run succeeded and its text equals want. If not, the finding quotes
// the text of the run.
func (a *assembledRun) judgeText(p *spec.Pass, want string) {
	got, expected := a.quoteText(want)
	p.Judge(a.firstDifference(want, false), a.hasText(want),
		"got %s%s; expected %s%s", got, a.describeEnd(), expected, a.expectedEnd())
}

// quoteText describes the text of the run (got) and want (expected) for the message of a finding,
// as in `text "one"` and `the text "two"`. An empty text is described as "no text". Of long texts,
// only excerpts are quoted; see quotePair.
func (a *assembledRun) quoteText(want string) (got, expected string) {
	got, expected = quotePair(a.text(), want)
	got, expected = "text "+got, "the text "+expected
	if a.text() == "" {
		got = "no text"
	}
	if want == "" {
		expected = "no text"
	}
	return got, expected
}

// hasText reports whether the run succeeded and its text equals want.
func (a *assembledRun) hasText(want string) bool { return a.text() == want && a.isSuccessful() }

// judgeRoles judges whether all messages that have text have the role assistant. It judges neither
// reasoning nor errors nor messages that name no role.
func (a *assembledRun) judgeRoles(p *spec.Pass) {
	for _, s := range a.messages {
		if s.role != nil && s.is(false) && s.text.Len() > 0 {
			p.Judge(*s.role, s.role.Role == "assistant", "answer is a message with the role %q; expected assistant", s.role.Role)
		}
	}
}

// isSuccessful reports whether the run and its stream ended without an error, and the run was not
// cancelled.
func (a *assembledRun) isSuccessful() bool {
	return a.failure.Kind == "" && !a.cancelled && isCleanEnd(a.bodyEnd)
}

// hasVisibleFailure reports whether a client can see that the run failed, by an event that reports
// the failure, by the status of the response, or because the transfer was cut off. The result is
// also true if the last frame cannot be decoded, because that frame may report a failure.
func (a *assembledRun) hasVisibleFailure() bool {
	return a.failure.Kind != "" || isBrokenTransfer(a.bodyEnd) || a.endUnknown || a.failedEarly
}

// describeText returns "text" if the run has any text, and "no text" otherwise, for use in the
// message of a finding.
func (a *assembledRun) describeText() string {
	if a.text() == "" {
		return "no text"
	}
	return "text"
}

// describeEnd returns a clause about how the run ended, for use after a description of its
// content, such as `, then event "RUN_ERROR" (error message "quota exceeded")`. It also mentions
// the number of events that could not be read. If the run succeeded and all events could be read,
// the result is "".
func (a *assembledRun) describeEnd() (clause string) {
	if a.unreadable > 0 {
		clause = ", besides " + pluralize(a.unreadable, "event") + " that cannot be read"
	}
	switch {
	case a.failure.Kind != "":
		return clause + ", then " + a.describeFailure()
	case !isCleanEnd(a.bodyEnd):
		return clause + ", then an error: " + a.bodyEnd.Err.Error()
	case a.cancelled:
		return clause + ", then the end of a cancelled run"
	}
	return clause
}

// expectedEnd returns the words " and a successful end", which follow the description of the
// expected content in a finding, or "" if the result of [assembledRun.describeEnd] is "".
func (a *assembledRun) expectedEnd() string {
	if a.describeEnd() == "" {
		return ""
	}
	return " and a successful end"
}

// describeFailure returns the name of the event that reports the failure, followed by its error
// message if it has one. If the event names a run other than the requested one, the result also
// names both runs.
func (a *assembledRun) describeFailure() string {
	what := displayName(a.failure).String()
	if wanted := a.streamedBy.Run; wanted != "" && a.failure.Run != "" && a.failure.Run != wanted {
		what += fmt.Sprintf(" of run %q, while run %q was requested", a.failure.Run, wanted)
	}
	if a.failure.Text != "" {
		what += fmt.Sprintf(" (error message %q)", a.failure.Text)
	}
	return what
}

// These checks judge whether a server that understands the test prompts (docs/prompts.md) does what
// they ask for. ScriptReasoning and ScriptReasoningApart are about the same prompt. Each of the
// other checks is about a different prompt.
var (
	ScriptText = scriptCheck("text", "asked for a text, the server sends exactly that text in one message",
		func(p *spec.Pass, a *assembledRun, words string) {
			a.judgeText(p, words)
			for _, s := range a.messages {
				if e := s.contradiction; e != nil && s.is(false) {
					got, expected := quotePair(e.Text, words)
					p.Judge(*e, e.Text == words, "got the completed text %s; expected %s", got, expected)
				}
			}
			n := len(a.texts(false))
			hasIDs := slices.ContainsFunc(a.messages, func(s *assembledMessage) bool { return s.id != "" })
			p.Judge(a.startOfText(1), !hasIDs || n <= 1, "got %s; expected 1", pluralize(n, "message"))
			a.judgeRoles(p)
		})

	ScriptEmpty = scriptCheck("empty", "asked for no text, the server finishes the run without text",
		func(p *spec.Pass, a *assembledRun, _ string) { a.judgeText(p, "") })

	ScriptMessages = scriptCheck("messages", "asked for two messages, the server sends \"one\" and \"two\"",
		func(p *spec.Pass, a *assembledRun, _ string) {
			texts, want := a.texts(false), []string{"one", "two"}
			got, expected := quotePairs(texts, want)
			p.Judge(a.firstDifference("onetwo", false), slices.Equal(texts, want) && a.isSuccessful(),
				"got messages %s%s; expected %s%s", got, a.describeEnd(), expected, a.expectedEnd())
		})

	ScriptContents = scriptCheck("contents", "asked for a text and an image, the server sends both",
		func(p *spec.Pass, a *assembledRun, _ string) {
			var types []string
			hasImage := false
			for _, s := range a.messages {
				for _, c := range s.otherContents {
					hasImage = hasImage || c.Type == "image" && c.Text != ""
					if c.Text == "" {
						c.Type += " without a value"
					}
					types = append(types, c.Type)
				}
			}
			others := "no other content"
			if len(types) > 0 {
				others = "content of type " + strings.Join(types, ", ")
			}
			got, expected := a.quoteText("see")
			p.Judge(a.firstDifference("see", false), a.hasText("see") && hasImage,
				"got %s and %s%s; expected %s and content of type image%s", got, others, a.describeEnd(), expected, a.expectedEnd())
		})

	ScriptReasoning = scriptCheck("reasoning", "asked to reason, the server sends the requested text afterwards",
		func(p *spec.Pass, a *assembledRun, words string) {
			got, expected := a.quoteText(words)
			p.Judge(a.firstDifference(words, false), a.hasText(words),
				"got %s after reasoning%s; expected %s%s", got, a.describeEnd(), expected, a.expectedEnd())
		})

	ScriptReasoningApart = &spec.Check{
		ID: "script.reasoning-apart", Doc: "asked to reason, the server sends its reasoning separately and before the text",
		Needs: []spec.Kind{spec.ReasoningStart},
		Watch: scriptCheck("reasoning", "", func(p *spec.Pass, a *assembledRun, _ string) {
			reasoning := strings.Join(a.texts(true), "")
			got, expected := quotePair(reasoning, "thinking")
			if got = "reasoning " + got; len(a.texts(true)) == 0 {
				got = "no reasoning"
			}
			p.Judge(a.firstDifference("thinking", true), reasoning == "thinking", "got %s; expected the reasoning %s", got, expected)
			if thought, spoken := a.firstPiece(true), a.firstPiece(false); thought != nil && spoken != nil {
				p.Judge(*spoken, thought.Frame <= spoken.Frame,
					"the message comes before the reasoning; expected the reasoning first")
			}
		}).Watch,
	}

	ScriptTool = scriptCheck("tool", "asked to call its tool, the server sends the call, its result and a text",
		func(p *spec.Pass, a *assembledRun, words string) { a.judgeToolCalls(p, 1, words) })

	ScriptTools = scriptCheck("tools", "asked for two tool calls, the server sends both, their results and a text",
		func(p *spec.Pass, a *assembledRun, _ string) { a.judgeToolCalls(p, 2, "") })

	ScriptSlow = scriptCheck("slow", "asked for slow deltas, the server sends a text, and no delta too early",
		func(p *spec.Pass, a *assembledRun, words string) {
			judgeHasText(p, a, words)
			a.judgeDeltaTimes(p, words)
		})
	ScriptMany  = scriptCheck("many", "asked for many deltas, the server sends a text", judgeHasText)
	ScriptLarge = scriptCheck("large", "asked for a large delta, the server sends at least that much text",
		func(p *spec.Pass, a *assembledRun, words string) {
			want, err := strconv.Atoi(words)
			if err == nil {
				p.Judge(a.endEvent(), len(a.text()) >= want && a.isSuccessful(), "got %s of text%s; expected at least %s%s",
					pluralize(len(a.text()), "byte"), a.describeEnd(), pluralize(want, "byte"), a.expectedEnd())
			}
		})

	ScriptIdle = scriptCheck("idle",
		"asked to be idle for a time, the server sends no event in that time, and \"done\" afterwards",
		func(p *spec.Pass, a *assembledRun, words string) {
			a.judgeText(p, "done")
			a.judgeIdleTime(p, words)
		})

	ScriptError = scriptCheck("error", "asked to fail, the server fails before any content with the requested message",
		func(p *spec.Pass, a *assembledRun, words string) {
			p.Judge(a.bodyEnd, a.hasVisibleFailure(),
				"got no event that reports a failure; expected the run to fail before any content")
			if a.failure.Kind != "" { // neither a broken transfer nor a status carries a message
				p.Judge(a.firstDifference("", false), a.text() == "", "got text %s before the failure; expected none", quoteStart(a.text()))
				a.judgeFailureText(p, words)
			}
		})

	ScriptErrorMid = scriptCheck("error-mid", "asked to fail midway, the server fails with the requested message",
		func(p *spec.Pass, a *assembledRun, words string) {
			p.Judge(a.bodyEnd, a.hasVisibleFailure(),
				"got no event that reports a failure; expected the run to fail after some content")
			if a.failure.Kind != "" {
				a.judgeFailureText(p, words)
			}
		})
)

// ScriptErrorMidHasText judges whether a target that is asked to fail midway sends text before it
// fails.
var ScriptErrorMidHasText = &spec.Check{
	ID: "script.error-mid-says",
	Doc: `asked to fail midway, the server sends text before it fails

No requirement names this check if the dialect allows a server to lose text when a run fails.`,
	Watch: scriptCheck("error-mid", "", func(p *spec.Pass, a *assembledRun, _ string) {
		got := "no text before the failure"
		if !a.hasVisibleFailure() {
			got = "neither text nor a failure"
		}
		p.Judge(a.endEvent(), a.text() != "", "got %s; expected two deltas of text, then a failure", got)
	}).Watch,
}

// judgeFailureText judges whether the error message of the failed run contains the given text. It
// must be called only if the run has a failure event.
func (a *assembledRun) judgeFailureText(p *spec.Pass, text string) {
	if f := a.failure; f.Text == "" && text != "" {
		p.Judge(f, false,
			"got %s without an error message%s; expected one that contains %q",
			displayName(f), parenthesize(joinViolations(f.Violations)), text)
	} else {
		got, expected := quotePair(f.Text, text)
		p.Judge(f, strings.Contains(f.Text, text), "got error message %s; expected one that contains %s", got, expected)
	}
}

// parenthesize returns v in parentheses, formatted as by %v and with a leading space. It returns ""
// if v is nil or "".
func parenthesize(v any) string {
	if v == nil || v == "" {
		return ""
	}
	return fmt.Sprintf(" (%v)", v)
}

// pluralize returns n followed by the given noun, which must be singular and form its plural with
// s. For the noun "call", the result is "no calls", "1 call" or "2 calls".
func pluralize(n int, noun string) string {
	switch n {
	case 0:
		return "no " + noun + "s"
	case 1:
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// judgeHasText judges whether a run succeeded with a text that is not empty. The unused parameter
// gives judgeHasText the signature that scriptCheck requires.
func judgeHasText(p *spec.Pass, a *assembledRun, _ string) {
	p.Judge(a.endEvent(), a.text() != "" && a.isSuccessful(),
		"got %s%s; expected a text and a successful end", a.describeText(), a.describeEnd())
}

// judgeToolCalls judges whether the run has n calls of the tool "lookup", each with a result, and
// succeeded with a text that is not empty and comes after the results. The text may also come before
// them if the server may reorder events. If args is not "", it is JSON text, and the arguments of
// each call must have the same value.
func (a *assembledRun) judgeToolCalls(p *spec.Pass, n int, args string) {
	a.judgeCalls(p, n, "lookup", args)
	for _, u := range a.toolCalls {
		p.Judge(a.endEvent(), u.hasResult || u.inSnapshot,
			"call %q%s has no result; expected one in the same stream", u.id, ofTool(u.name))
	}
	where := ""
	switch {
	case a.hasSpoken && !a.hasSpokenSince:
		where = ", but none after the tool result"
	case slices.ContainsFunc(a.toolCalls, func(u *assembledCall) bool { return u.hasResult || u.inSnapshot }):
		where = " after the tool result"
	}
	hasText := a.hasSpokenSince || a.hasSpoken && a.streamedBy.Facts().Promised.MayReorder
	p.Judge(a.endEvent(), hasText && a.isSuccessful(),
		"got %s%s%s; expected a text after the tool results, then a successful end", a.describeText(), where, a.describeEnd())
}

// judgeCalls judges whether the run succeeded and has n tool calls, all of them of the given tool.
// If args is not "", it is JSON text, and the arguments of each call must have the same value.
func (a *assembledRun) judgeCalls(p *spec.Pass, n int, tool, args string) {
	calls := slices.DeleteFunc(slices.Clone(a.toolCalls), func(u *assembledCall) bool {
		return u.callEvent.Kind == spec.ToolResult // the result of an unknown call
	})
	evidence := a.endEvent()
	if len(calls) > n {
		evidence = *calls[n].callEvent
	}
	p.Judge(evidence, len(calls) == n && a.isSuccessful(), "got %s%s; expected %s to %s%s",
		pluralize(len(calls), "tool call"), a.describeEnd(), pluralize(n, "call"), tool, a.expectedEnd())
	for _, u := range calls {
		if args == "" {
			p.Judge(*u.callEvent, u.name == tool, "got a call to %s; expected calls to %s", toolName(u.name), tool)
			continue
		}
		evidence := u.callEvent
		if u.name == tool && u.argsEvent != nil {
			evidence = u.argsEvent
		}
		arguments := u.arguments.String()
		got, expected := quoteJSONPair(arguments, args)
		if arguments == "" {
			got = "that are missing or not a text"
		}
		p.Judge(*evidence, u.name == tool && sameJSON(arguments, args),
			"got a call to %s with arguments %s; expected a call to %s with arguments %s",
			toolName(u.name), got, tool, expected)
	}
}

// ofTool returns " of the tool " followed by name, the name of a tool, for the message of a
// finding. It returns "" if name is "".
func ofTool(name string) string {
	if name == "" {
		return ""
	}
	return " of the tool " + name
}

// toolName returns name, the name of a tool, for use in the message of a finding. If name is "",
// the result consists of two quotation marks.
func toolName(name string) string { return cmp.Or(name, `""`) }
