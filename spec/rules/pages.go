package rules

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
)

var pagings = []*spec.Check{
	ThreadAsAsked, KeepsToItsThread, LatestThread, NoneIsEmpty,
	BeforeIsEarlier, BeforeIsNearest, MoreIsThere, NoMoreIsThere, OneDay, SeqOrders,
}

// pages is for a rule that judges each history that came.
func pages(judge func(p *spec.Pass, x *reading, page spec.Event)) watch {
	return histories(func(p *spec.Pass, c *chronicle) {
		for _, x := range c.reads {
			if page, ok := x.page(); ok {
				judge(p, x, page)
			}
		}
	})
}

// ThreadAsAsked judges which conversation a history is of.
var ThreadAsAsked = &spec.Check{
	ID: "history.thread-as-asked",
	Doc: `a history is of the conversation that was asked for

Where a run of the conversation has been over for five seconds, there is one.`,
	Needs: []spec.Kind{spec.History, spec.SlotThread},
	Watch: histories(func(p *spec.Pass, c *chronicle) {
		for _, x := range c.reads {
			page, ok := x.page()
			there := slices.ContainsFunc(c.runs, func(r *record) bool {
				return r.ask.Thread == x.ask.Thread && who(r.ask) == who(x.ask) && r.ended(x.ask.At, settled)
			})
			switch {
			case x.ask.Thread == "":
			case ok && (page.Thread != "" || there):
				p.Judge(page, page.Thread == x.ask.Thread, "asked for thread %q, the history is of %q", x.ask.Thread, page.Thread)
			case there && x.unknown() && c.served():
				p.Judge(x.answer, false, "a run of thread %q is over, and the history of it is answered %d", x.ask.Thread, x.answer.StatusCode)
			}
		}
	}),
}

// KeepsToItsThread judges whose messages a history holds.
var KeepsToItsThread = &spec.Check{
	ID: "history.keeps-to-its-thread",
	Doc: `a history does not hold what was said in another conversation

Judged of messages of the user that were said in one conversation only: the same text,
with the same id and at the same time, is not to be in the history of another.`,
	Needs: []spec.Kind{spec.History, spec.HistoryUser, spec.SlotThread},
	Watch: histories(func(p *spec.Pass, c *chronicle) {
		for _, r := range c.runs {
			elsewhere := func(q *record) bool { return q.ask.Thread != r.ask.Thread && q.ask.Text == r.ask.Text }
			if r.ask.Text == "" || slices.ContainsFunc(c.runs, elsewhere) {
				continue
			}
			known := map[string]bool{}
			for _, x := range c.reads {
				if page, ok := x.page(); ok && page.Thread == r.ask.Thread {
					saying(page, r.ask.Text, func(key string) { known[key] = true })
				}
			}
			for _, x := range c.reads {
				page, ok := x.page()
				if !ok || len(known) == 0 || cmp.Or(x.ask.Thread, page.Thread) == r.ask.Thread || page.Thread == "" && len(page.Parts) == 0 {
					continue
				}
				held := false
				saying(page, r.ask.Text, func(key string) { held = held || known[key] })
				p.Judge(page, !held, "%q was said in thread %q, and stands in the history of %q", r.ask.Text, r.ask.Thread, cmp.Or(x.ask.Thread, page.Thread))
			}
		}
	}),
}

// saying calls f with what tells messages apart in which the user says a text.
func saying(page spec.Event, said string, f func(key string)) {
	for _, m := range partsOf(page, spec.HistoryUser) {
		if m.Created != "" && repeats(m.Text, said) {
			f(m.ID + "\x00" + m.Created + "\x00" + m.Text)
		}
	}
}

// LatestThread judges which conversation is told where none is named.
var LatestThread = &spec.Check{
	ID: "history.latest",
	Doc: `a history that is asked for without naming a conversation is of the latest

Judged after a run of a conversation that began with it. The user may lead others that
nobody has seen here, so that most histories of others say nothing: counted is one of a
conversation whose runs were over before, or whose messages are older, and only if it is
still told five seconds later.`,
	Needs: []spec.Kind{spec.History, spec.RunAccepted, spec.SlotThread},
	Watch: histories(func(p *spec.Pass, c *chronicle) {
		streak, since := "", time.Duration(0)
		for _, x := range c.reads {
			page, ok := x.page()
			first, last := c.latest(x)
			if !ok || x.ask.Thread != "" || x.ask.Day != "" || last == nil {
				continue
			}
			if page.Thread == last.ask.Thread {
				p.Judge(page, true, "")
			}
			told := run(last.ask) + "\x00" + page.Thread
			if !c.older(page, first) {
				told = ""
			}
			if told != streak {
				streak, since = told, x.ask.At
			}
			if told != "" && x.ask.At-since >= settled {
				p.Judge(page, false, "the latest run was of thread %q, and the latest conversation is said to be %q", last.ask.Thread, page.Thread)
			}
		}
	}),
}

// latest is the last run that was accepted before x, and the first of its
// conversation; nothing, if it cannot be told which was last.
func (c *chronicle) latest(x *reading) (first, last *record) {
	for _, r := range c.runs {
		switch {
		case r.ask.Exchange > x.ask.Exchange || who(r.ask) != who(x.ask):
		case r.accepted.At > x.ask.At || last != nil && r.ask.At < last.accepted.At: // they overlap
			return nil, nil
		default:
			last = r
		}
	}
	if last == nil {
		return nil, nil
	}
	i := slices.IndexFunc(c.runs, func(r *record) bool { return r.ask.Thread == last.ask.Thread })
	return c.runs[i], last
}

// older says that the conversation of a page is over since before r, the first run of
// another.
func (c *chronicle) older(page spec.Event, r *record) bool {
	if page.Thread == "" {
		return true
	}
	if r.accepted.Created == "false" || page.Thread == r.ask.Thread {
		return false
	}
	seen := false
	for _, q := range c.runs {
		if q.ask.Thread == page.Thread {
			seen = true
			if q.end.Kind == "" || q.end.At > r.ask.At || q.end.Exchange > r.ask.Exchange {
				return false
			}
		}
	}
	return seen || c.precedes(page, r)
}

// precedes says that all messages of a page are older than what the user said in r.
func (c *chronicle) precedes(page spec.Event, r *record) bool {
	began := time.Time{}
	for _, x := range c.reads {
		if told, ok := x.page(); ok && told.Thread == r.ask.Thread {
			for _, m := range partsOf(told, spec.HistoryUser) {
				if at, zoned, ok := instant(m.Created); ok && zoned && repeats(m.Text, r.ask.Text) && (began.IsZero() || at.Before(began)) {
					began = at
				}
			}
		}
	}
	return !began.IsZero() && len(page.Parts) > 0 && !slices.ContainsFunc(page.Parts, func(m spec.Event) bool {
		at, zoned, ok := instant(m.Created)
		return !ok || !zoned || !at.Before(began)
	})
}

// NoneIsEmpty judges the history of no conversation.
var NoneIsEmpty = &spec.Check{
	ID:    "history.none-is-empty",
	Doc:   "a history of no conversation has no day, no messages and no more",
	Needs: []spec.Kind{spec.History, spec.SlotThread},
	// A second user is the one who is most likely to have none.
	AllPrincipals: true,
	Watch: pages(func(p *spec.Pass, _ *reading, page spec.Event) {
		if page.Thread == "" {
			p.Judge(page, page.Day == "" && page.HasMore != "true" && len(page.Parts) == 0,
				"there is no conversation, but the day %q with %s (more: %s)", page.Day, counted(len(page.Parts), "message"), page.HasMore)
		}
	}),
}

// BeforeIsEarlier judges which day a history is of.
var BeforeIsEarlier = &spec.Check{
	ID:    "history.before-is-earlier",
	Doc:   "a history that is asked for before a day is of an earlier day, or of none",
	Needs: []spec.Kind{spec.History, "slot.day"},
	Watch: pages(func(p *spec.Pass, x *reading, page spec.Event) {
		if x.ask.Day != "" && isDay(page.Day) {
			p.Judge(page, page.Day < x.ask.Day, "a day before %s was asked for, and %s was told", x.ask.Day, page.Day)
		}
	}),
}

// isDay is whether there is a day, or none; what is no day breaks the schema.
func isDay(day string) bool {
	_, err := time.Parse(time.DateOnly, day)
	return day == "" || err == nil
}

// BeforeIsNearest judges whether days are passed over.
var BeforeIsNearest = &spec.Check{
	ID: "history.before-is-nearest",
	Doc: `a history that is asked for before a day is of the nearest that has messages

Judged by the days that were told of the same conversation.`,
	Needs: []spec.Kind{spec.History, "slot.day"},
	Watch: histories(func(p *spec.Pass, c *chronicle) {
		for _, x := range c.reads {
			page, ok := x.page()
			if !ok || x.ask.Day == "" || x.ask.Thread == "" || !isDay(page.Day) {
				continue
			}
			nearest := ""
			for _, y := range c.reads {
				told, ok := y.page()
				if ok && y != x && told.Thread == x.ask.Thread && len(told.Parts) > 0 && isDay(told.Day) && told.Day < x.ask.Day && y.closed.At <= x.ask.At {
					nearest = max(nearest, told.Day)
				}
			}
			if nearest != "" {
				p.Judge(page, page.Day >= nearest, "before %s there is %s, and %s was told", x.ask.Day, nearest, cmp.Or(page.Day, "none"))
			}
		}
	}),
}

// MoreIsThere and NoMoreIsThere judge what a history says of earlier days, where they
// were asked for as well.
var (
	MoreIsThere = more("history.more-is-there", "where a history says that there are earlier days, there is one", "true",
		func(p *spec.Pass, day string, earlier spec.Event) {
			p.Judge(earlier, earlier.Day != "", "%s was said to have more before it, and there is none", day)
		})
	NoMoreIsThere = more("history.no-more-is-there", "where a history says that there are no earlier days, there is none", "false",
		func(p *spec.Pass, day string, earlier spec.Event) {
			p.Judge(earlier, earlier.Day == "" && len(earlier.Parts) == 0, "%s was said to have nothing before it, and there is %q with %s", day, earlier.Day, counted(len(earlier.Parts), "message"))
		})
)

func more(id, doc, says string, judge func(p *spec.Pass, day string, earlier spec.Event)) *spec.Check {
	return &spec.Check{
		ID: id, Doc: doc, Needs: []spec.Kind{spec.History, "slot.day", "slot.more"},
		Watch: histories(func(p *spec.Pass, c *chronicle) {
			for _, y := range c.reads {
				earlier, ok := y.page()
				if !ok || y.ask.Day == "" || !isDay(earlier.Day) || earlier.Day >= y.ask.Day {
					continue
				}
				said := slices.IndexFunc(c.reads, func(x *reading) bool {
					page, ok := x.page()
					return ok && page.Day == y.ask.Day && page.Thread == y.ask.Thread && page.HasMore == says
				})
				if said >= 0 {
					judge(p, y.ask.Day, earlier)
				}
			}
		}),
	}
}

// zones is how far from UTC a day may be meant.
const zones = 14 * time.Hour

// OneDay judges when the messages of a day were said.
var OneDay = &spec.Check{
	ID: "history.one-day",
	Doc: `the messages of a history were said on its day, in some time zone

Messages of no day were said on none.`,
	Needs: []spec.Kind{spec.History, "slot.day", "slot.created"},
	Watch: pages(func(p *spec.Pass, _ *reading, page spec.Event) {
		day, err := time.Parse(time.DateOnly, page.Day)
		for _, m := range page.Parts {
			at, zoned, ok := instant(m.Created)
			far := zones
			if !zoned { // it may be meant in one time zone, and the day in another
				far = 2 * zones
			}
			switch {
			case page.Day == "":
				p.Judge(page, false, "message %s is told, and no day", m.ID)
			case err == nil && ok:
				near := !at.Before(day.Add(-far)) && at.Before(day.Add(24*time.Hour+far))
				p.Judge(page, near, "message %s of %s was said at %s", m.ID, page.Day, m.Created)
			}
		}
	}),
}

// instant is a time in one of the forms of ISO 8601, and whether it says in which time
// zone.
func instant(s string) (at time.Time, zoned, ok bool) {
	s = strings.ToUpper(s)
	for _, zone := range []string{"Z07:00", "Z0700", "Z07", ""} {
		for _, layout := range []string{"2006-01-02T15:04:05", "20060102T150405", "2006-01-02T15:04", "20060102T1504", "2006-01-02T15", "20060102T15"} {
			if at, err := time.Parse(layout+zone, s); err == nil {
				return at, zone != "", true
			}
		}
	}
	return time.Time{}, false, false
}

// SeqOrders judges the numbers of messages.
var SeqOrders = &spec.Check{
	ID: "history.seq-orders",
	Doc: `the numbers of the messages of a history are in order, and no two are the same

From the oldest to the newest they rise. Whether the oldest stands first is not stated.`,
	Needs: []spec.Kind{spec.History, spec.SlotSeq},
	Watch: pages(func(p *spec.Pass, _ *reading, page spec.Event) {
		var numbers []float64
		for _, m := range page.Parts {
			n, err := strconv.ParseFloat(m.Seq, 64)
			if err != nil {
				return
			}
			numbers = append(numbers, n)
		}
		rises, falls := true, true
		for i := 1; i < len(numbers); i++ {
			rises, falls = rises && numbers[i] > numbers[i-1], falls && numbers[i] < numbers[i-1]
		}
		if len(numbers) > 1 {
			p.Judge(page, rises || falls, "the messages have the numbers %v", numbers)
		}
	}),
}
