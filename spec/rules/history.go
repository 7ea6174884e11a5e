package rules

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

var historyContentChecks = []*spec.Check{HistoryHasPrompt, HistoryHasImages, HistoryHasResponse, HistoryHasToolResults, HistoryToolResultsAreJSON}

// eachStoredRun is a rule about what the history of a conversation holds of each of its runs
// that ended well. has says whether a page holds it, owes whether there is anything to
// hold. A page that does not may be of a later day, or too early: it counts only if
// there are no earlier days, and the run was over long enough.
func eachStoredRun(applies func(r *acceptedRun) bool, has func(r *acceptedRun, page spec.Event) bool, report func(p *spec.Pass, r *acceptedRun, page spec.Event)) func(*spec.Pass, *conversation) {
	return func(p *spec.Pass, c *conversation) {
		for _, r := range c.runs {
			for _, x := range c.historyExchanges {
				page, ok := x.latestPage(r.request.Thread)
				switch {
				case !ok || !r.endedBefore(x.request.At, 0) || credentialKey(x.request) != credentialKey(r.request) || !applies(r):
				case has(r, page):
					p.Judge(page, true, "")
				case page.HasMore != "true" && r.endedBefore(x.request.At, historySettleTime):
					report(p, r, page)
				}
			}
		}
	}
}

// What a history holds of a run.
var (
	HistoryHasPrompt = &spec.Check{
		ID: "history.tells-the-user",
		Doc: `the history holds what the user said

Until five seconds after the end of the run it need not be complete. Texts that were
sent in blocks may be joined by whatever.`,
		Needs: []spec.Kind{spec.History, spec.HistoryUser, spec.RunAccepted},
		Watch: atConversationEnd(eachStoredRun(
			func(r *acceptedRun) bool { return r.request.Text != "" },
			func(r *acceptedRun, page spec.Event) bool { return hasUserText(page, r.request.Text) },
			func(p *spec.Pass, r *acceptedRun, page spec.Event) {
				p.Judge(page, false, "the run is over, and the history does not tell that the user said %q", r.request.Text)
			})),
	}
	HistoryHasImages = &spec.Check{
		ID:    "history.tells-images",
		Doc:   "the history has images with a message that the user sent with images",
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
				p.Judge(page, false, "the user sent an image with %q, and the history tells of none", r.request.Text)
			})),
	}
	HistoryHasResponse = &spec.Check{
		ID: "history.tells-the-answer",
		Doc: `the history holds the text of the answer, as it was streamed

In one message or in several. Of an answer in several messages one is enough: not
every message has to be visible in the history.`,
		Needs: []spec.Kind{spec.History, spec.HistoryAssistant, spec.MessageDelta},
		Watch: atConversationEndWithContent(eachStoredRun(
			func(r *acceptedRun) bool { return r.content != nil && r.content.text() != "" },
			func(r *acceptedRun, page spec.Event) bool {
				return slices.ContainsFunc(append(r.content.messageTexts(), r.content.text()), func(text string) bool { return hasAssistantText(page, text) })
			},
			func(p *spec.Pass, r *acceptedRun, page spec.Event) {
				p.Judge(page, false, "the answer %q was streamed, and the history does not tell it", r.content.text())
			})),
	}
	HistoryHasToolResults = &spec.Check{
		ID: "history.tells-tools",
		Doc: `after a run in which a tool of a scripted target gave something, the history has a message of a tool

Other targets may have tools that are not visible in the history.`,
		Needs: []spec.Kind{spec.History, spec.HistoryTool, spec.ToolResult},
		Watch: atConversationEnd(eachStoredRun(
			func(r *acceptedRun) bool { return r.request.Scripted && r.toolResults > 0 },
			func(r *acceptedRun, page spec.Event) bool { return len(partsOfKind(page, spec.HistoryTool)) > 0 },
			func(p *spec.Pass, r *acceptedRun, page spec.Event) {
				p.Judge(page, false, "%s streamed, and the history tells of none", pluralizeWithVerb(r.toolResults, "tool result"))
			})),
	}
)

// hasUserText says that a page tells what the user said.
func hasUserText(page spec.Event, text string) bool {
	return slices.ContainsFunc(partsOfKind(page, spec.HistoryUser), func(m spec.Event) bool { return matchesText(m.Text, text) })
}

// matchesText says that a message of a history holds what a user said. Somebody who sent
// blocks may find them joined by whatever: spaces do not count, and more may be
// there. But a text it is, and not the JSON that held it.
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

// withoutSpaces is a text without its spaces.
func withoutSpaces(s string) string { return strings.Join(strings.Fields(s), "") }

// hasAssistantText says that a page tells a text of the assistant: in one message, or in several
// that follow one another. Spaces at the borders do not count.
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

// HistoryToolResultsAreJSON judges what a history says that tools gave.
var HistoryToolResultsAreJSON = &spec.Check{
	ID:    "history.tools-are-json",
	Doc:   "the content of a tool's message in the history is JSON text",
	Needs: []spec.Kind{spec.History, spec.HistoryTool},
	Watch: eachHistoryPage(func(p *spec.Pass, _ *historyExchange, page spec.Event) {
		for _, m := range partsOfKind(page, spec.HistoryTool) {
			p.Judge(page, json.Valid([]byte(m.Text)), "the content of the tool's message %s is no JSON: %q", m.ID, m.Text)
		}
	}),
}
