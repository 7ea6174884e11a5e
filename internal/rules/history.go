package rules

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/streamassay/streamassay/spec"
)

var historyContentChecks = []*spec.Check{
	HistoryHasPrompt, HistoryHasImages, HistoryHasAllImages, HistoryHasResponse, HistoryHasToolResults,
	HistoryToolResultsAreJSON, HistoryHasMessagesOnce,
}

// pageWithRun returns x.reply, and whether it is a history that must contain the messages of r.
// That is so if it is a history of the thread of r, and the user of r requested it after r had
// finished. If x asked for the history before a given day, it is so only if another history that
// the user requested after the end of r shows that the day of x.reply is the latest one; see
// latestPage.
func (c *runsAndHistories) pageWithRun(x *exchange, r *acceptedRun) (spec.Event, bool) {
	isAfterRun := func(x *exchange) bool {
		return r.endedBefore(x.request.At, 0) && credentialKey(x.request) == credentialKey(r.request)
	}
	page, ok := x.page()
	if !ok || page.Thread != r.request.Thread || !isAfterRun(x) {
		return page, false
	}
	return page, x.request.Day == "" || slices.ContainsFunc(c.historyExchanges, func(y *exchange) bool {
		latest, ok := y.latestPage(r.request.Thread)
		return ok && isAfterRun(y) && latest.Day == page.Day
	})
}

// eachStoredRun returns a function for atConversationEnd that looks for the messages of each
// finished run r in each history that must contain them (see pageWithRun). Runs for which applies
// returns false are skipped.
//
// The function has reports whether page contains the messages of r. If it returns false, report is
// called and must record a finding. However, report is not called while page may be incomplete,
// that is, if page reports messages of earlier days, or if page was requested less than
// historySettleTime after the end of r and no earlier page had the messages.
func eachStoredRun(
	applies func(r *acceptedRun) bool, has func(r *acceptedRun, page spec.Event) bool,
	report func(p *spec.Pass, r *acceptedRun, page spec.Event),
) func(*spec.Pass, *runsAndHistories) {
	return func(p *spec.Pass, c *runsAndHistories) {
		for _, r := range c.runs {
			settled := r.end.At + historySettleTime // from when on pages must be complete
			for _, x := range c.historyExchanges {
				page, ok := c.pageWithRun(x, r)
				switch {
				case !ok || !applies(r):
				case has(r, page):
					p.Judge(page, true, "")
					settled = min(settled, x.bodyEnd.At)
				case page.HasMore != "true" && x.request.At >= settled:
					report(p, r, page)
				}
			}
		}
	}
}

// These checks judge whether the history contains what belongs to a finished run: its prompt, the
// images of the prompt, the answer and the tool results.
var (
	HistoryHasPrompt = &spec.Check{
		ID: "history.tells-the-user",
		Doc: `the history contains the user's prompt

The prompt may be missing until five seconds after the end of the run. It must have the same white
space as in the request. A server may join a prompt of several blocks with white space, and may add
text to a prompt with images.`,
		Needs: []spec.Kind{spec.History, spec.HistoryUser, spec.RunAccepted},
		Watch: atConversationEnd(eachStoredRun(
			func(r *acceptedRun) bool { return r.request.Text != "" },
			func(r *acceptedRun, page spec.Event) bool { return countUserTexts(page, r.request) >= r.number },
			func(p *spec.Pass, r *acceptedRun, page spec.Event) {
				n := countUserTexts(page, r.request)
				if changed, ok := changedUserText(page, r.request.Text); ok && n == 0 {
					got, want := quotePair(changed, r.request.Text)
					p.Judge(page, false, "history has the user message %s; expected the prompt as it was sent, %s", got, want)
				} else {
					p.Judge(page, n > 0, "history lacks the prompt %q of a finished run; expected it as a user message",
						r.request.Text)
				}
				p.Judge(page, n == 0 || n >= r.number,
					"history has the prompt %q %s, but %d runs with this prompt have finished; expected one user message for each run",
					r.request.Text, pluralize(n, "time"), r.number)
			})),
	}
	HistoryHasImages = &spec.Check{
		ID: "history.tells-images",
		Doc: `the history contains images for a prompt that was sent with images

A history without the prompt is left to history.tells-the-user.`,
		Needs: []spec.Kind{spec.History, spec.HistoryImage, spec.InputImage},
		Watch: atConversationEnd(eachStoredRun(
			func(r *acceptedRun) bool {
				user, _ := r.request.Last(spec.InputUser)
				return len(user.PartsOf(spec.InputImage)) > 0
			},
			func(r *acceptedRun, page spec.Event) bool { return countStoredImages(page, r) > 0 },
			func(p *spec.Pass, r *acceptedRun, page spec.Event) {
				if countUserTexts(page, r.request) > 0 {
					p.Judge(page, false,
						"history has no image for the prompt %q, which was sent with one; expected the image", r.request.Text)
				}
			})),
	}
	HistoryHasAllImages = &spec.Check{
		ID: "history.tells-all-images",
		Doc: `the history contains every image of a prompt that was sent with several

A history without any image for the prompt is left to history.tells-images.`,
		Needs: []spec.Kind{spec.History, spec.HistoryImage, spec.InputImage},
		Watch: atConversationEnd(eachStoredRun(
			func(r *acceptedRun) bool { return countSentImages(r) > 1 },
			func(r *acceptedRun, page spec.Event) bool { return countStoredImages(page, r) >= countSentImages(r) },
			func(p *spec.Pass, r *acceptedRun, page spec.Event) {
				if n := countStoredImages(page, r); n > 0 {
					p.Judge(page, false, "history has %s for the prompt %q, which was sent with %d; expected all of them",
						pluralize(n, "image"), r.request.Text, countSentImages(r))
				}
			})),
	}
	HistoryHasResponse = &spec.Check{
		ID: "history.tells-the-answer",
		Doc: `the history contains the text of the streamed answer

The text must have the same white space as in the stream, and may be split among several messages. If
the answer has several messages, the history need contain only one of them. The answer of a run that
was canceled before its end is not judged. A history that was requested before any stream of the run is
judged only if the prompt sets the duration of the run, and the run must have ended more than five
seconds before.`,
		Needs: []spec.Kind{spec.History, spec.HistoryAssistant, spec.MessageDelta},
		Watch: atConversationEnd(func(p *spec.Pass, c *runsAndHistories) {
			judgeReadAnswers(p, c)
			judgeUnreadAnswers(p, c)
		}),
	}
	HistoryHasToolResults = &spec.Check{
		ID: "history.tells-tools",
		Doc: `the history contains a tool message for each tool result of a run

This is judged for scripted targets. Other targets may have tools that the history does not
show.`,
		Needs: []spec.Kind{spec.History, spec.HistoryTool, spec.ToolResult},
		Watch: atConversationEnd(eachStoredRun(
			func(r *acceptedRun) bool { return r.request.Facts().Scripted && len(r.toolResults) > 0 },
			func(r *acceptedRun, page spec.Event) bool {
				return len(page.PartsOf(spec.HistoryTool)) >= len(r.toolResults)
			},
			func(p *spec.Pass, r *acceptedRun, page spec.Event) {
				p.Judge(page, false, "history has %s, and a run streamed %s; expected a message for each",
					pluralize(len(page.PartsOf(spec.HistoryTool)), "tool message"), pluralize(len(r.toolResults), "tool result"))
			})),
	}
)

// judgeReadAnswers judges whether the histories that were requested after the end of a run contain
// its answer.
var judgeReadAnswers = eachStoredRun(
	func(r *acceptedRun) bool { return !r.canceled && r.content != nil && r.content.text() != "" },
	func(r *acceptedRun, page spec.Event) bool { return hasAssistantText(page, r.content.texts(false)) },
	func(p *spec.Pass, r *acceptedRun, page spec.Event) {
		p.Judge(page, false, "history lacks the streamed answer %q; expected it as an assistant message", r.content.text())
	})

// judgeUnreadAnswers judges whether a history contains the answer of a run of which no stream had
// been requested before that history. The answer is known from a stream that was requested later.
// Only runs whose prompt sets a duration are judged, because it is unknown when other runs end. A
// history may lack the answer until the sum of that duration, [lockTimeout] and [historySettleTime]
// has passed since the run was accepted.
func judgeUnreadAnswers(p *spec.Pass, c *runsAndHistories) {
	for _, r := range c.runs {
		duration, ok := scriptedDuration(r.request)
		isUnclear := r.canceled || r.requestedAgain || r.end.Kind != spec.RunEnd || r.content == nil || r.content.text() == ""
		if !ok || isUnclear {
			continue
		}
		settled := r.acceptance.At + duration + lockTimeout + historySettleTime
		for _, x := range c.historyExchanges {
			page, ok := x.latestPage(r.request.Thread)
			isUnread := x.request.At >= r.acceptance.At && x.bodyEnd.At <= r.requestedAt
			if !ok || !isUnread || credentialKey(x.request) != credentialKey(r.request) {
				continue
			}
			if hasAssistantText(page, r.content.texts(false)) {
				p.Judge(page, true, "")
			} else if page.HasMore != "true" && x.request.At >= settled {
				p.Judge(page, false,
					"history lacks the answer %q of a run of which no stream was requested yet; expected it %v after the run was accepted",
					r.content.text(), settled-r.acceptance.At)
			}
		}
	}
}

// countSentImages returns the number of images with different links in the prompt of r.
func countSentImages(r *acceptedRun) int {
	user, _ := r.request.Last(spec.InputUser)
	return CountImages(user)
}

// CountImages returns the number of images with different links in m, a message of a request.
func CountImages(m spec.Event) int {
	links := map[string]bool{}
	for _, image := range m.PartsOf(spec.InputImage) {
		links[image.Text] = true
	}
	return len(links)
}

// countStoredImages returns the number of images of the user message on page that has the text of
// the prompt of r. If several messages have that text, it returns the number for the one with the
// most images; if none has it, 0.
func countStoredImages(page spec.Event, r *acceptedRun) (n int) {
	for _, m := range page.PartsOf(spec.HistoryUser) {
		if matchesText(m.Text, r.request.Text) {
			n = max(n, len(m.PartsOf(spec.HistoryImage)))
		}
	}
	return n
}

// changedUserText returns the text of a user message on page that differs from the argument text
// only in its white space, or that is the beginning of it, at least 24 bytes long. If there is
// none, ok is false.
func changedUserText(page spec.Event, text string) (changed string, ok bool) {
	const enough = 24 // bytes of a beginning: other prompts may begin with the same word
	for _, m := range page.PartsOf(spec.HistoryUser) {
		isBeginning := len(m.Text) >= enough && strings.HasPrefix(text, m.Text)
		if m.Text != text && (isBeginning || WithoutSpace(m.Text) == WithoutSpace(text)) {
			return m.Text, true
		}
	}
	return "", false
}

// countUserTexts returns the number of user messages on page that have the text of request, which
// must be a request that started a run. If the prompt was sent as one string and without images,
// the texts must be equal. Otherwise, a server may join the blocks of the prompt with white space
// and add descriptions of the images.
func countUserTexts(page, request spec.Event) (n int) {
	user, _ := request.Last(spec.InputUser)
	isExact := sync.OnceValue(func() bool { return len(user.Parts) == 0 && IsOneString(request) })
	for _, m := range page.PartsOf(spec.HistoryUser) {
		if m.Text == request.Text || !isExact() && matchesText(m.Text, request.Text) {
			n++
		}
	}
	return n
}

// IsOneString reports whether the text of request is a single string in the JSON body, rather than
// joined from several strings. It returns false if the body is not JSON.
func IsOneString(request spec.Event) bool {
	var body any
	return json.Unmarshal(request.Raw, &body) == nil &&
		hasStringLike(body, func(s string) bool { return s == request.Text })
}

// hasStringLike reports whether v, a decoded JSON value, is or contains, at any depth, a string for
// which fits returns true. Names of members do not count.
func hasStringLike(v any, fits func(s string) bool) bool {
	has := func(v any) bool { return hasStringLike(v, fits) }
	switch v := v.(type) {
	case string:
		return fits(v)
	case []any:
		return slices.ContainsFunc(v, has)
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), has)
	}
	return false
}

// matchesText reports whether content, the content of a message in a history, contains text,
// perhaps with white space added within the text. If content is a JSON string, array or object, it
// must equal text, so a prompt that a server stored as encoded JSON does not match.
func matchesText(content, text string) bool {
	if content == text {
		return true
	}
	trimmed := strings.TrimSpace(content)
	if trimmed != "" && strings.ContainsRune(`{["`, rune(trimmed[0])) && json.Valid([]byte(trimmed)) {
		return false
	}
	for ; len(content) >= len(text); content = content[1:] {
		if hasSpacedPrefix(content, text) {
			return true
		}
	}
	return false
}

// hasSpacedPrefix reports whether s begins with the bytes of the argument prefix, in order, perhaps
// with white space added between them.
func hasSpacedPrefix(s, prefix string) bool {
	for i := range len(prefix) {
		for len(s) > 0 && s[0] != prefix[i] && strings.ContainsRune(" \t\r\n", rune(s[0])) && i > 0 {
			s = s[1:]
		}
		if s == "" || s[0] != prefix[i] {
			return false
		}
		s = s[1:]
	}
	return true
}

// hasAssistantText reports whether page contains an answer whose streamed messages had the given
// texts. It is enough if page contains one of these texts, or all of them joined. The text may be
// split among successive assistant messages. White space must be equal, except in a message that
// contains all of several texts, which may have additional white space.
func hasAssistantText(page spec.Event, texts []string) bool {
	messages, joined := page.PartsOf(spec.HistoryAssistant), strings.Join(texts, "")
	for i, m := range messages {
		isJoined := len(texts) > 1 && matchesText(m.Text, joined)
		if isJoined || slices.ContainsFunc(texts, func(text string) bool { return beginWith(messages[i:], text) }) ||
			beginWith(messages[i:], joined) {
			return true
		}
	}
	return false
}

// beginWith reports whether text is the joined text of the first n messages, for some n. The
// result is true if text is empty.
func beginWith(messages []spec.Event, text string) bool {
	for ok := true; len(messages) > 0 && text != ""; messages = messages[1:] {
		if text, ok = strings.CutPrefix(text, messages[0].Text); !ok {
			return false
		}
	}
	return text == ""
}

// HistoryToolResultsAreJSON judges whether the content of each tool message in a history is JSON
// text.
var HistoryToolResultsAreJSON = &spec.Check{
	ID:    "history.tools-are-json",
	Doc:   "the content of a tool message in the history is JSON text",
	Needs: []spec.Kind{spec.History, spec.HistoryTool},
	Watch: eachHistoryPage(func(p *spec.Pass, _ *runsAndHistories, _ *exchange, page spec.Event) {
		for _, m := range page.PartsOf(spec.HistoryTool) {
			p.Judge(page, json.Valid([]byte(m.Text)), "content of tool message %s is %q; expected JSON text", m.ID, m.Text)
		}
	}),
}
