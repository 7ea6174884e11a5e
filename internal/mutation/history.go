package mutation

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// editHistories returns a middleware that edits the histories that the server returns. It calls
// edit with the request v and the decoded history e, whose Parts are the messages. The function
// edit changes e in place before it is sent.
func editHistories(edit func(v parsedRequest, e *spec.Event)) middleware {
	return editReplies(spec.History, edit)
}

// editHistoryImages returns a middleware that changes the images in histories. It calls edit for
// each history that has messages. The element images[i] contains the images of message i, and may
// be empty. Element i of the result contains the images with which message i is sent. If the result
// is shorter than images, the remaining messages are sent without images; it must not be longer.
// The function edit may modify images.
func editHistoryImages(edit func(images [][]spec.Event) [][]spec.Event) middleware {
	isImage := func(p spec.Event) bool { return p.Kind == spec.HistoryImage }
	return editHistories(func(_ parsedRequest, e *spec.Event) {
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

// editMessages returns a middleware that calls edit for each message m of the given kind in the
// histories that the server returns. The function edit changes m in place before the history is
// sent.
func editMessages(kind spec.Kind, edit func(m *spec.Event)) middleware {
	return editHistories(func(_ parsedRequest, e *spec.Event) {
		for i := range e.Parts {
			if e.Parts[i].Kind == kind {
				edit(&e.Parts[i])
			}
		}
	})
}

// dropMessages returns a middleware that removes all messages of the given kind from the histories
// that the server returns.
func dropMessages(kind spec.Kind) middleware {
	return editHistories(func(_ parsedRequest, e *spec.Event) {
		e.Parts = slices.DeleteFunc(e.Parts, func(m spec.Event) bool { return m.Kind == kind })
	})
}

// historyContentMutants are servers whose histories lack messages, images or tool results, or
// contain them in altered form.
var historyContentMutants = []*Mutant{
	{
		Name: "user-forgotten", Doc: "the user's messages are missing in the history",
		KilledBy: map[string]string{
			"history.tells-the-user": "history",
			"accepted.keeps-prompt":  "history problem", // the prompt never appears in the history
		},
		// A history has images only in the user's messages.
		AlsoFails:  []string{"history.tells-images"},
		Middleware: dropMessages(spec.HistoryUser),
	}, {
		Name: "user-cut", Doc: "only the first words of the user are kept",
		KilledBy: map[string]string{
			"history.tells-the-user": "history",
			"accepted.keeps-prompt":  "history problem",
		},
		AlsoFails:  []string{"history.tells-images"}, // images are searched for together with the complete text
		Middleware: editMessages(spec.HistoryUser, func(m *spec.Event) { m.Text = m.Text[:min(len(m.Text), 12)] }),
	}, {
		Name: "images-forgotten", Doc: "the history has no images",
		KilledBy:   map[string]string{"history.tells-images": "history"},
		Middleware: editHistoryImages(func([][]spec.Event) [][]spec.Event { return nil }),
	}, {
		Name: "first-image-only", Doc: "the history has only the first image of a message",
		KilledBy: map[string]string{"history.tells-all-images": "history"},
		Middleware: editHistoryImages(func(images [][]spec.Event) [][]spec.Event {
			for i, of := range images {
				images[i] = of[:min(1, len(of))]
			}
			return images
		}),
	}, {
		Name: "last-image-forgotten", Doc: "the history lacks the last image of a message with several",
		KilledBy: map[string]string{"history.tells-all-images": "history"},
		Middleware: editHistoryImages(func(images [][]spec.Event) [][]spec.Event {
			for i, of := range images {
				images[i] = of[:max(min(1, len(of)), len(of)-1)]
			}
			return images
		}),
	}, {
		Name: "links-to-the-first-image", Doc: "the links of all images in the history lead to the first file",
		KilledBy: map[string]string{"history.links-open": "http.response"},
		Middleware: editHistoryImages(func(images [][]spec.Event) [][]spec.Event {
			all := slices.Concat(images...)
			for _, of := range images {
				for i := range of {
					of[i].Text = all[0].Text
				}
			}
			return images
		}),
	}, {
		Name: "images-with-answers", Doc: "the history has the images with another message",
		KilledBy: map[string]string{"history.tells-images": "history"},
		Middleware: editHistoryImages(func(images [][]spec.Event) [][]spec.Event {
			return slices.Concat([][]spec.Event{nil}, images[:len(images)-1])
		}),
	}, {
		Name: "answer-forgotten", Doc: "the assistant's messages are missing in the history",
		KilledBy:   map[string]string{"history.tells-the-answer": "history"},
		Middleware: dropMessages(spec.HistoryAssistant),
	}, {
		Name: "answer-cut", Doc: "an answer lacks its last letter in the history",
		KilledBy: map[string]string{"history.tells-the-answer": "history"},
		Middleware: editMessages(spec.HistoryAssistant, func(m *spec.Event) {
			runes := []rune(m.Text)
			m.Text = string(runes[:max(0, len(runes)-1)])
		}),
	}, {
		Name: "answer-limited", Doc: "the history has only the first 65,535 bytes of an answer",
		KilledBy: map[string]string{"history.tells-the-answer": "history"},
		Middleware: editMessages(spec.HistoryAssistant, func(m *spec.Event) {
			m.Text = strings.ToValidUTF8(m.Text[:min(len(m.Text), 1<<16-1)], "")
		}),
	}, {
		Name: "tools-forgotten", Doc: "tool results are missing in the history",
		KilledBy:   map[string]string{"history.tells-tools": "history"},
		Middleware: dropMessages(spec.HistoryTool),
	}, {
		Name: "tools-as-answers", Doc: "tool results are returned as messages of the assistant",
		KilledBy: map[string]string{"history.tells-tools": "history"},
		Middleware: editMessages(spec.HistoryTool, func(m *spec.Event) {
			m.Kind, m.Role = spec.HistoryAssistant, ""
		}),
	}, {
		Name: "tools-in-words", Doc: "tool results are returned as plain text instead of JSON",
		KilledBy:   map[string]string{"history.tools-are-json": "history"},
		Middleware: editMessages(spec.HistoryTool, func(m *spec.Event) { m.Text = "The tool gave " + m.Text }),
	}, {
		Name: "tools-cut", Doc: "the end of each tool result is missing",
		KilledBy:   map[string]string{"history.tools-are-json": "history"},
		Middleware: editMessages(spec.HistoryTool, func(m *spec.Event) { m.Text = m.Text[:max(0, len(m.Text)-1)] }),
	},
}

// alsoWithOtherMessages lists the ids, for [Mutant.AlsoFails], of the checks that may fail if a
// history contains the messages of other threads.
var alsoWithOtherMessages = []string{"history.tells-once", "history.tells-only-sent-prompts", "history.tells-only-sent-images"}

// historyThreadMutants are servers that return the history of a wrong thread, under a wrong id or
// not at all. Some of them mix the messages of several threads, or return a wrong history to a user
// without threads.
var historyThreadMutants = []*Mutant{
	{
		Name: "thread-unread", Doc: "every history is that of the user's first conversation",
		KilledBy:  map[string]string{"history.thread-as-asked": "history"},
		AlsoFails: []string{"history.keeps-to-its-thread"}, // messages of one thread appear in the history of another
		Middleware: chooseHistory(func(own []string, asked *spec.Event) {
			if asked.Thread != "" && len(own) > 0 {
				asked.Thread = own[0]
			}
		}),
	}, {
		Name: "thread-in-capitals", Doc: "the history of a short conversation has its id in capital letters",
		KilledBy: map[string]string{"history.thread-as-asked": "history"},
		Middleware: editHistories(func(v parsedRequest, e *spec.Event) {
			if len(e.Parts) == 2 && v.parsed().Thread != "" {
				e.Thread = strings.ToUpper(e.Thread)
			}
		}),
	}, {
		Name: "thread-denied", Doc: "a conversation in which a tool was called is reported as unknown",
		KilledBy:  map[string]string{"history.thread-as-asked": "http.response"},
		AlsoFails: []string{"history.before-*"}, // the histories of days are not requested
		Middleware: editResponses(func(v parsedRequest, a *bufferedResponse) {
			isTool := func(m spec.Event) bool { return m.Kind == spec.HistoryTool }
			e, ok := v.decodeReply(a)
			if ok && e.Kind == spec.History && v.parsed().Thread != "" && slices.ContainsFunc(e.Parts, isTool) {
				a.refuse(v, http.StatusNotFound, "conversation not found")
			}
		}),
	}, {
		Name: "threads-mixed", Doc: "every history holds the messages of the user's other conversations too",
		KilledBy:   map[string]string{"history.keeps-to-its-thread": "history"},
		AlsoFails:  alsoWithOtherMessages,
		Middleware: mixThreads(func([]spec.Event) bool { return true }),
	}, {
		Name: "threads-confused", Doc: "the history of a short conversation holds the messages of the others too",
		KilledBy:   map[string]string{"history.keeps-to-its-thread": "history"},
		AlsoFails:  alsoWithOtherMessages,
		Middleware: mixThreads(func(told []spec.Event) bool { return len(told) == 2 }),
	}, {
		Name: "latest-is-none", Doc: "a request for the latest conversation finds none",
		KilledBy: map[string]string{"history.latest": "history"},
		Middleware: editHistories(func(v parsedRequest, e *spec.Event) {
			if v.parsed().Thread == "" {
				e.Thread, e.Day, e.HasMore, e.Parts = "", "", "false", nil
			}
		}),
	}, {
		Name: "latest-is-before", Doc: "the last conversation but one is returned as the latest",
		KilledBy: map[string]string{"history.latest": "history"},
		Middleware: chooseHistory(func(own []string, asked *spec.Event) {
			if asked.Thread == "" && len(own) > 1 {
				asked.Thread = own[len(own)-2]
			}
		}),
	}, {
		Name: "refused-is-latest", Doc: "a prompt that is refused makes its conversation the latest",
		KilledBy:   map[string]string{"history.latest": "history"},
		Middleware: refusedIsLatest,
	}, {
		Name: "none-has-more", Doc: "the empty history of a user without conversations has more: true",
		KilledBy: map[string]string{"history.none-is-empty": "history"},
		Middleware: editHistories(func(_ parsedRequest, e *spec.Event) {
			if e.Thread == "" {
				e.HasMore = "true"
			}
		}),
	}, {
		Name: "none-has-day", Doc: "the empty history of a user without conversations has a day",
		KilledBy: map[string]string{"history.none-is-empty": "history"},
		Middleware: editHistories(func(_ parsedRequest, e *spec.Event) {
			if e.Thread == "" {
				e.Day = "2026-01-01"
			}
		}),
	},
}

// chooseHistory is like editHistoryRequests, but calls choose in place of edit. The argument own
// contains the ids of the threads that the user has started, oldest first, and must not be
// modified. The argument asked is the argument history of edit.
func chooseHistory(choose func(own []string, asked *spec.Event)) middleware {
	return trackThreads(func(m *threadRegistry) middleware {
		return editHistoryRequests(func(v parsedRequest, asked *spec.Event) {
			m.mu.Lock()
			defer m.mu.Unlock()
			choose(m.threadsOf[v.user()], asked)
		})
	})
}

// refusedIsLatest is a middleware with which an invalid request to start a run makes its thread the
// latest thread of the user. Until the user sends the next request to start a run, requests for the
// history of the latest thread get the history of that thread. Only threads that the same user has
// started are affected.
func refusedIsLatest(next dialectHandler) dialectHandler {
	return trackThreads(func(m *threadRegistry) middleware {
		latest := map[string]string{} // by user; guarded by m.mu
		note := editRequests(func(v parsedRequest) *http.Request {
			m.mu.Lock()
			defer m.mu.Unlock()
			if who := v.user(); v.startsRun() {
				if latest[who] = ""; !v.parsed().Valid() && slices.Contains(m.threadsOf[who], v.parsed().Thread) {
					latest[who] = v.parsed().Thread
				}
			}
			return v.httpRequest
		})
		edit := editHistoryRequests(func(v parsedRequest, asked *spec.Event) {
			m.mu.Lock()
			defer m.mu.Unlock()
			asked.Thread = cmp.Or(asked.Thread, latest[v.user()])
		})
		return func(next dialectHandler) dialectHandler { return note(edit(next)) }
	})(next)
}

// mixThreads returns a middleware that appends messages of the user's other threads to each history
// for which isMixed returns true. The argument messages contains the messages of the history. The
// appended messages of a thread are those of the last history of that thread that was requested by
// its id.
//
// The middleware also renumbers the messages of all histories, from 1. It does not change the
// responses to requests for the history before a given day.
func mixThreads(isMixed func(messages []spec.Event) bool) middleware {
	return trackThreads(func(m *threadRegistry) middleware {
		return editHistories(func(v parsedRequest, e *spec.Event) {
			who := v.user()
			m.mu.Lock()
			defer m.mu.Unlock()
			if v.parsed().Day != "" { // requests for one day are not affected
				return
			}
			if v.parsed().Thread != "" {
				m.messagesOf[e.Thread] = slices.Clone(e.Parts)
			}
			adds := e.Thread != "" && isMixed(e.Parts)
			for _, other := range m.threadsOf[who] {
				if adds && other != e.Thread {
					e.Parts = append(e.Parts, m.messagesOf[other]...)
				}
			}
			renumber(e.Parts, func(i int) int { return i + 1 })
		})
	})
}

// shiftQueriedDay returns a middleware that changes requests for the part of a history before a
// certain day. It moves that day by the given number of days, which may be negative.
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
