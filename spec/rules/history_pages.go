package rules

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
)

var historyPageChecks = []*spec.Check{
	HistoryMatchesThread, HistoryOwnThreadOnly, HistoryIsLatestThread, HistoryOfNoThreadIsEmpty,
	PreviousDayIsEarlier, PreviousDayIsNearest, MoreDaysExist, NoMoreDaysExist, HistoryCoversOneDay, HistorySequenceIsOrdered,
}

// eachHistoryPage is for a rule that judges each history that came.
func eachHistoryPage(judge func(p *spec.Pass, x *historyExchange, page spec.Event)) watchFunc {
	return atConversationEnd(func(p *spec.Pass, c *conversation) {
		for _, x := range c.historyExchanges {
			if page, ok := x.page(); ok {
				judge(p, x, page)
			}
		}
	})
}

// HistoryMatchesThread judges which conversation a history is of.
var HistoryMatchesThread = &spec.Check{
	ID: "history.thread-as-asked",
	Doc: `a history is of the conversation that was asked for

Where a run of the conversation has been over for five seconds, there is one.`,
	Needs: []spec.Kind{spec.History, spec.SlotThread},
	Watch: atConversationEnd(func(p *spec.Pass, c *conversation) {
		for _, x := range c.historyExchanges {
			page, ok := x.page()
			there := slices.ContainsFunc(c.runs, func(r *acceptedRun) bool {
				return r.request.Thread == x.request.Thread && credentialKey(r.request) == credentialKey(x.request) && r.endedBefore(x.request.At, historySettleTime)
			})
			switch {
			case x.request.Thread == "":
			case ok && (page.Thread != "" || there):
				p.Judge(page, page.Thread == x.request.Thread, "asked for thread %q, the history is of %q", x.request.Thread, page.Thread)
			case there && x.isThreadUnknown() && c.hasServedHistory():
				p.Judge(x.response, false, "a run of thread %q is over, and the history of it is answered %d", x.request.Thread, x.response.StatusCode)
			}
		}
	}),
}

// HistoryOwnThreadOnly judges whose messages a history holds.
var HistoryOwnThreadOnly = &spec.Check{
	ID: "history.keeps-to-its-thread",
	Doc: `a history does not hold what was said in another conversation

Judged of messages of the user that were said in one conversation only: the same text,
with the same id and at the same time, is not to be in the history of another.`,
	Needs: []spec.Kind{spec.History, spec.HistoryUser, spec.SlotThread},
	Watch: atConversationEnd(func(p *spec.Pass, c *conversation) {
		for _, r := range c.runs {
			elsewhere := func(q *acceptedRun) bool {
				return q.request.Thread != r.request.Thread && q.request.Text == r.request.Text
			}
			if r.request.Text == "" || slices.ContainsFunc(c.runs, elsewhere) {
				continue
			}
			known := map[string]bool{}
			for _, x := range c.historyExchanges {
				if page, ok := x.page(); ok && page.Thread == r.request.Thread {
					eachUserMessage(page, r.request.Text, func(key string) { known[key] = true })
				}
			}
			for _, x := range c.historyExchanges {
				page, ok := x.page()
				if !ok || len(known) == 0 || cmp.Or(x.request.Thread, page.Thread) == r.request.Thread || page.Thread == "" && len(page.Parts) == 0 {
					continue
				}
				found := false
				eachUserMessage(page, r.request.Text, func(key string) { found = found || known[key] })
				p.Judge(page, !found, "%q was said in thread %q, and stands in the history of %q", r.request.Text, r.request.Thread, cmp.Or(x.request.Thread, page.Thread))
			}
		}
	}),
}

// eachUserMessage calls f with what tells messages apart in which the user says a text.
func eachUserMessage(page spec.Event, text string, f func(key string)) {
	for _, m := range partsOfKind(page, spec.HistoryUser) {
		if m.Created != "" && matchesText(m.Text, text) {
			f(m.ID + "\x00" + m.Created + "\x00" + m.Text)
		}
	}
}

// HistoryIsLatestThread judges which conversation is told where none is named.
var HistoryIsLatestThread = &spec.Check{
	ID: "history.latest",
	Doc: `a history that is asked for without naming a conversation is of the latest

Judged after a run of a conversation that began with it. The user may lead others that
nobody has seen here, so that most histories of others say nothing: counted is one of a
conversation whose runs were over before, or whose messages are older, and only if it is
still told five seconds later.`,
	Needs: []spec.Kind{spec.History, spec.RunAccepted, spec.SlotThread},
	Watch: atConversationEnd(func(p *spec.Pass, c *conversation) {
		streak, since := "", time.Duration(0)
		for _, x := range c.historyExchanges {
			page, ok := x.page()
			first, last := c.latestRun(x)
			if !ok || x.request.Thread != "" || x.request.Day != "" || last == nil {
				continue
			}
			if page.Thread == last.request.Thread {
				p.Judge(page, true, "")
			}
			mismatch := runKey(last.request) + "\x00" + page.Thread
			if !c.isOlderThan(page, first) {
				mismatch = ""
			}
			if mismatch != streak {
				streak, since = mismatch, x.request.At
			}
			if mismatch != "" && x.request.At-since >= historySettleTime {
				p.Judge(page, false, "the latest run was of thread %q, and the latest conversation is said to be %q", last.request.Thread, page.Thread)
			}
		}
	}),
}

// latestRun is the last run that was accepted before x, and the first of its
// conversation; nothing, if it cannot be told which was last.
func (c *conversation) latestRun(x *historyExchange) (first, last *acceptedRun) {
	for _, r := range c.runs {
		switch {
		case r.request.Exchange > x.request.Exchange || credentialKey(r.request) != credentialKey(x.request):
		case r.acceptance.At > x.request.At || last != nil && r.request.At < last.acceptance.At: // they overlap
			return nil, nil
		default:
			last = r
		}
	}
	if last == nil {
		return nil, nil
	}
	i := slices.IndexFunc(c.runs, func(r *acceptedRun) bool { return r.request.Thread == last.request.Thread })
	return c.runs[i], last
}

// isOlderThan says that the conversation of a page is over since before r, the first run of
// another.
func (c *conversation) isOlderThan(page spec.Event, r *acceptedRun) bool {
	if page.Thread == "" {
		return true
	}
	if r.acceptance.Created == "false" || page.Thread == r.request.Thread {
		return false
	}
	seen := false
	for _, q := range c.runs {
		if q.request.Thread == page.Thread {
			seen = true
			if q.end.Kind == "" || q.end.At > r.request.At || q.end.Exchange > r.request.Exchange {
				return false
			}
		}
	}
	return seen || c.pagePrecedes(page, r)
}

// pagePrecedes says that all messages of a page are older than what the user said in r.
func (c *conversation) pagePrecedes(page spec.Event, r *acceptedRun) bool {
	began := time.Time{}
	for _, x := range c.historyExchanges {
		if other, ok := x.page(); ok && other.Thread == r.request.Thread {
			for _, m := range partsOfKind(other, spec.HistoryUser) {
				if at, zoned, ok := parseTimestamp(m.Created); ok && zoned && matchesText(m.Text, r.request.Text) && (began.IsZero() || at.Before(began)) {
					began = at
				}
			}
		}
	}
	return !began.IsZero() && len(page.Parts) > 0 && !slices.ContainsFunc(page.Parts, func(m spec.Event) bool {
		at, zoned, ok := parseTimestamp(m.Created)
		return !ok || !zoned || !at.Before(began)
	})
}

// HistoryOfNoThreadIsEmpty judges the history of no conversation.
var HistoryOfNoThreadIsEmpty = &spec.Check{
	ID:    "history.none-is-empty",
	Doc:   "a history of no conversation has no day, no messages and no more",
	Needs: []spec.Kind{spec.History, spec.SlotThread},
	// A second user is the one who is most likely to have none.
	AllPrincipals: true,
	Watch: eachHistoryPage(func(p *spec.Pass, _ *historyExchange, page spec.Event) {
		if page.Thread == "" {
			p.Judge(page, page.Day == "" && page.HasMore != "true" && len(page.Parts) == 0,
				"there is no conversation, but the day %q with %s (more: %s)", page.Day, pluralize(len(page.Parts), "message"), page.HasMore)
		}
	}),
}

// PreviousDayIsEarlier judges which day a history is of.
var PreviousDayIsEarlier = &spec.Check{
	ID:    "history.before-is-earlier",
	Doc:   "a history that is asked for before a day is of an earlier day, or of none",
	Needs: []spec.Kind{spec.History, "slot.day"},
	Watch: eachHistoryPage(func(p *spec.Pass, x *historyExchange, page spec.Event) {
		if x.request.Day != "" && isDayOrEmpty(page.Day) {
			p.Judge(page, page.Day < x.request.Day, "a day before %s was asked for, and %s was told", x.request.Day, page.Day)
		}
	}),
}

// isDayOrEmpty is whether there is a day, or none; what is no day breaks the schema.
func isDayOrEmpty(day string) bool {
	_, err := time.Parse(time.DateOnly, day)
	return day == "" || err == nil
}

// PreviousDayIsNearest judges whether days are passed over.
var PreviousDayIsNearest = &spec.Check{
	ID: "history.before-is-nearest",
	Doc: `a history that is asked for before a day is of the nearest that has messages

Judged by the days that were told of the same conversation.`,
	Needs: []spec.Kind{spec.History, "slot.day"},
	Watch: atConversationEnd(func(p *spec.Pass, c *conversation) {
		for _, x := range c.historyExchanges {
			page, ok := x.page()
			if !ok || x.request.Day == "" || x.request.Thread == "" || !isDayOrEmpty(page.Day) {
				continue
			}
			nearest := ""
			for _, y := range c.historyExchanges {
				other, ok := y.page()
				if ok && y != x && other.Thread == x.request.Thread && len(other.Parts) > 0 && isDayOrEmpty(other.Day) && other.Day < x.request.Day && y.bodyEnd.At <= x.request.At {
					nearest = max(nearest, other.Day)
				}
			}
			if nearest != "" {
				p.Judge(page, page.Day >= nearest, "before %s there is %s, and %s was told", x.request.Day, nearest, cmp.Or(page.Day, "none"))
			}
		}
	}),
}

// MoreDaysExist and NoMoreDaysExist judge what a history says of earlier days, where they
// were asked for as well.
var (
	MoreDaysExist = moreCheck("history.more-is-there", "where a history says that there are earlier days, there is one", "true",
		func(p *spec.Pass, day string, earlier spec.Event) {
			p.Judge(earlier, earlier.Day != "", "%s was said to have more before it, and there is none", day)
		})
	NoMoreDaysExist = moreCheck("history.no-more-is-there", "where a history says that there are no earlier days, there is none", "false",
		func(p *spec.Pass, day string, earlier spec.Event) {
			p.Judge(earlier, earlier.Day == "" && len(earlier.Parts) == 0, "%s was said to have nothing before it, and there is %q with %s", day, earlier.Day, pluralize(len(earlier.Parts), "message"))
		})
)

func moreCheck(id, doc, flag string, report func(p *spec.Pass, day string, earlier spec.Event)) *spec.Check {
	return &spec.Check{
		ID: id, Doc: doc, Needs: []spec.Kind{spec.History, "slot.day", "slot.more"},
		Watch: atConversationEnd(func(p *spec.Pass, c *conversation) {
			for _, y := range c.historyExchanges {
				earlier, ok := y.page()
				if !ok || y.request.Day == "" || !isDayOrEmpty(earlier.Day) || earlier.Day >= y.request.Day {
					continue
				}
				index := slices.IndexFunc(c.historyExchanges, func(x *historyExchange) bool {
					page, ok := x.page()
					return ok && page.Day == y.request.Day && page.Thread == y.request.Thread && page.HasMore == flag
				})
				if index >= 0 {
					report(p, y.request.Day, earlier)
				}
			}
		}),
	}
}

// maxZoneOffset is how far from UTC a day may be meant.
const maxZoneOffset = 14 * time.Hour

// HistoryCoversOneDay judges when the messages of a day were said.
var HistoryCoversOneDay = &spec.Check{
	ID: "history.one-day",
	Doc: `the messages of a history were said on its day, in some time zone

Messages of no day were said on none.`,
	Needs: []spec.Kind{spec.History, "slot.day", "slot.created"},
	Watch: eachHistoryPage(func(p *spec.Pass, _ *historyExchange, page spec.Event) {
		day, err := time.Parse(time.DateOnly, page.Day)
		for _, m := range page.Parts {
			at, zoned, ok := parseTimestamp(m.Created)
			margin := maxZoneOffset
			if !zoned { // it may be meant in one time zone, and the day in another
				margin = 2 * maxZoneOffset
			}
			switch {
			case page.Day == "":
				p.Judge(page, false, "message %s is told, and no day", m.ID)
			case err == nil && ok:
				inRange := !at.Before(day.Add(-margin)) && at.Before(day.Add(24*time.Hour+margin))
				p.Judge(page, inRange, "message %s of %s was said at %s", m.ID, page.Day, m.Created)
			}
		}
	}),
}

// parseTimestamp is a time in one of the forms of ISO 8601, and whether it says in which time
// zone.
func parseTimestamp(s string) (at time.Time, zoned, ok bool) {
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

// HistorySequenceIsOrdered judges the numbers of messages.
var HistorySequenceIsOrdered = &spec.Check{
	ID: "history.seq-orders",
	Doc: `the numbers of the messages of a history are in order, and no two are the same

From the oldest to the newest they rise. Whether the oldest stands first is not stated.`,
	Needs: []spec.Kind{spec.History, spec.SlotSeq},
	Watch: eachHistoryPage(func(p *spec.Pass, _ *historyExchange, page spec.Event) {
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
