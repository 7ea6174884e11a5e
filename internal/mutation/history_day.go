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
		Name: "history-day-ignored", Doc: "returns the latest day of the history, whichever day the request names",
		KilledBy:   map[string]string{"history.before-is-earlier": "history"},
		Middleware: editHistoryRequests(func(_ parsedRequest, asked *spec.Event) { asked.Day = "" }),
	}, {
		Name: "history-day-inclusive", Doc: "returns the named day itself when the request asks for the history before a day",
		KilledBy:   map[string]string{"history.before-is-earlier": "history"},
		AlsoFails:  []string{"accept.as-documented"}, // no day follows the last of the year 9999
		Middleware: shiftQueriedDay(1),
	}, {
		Name: "history-nearest-day-skipped", Doc: "skips the nearest day when the request asks for the history before a day",
		KilledBy:   map[string]string{"history.before-is-nearest": "history"},
		Middleware: shiftQueriedDay(-1),
	}, {
		Name: "history-distant-day-returned", Doc: "returns a day in the distant past when the request asks for the history before a day",
		KilledBy: map[string]string{"history.before-is-nearest": "history"},
		Middleware: editEarlierDay(func(_ string, e *spec.Event) {
			if e.Day != "" {
				e.Day, e.Parts = "2020-02-02", greetingMessages("2020-02-02T10:00:00Z")
			}
		}),
	}, {
		Name: "history-day-requires-thread", Doc: "returns an empty history when the request asks for the history before a day and names no thread",
		KilledBy: map[string]string{"history.before-is-nearest": "history"},
		Middleware: editHistories(func(v parsedRequest, e *spec.Event) {
			if asked := v.parsed(); asked.Thread == "" && asked.Day != "" {
				e.Thread, e.Day, e.HasMore, e.Parts = "", "", "false", nil
			}
		}),
	}, {
		Name: "history-more-always-true", Doc: "returns more: true in every history of a thread",
		KilledBy: map[string]string{"history.more-is-there": "history"},
		Middleware: editHistories(func(_ parsedRequest, e *spec.Event) {
			if e.Thread != "" && e.Day != "" {
				e.HasMore = "true"
			}
		}),
	}, {
		Name: "history-more-with-two-messages", Doc: "returns more: true in every history with more than one message",
		KilledBy: map[string]string{"history.more-is-there": "history"},
		Middleware: editHistories(func(_ parsedRequest, e *spec.Event) {
			if len(e.Parts) > 1 {
				e.HasMore = "true"
			}
		}),
	}, {
		Name: "history-day-despite-no-more", Doc: "returns an earlier day after a history with more: false",
		KilledBy: map[string]string{"history.no-more-is-there": "history"},
		Middleware: editEarlierDay(func(before string, e *spec.Event) {
			if e.Day == "" && e.Thread != "" {
				e.Day = addDays(before, -1)
				e.Parts = greetingMessages(e.Day + "T10:00:00Z")
			}
		}),
	}, {
		Name: "history-messages-without-day", Doc: "returns messages without a day when the request asks for the history before the first day",
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
		Name: "history-timestamps-three-days-early", Doc: "returns messages in the history with timestamps that are three days too early",
		KilledBy:   map[string]string{"history.one-day": "history"},
		Middleware: shiftTimestamps(func(int) bool { return true }, 0, -3),
	}, {
		Name: "history-first-timestamp-next-year", Doc: "returns the first message of a history with a timestamp that is one year too late",
		KilledBy:   map[string]string{"history.one-day": "history"},
		Middleware: shiftTimestamps(func(i int) bool { return i == 0 }, 1, 0),
	}, {
		Name: "history-sequence-numbers-zero", Doc: "returns all messages of a history with the sequence number 0",
		KilledBy:   map[string]string{"history.seq-orders": "history"},
		Middleware: renumberMessages(func(int) int { return 0 }),
	}, {
		Name: "history-sequence-numbers-swapped", Doc: "swaps the sequence numbers of messages in a history in pairs, without moving the messages",
		KilledBy:   map[string]string{"history.seq-orders": "history"},
		Middleware: renumberMessages(func(i int) int { return (i ^ 1) + 1 }),
	},
}
