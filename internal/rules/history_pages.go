package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
)

var historyPageChecks = []*spec.Check{
	HistoryMatchesThread, HistoryOwnThreadOnly, HistoryIsLatestThread, HistoryOfNoThreadIsEmpty,
	PreviousDayIsEarlier, PreviousDayIsNearest, MoreDaysExist, NoMoreDaysExist, HistoryCoversOneDay,
	HistorySequenceIsOrdered,
}

// eachHistoryPage returns a newWatcherFunc that, at the end of a conversation, calls judge once for
// each reply that is a history or one page of it. The argument page is the event for that reply, x
// is the exchange in which it was returned, and c holds what was collected from the conversation.
// All checks share c and x, so judge must not modify them.
func eachHistoryPage(judge func(p *spec.Pass, c *runsAndHistories, x *exchange, page spec.Event)) newWatcherFunc {
	return atConversationEnd(func(p *spec.Pass, c *runsAndHistories) {
		for _, x := range c.historyExchanges {
			if page, ok := x.page(); ok {
				judge(p, c, x, page)
			}
		}
	})
}

// HistoryMatchesThread judges whether the server returns the history of the requested thread.
var HistoryMatchesThread = &spec.Check{
	ID: "history.thread-as-asked",
	Doc: `a server returns the history of the requested thread

If a run of the thread finished at least five seconds before the request, the thread must have a
history.`,
	Needs: []spec.Kind{spec.History, spec.SlotThread},
	Watch: atConversationEnd(func(p *spec.Pass, c *runsAndHistories) {
		for _, x := range c.historyExchanges {
			page, ok := x.page()
			exists := slices.ContainsFunc(c.runs, func(r *acceptedRun) bool {
				return r.request.Thread == x.request.Thread && credentialKey(r.request) == credentialKey(x.request) &&
					r.endedBefore(x.request.At, historySettleTime)
			})
			switch {
			case x.request.Thread == "":
			case ok && (page.Thread != "" || exists):
				p.Judge(page, page.Thread == x.request.Thread,
					"got the history of thread %q; expected thread %q, as requested", page.Thread, x.request.Thread)
			case exists && x.isThreadUnknown() && c.hasServedHistory():
				p.Judge(x.response, false,
					"got status %d for the history of thread %q, which has a finished run; expected its history",
					x.status(), x.request.Thread)
			}
		}
	}),
}

// HistoryOwnThreadOnly judges whether a history contains only messages of its own thread.
var HistoryOwnThreadOnly = &spec.Check{
	ID: "history.keeps-to-its-thread",
	Doc: `a history has no messages of other threads

This is judged for prompts that were sent in one thread only: a user message with the same
text, id and time must not be in the history of another thread.`,
	Needs: []spec.Kind{spec.History, spec.HistoryUser, spec.SlotThread},
	Watch: atConversationEnd(func(p *spec.Pass, c *runsAndHistories) {
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
				thread := cmp.Or(x.request.Thread, page.Thread)
				empty := page.Thread == "" && len(page.Parts) == 0
				if !ok || len(known) == 0 || thread == r.request.Thread || empty {
					continue
				}
				found := false
				eachUserMessage(page, r.request.Text, func(key string) { found = found || known[key] })
				p.Judge(page, !found, "history of thread %q has the prompt %q of thread %q; expected only its own messages",
					thread, r.request.Text, r.request.Thread)
			}
		}
	}),
}

// eachUserMessage calls f for each user message of page that contains the given text and has a time
// stamp. The argument key combines the id, the time and the content of the message. It therefore
// identifies the same message on different pages.
func eachUserMessage(page spec.Event, text string, f func(key string)) {
	for _, m := range page.PartsOf(spec.HistoryUser) {
		if m.Created != "" && matchesText(m.Text, text) {
			f(m.ID + "\x00" + m.Created + "\x00" + m.Text)
		}
	}
}

// HistoryIsLatestThread judges whether the server answers a history request that names no thread
// with the history of the thread that has the latest run.
var HistoryIsLatestThread = &spec.Check{
	ID: "history.latest",
	Doc: `a history request that names no thread returns the latest thread

The latest thread is that of the user's latest run in this conversation. The user may have later runs
in threads of other conversations. Another thread is therefore wrong only if all its runs ended before
the latest run, or if all its messages are older. The server has five seconds to return the right one:
only a wrong thread that it still returns after that time is reported.`,
	Needs: []spec.Kind{spec.History, spec.RunAccepted, spec.SlotThread},
	Watch: atConversationEnd(func(p *spec.Pass, c *runsAndHistories) {
		streak, since := "", time.Duration(0)
		for _, x := range c.historyExchanges {
			page, ok := x.page()
			last := c.latestRun(x)
			if !ok || x.request.Thread != "" || x.request.Day != "" || last == nil {
				continue
			}
			if page.Thread == last.request.Thread {
				p.Judge(page, true, "")
			}
			mismatch := runKey(last.request) + "\x00" + page.Thread
			if !c.isOlderThan(page, last) {
				mismatch = ""
			}
			if mismatch != streak {
				streak, since = mismatch, x.request.At
			}
			if mismatch != "" && x.request.At-since >= historySettleTime {
				p.Judge(page, false,
					"got %s; expected thread %q, which has the latest run", historyThread(page), last.request.Thread)
			}
		}
	}),
}

// latestRun returns the last run that the user of x had started when the history in x was
// requested. It returns nil if there is no such run. It also returns nil if it is unknown which run
// is the latest, because runs overlap each other or the request.
func (c *runsAndHistories) latestRun(x *exchange) (last *acceptedRun) {
	for _, r := range c.runs {
		switch {
		case r.request.Exchange > x.request.Exchange || credentialKey(r.request) != credentialKey(x.request):
		case r.acceptance.At > x.request.At || last != nil && r.request.At < last.acceptance.At:
			return nil
		default:
			last = r
		}
	}
	return last
}

// isOlderThan reports whether page, a history, shows that the server did not yet know the run r:
// page names no thread, or a thread that is older than r. A thread is older if all its known runs
// ended before r was requested or, if none of its runs is known, if all messages of page are older
// than the prompt of r. The result is false if r itself is a run of the thread.
func (c *runsAndHistories) isOlderThan(page spec.Event, r *acceptedRun) bool {
	if page.Thread == "" {
		return true
	}
	if page.Thread == r.request.Thread {
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

// pagePrecedes reports whether all messages of page are older than the prompt of r, according to
// the time stamps in the histories. It returns false if page has no messages, or if a time or its
// time zone is unknown.
func (c *runsAndHistories) pagePrecedes(page spec.Event, r *acceptedRun) bool {
	began := time.Time{}
	for _, x := range c.historyExchanges {
		other, ok := x.page()
		if !ok || other.Thread != r.request.Thread {
			continue
		}
		for _, m := range other.PartsOf(spec.HistoryUser) {
			at, zoned, ok := parseTimestamp(m.Created)
			if ok && zoned && matchesText(m.Text, r.request.Text) && (began.IsZero() || at.Before(began)) {
				began = at
			}
		}
	}
	return !began.IsZero() && len(page.Parts) > 0 && !slices.ContainsFunc(page.Parts, func(m spec.Event) bool {
		at, zoned, ok := parseTimestamp(m.Created)
		return !ok || !zoned || !at.Before(began)
	})
}

// historyThread returns the name of the thread of page for the message of a finding: the word
// "thread" and the quoted id, or "no thread id" if page names no thread.
func historyThread(page spec.Event) string {
	if page.Thread == "" {
		return "no thread id"
	}
	return fmt.Sprintf("thread %q", page.Thread)
}

// HistoryOfNoThreadIsEmpty judges whether a history that names no thread is empty. A server returns
// such a history to a user who has no threads.
var HistoryOfNoThreadIsEmpty = &spec.Check{
	ID:    "history.none-is-empty",
	Doc:   "the history of a user without threads has no thread, no day and no messages",
	Needs: []spec.Kind{spec.History, spec.SlotThread},
	// Another user is the one who is most likely to have no threads.
	AllPrincipals: true,
	Watch: eachHistoryPage(func(p *spec.Pass, _ *runsAndHistories, _ *exchange, page spec.Event) {
		if page.Thread == "" && len(page.Violations) == 0 { // the id of a thread may be of a wrong type
			var has []string
			if page.Day != "" {
				has = append(has, fmt.Sprintf("the day %q", page.Day))
			}
			if len(page.Parts) > 0 {
				has = append(has, pluralize(len(page.Parts), "message"))
			}
			if page.HasMore == "true" {
				has = append(has, "messages of earlier days")
			}
			p.Judge(page, len(has) == 0, "history names no thread, but has %s; expected an empty history",
				strings.Join(has, " and "))
		}
	}),
}

// PreviousDayIsEarlier judges whether a request for the history before a given day returns the
// messages of an earlier day, or a history without a day. It applies to servers that return a
// history day by day.
var PreviousDayIsEarlier = &spec.Check{
	ID:    "history.before-is-earlier",
	Doc:   "the history before a day is that of an earlier day, or has no day",
	Needs: []spec.Kind{spec.History, "slot.day"},
	Watch: eachHistoryPage(func(p *spec.Pass, _ *runsAndHistories, x *exchange, page spec.Event) {
		if x.request.Day != "" && isDayOrEmpty(page.Day) {
			p.Judge(page, page.Day < x.request.Day, "got day %s; expected a day before %s", page.Day, x.request.Day)
		}
	}),
}

// isDayOrEmpty reports whether day is "" or a valid date in the form YYYY-MM-DD. If a history has
// any other value, the check wire.matches-schema reports that.
func isDayOrEmpty(day string) bool {
	_, err := time.Parse(time.DateOnly, day)
	return day == "" || err == nil
}

// PreviousDayIsNearest judges whether a request for the history before a given day returns the
// messages of the latest day before it that has messages.
var PreviousDayIsNearest = &spec.Check{
	ID: "history.before-is-nearest",
	Doc: `the history before a day is that of the nearest earlier day with messages

The days with messages are known from other histories of the same thread in the conversation. If a
request names no thread, it is for the thread of the user's latest run. It is then judged only if
the server has already returned that thread for another request without a thread.`,
	Needs: []spec.Kind{spec.History, "slot.day"},
	Watch: eachHistoryPage(func(p *spec.Pass, c *runsAndHistories, x *exchange, page spec.Event) {
		thread := cmp.Or(x.request.Thread, c.servedLatest(x))
		if x.request.Day == "" || thread == "" || !isDayOrEmpty(page.Day) {
			return
		}
		nearest := ""
		for _, y := range c.historyExchanges {
			other, ok := y.page()
			nearer := ok && y != x && other.Thread == thread && len(other.Parts) > 0 && isDayOrEmpty(other.Day)
			if nearer && other.Day < x.request.Day && y.bodyEnd.At <= x.request.At {
				nearest = max(nearest, other.Day)
			}
		}
		if nearest != "" {
			p.Judge(page, page.Day >= nearest, "got day %s before %s; expected %s, which has messages",
				cmp.Or(page.Day, "none"), x.request.Day, nearest)
		}
	}),
}

// servedLatest returns the thread of the latest run of the user of x; see latestRun. It returns ""
// unless the server has already returned that thread for a history request of the user that named
// no thread, because a server may need some time until it considers the thread of a new run the
// latest.
func (c *runsAndHistories) servedLatest(x *exchange) (thread string) {
	last := c.latestRun(x)
	if last == nil || !slices.ContainsFunc(c.historyExchanges, func(y *exchange) bool {
		page, ok := y.page()
		return ok && y.request.Thread == "" && page.Thread == last.request.Thread &&
			y.request.At >= last.acceptance.At && y.bodyEnd.At <= x.request.At &&
			credentialKey(y.request) == credentialKey(x.request)
	}) {
		return ""
	}
	return last.request.Thread
}

// MoreDaysExist judges whether a thread has messages of an earlier day if a history of one day
// reports that there are some (see [spec.Event.HasMore]). NoMoreDaysExist judges whether it has
// none if the history reports that there are none. Both apply only if another request asked for the
// history before the day of the reporting history.
var (
	MoreDaysExist = moreCheck("history.more-is-there",
		"an earlier day exists if a history reports one", "true",
		func(p *spec.Pass, day string, earlier spec.Event) {
			p.Judge(earlier, earlier.Day != "",
				"history of %s reports earlier days, but the history before it has no day; expected an earlier day", day)
		})
	NoMoreDaysExist = moreCheck("history.no-more-is-there",
		"no earlier day exists if a history reports none", "false",
		func(p *spec.Pass, day string, earlier spec.Event) {
			empty := earlier.Day == "" && len(earlier.Parts) == 0
			p.Judge(earlier, empty, "got day %q with %s before %s, whose history reports no earlier days; expected none",
				earlier.Day, pluralize(len(earlier.Parts), "message"), day)
		})
)

// moreCheck returns a check with the given id and documentation. It applies to each history that
// is the response to a request for the history before a day, if the server also returned a history
// of that day whose field HasMore equals flag. The argument flag is "true" or "false".
//
// The check calls report to judge the history. The argument earlier of report is the history, and
// day is the day in the request, in the form YYYY-MM-DD.
func moreCheck(id, doc, flag string, report func(p *spec.Pass, day string, earlier spec.Event)) *spec.Check {
	return &spec.Check{
		ID: id, Doc: doc, Needs: []spec.Kind{spec.History, "slot.day", "slot.more"},
		Watch: eachHistoryPage(func(p *spec.Pass, c *runsAndHistories, y *exchange, earlier spec.Event) {
			isJudged := y.request.Day != "" && isDayOrEmpty(earlier.Day) && earlier.Day < y.request.Day
			if isJudged && slices.ContainsFunc(c.historyExchanges, func(x *exchange) bool {
				page, ok := x.page()
				return ok && page.Day == y.request.Day && page.Thread == y.request.Thread && page.HasMore == flag
			}) {
				report(p, y.request.Day, earlier)
			}
		}),
	}
}

// maxZoneOffset is the greatest difference between UTC and the local time of any time zone. Because
// a server may count days in any time zone, the time of a message may be this far outside its day
// in UTC.
const maxZoneOffset = 14 * time.Hour

// HistoryCoversOneDay judges whether all messages of a history are from the day that it names as
// its own; see [spec.Event.Day].
var HistoryCoversOneDay = &spec.Check{
	ID: "history.one-day",
	Doc: `the messages of a history are from its day, in some time zone

A history without a day has no messages, and there are no earlier days.`,
	Needs: []spec.Kind{spec.History, "slot.day", "slot.created"},
	Watch: eachHistoryPage(func(p *spec.Pass, _ *runsAndHistories, _ *exchange, page spec.Event) {
		if page.Day == "" && page.HasMore == "true" {
			p.Judge(page, false,
				"history has no day, but reports earlier days with messages; expected the latest of those days")
		}
		day, err := time.Parse(time.DateOnly, page.Day)
		for _, m := range page.Parts {
			at, zoned, ok := parseTimestamp(m.Created)
			margin := maxZoneOffset
			if !zoned { // the message and the day may be in different time zones
				margin = 2 * maxZoneOffset
			}
			switch {
			case page.Day == "":
				p.Judge(page, false, "history has message %s and no day; expected a day with its messages", m.ID)
			case err == nil && ok:
				inRange := !at.Before(day.Add(-margin)) && at.Before(day.Add(24*time.Hour+margin))
				p.Judge(page, inRange,
					"history of %s has message %s of %s; expected only messages of %s",
					page.Day, m.ID, m.Created, page.Day)
			}
		}
	}),
}

// timestampLayouts lists the forms of a date and time in ISO 8601 that parseTimestamp accepts. They
// are layouts of package time, without the time zone.
var timestampLayouts = []string{
	"2006-01-02T15:04:05", "20060102T150405", "2006-01-02T15:04", "20060102T1504", "2006-01-02T15", "20060102T15",
}

// parseTimestamp parses a date and time in one of the forms of timestampLayouts, with or without a
// time zone. The result zoned reports whether s names a time zone. If it does not, at is in UTC. If
// s is not a valid time, ok is false.
func parseTimestamp(s string) (at time.Time, zoned, ok bool) {
	s = strings.ToUpper(s)
	for _, zone := range []string{"Z07:00", "Z0700", "Z07", ""} {
		for _, layout := range timestampLayouts {
			if at, err := time.Parse(layout+zone, s); err == nil {
				return at, zone != "", true
			}
		}
	}
	return time.Time{}, false, false
}

// HistorySequenceIsOrdered judges whether the sequence numbers of successive messages in a history
// always increase or always decrease. Both are right because a history may begin with its oldest or
// with its newest message. A history in which a message has no numeric sequence number is not
// judged.
var HistorySequenceIsOrdered = &spec.Check{
	ID: "history.seq-orders",
	Doc: `the sequence numbers of the messages of a history are unique and in order

They increase from the oldest message to the newest. Which of the two comes first is not
specified.`,
	Needs: []spec.Kind{spec.History, spec.SlotSeq},
	Watch: eachHistoryPage(func(p *spec.Pass, _ *runsAndHistories, _ *exchange, page spec.Event) {
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
			p.Judge(page, rises || falls, "messages have the sequence numbers %v; expected unique numbers in order", numbers)
		}
	}),
}
