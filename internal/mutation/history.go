package mutation

import (
	"github.com/streamassay/streamassay/spec"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// editHistories returns a middleware that calls edit to change each history that the server
// returns. m is the JSON object of the history, and v the request for it.
func editHistories(edit func(v parsedRequest, m map[string]any)) middleware {
	return editResponses(func(v parsedRequest, a *plainResponse) {
		if v.isOperation("history") && a.status == http.StatusOK {
			a.editJSON(func(m map[string]any) { edit(v, m) })
		}
	})
}

// editHistoryImages returns a middleware that gives the messages of each history other images:
// edit(images) returns those of each message, where images holds the original ones. The history is
// decoded and encoded again for that, as its document says.
func editHistoryImages(edit func(images [][]spec.Event) [][]spec.Event) middleware {
	isImage := func(p spec.Event) bool { return p.Kind == spec.HistoryImage }
	return editReplyEvents(spec.History, func(e *spec.Event) {
		images := make([][]spec.Event, len(e.Parts))
		for i, m := range e.Parts {
			images[i] = slices.DeleteFunc(slices.Clone(m.Parts), func(p spec.Event) bool { return !isImage(p) })
			e.Parts[i].Parts = slices.DeleteFunc(slices.Clone(m.Parts), isImage)
		}
		if len(images) == 0 {
			return
		}
		for i, of := range edit(images) {
			e.Parts[i].Parts = append(e.Parts[i].Parts, of...)
		}
	})
}

// editMessages returns a middleware that calls edit to change each message of the histories that
// the server returns. m is the JSON object of the message, and role its role. If edit returns
// false, the message is omitted.
func editMessages(edit func(role string, m map[string]any) bool) middleware {
	return editHistories(func(_ parsedRequest, page map[string]any) {
		all, _ := page["messages"].([]any)
		page["messages"] = slices.DeleteFunc(all, func(v any) bool {
			m, _ := v.(map[string]any)
			role, _ := m["role"].(string)
			return m != nil && !edit(role, m)
		})
	})
}

// editMessageTexts returns a middleware that replaces the text of each message in a history by the
// result of edit. It affects only messages with the given role.
func editMessageTexts(of string, edit func(text string) string) middleware {
	return editMessages(func(role string, m map[string]any) bool {
		if text, ok := m["content"].(string); ok && role == of {
			m["content"] = edit(text)
		}
		return true
	})
}

// dropMessages returns a middleware that omits all messages with the given role from histories.
func dropMessages(of string) middleware {
	return editMessages(func(role string, _ map[string]any) bool { return role != of })
}

// historyMutants are servers that return a history with wrong messages, the history of another
// thread or the messages of another day.
var historyMutants = slices.Concat(historyContentMutants, historyThreadMutants, historyDayMutants)

// historyContentMutants are servers whose histories lack messages, images or tool results, or
// contain them in altered form.
var historyContentMutants = []*Mutant{
	{
		Name: "user-forgotten", Doc: "the user's messages are missing in the history",
		KilledBy: map[string]string{
			"history.tells-the-user": "history",
			"accepted.keeps-prompt":  "history problem", // the prompt never appears in the history
		},
		// Images are told with what the user said.
		AlsoFails:  []string{"history.tells-images"},
		Middleware: dropMessages("user"),
	}, {
		Name: "user-cut", Doc: "only the first words of the user are kept",
		KilledBy: map[string]string{
			"history.tells-the-user": "history",
			"accepted.keeps-prompt":  "history problem",
		},
		AlsoFails:  []string{"history.tells-images"}, // images are searched for together with the complete text
		Middleware: editMessageTexts("user", func(text string) string { return text[:min(len(text), 12)] }),
	}, {
		Name: "images-forgotten", Doc: "the history has no images",
		KilledBy:   map[string]string{"history.tells-images": "history"},
		Middleware: editHistoryImages(func([][]spec.Event) [][]spec.Event { return nil }),
	}, {
		Name: "images-with-answers", Doc: "the history has the images with another message",
		KilledBy: map[string]string{"history.tells-images": "history"},
		Middleware: editHistoryImages(func(images [][]spec.Event) [][]spec.Event {
			return slices.Concat([][]spec.Event{nil}, images[:len(images)-1])
		}),
	}, {
		Name: "answer-forgotten", Doc: "the assistant's messages are missing in the history",
		KilledBy:   map[string]string{"history.tells-the-answer": "history"},
		Middleware: dropMessages("assistant"),
	}, {
		Name: "answer-cut", Doc: "an answer lacks its last letter in the history",
		KilledBy: map[string]string{"history.tells-the-answer": "history"},
		Middleware: editMessageTexts("assistant", func(text string) string {
			runes := []rune(text)
			return string(runes[:max(0, len(runes)-1)])
		}),
	}, {
		Name: "tools-forgotten", Doc: "tool results are missing in the history",
		KilledBy:   map[string]string{"history.tells-tools": "history"},
		Middleware: dropMessages("tool"),
	}, {
		Name: "tools-as-answers", Doc: "tool results are returned as messages of the assistant",
		KilledBy: map[string]string{"history.tells-tools": "history"},
		Middleware: editMessages(func(role string, m map[string]any) bool {
			if role == "tool" {
				m["role"] = "assistant"
			}
			return true
		}),
	}, {
		Name: "tools-in-words", Doc: "tool results are returned as plain text instead of JSON",
		KilledBy:   map[string]string{"history.tools-are-json": "history"},
		Middleware: editMessageTexts("tool", func(text string) string { return "The tool gave " + text }),
	}, {
		Name: "tools-cut", Doc: "the end of each tool result is missing",
		KilledBy:   map[string]string{"history.tools-are-json": "history"},
		Middleware: editMessageTexts("tool", func(text string) string { return text[:max(0, len(text)-1)] }),
	},
}

// historyThreadMutants are servers that confuse the threads of histories: they return the wrong
// thread or none, mix the messages of several threads, or return a wrong history to a user without
// threads.
var historyThreadMutants = []*Mutant{
	{
		Name: "thread-unread", Doc: "every history is that of the user's first conversation",
		KilledBy:  map[string]string{"history.thread-as-asked": "history"},
		AlsoFails: []string{"history.keeps-to-its-thread"}, // messages of one thread appear in the history of another
		Middleware: trackThreads(func(m *threadRegistry) middleware {
			return editHistoryQuery(func(v parsedRequest, q url.Values) {
				if first := m.firstThread(v.httpRequest.Header.Get("Authorization")); first != "" && v.parsed().Thread != "" {
					q.Set("threadId", first)
				}
			})
		}),
	}, {
		Name: "thread-in-capitals", Doc: "the history of a short conversation has its id in capital letters",
		KilledBy: map[string]string{"history.thread-as-asked": "history"},
		Middleware: editHistories(func(v parsedRequest, m map[string]any) {
			all, _ := m["messages"].([]any)
			if thread, _ := m["threadId"].(string); len(all) == 2 && v.parsed().Thread != "" {
				m["threadId"] = strings.ToUpper(thread)
			}
		}),
	}, {
		Name: "thread-denied", Doc: "a conversation in which a tool was called is reported as unknown",
		KilledBy: map[string]string{"history.thread-as-asked": "http.response"},
		Middleware: editResponses(func(v parsedRequest, a *plainResponse) {
			if v.isOperation("history") && v.parsed().Thread != "" && strings.Contains(string(a.body), `"tool"`) {
				a.setNotFound()
			}
		}),
	}, {
		Name: "threads-mixed", Doc: "every history holds the messages of the user's other conversations too",
		KilledBy:   map[string]string{"history.keeps-to-its-thread": "history"},
		Middleware: mixThreads(func([]any) bool { return true }),
	}, {
		Name: "threads-confused", Doc: "the history of a short conversation holds the messages of the others too",
		KilledBy:   map[string]string{"history.keeps-to-its-thread": "history"},
		Middleware: mixThreads(func(told []any) bool { return len(told) == 2 }),
	}, {
		Name: "latest-is-none", Doc: "a request for the latest conversation finds none",
		KilledBy: map[string]string{"history.latest": "history"},
		Middleware: editHistories(func(v parsedRequest, page map[string]any) {
			if v.parsed().Thread == "" {
				page["threadId"], page["day"], page["hasMore"], page["messages"] = nil, nil, false, []any{}
			}
		}),
	}, {
		Name: "latest-is-before", Doc: "the last conversation but one is returned as the latest",
		KilledBy: map[string]string{"history.latest": "history"},
		Middleware: trackThreads(func(m *threadRegistry) middleware {
			return editHistoryQuery(func(v parsedRequest, q url.Values) {
				m.mu.Lock()
				defer m.mu.Unlock()
				if all := m.threadsOf[v.httpRequest.Header.Get("Authorization")]; v.parsed().Thread == "" && len(all) > 1 {
					q.Set("threadId", all[len(all)-2])
				}
			})
		}),
	}, {
		Name: "none-has-more", Doc: "the empty history of a user without conversations has more: true",
		KilledBy: map[string]string{"history.none-is-empty": "history"},
		Middleware: editHistories(func(_ parsedRequest, m map[string]any) {
			if m["threadId"] == nil {
				m["hasMore"] = true
			}
		}),
	}, {
		Name: "none-has-day", Doc: "the empty history of a user without conversations has a day",
		KilledBy: map[string]string{"history.none-is-empty": "history"},
		Middleware: editHistories(func(_ parsedRequest, m map[string]any) {
			if m["threadId"] == nil {
				m["day"] = "2026-01-01"
			}
		}),
	},
}

// mixThreads returns a middleware that adds the messages of the user's other threads to a history
// if into(told) is true. The argument told contains the original messages of the history.
func mixThreads(into func(told []any) bool) middleware {
	return trackThreads(func(m *threadRegistry) middleware {
		return editHistories(func(v parsedRequest, page map[string]any) {
			thread, _ := page["threadId"].(string)
			all, _ := page["messages"].([]any)
			who := v.httpRequest.Header.Get("Authorization")
			m.mu.Lock()
			defer m.mu.Unlock()
			if v.parsed().Day != "" { // requests for one day are not affected
				return
			}
			if v.parsed().Thread != "" {
				m.messagesOf[thread] = slices.Clone(all)
			}
			adds := thread != "" && into(all)
			for _, other := range m.threadsOf[who] {
				if adds && other != thread {
					all = append(all, m.messagesOf[other]...)
				}
			}
			for i, v := range all { // keep the numbers in order
				if message, ok := v.(map[string]any); ok {
					message = maps.Clone(message)
					message["seq"] = i + 1
					all[i] = message
				}
			}
			page["messages"] = all
		})
	})
}

// shiftQueriedDay returns a middleware for requests for a part of a history before a certain day.
// It shifts that day by the given number of days.
func shiftQueriedDay(days int) middleware {
	return editHistoryQuery(func(_ parsedRequest, q url.Values) {
		if day, err := time.Parse(time.DateOnly, q.Get("before")); err == nil {
			q.Set("before", day.AddDate(0, 0, days).Format(time.DateOnly))
		}
	})
}

// editEarlierDay returns a middleware that calls edit to change the responses to requests for a
// part of a history before a certain day. The parameter before is that day, and page the JSON
// object of the response.
func editEarlierDay(edit func(before string, page map[string]any)) middleware {
	return editHistories(func(v parsedRequest, page map[string]any) {
		if v.parsed().Day != "" {
			edit(v.parsed().Day, page)
		}
	})
}

// dayBefore returns the day that precedes the given one. Both have the form YYYY-MM-DD.
func dayBefore(day string) string {
	at, _ := time.Parse(time.DateOnly, day)
	return at.AddDate(0, 0, -1).Format(time.DateOnly)
}

// greetingMessages returns the messages of a history that consists of a single greeting. The
// parameter at is the timestamp of the greeting. The greeting has the member uiSchema because one
// version of the protocol requires it and the others permit it.
func greetingMessages(at string) []any {
	return []any{map[string]any{
		"id": "greeting", "seq": 1, "role": "assistant", "content": "Hello.", "timestamp": at, "uiSchema": nil,
	}}
}

// shiftTimestamps returns a middleware that adds numbers of years and days to the timestamps of
// messages in histories. It affects the message with the index i, starting at 0, only if which(i)
// is true.
func shiftTimestamps(which func(i int) bool, years, days int) middleware {
	return editHistories(func(_ parsedRequest, page map[string]any) {
		all, _ := page["messages"].([]any)
		for i, v := range all {
			m, _ := v.(map[string]any)
			text, _ := m["timestamp"].(string)
			if at, err := time.Parse(time.RFC3339Nano, text); err == nil && which(i) {
				m["timestamp"] = at.AddDate(years, 0, days).Format(time.RFC3339Nano)
			}
		}
	})
}

// renumberMessages returns a middleware that changes the sequence number of each message in a
// history to number(i), where i is the index of the message, starting at 0.
func renumberMessages(number func(i int) int) middleware {
	return editHistories(func(_ parsedRequest, page map[string]any) {
		all, _ := page["messages"].([]any)
		for i, v := range all {
			if m, ok := v.(map[string]any); ok {
				m["seq"] = number(i)
			}
		}
	})
}

// historyDayMutants are servers whose histories have a wrong day, wrong timestamps or wrong
// sequence numbers, or wrongly report whether there are earlier days.
var historyDayMutants = []*Mutant{
	{
		Name: "day-unread", Doc: "the latest day is returned for every requested day",
		KilledBy:   map[string]string{"history.before-is-earlier": "history"},
		Middleware: editHistoryQuery(func(_ parsedRequest, q url.Values) { q.Del("before") }),
	}, {
		Name: "day-inclusive", Doc: "a request for the day before another returns that other day",
		KilledBy:   map[string]string{"history.before-is-earlier": "history"},
		Middleware: shiftQueriedDay(1),
	}, {
		Name: "day-passed-over", Doc: "the nearest day is passed over",
		KilledBy:   map[string]string{"history.before-is-nearest": "history"},
		Middleware: shiftQueriedDay(-1),
	}, {
		Name: "day-mistaken", Doc: "a request for the day before another skips to a day long ago",
		KilledBy: map[string]string{"history.before-is-nearest": "history"},
		Middleware: editEarlierDay(func(_ string, page map[string]any) {
			if page["day"] != nil {
				page["day"], page["messages"] = "2020-02-02", greetingMessages("2020-02-02T10:00:00Z")
			}
		}),
	}, {
		Name: "more-promised", Doc: "every history of a conversation has more: true",
		KilledBy: map[string]string{"history.more-is-there": "history"},
		Middleware: editHistories(func(_ parsedRequest, page map[string]any) {
			if page["threadId"] != nil && page["day"] != nil {
				page["hasMore"] = true
			}
		}),
	}, {
		Name: "more-than-one", Doc: "every history with more than one message has more: true",
		KilledBy: map[string]string{"history.more-is-there": "history"},
		Middleware: editHistories(func(_ parsedRequest, page map[string]any) {
			if all, _ := page["messages"].([]any); len(all) > 1 {
				page["hasMore"] = true
			}
		}),
	}, {
		Name: "more-denied", Doc: "a history with more: false has an earlier day",
		KilledBy: map[string]string{"history.no-more-is-there": "history"},
		Middleware: editEarlierDay(func(before string, page map[string]any) {
			if day := dayBefore(before); page["day"] == nil && page["threadId"] != nil {
				page["day"], page["messages"] = day, greetingMessages(day+"T10:00:00Z")
			}
		}),
	}, {
		Name: "more-of-no-day", Doc: "before the first day there are messages of none",
		KilledBy: map[string]string{
			"history.no-more-is-there": "history",
			"history.one-day":          "history",
		},
		Middleware: editEarlierDay(func(before string, page map[string]any) {
			if page["day"] == nil && page["threadId"] != nil {
				page["messages"] = greetingMessages(before + "T10:00:00Z")
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
