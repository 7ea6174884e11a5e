package rules

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
)

var retellings = []*spec.Check{TellsUser, TellsImages, TellsAnswer, TellsTools, ToolsAreJSON, ThreadAsAsked, BeforeIsEarlier, MoreHolds, OneDay}

// lastPage is what the history of a run's thread tells in the end: the last reading
// that began after the run had ended well.
func (c *chronicle) lastPage(r *record) (page spec.Event, ok bool) {
	for _, x := range c.reads {
		if told, there := x.latest(r.ask.Thread); there && r.ended(x.ask.At, 0) && who(x.ask) == who(r.ask) {
			page, ok = told, true
		}
	}
	return page, ok
}

// TellsUser, TellsImages, TellsAnswer and TellsTools judge whether a history holds what was said.
var (
	TellsUser = &spec.Check{
		ID: "history.tells-the-user",
		Doc: `the history holds what the user said

Judged of the last history that was asked for after a run had ended well: it may take a
moment until it is complete. Texts that were sent in blocks may be joined by spaces.`,
		Needs: []spec.Kind{spec.History, spec.AskUser},
		Watch: histories(func(p *spec.Pass, c *chronicle) {
			for _, r := range c.runs {
				if page, ok := c.lastPage(r); ok && r.ask.Text != "" && page.More != "true" {
					p.Judge(page, holds(page, r.ask.Text), "the run is over, and the history does not tell that the user said %q", r.ask.Text)
				}
			}
		}),
	}
	TellsImages = &spec.Check{
		ID:    "history.tells-images",
		Doc:   "the history has the images that the user sent with a message",
		Needs: []spec.Kind{spec.History, spec.ToldImage, spec.AskImage},
		Watch: histories(func(p *spec.Pass, c *chronicle) {
			for _, r := range c.runs {
				page, ok := c.lastPage(r)
				user, _ := r.ask.Last(spec.AskUser)
				if !ok || len(partsOf(user, spec.AskImage)) == 0 || page.More == "true" {
					continue
				}
				images := 0
				for _, m := range partsOf(page, spec.ToldUser) {
					images += len(partsOf(m, spec.ToldImage))
				}
				p.Judge(page, images > 0, "the user sent an image, and the history tells of none")
			}
		}),
	}
	TellsAnswer = &spec.Check{
		ID:    "history.tells-the-answer",
		Doc:   "the history holds the text of the answer, as it was streamed",
		Needs: []spec.Kind{spec.History, spec.MessageDelta},
		Watch: func(p *spec.Pass) func(spec.Event) {
			return chronicles(p, func(p *spec.Pass, c *chronicle) {
				for _, r := range c.runs {
					page, ok := c.lastPage(r)
					if !ok || r.words == nil || page.More == "true" {
						continue
					}
					var told strings.Builder
					for _, m := range partsOf(page, spec.ToldAssistant) {
						told.WriteString(squeezed(m.Text))
					}
					for _, m := range r.words.said {
						if text := m.text.String(); text != "" && !m.reasoning {
							p.Judge(page, strings.Contains(told.String(), squeezed(text)), "the answer %q was streamed, and the history does not tell it", text)
						}
					}
				}
			}, true)
		},
	}
	TellsTools = &spec.Check{
		ID:    "history.tells-tools",
		Doc:   "after a run in which a tool gave something, the history has a message of a tool",
		Needs: []spec.Kind{spec.History, spec.ToolResult},
		Watch: histories(func(p *spec.Pass, c *chronicle) {
			for _, r := range c.runs {
				if page, ok := c.lastPage(r); ok && r.results > 0 && page.More != "true" {
					p.Judge(page, len(partsOf(page, spec.ToldTool)) > 0, "%d results of tools were streamed, and the history tells of none", r.results)
				}
			}
		}),
	}
)

// A page is one history that came: a rule about it judges each.
func pages(judge func(p *spec.Pass, x *reading, page spec.Event)) watch {
	return histories(func(p *spec.Pass, c *chronicle) {
		for _, x := range c.reads {
			if page, ok := x.page(); ok {
				judge(p, x, page)
			}
		}
	})
}

// ToolsAreJSON judges what a history says that tools gave.
var ToolsAreJSON = &spec.Check{
	ID:    "history.tools-are-json",
	Doc:   "the content of a tool's message in the history is JSON text",
	Needs: []spec.Kind{spec.History, spec.ToldTool},
	Watch: pages(func(p *spec.Pass, _ *reading, page spec.Event) {
		for _, m := range partsOf(page, spec.ToldTool) {
			p.Judge(page, json.Valid([]byte(m.Text)), "the content of the tool's message %s is no JSON: %q", m.ID, m.Text)
		}
	}),
}

// ThreadAsAsked judges which conversation a history is of.
var ThreadAsAsked = &spec.Check{
	ID:    "history.thread-as-asked",
	Doc:   "a history is of the conversation that was asked for",
	Needs: []spec.Kind{spec.History, spec.SlotThread},
	Watch: pages(func(p *spec.Pass, x *reading, page spec.Event) {
		if x.ask.Thread != "" && page.Thread != "" {
			p.Judge(page, page.Thread == x.ask.Thread, "asked for thread %q, the history is of %q", x.ask.Thread, page.Thread)
		}
	}),
}

// BeforeIsEarlier judges which day a history is of.
var BeforeIsEarlier = &spec.Check{
	ID:    "history.before-is-earlier",
	Doc:   "a history that is asked for before a day is of an earlier day, or of none and empty",
	Needs: []spec.Kind{spec.History},
	Watch: pages(func(p *spec.Pass, x *reading, page spec.Event) {
		switch {
		case x.ask.Day == "":
		case page.Day == "":
			p.Judge(page, len(page.Parts) == 0, "there is no day before %s, and %d messages are told", x.ask.Day, len(page.Parts))
		default:
			p.Judge(page, page.Day < x.ask.Day, "a day before %s was asked for, and %s was told", x.ask.Day, page.Day)
		}
	}),
}

// MoreHolds judges what a history says of earlier days.
var MoreHolds = &spec.Check{
	ID: "history.more-holds",
	Doc: `hasMore says whether there are earlier days

Judged where the day before was asked for as well: there is one if it was said, and none
if not.`,
	Needs: []spec.Kind{spec.History},
	Watch: histories(func(p *spec.Pass, c *chronicle) {
		for i, x := range c.reads {
			page, ok := x.page()
			for _, y := range c.reads[i+1:] {
				earlier, also := y.page()
				if !ok || !also || page.Day == "" || y.ask.Day != page.Day || y.ask.Thread != page.Thread || who(x.ask) != who(y.ask) {
					continue
				}
				if page.More == "true" {
					p.Judge(earlier, earlier.Day != "", "%s was said to have more before it, and there is none", page.Day)
				} else {
					p.Judge(earlier, earlier.Day == "" && len(earlier.Parts) == 0, "%s was said to have nothing before it, and there is %s", page.Day, earlier.Day)
				}
			}
		}
	}),
}

// zones is how far from UTC a day may be meant.
const zones = 14 * time.Hour

// OneDay judges when the messages of a day were said.
var OneDay = &spec.Check{
	ID:    "history.one-day",
	Doc:   "the messages of a day were said on that day, in some time zone",
	Needs: []spec.Kind{spec.History},
	Watch: pages(func(p *spec.Pass, _ *reading, page spec.Event) {
		day, err := time.Parse(time.DateOnly, page.Day)
		if err != nil {
			return
		}
		for _, m := range page.Parts {
			if at, err := time.Parse(time.RFC3339Nano, m.Created); err == nil {
				near := !at.Before(day.Add(-zones)) && at.Before(day.Add(24*time.Hour+zones))
				p.Judge(page, near, "message %s of %s was said at %s", m.ID, page.Day, m.Created)
			}
		}
	}),
}
