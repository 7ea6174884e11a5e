package rules

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

var retellings = []*spec.Check{TellsUser, TellsImages, TellsAnswer, TellsTools, ToolsAreJSON}

// retold is a rule about what the history of a conversation holds of each of its runs
// that ended well. has says whether a page holds it, owes whether there is anything to
// hold. A page that does not may be of a later day, or too early: it counts only if
// there are no earlier days, and the run was over long enough.
func retold(owes func(r *record) bool, has func(r *record, page spec.Event) bool, lacks func(p *spec.Pass, r *record, page spec.Event)) func(*spec.Pass, *chronicle) {
	return func(p *spec.Pass, c *chronicle) {
		for _, r := range c.runs {
			for _, x := range c.reads {
				page, ok := x.latest(r.ask.Thread)
				switch {
				case !ok || !r.ended(x.ask.At, 0) || who(x.ask) != who(r.ask) || !owes(r):
				case has(r, page):
					p.Judge(page, true, "")
				case page.HasMore != "true" && r.ended(x.ask.At, settled):
					lacks(p, r, page)
				}
			}
		}
	}
}

// What a history holds of a run.
var (
	TellsUser = &spec.Check{
		ID: "history.tells-the-user",
		Doc: `the history holds what the user said

Until five seconds after the end of the run it need not be complete. Texts that were
sent in blocks may be joined by whatever.`,
		Needs: []spec.Kind{spec.History, spec.HistoryUser, spec.RunAccepted},
		Watch: histories(retold(
			func(r *record) bool { return r.ask.Text != "" },
			func(r *record, page spec.Event) bool { return holds(page, r.ask.Text) },
			func(p *spec.Pass, r *record, page spec.Event) {
				p.Judge(page, false, "the run is over, and the history does not tell that the user said %q", r.ask.Text)
			})),
	}
	TellsImages = &spec.Check{
		ID:    "history.tells-images",
		Doc:   "the history has images with a message that the user sent with images",
		Needs: []spec.Kind{spec.History, spec.HistoryImage, spec.InputImage},
		Watch: histories(retold(
			func(r *record) bool {
				user, _ := r.ask.Last(spec.InputUser)
				return len(partsOf(user, spec.InputImage)) > 0
			},
			func(r *record, page spec.Event) bool {
				return slices.ContainsFunc(partsOf(page, spec.HistoryUser), func(m spec.Event) bool {
					return repeats(m.Text, r.ask.Text) && len(partsOf(m, spec.HistoryImage)) > 0
				})
			},
			func(p *spec.Pass, r *record, page spec.Event) {
				p.Judge(page, false, "the user sent an image with %q, and the history tells of none", r.ask.Text)
			})),
	}
	TellsAnswer = &spec.Check{
		ID: "history.tells-the-answer",
		Doc: `the history holds the text of the answer, as it was streamed

In one message or in several. Of an answer in several messages one is enough: not
every message has to be visible in the history.`,
		Needs: []spec.Kind{spec.History, spec.HistoryAssistant, spec.MessageDelta},
		Watch: attentive(retold(
			func(r *record) bool { return r.words != nil && r.words.text() != "" },
			func(r *record, page spec.Event) bool {
				return slices.ContainsFunc(append(r.words.texts(), r.words.text()), func(text string) bool { return tellsText(page, text) })
			},
			func(p *spec.Pass, r *record, page spec.Event) {
				p.Judge(page, false, "the answer %q was streamed, and the history does not tell it", r.words.text())
			})),
	}
	TellsTools = &spec.Check{
		ID: "history.tells-tools",
		Doc: `after a run in which a tool of a scripted target gave something, the history has a message of a tool

Other targets may have tools that are not visible in the history.`,
		Needs: []spec.Kind{spec.History, spec.HistoryTool, spec.ToolResult},
		Watch: histories(retold(
			func(r *record) bool { return r.ask.Scripted && r.results > 0 },
			func(r *record, page spec.Event) bool { return len(partsOf(page, spec.HistoryTool)) > 0 },
			func(p *spec.Pass, r *record, page spec.Event) {
				p.Judge(page, false, "%s streamed, and the history tells of none", were(r.results, "tool result"))
			})),
	}
)

// holds says that a page tells what the user said.
func holds(page spec.Event, said string) bool {
	return slices.ContainsFunc(partsOf(page, spec.HistoryUser), func(m spec.Event) bool { return repeats(m.Text, said) })
}

// repeats says that a message of a history holds what a user said. Somebody who sent
// blocks may find them joined by whatever: spaces do not count, and more may be
// there. But a text it is, and not the JSON that held it.
func repeats(content, said string) bool {
	if content == said {
		return true
	}
	trimmed := strings.TrimSpace(content)
	if trimmed != "" && strings.ContainsRune(`{["`, rune(trimmed[0])) && json.Valid([]byte(trimmed)) {
		return false
	}
	return strings.Contains(squeezed(content), squeezed(said))
}

// squeezed is a text without its spaces.
func squeezed(s string) string { return strings.Join(strings.Fields(s), "") }

// tellsText says that a page tells a text of the assistant: in one message, or in several
// that follow one another. Spaces at the borders do not count.
func tellsText(page spec.Event, text string) bool {
	messages, text := partsOf(page, spec.HistoryAssistant), squeezed(text)
	for i := range messages {
		rest, ok := text, true
		for j := i; j < len(messages) && ok && rest != ""; j++ {
			rest, ok = strings.CutPrefix(rest, squeezed(messages[j].Text))
		}
		if ok && rest == "" {
			return true
		}
	}
	return false
}

// ToolsAreJSON judges what a history says that tools gave.
var ToolsAreJSON = &spec.Check{
	ID:    "history.tools-are-json",
	Doc:   "the content of a tool's message in the history is JSON text",
	Needs: []spec.Kind{spec.History, spec.HistoryTool},
	Watch: pages(func(p *spec.Pass, _ *reading, page spec.Event) {
		for _, m := range partsOf(page, spec.HistoryTool) {
			p.Judge(page, json.Valid([]byte(m.Text)), "the content of the tool's message %s is no JSON: %q", m.ID, m.Text)
		}
	}),
}
