package rules

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// judgeSilenceAfterCalls records a finding if a delta of the answer comes after a tool call that
// has no result. Deltas that are only white space are ignored. It records at most one finding, and
// no passed judgements.
func (a *assembledRun) judgeSilenceAfterCalls(p *spec.Pass) {
	for _, u := range a.toolCalls {
		last := cmp.Or(u.endEvent, u.argsEvent, u.callEvent)
		for _, piece := range a.textPieces() {
			e := *piece.event
			if !u.hasResult && e.Kind == spec.MessageDelta && e.Frame > last.Frame && strings.TrimSpace(e.Text) != "" {
				p.Judge(e, false, "got text %s after the call of %s; expected the run to end there",
					quoteStart(e.Text), toolName(u.name))
				return
			}
		}
	}
}

// ScriptClientTool judges whether a target that is asked to call the client tool makes one call
// with the requested arguments and sends no text after the call. The client tool is the first one
// that the request offers.
var ScriptClientTool = &spec.Check{
	ID: "script.client-tool",
	Doc: `asked to call the client tool, the server calls it with the requested arguments

Text may come before the call. Only white space may follow it, because the run must then end.`,
	Needs: []spec.Kind{spec.InputTool, spec.InputToolResult},
	Watch: eachScriptedRun(func(p *spec.Pass, a *assembledRun) {
		prompt, asked := a.request.Prompt()
		args, now := strings.CutPrefix(prompt, "conformance:client-tool ")
		i := slices.IndexFunc(a.request.Parts, func(part spec.Event) bool { return part.Kind == spec.InputTool })
		if asked && now && i >= 0 {
			a.judgeCalls(p, 1, a.request.Parts[i].Name, args) // of the first tool that the request offers
			a.judgeSilenceAfterCalls(p)
		}
	}),
}

// ScriptClientResult judges whether a target that is given the result of a client tool repeats the
// result in its text.
var ScriptClientResult = &spec.Check{
	ID:    "script.client-tool-result",
	Doc:   "given the result of the client tool, the server repeats it in its text",
	Needs: []spec.Kind{spec.InputTool, spec.InputToolResult},
	Watch: eachScriptedRun(func(p *spec.Pass, a *assembledRun) {
		if results := a.toolResults(); len(results) == 1 {
			said := strings.TrimPrefix(a.text(), "tool said: ")
			a.judgeText(p, "tool said: "+textInParts(results[0].Text, results[0].Texts, said))
		}
	}),
}

// ScriptClientResults judges whether a target that is given several results of client tools at once
// repeats all of them in its text.
var ScriptClientResults = &spec.Check{
	ID: "script.client-tool-results",
	Doc: `given several results of client tools in one request, the server repeats all of them in its text

The text has them in the order of the request, or in that of the calls.`,
	Needs: []spec.Kind{spec.InputTool, spec.InputToolResult},
	Watch: eachScriptedRun(func(p *spec.Pass, a *assembledRun) {
		results := a.toolResults()
		if len(results) < 2 {
			return
		}
		var inOrder, byCalls []string
		for i := range results {
			inOrder = append(inOrder, results[i].Text)
		}
		walkParts(a.request, func(part spec.Event) {
			for i := range results {
				if part.Kind == spec.ToolCall && part.Call == results[i].Call {
					byCalls = append(byCalls, results[i].Text)
				}
			}
		})
		text := "tool said: " + strings.Join(byCalls, "\n")
		if len(byCalls) < len(results) || !a.hasText(text) {
			text = "tool said: " + strings.Join(inOrder, "\n")
		}
		a.judgeText(p, text)
	}),
}

// toolResults returns the new results of client tools in the request of the run, in the order of
// the request. New results are those after the last message of the user or the assistant; earlier
// ones are part of the history. The result is nil unless the request continues a run whose prompt
// asked for a call of a client tool.
func (a *assembledRun) toolResults() (results []spec.Event) {
	if _, asked := a.request.Prompt(); asked || !strings.HasPrefix(a.continuedPrompt, "conformance:client-tool ") {
		return nil
	}
	for _, part := range a.request.Parts {
		switch part.Kind {
		case spec.InputUser, spec.InputAssistant:
			results = nil
		case spec.InputToolResult:
			results = append(results, part)
		}
	}
	return results
}

// textInParts returns the text that a target is expected to send to repeat a message. The argument
// text is the text of the message, texts are the texts of its parts, and got is what the target
// sent.
//
// If the message has several parts, no document says how to join them. The result is then got if
// it contains the texts of all parts in order. In all other cases, the result is text.
func textInParts(text string, texts []string, got string) string {
	rest := got
	for _, t := range texts {
		_, after, ok := strings.Cut(rest, t)
		if !ok {
			return text
		}
		rest = after
	}
	if len(texts) < 2 {
		return text
	}
	return got
}

// ScriptInterrupt judges whether a target that is asked for an interrupt sends one with the
// requested payload.
var ScriptInterrupt = &spec.Check{
	ID:    "script.interrupt",
	Doc:   "asked for an interrupt, the server sends one with the requested payload",
	Needs: []spec.Kind{spec.Interrupt, spec.InputResume},
	Watch: scriptCheck("interrupt", "", func(p *spec.Pass, a *assembledRun, payload string) {
		got, with, evidence := "", "", a.endEvent()
		if n := len(a.interrupts); n > 0 {
			got, evidence = a.interrupts[0].Text, a.interrupts[min(n, 2)-1]
		}
		quoted, expected := quoteJSONPair(got, payload)
		if len(a.interrupts) > 0 {
			with = " with " + quoted
		}
		if len(a.interrupts) > 1 {
			with += ", then " + quoteStart(a.interrupts[1].Text)
		}
		matches := sameJSON(got, payload) || sameJSON(quoteJSON(got), payload)
		p.Judge(evidence, len(a.interrupts) == 1 && matches, "got %s%s%s; expected 1 interrupt with %s",
			pluralize(len(a.interrupts), "interrupt"), with, a.describeEnd(), expected)
	}).Watch,
}

// ScriptResume judges whether a target that is resumed after an interrupt repeats the payload of
// the answer in its text.
var ScriptResume = &spec.Check{
	ID: "script.resume",
	Doc: `resumed after an interrupt, the server repeats the payload of the answer in its text

An answer that has a status and no payload, such as one that cancels, is not judged.`,
	Needs: []spec.Kind{spec.Interrupt, spec.InputResume},
	Watch: eachScriptedRun(func(p *spec.Pass, a *assembledRun) {
		resume, resumes := a.request.Last(spec.InputResume)
		hasPayload := resumes && (resume.Text != "" || resume.Status == "")
		if hasPayload && strings.HasPrefix(a.continuedPrompt, "conformance:interrupt ") {
			got, ok := strings.CutPrefix(a.text(), "resumed with: ")
			matches := ok && (sameJSON(got, resume.Text) || sameJSON(got, quoteJSON(resume.Text)))
			payload := resume.Text
			if !json.Valid([]byte(payload)) {
				payload = quoteJSON(payload)
			}
			want := "resumed with: " + payload
			seen, expected := a.quoteText(want)
			p.Judge(a.firstDifference(want, false), matches && a.isSuccessful(),
				"got %s%s; expected %s%s", seen, a.describeEnd(), expected, a.expectedEnd())
		}
	}),
}

// quoteJSON returns s encoded as a JSON string.
func quoteJSON(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}
