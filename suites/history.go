package suites

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// memory are the scenarios about what is kept of runs.
var memory = []Scenario{
	{
		Name: "history", Doc: "what is remembered: before, during and after runs", Expected: true, Says: []string{"prompt", "listen", "history"},
		Proves: []string{
			"reply.as-promised", "accepted.keeps-prompt", "history.tells-the-user", "history.tells-the-answer",
			"history.thread-as-asked", "history.before-is-earlier", "history.before-is-nearest",
		},
		Lead: leadHistory,
	}, {
		Name: "latest", Doc: "the history of no conversation in particular, after two", Capability: "history", Alone: true,
		Says: []string{"prompt", "listen", "history"}, Lead: leadLatest,
	},
}

func leadHistory(t *Talk) {
	t.Say("prompt", t.Prompt("text", "in another conversation"))
	another := t.Thread
	t.Thread = t.id()
	t.read(spec.Event{}) // there is none yet
	if !t.Open("prompt", t.Prompt("slow", "6 58")) {
		return
	}
	t.read(spec.Event{})
	t.Listen("", 0)
	t.Say("prompt", t.Prompt("tool", `{"city":"Paris"}`))
	t.Say("prompt", t.Prompt("text", "one two three"))
	page := t.remembered()
	if day, err := time.Parse(time.DateOnly, page.Day); err == nil {
		t.read(spec.Event{Day: page.Day})
		t.read(spec.Event{Day: day.AddDate(0, 0, 1).Format(time.DateOnly)})
	}
	t.Thread = another
	t.read(spec.Event{})
}

func leadLatest(t *Talk) {
	t.Say("prompt", t.Prompt("text", "one"))
	t.Thread = t.id()
	if !t.Open("prompt", t.Prompt("text", "two")) {
		return
	}
	t.Listen("", 0)
	if t.remembered().Kind == "" {
		return
	}
	mine := t.Thread
	t.Thread = ""
	t.until(func(page spec.Event) bool { return page.Thread == mine })
}

// read asks for a history once.
func (t *Talk) read(e spec.Event) (page spec.Event) {
	t.send(t.Request("history", e), wire.Limit{})
	return t.Heard(spec.History)
}

// tardy is how long a history may take to be complete.
const tardy = 5 * time.Second

// until asks for a history until it is right, or for as long as that may take.
func (t *Talk) until(right func(page spec.Event) bool) (page spec.Event) {
	for began := time.Now(); ; {
		late := time.Since(began) >= tardy
		if page = t.read(spec.Event{}); page.Kind == "" && t.Heard(spec.HTTPResponse).StatusCode != 404 {
			return page
		}
		if page.Kind != "" && right(page) || late || !t.pause(tardy/20) {
			return page
		}
	}
}

// remembered is the history of the conversation, with all that was said in it, if it can
// be had.
func (t *Talk) remembered() spec.Event {
	if !t.says("history") || t.target.lacks("history") {
		return spec.Event{}
	}
	return t.until(func(page spec.Event) bool { return page.HasMore == "true" || t.complete(page) })
}

// complete says whether a history holds what the runs of its conversation said, as far as
// anybody can tell without judging it.
func (t *Talk) complete(page spec.Event) bool {
	held := map[spec.Kind]*strings.Builder{spec.HistoryUser: {}, spec.HistoryAssistant: {}, spec.HistoryTool: {}}
	images := 0
	for _, m := range page.Parts {
		if all := held[m.Kind]; all != nil {
			all.WriteString(squeezed(m.Text))
		}
		if m.Kind == spec.HistoryUser { // where images belong that the user sent
			images += len(m.Parts)
		}
	}
	var ask spec.Event
	var answer strings.Builder
	for e := range t.events(math.MaxInt) {
		switch {
		case e.Kind == spec.HTTPRequest:
			ask = e
			answer.Reset()
		case ask.Thread != page.Thread:
		case e.Kind == spec.RunAccepted:
			user, _ := ask.Last(spec.InputUser)
			sent := slices.ContainsFunc(user.Parts, func(p spec.Event) bool { return p.Kind == spec.InputImage })
			if !strings.Contains(held[spec.HistoryUser].String(), squeezed(ask.Text)) || sent && images == 0 {
				return false
			}
		case e.Kind == spec.ToolResult && held[spec.HistoryTool].Len() == 0:
			return false
		case e.Kind == spec.MessageDelta:
			answer.WriteString(e.Text)
		case e.Kind == spec.RunEnd && !strings.Contains(held[spec.HistoryAssistant].String(), squeezed(answer.String())):
			return false
		}
	}
	return true
}

// squeezed is a text without its spaces.
func squeezed(s string) string { return strings.Join(strings.Fields(s), "") }

// pause waits, and says whether nobody has called it off.
func (t *Talk) pause(d time.Duration) bool {
	select {
	case <-t.ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
