package suites

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// historyScenarios are the scenarios about what is kept of runs.
var historyScenarios = []Scenario{
	{
		Name: "history", Doc: "what is remembered: before, during and after runs", Required: true, Templates: []string{"prompt", "listen", "history"},
		ExpectedChecks: []string{
			"reply.as-promised", "accepted.keeps-prompt", "history.tells-the-user", "history.tells-the-answer",
			"history.thread-as-asked", "history.before-is-earlier", "history.before-is-nearest",
		},
		Run: runHistory,
	}, {
		Name: "latest", Doc: "the history of no conversation in particular, after two", Capability: "history", Exclusive: true,
		Templates: []string{"prompt", "listen", "history"}, Run: runLatest,
	},
}

func runHistory(t *Conversation) {
	t.SendAndRead("prompt", t.PromptEvent("text", "in another conversation"))
	another := t.Thread
	t.Thread = t.newID()
	t.fetchHistory(spec.Event{}) // there is none yet
	if !t.StartRun("prompt", t.PromptEvent("slow", "6 58")) {
		return
	}
	t.fetchHistory(spec.Event{})
	t.ReadStream("", 0)
	t.SendAndRead("prompt", t.PromptEvent("tool", `{"city":"Paris"}`))
	t.SendAndRead("prompt", t.PromptEvent("text", "one two three"))
	page := t.completeHistory()
	if day, err := time.Parse(time.DateOnly, page.Day); err == nil {
		t.fetchHistory(spec.Event{Day: page.Day})
		t.fetchHistory(spec.Event{Day: day.AddDate(0, 0, 1).Format(time.DateOnly)})
	}
	t.Thread = another
	t.fetchHistory(spec.Event{})
}

func runLatest(t *Conversation) {
	t.SendAndRead("prompt", t.PromptEvent("text", "one"))
	t.Thread = t.newID()
	if !t.StartRun("prompt", t.PromptEvent("text", "two")) {
		return
	}
	t.ReadStream("", 0)
	if t.completeHistory().Kind == "" {
		return
	}
	mine := t.Thread
	t.Thread = ""
	t.pollHistory(func(page spec.Event) bool { return page.Thread == mine })
}

// fetchHistory asks for a history once.
func (t *Conversation) fetchHistory(e spec.Event) (page spec.Event) {
	t.send(t.BuildRequest("history", e), wire.StopWhen{})
	return t.LastEvent(spec.History)
}

// historyTimeout is how long a history may take to be complete.
const historyTimeout = 5 * time.Second

// pollHistory asks for a history until it is right, or for as long as that may take.
func (t *Conversation) pollHistory(right func(page spec.Event) bool) (page spec.Event) {
	for began := time.Now(); ; {
		late := time.Since(began) >= historyTimeout
		if page = t.fetchHistory(spec.Event{}); page.Kind == "" && t.LastEvent(spec.HTTPResponse).StatusCode != 404 {
			return page
		}
		if page.Kind != "" && right(page) || late || !t.sleep(historyTimeout/20) {
			return page
		}
	}
}

// completeHistory is the history of the conversation, with all that was said in it, if it can
// be had.
func (t *Conversation) completeHistory() spec.Event {
	if !t.hasTemplate("history") || t.target.lacksCapability("history") {
		return spec.Event{}
	}
	return t.pollHistory(func(page spec.Event) bool { return page.HasMore == "true" || t.isHistoryComplete(page) })
}

// isHistoryComplete says whether a history holds what the runs of its conversation said, as far as
// anybody can tell without judging it.
func (t *Conversation) isHistoryComplete(page spec.Event) bool {
	held := map[spec.Kind]*strings.Builder{spec.HistoryUser: {}, spec.HistoryAssistant: {}, spec.HistoryTool: {}}
	images := 0
	for _, m := range page.Parts {
		if all := held[m.Kind]; all != nil {
			all.WriteString(withoutSpaces(m.Text))
		}
		if m.Kind == spec.HistoryUser { // where images belong that the user sent
			images += len(m.Parts)
		}
	}
	var ask spec.Event
	var answer strings.Builder
	for e := range t.recentEvents(math.MaxInt) {
		switch {
		case e.Kind == spec.HTTPRequest:
			ask = e
			answer.Reset()
		case ask.Thread != page.Thread:
		case e.Kind == spec.RunAccepted:
			user, _ := ask.Last(spec.InputUser)
			sent := slices.ContainsFunc(user.Parts, func(p spec.Event) bool { return p.Kind == spec.InputImage })
			if !strings.Contains(held[spec.HistoryUser].String(), withoutSpaces(ask.Text)) || sent && images == 0 {
				return false
			}
		case e.Kind == spec.ToolResult && held[spec.HistoryTool].Len() == 0:
			return false
		case e.Kind == spec.MessageDelta:
			answer.WriteString(e.Text)
		case e.Kind == spec.RunEnd && !strings.Contains(held[spec.HistoryAssistant].String(), withoutSpaces(answer.String())):
			return false
		}
	}
	return true
}

// withoutSpaces is a text without its spaces.
func withoutSpaces(s string) string { return strings.Join(strings.Fields(s), "") }

// sleep waits, and says whether nobody has called it off.
func (t *Conversation) sleep(d time.Duration) bool {
	select {
	case <-t.ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
