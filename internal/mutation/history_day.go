package mutation

import (
	"strconv"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// shiftQueriedDay returns a middleware that changes requests for the part of a history before a
// certain day. The server receives a request with a day that is the given number of days later, or
// earlier if the number is negative.
func shiftQueriedDay(days int) middleware {
	return editHistoryRequests(func(_ parsedRequest, asked *spec.Event) {
		asked.Day = addDays(asked.Day, days)
	})
}

// addDays returns the day that is the given number of days after day, in the form YYYY-MM-DD. If
// day does not have this form, addDays returns it unchanged.
func addDays(day string, days int) string {
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return day
	}
	return at.AddDate(0, 0, days).Format(time.DateOnly)
}

// editEarlierDay returns a middleware that edits the responses to requests for the part of a
// history before a certain day. The argument day of edit is that day, in the form YYYY-MM-DD. The
// argument e is the returned history, which edit changes in place.
func editEarlierDay(edit func(day string, e *spec.Event)) middleware {
	return editHistories(func(v parsedRequest, e *spec.Event) {
		if v.parsed().Day != "" {
			edit(v.parsed().Day, e)
		}
	})
}

// greetingMessages returns the messages of a history that consists of a single greeting from the
// assistant. The argument timestamp is that of the greeting, in the format of RFC 3339.
func greetingMessages(timestamp string) []spec.Event {
	return []spec.Event{{Kind: spec.HistoryAssistant, ID: "greeting", Seq: "1", Text: "Hello.", Created: timestamp}}
}

// shiftTimestamps returns a middleware that adds the given numbers of years and days, which may be
// negative, to the timestamps of messages in histories. It changes a message if shifts(i) is true,
// where i is the index of the message in the history, from 0.
func shiftTimestamps(shifts func(i int) bool, years, days int) middleware {
	return editHistories(func(_ parsedRequest, e *spec.Event) {
		for i := range e.Parts {
			if at, err := time.Parse(time.RFC3339Nano, e.Parts[i].Created); err == nil && shifts(i) {
				e.Parts[i].Created = at.AddDate(years, 0, days).Format(time.RFC3339Nano)
			}
		}
	})
}

// renumber replaces the sequence number of each message of a history with number(i), where i is the
// index of the message, from 0.
func renumber(messages []spec.Event, number func(i int) int) {
	for i := range messages {
		messages[i].Seq = strconv.Itoa(number(i))
	}
}

// renumberMessages returns a middleware that replaces the sequence number of each message in the
// histories that the server returns with number(i), where i is the index of the message in its
// history, from 0.
func renumberMessages(number func(i int) int) middleware {
	return editHistories(func(_ parsedRequest, e *spec.Event) { renumber(e.Parts, number) })
}

// historyDayMutants are servers whose histories have a wrong day, wrong timestamps or wrong
// sequence numbers, or wrongly report whether there are earlier days.
var historyDayMutants = []*Mutant{
	{
		Name: "day-unread", Doc: "the latest day is returned for every requested day",
		KilledBy:   map[string]string{"history.before-is-earlier": "history"},
		Middleware: editHistoryRequests(func(_ parsedRequest, asked *spec.Event) { asked.Day = "" }),
	}, {
		Name: "day-inclusive", Doc: "a request for the day before another returns that other day",
		KilledBy:   map[string]string{"history.before-is-earlier": "history"},
		AlsoFails:  []string{"accept.as-documented"}, // no day follows the last of the year 9999
		Middleware: shiftQueriedDay(1),
	}, {
		Name: "day-passed-over", Doc: "the nearest day is passed over",
		KilledBy:   map[string]string{"history.before-is-nearest": "history"},
		Middleware: shiftQueriedDay(-1),
	}, {
		Name: "day-mistaken", Doc: "a request for the day before another skips to a day long ago",
		KilledBy: map[string]string{"history.before-is-nearest": "history"},
		Middleware: editEarlierDay(func(_ string, e *spec.Event) {
			if e.Day != "" {
				e.Day, e.Parts = "2020-02-02", greetingMessages("2020-02-02T10:00:00Z")
			}
		}),
	}, {
		Name: "day-of-no-thread", Doc: "a request for the day before another finds none if it names no conversation",
		KilledBy: map[string]string{"history.before-is-nearest": "history"},
		Middleware: editHistories(func(v parsedRequest, e *spec.Event) {
			if asked := v.parsed(); asked.Thread == "" && asked.Day != "" {
				e.Thread, e.Day, e.HasMore, e.Parts = "", "", "false", nil
			}
		}),
	}, {
		Name: "more-promised", Doc: "every history of a conversation has more: true",
		KilledBy: map[string]string{"history.more-is-there": "history"},
		Middleware: editHistories(func(_ parsedRequest, e *spec.Event) {
			if e.Thread != "" && e.Day != "" {
				e.HasMore = "true"
			}
		}),
	}, {
		Name: "more-than-one", Doc: "every history with more than one message has more: true",
		KilledBy: map[string]string{"history.more-is-there": "history"},
		Middleware: editHistories(func(_ parsedRequest, e *spec.Event) {
			if len(e.Parts) > 1 {
				e.HasMore = "true"
			}
		}),
	}, {
		Name: "more-denied", Doc: "a history with more: false has an earlier day",
		KilledBy: map[string]string{"history.no-more-is-there": "history"},
		Middleware: editEarlierDay(func(before string, e *spec.Event) {
			if e.Day == "" && e.Thread != "" {
				e.Day = addDays(before, -1)
				e.Parts = greetingMessages(e.Day + "T10:00:00Z")
			}
		}),
	}, {
		Name: "more-of-no-day", Doc: "before the first day there are messages of none",
		KilledBy: map[string]string{
			"history.no-more-is-there": "history",
			"history.one-day":          "history",
		},
		Middleware: editEarlierDay(func(before string, e *spec.Event) {
			if e.Day == "" && e.Thread != "" {
				e.Parts = greetingMessages(before + "T10:00:00Z")
			}
		}),
	}, {
		Name: "stamps-of-other-days", Doc: "messages have timestamps of three days earlier",
		KilledBy:   map[string]string{"history.one-day": "history"},
		Middleware: shiftTimestamps(func(int) bool { return true }, 0, -3),
	}, {
		Name: "stamp-of-next-year", Doc: "the first message of a history has a timestamp of next year",
		KilledBy:   map[string]string{"history.one-day": "history"},
		Middleware: shiftTimestamps(func(i int) bool { return i == 0 }, 1, 0),
	}, {
		Name: "unnumbered", Doc: "all messages of a history have the number 0",
		KilledBy:   map[string]string{"history.seq-orders": "history"},
		Middleware: renumberMessages(func(int) int { return 0 }),
	}, {
		Name: "numbers-by-pairs", Doc: "the sequence numbers of a history are in another order than its messages",
		KilledBy:   map[string]string{"history.seq-orders": "history"},
		Middleware: renumberMessages(func(i int) int { return (i ^ 1) + 1 }),
	},
}
