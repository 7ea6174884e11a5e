package rules

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

var historyContentChecks = []*spec.Check{
	HistoryHasPrompt, HistoryHasImages, HistoryHasResponse, HistoryHasToolResults, HistoryToolResultsAreJSON,
}

// eachStoredRun returns a judge function for atConversationEnd that looks for each finished run in
// the latest pages of the history of its thread. It ignores runs for which applies returns false,
// because they have nothing that a page must contain. For each other run and page it calls has, and
// records a passed judgement if the page contains what it must. If the page does not, report is
// called to make the finding, unless the page may be incomplete: the thread has earlier days, or
// the page was requested within historySettleTime of the end of the run.
func eachStoredRun(
	applies func(r *acceptedRun) bool, has func(r *acceptedRun, page spec.Event) bool,
	report func(p *spec.Pass, r *acceptedRun, page spec.Event),
) func(*spec.Pass, *conversation) {
	return func(p *spec.Pass, c *conversation) {
		for _, r := range c.runs {
			for _, x := range c.historyExchanges {
				page, ok := x.latestPage(r.request.Thread)
				sameUser := credentialKey(x.request) == credentialKey(r.request)
				switch {
				case !ok || !r.endedBefore(x.request.At, 0) || !sameUser || !applies(r):
				case has(r, page):
					p.Judge(page, true, "")
				case page.HasMore != "true" && r.endedBefore(x.request.At, historySettleTime):
					report(p, r, page)
				}
			}
		}
	}
}

// Checks that judge whether the history contains a finished run: its prompt, the images of the
// prompt, the answer and the tool results.
var (
	HistoryHasPrompt = &spec.Check{
		ID: "history.tells-the-user",
		Doc: `the history contains the user's prompt

It may be incomplete until five seconds after the end of the run. A prompt that was sent in
several blocks may be joined in any way.`,
		Needs: []spec.Kind{spec.History, spec.HistoryUser, spec.RunAccepted},
		Watch: atConversationEnd(eachStoredRun(
			func(r *acceptedRun) bool { return r.request.Text != "" },
			func(r *acceptedRun, page spec.Event) bool { return hasUserText(page, r.request.Text) },
			func(p *spec.Pass, r *acceptedRun, page spec.Event) {
				p.Judge(page, false, "history lacks the prompt %q of a finished run; expected it as a user message", r.request.Text)
			})),
	}
	HistoryHasImages = &spec.Check{
		ID:    "history.tells-images",
		Doc:   "the history contains images for a prompt that was sent with images",
		Needs: []spec.Kind{spec.History, spec.HistoryImage, spec.InputImage},
		Watch: atConversationEnd(eachStoredRun(
			func(r *acceptedRun) bool {
				user, _ := r.request.Last(spec.InputUser)
				return len(partsOfKind(user, spec.InputImage)) > 0
			},
			func(r *acceptedRun, page spec.Event) bool {
				return slices.ContainsFunc(partsOfKind(page, spec.HistoryUser), func(m spec.Event) bool {
					return matchesText(m.Text, r.request.Text) && len(partsOfKind(m, spec.HistoryImage)) > 0
				})
			},
			func(p *spec.Pass, r *acceptedRun, page spec.Event) {
				p.Judge(page, false,
					"history has no image for the prompt %q, which was sent with one; expected the image", r.request.Text)
			})),
	}
	HistoryHasResponse = &spec.Check{
		ID: "history.tells-the-answer",
		Doc: `the history contains the text of the streamed answer

In one message or in several. Of an answer in several messages one suffices: the history
need not show every message.`,
		Needs: []spec.Kind{spec.History, spec.HistoryAssistant, spec.MessageDelta},
		Watch: atConversationEnd(eachStoredRun(
			func(r *acceptedRun) bool { return r.content != nil && r.content.text() != "" },
			func(r *acceptedRun, page spec.Event) bool {
				texts := append(r.content.texts(false), r.content.text())
				return slices.ContainsFunc(texts, func(text string) bool { return hasAssistantText(page, text) })
			},
			func(p *spec.Pass, r *acceptedRun, page spec.Event) {
				p.Judge(page, false, "history lacks the streamed answer %q; expected it as an assistant message", r.content.text())
			})),
	}
	HistoryHasToolResults = &spec.Check{
		ID: "history.tells-tools",
		Doc: `the history contains a tool message for a run with tool results

This is judged for scripted targets. Other targets may have tools that the history does not
show.`,
		Needs: []spec.Kind{spec.History, spec.HistoryTool, spec.ToolResult},
		Watch: atConversationEnd(eachStoredRun(
			func(r *acceptedRun) bool { return r.request.Facts().Scripted && r.toolResults > 0 },
			func(r *acceptedRun, page spec.Event) bool { return len(partsOfKind(page, spec.HistoryTool)) > 0 },
			func(p *spec.Pass, r *acceptedRun, page spec.Event) {
				p.Judge(page, false,
					"history has no tool message for a run that streamed %s; expected one", pluralize(r.toolResults, "tool result"))
			})),
	}
)

// hasUserText reports whether a page has a user message that contains the text, as defined by
// matchesText.
func hasUserText(page spec.Event, text string) bool {
	return slices.ContainsFunc(partsOfKind(page, spec.HistoryUser), func(m spec.Event) bool {
		return matchesText(m.Text, text)
	})
}

// matchesText reports whether the content of a history message contains the text that a user sent.
// White space is ignored and additions are allowed, because a server may join the blocks of a
// prompt in any way. Content that is JSON must equal the text.
func matchesText(content, text string) bool {
	if content == text {
		return true
	}
	trimmed := strings.TrimSpace(content)
	if trimmed != "" && strings.ContainsRune(`{["`, rune(trimmed[0])) && json.Valid([]byte(trimmed)) {
		return false
	}
	return strings.Contains(withoutSpaces(content), withoutSpaces(text))
}

// withoutSpaces returns s without its white space.
func withoutSpaces(s string) string { return strings.Join(strings.Fields(s), "") }

// hasAssistantText reports whether a page contains the text as one assistant message or as several
// successive ones, joined. White space is ignored.
func hasAssistantText(page spec.Event, text string) bool {
	messages, text := partsOfKind(page, spec.HistoryAssistant), withoutSpaces(text)
	for i := range messages {
		rest, ok := text, true
		for j := i; j < len(messages) && ok && rest != ""; j++ {
			rest, ok = strings.CutPrefix(rest, withoutSpaces(messages[j].Text))
		}
		if ok && rest == "" {
			return true
		}
	}
	return false
}

// HistoryToolResultsAreJSON judges whether the content of each tool message is JSON text.
var HistoryToolResultsAreJSON = &spec.Check{
	ID:    "history.tools-are-json",
	Doc:   "the content of a tool message in the history is JSON text",
	Needs: []spec.Kind{spec.History, spec.HistoryTool},
	Watch: eachHistoryPage(func(p *spec.Pass, _ *exchange, page spec.Event) {
		for _, m := range partsOfKind(page, spec.HistoryTool) {
			p.Judge(page, json.Valid([]byte(m.Text)), "content of tool message %s is %q; expected JSON text", m.ID, m.Text)
		}
	}),
}
