package mutant

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// histories makes a server that tells histories otherwise: edit gets the members of each.
func histories(edit func(v view, m map[string]any)) twist {
	return replying(func(v view, a *reply) {
		if v.says("history") && a.status == http.StatusOK {
			a.json(func(m map[string]any) { edit(v, m) })
		}
	})
}

// messages makes a server that tells the messages of histories otherwise: edit says whether
// a message is told at all.
func messages(edit func(role string, m map[string]any) bool) twist {
	return histories(func(_ view, page map[string]any) {
		all, _ := page["messages"].([]any)
		page["messages"] = slices.DeleteFunc(all, func(v any) bool {
			m, _ := v.(map[string]any)
			role, _ := m["role"].(string)
			return m != nil && !edit(role, m)
		})
	})
}

// wording makes a server that tells the texts of some otherwise.
func wording(of string, edit func(text string) string) twist {
	return messages(func(role string, m map[string]any) bool {
		if text, ok := m["content"].(string); ok && role == of {
			m["content"] = edit(text)
		}
		return true
	})
}

// silent makes a server that does not tell what some said.
func silent(of string) twist {
	return messages(func(role string, _ map[string]any) bool { return role != of })
}

var historyMutants = slices.Concat(historyTold, historyThreads, historyDays)

// What a history holds of a run.
var historyTold = []*Mutant{
	{
		Name: "user-forgotten", Doc: "what the user said is not in the history",
		Breaks: []string{"runs.history.user-text", "runs.create.persist-first"},
		Kills: map[string]string{
			"history.tells-the-user": "history",
			"accepted.keeps-prompt":  `the run was accepted, and the history does not tell`, // it never is
		},
		// Images are told with what the user said.
		Also:  []string{"history.tells-images"},
		Twist: silent("user"),
	}, {
		Name: "user-cut", Doc: "only the first words of the user are kept",
		Breaks: []string{"runs.history.user-text", "runs.create.persist-first"},
		Kills: map[string]string{
			"history.tells-the-user": "history",
			"accepted.keeps-prompt":  `the run was accepted, and the history does not tell`,
		},
		Also:  []string{"history.tells-images"}, // they are looked for with the whole text
		Twist: wording("user", func(text string) string { return text[:min(len(text), 12)] }),
	}, {
		Name: "images-forgotten", Doc: "the history has no images",
		Breaks: []string{"runs.history.attachments-user"},
		Kills:  map[string]string{"history.tells-images": "history"},
		Twist:  messages(func(_ string, m map[string]any) bool { delete(m, "attachments"); return true }),
	}, {
		Name: "images-with-answers", Doc: "the history has the images with another message",
		Breaks: []string{"runs.history.attachments-user"},
		Kills:  map[string]string{"history.tells-images": "history"},
		Twist: histories(func(_ view, page map[string]any) {
			all, _ := page["messages"].([]any)
			for i := len(all) - 1; i > 0; i-- { // each message has those of the one before
				m, _ := all[i].(map[string]any)
				before, _ := all[i-1].(map[string]any)
				delete(m, "attachments")
				if images, ok := before["attachments"]; ok {
					m["attachments"] = images
				}
			}
			if len(all) > 0 {
				m, _ := all[0].(map[string]any)
				delete(m, "attachments")
			}
		}),
	}, {
		Name: "answer-forgotten", Doc: "what was answered is not in the history",
		Breaks: []string{"runs.history.assistant-text"},
		Kills:  map[string]string{"history.tells-the-answer": "history"},
		Twist:  silent("assistant"),
	}, {
		Name: "answer-cut", Doc: "an answer lacks its last letter in the history",
		Breaks: []string{"runs.history.assistant-text"},
		Kills:  map[string]string{"history.tells-the-answer": "history"},
		Twist: wording("assistant", func(text string) string {
			runes := []rune(text)
			return string(runes[:max(0, len(runes)-1)])
		}),
	}, {
		Name: "tools-forgotten", Doc: "what tools gave is not in the history",
		Breaks: []string{"runs.history.tool-shown"},
		Kills:  map[string]string{"history.tells-tools": "history"},
		Twist:  silent("tool"),
	}, {
		Name: "tools-as-answers", Doc: "what tools gave is told as an answer",
		Breaks: []string{"runs.history.tool-shown"},
		Kills:  map[string]string{"history.tells-tools": "history"},
		Twist: messages(func(role string, m map[string]any) bool {
			if role == "tool" {
				m["role"] = "assistant"
			}
			return true
		}),
	}, {
		Name: "tools-in-words", Doc: "what tools gave is told in words",
		Breaks: []string{"runs.history.tool-json"},
		Kills:  map[string]string{"history.tools-are-json": "history"},
		Twist:  wording("tool", func(text string) string { return "The tool gave " + text }),
	}, {
		Name: "tools-cut", Doc: "of what tools gave the end is missing",
		Breaks: []string{"runs.history.tool-json"},
		Kills:  map[string]string{"history.tools-are-json": "history"},
		Twist:  wording("tool", func(text string) string { return text[:max(0, len(text)-1)] }),
	},
}

// Which conversation is told.
var historyThreads = []*Mutant{
	{
		Name: "thread-unread", Doc: "whichever conversation is asked for, the user's first is told",
		Breaks: []string{"runs.history.thread-param"},
		Kills:  map[string]string{"history.thread-as-asked": "history"},
		Also:   []string{"history.keeps-to-its-thread"}, // what was said there comes where another was asked for
		Twist: remembering(func(m *memory) twist {
			return asking(func(v view, q url.Values) {
				if first := m.first(v.http.Header.Get("Authorization")); first != "" && v.heard().Thread != "" {
					q.Set("threadId", first)
				}
			})
		}),
	}, {
		Name: "thread-in-capitals", Doc: "the history of a short conversation says its id in capital letters",
		Breaks: []string{"runs.history.thread-param"},
		Kills:  map[string]string{"history.thread-as-asked": "history"},
		Twist: histories(func(v view, m map[string]any) {
			all, _ := m["messages"].([]any)
			if thread, _ := m["threadId"].(string); len(all) == 2 && v.heard().Thread != "" {
				m["threadId"] = strings.ToUpper(thread)
			}
		}),
	}, {
		Name: "thread-denied", Doc: "a conversation in which a tool was called is said not to be",
		Breaks: []string{"runs.history.thread-param"},
		Kills:  map[string]string{"history.thread-as-asked": "http.response"},
		Twist: replying(func(v view, a *reply) {
			if v.says("history") && v.heard().Thread != "" && strings.Contains(string(a.body), `"tool"`) {
				a.deny()
			}
		}),
	}, {
		Name: "threads-mixed", Doc: "every history holds what was said in the user's other conversations too",
		Breaks: []string{"runs.history.thread-param"},
		Kills:  map[string]string{"history.keeps-to-its-thread": "history"},
		Twist:  mixed(func([]any) bool { return true }),
	}, {
		Name: "threads-confused", Doc: "the history of a short conversation holds what was said in the others too",
		Breaks: []string{"runs.history.thread-param"},
		Kills:  map[string]string{"history.keeps-to-its-thread": "history"},
		Twist:  mixed(func(told []any) bool { return len(told) == 2 }),
	}, {
		Name: "latest-is-none", Doc: "who names no conversation is told that there is none",
		Breaks: []string{"runs.history.latest"},
		Kills:  map[string]string{"history.latest": "history"},
		Twist: histories(func(v view, page map[string]any) {
			if v.heard().Thread == "" {
				page["threadId"], page["day"], page["hasMore"], page["messages"] = nil, nil, false, []any{}
			}
		}),
	}, {
		Name: "latest-is-before", Doc: "the latest conversation is said to be the one before it",
		Breaks: []string{"runs.history.latest"},
		Kills:  map[string]string{"history.latest": "history"},
		Twist: remembering(func(m *memory) twist {
			return asking(func(v view, q url.Values) {
				m.mu.Lock()
				defer m.mu.Unlock()
				if all := m.order[v.http.Header.Get("Authorization")]; v.heard().Thread == "" && len(all) > 1 {
					q.Set("threadId", all[len(all)-2])
				}
			})
		}),
	}, {
		Name: "none-has-more", Doc: "who has no conversation is told that there is more of it",
		Breaks: []string{"runs.history.empty-user"},
		Kills:  map[string]string{"history.none-is-empty": "history"},
		Twist: histories(func(_ view, m map[string]any) {
			if m["threadId"] == nil {
				m["hasMore"] = true
			}
		}),
	}, {
		Name: "none-has-day", Doc: "who has no conversation is told of a day",
		Breaks: []string{"runs.history.empty-user"},
		Kills:  map[string]string{"history.none-is-empty": "history"},
		Twist: histories(func(_ view, m map[string]any) {
			if m["threadId"] == nil {
				m["day"] = "2026-01-01"
			}
		}),
	},
}

// mixed makes a server that adds what was said in one conversation to the history of
// another, where into says so.
func mixed(into func(told []any) bool) twist {
	return remembering(func(m *memory) twist {
		return histories(func(v view, page map[string]any) {
			thread, _ := page["threadId"].(string)
			all, _ := page["messages"].([]any)
			who := v.http.Header.Get("Authorization")
			m.mu.Lock()
			defer m.mu.Unlock()
			if v.heard().Day != "" { // which day it would be is another question
				return
			}
			if v.heard().Thread != "" {
				m.pages[thread] = slices.Clone(all)
			}
			adds := thread != "" && into(all)
			for _, other := range m.order[who] {
				if adds && other != thread {
					all = append(all, m.pages[other]...)
				}
			}
			for i, v := range all { // numbers stay in order
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

// shifted makes a server that takes another day than the one it is asked for.
func shifted(days int) twist {
	return asking(func(_ view, q url.Values) {
		if day, err := time.Parse(time.DateOnly, q.Get("before")); err == nil {
			q.Set("before", day.AddDate(0, 0, days).Format(time.DateOnly))
		}
	})
}

// earlier makes a server that tells the day before one otherwise than it is.
func earlier(edit func(before string, page map[string]any)) twist {
	return histories(func(v view, page map[string]any) {
		if v.heard().Day != "" {
			edit(v.heard().Day, page)
		}
	})
}

// dayBefore is the day before one.
func dayBefore(day string) string {
	at, _ := time.Parse(time.DateOnly, day)
	return at.AddDate(0, 0, -1).Format(time.DateOnly)
}

// greeting is a message of long ago; one version wants a uiSchema with it, another does not mind.
func greeting(at string) []any {
	return []any{map[string]any{"id": "greeting", "seq": 1, "role": "assistant", "content": "Hello.", "timestamp": at, "uiSchema": nil}}
}

// stamped makes a server that says of messages that they were said at another time.
func stamped(which func(i int) bool, years, days int) twist {
	return histories(func(_ view, page map[string]any) {
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

// numbered makes a server that gives messages other numbers.
func numbered(number func(i int) int) twist {
	return histories(func(_ view, page map[string]any) {
		all, _ := page["messages"].([]any)
		for i, v := range all {
			if m, ok := v.(map[string]any); ok {
				m["seq"] = number(i)
			}
		}
	})
}

// Which day is told.
var historyDays = []*Mutant{
	{
		Name: "day-unread", Doc: "whatever day is asked for, the latest is told",
		Breaks: []string{"runs.history.before-strict"},
		Kills:  map[string]string{"history.before-is-earlier": "history"},
		Twist:  asking(func(_ view, q url.Values) { q.Del("before") }),
	}, {
		Name: "day-inclusive", Doc: "the day that an earlier one is asked for is told itself",
		Breaks: []string{"runs.history.before-strict"},
		Kills:  map[string]string{"history.before-is-earlier": "history"},
		Twist:  shifted(1),
	}, {
		Name: "day-passed-over", Doc: "the nearest day is passed over",
		Breaks: []string{"runs.history.before-nearest"},
		Kills:  map[string]string{"history.before-is-nearest": "history"},
		Twist:  shifted(-1),
	}, {
		Name: "day-mistaken", Doc: "a day of long ago is told before the nearest",
		Breaks: []string{"runs.history.before-nearest"},
		Kills:  map[string]string{"history.before-is-nearest": "history"},
		Twist: earlier(func(_ string, page map[string]any) {
			if page["day"] != nil {
				page["day"], page["messages"] = "2020-02-02", greeting("2020-02-02T10:00:00Z")
			}
		}),
	}, {
		Name: "more-promised", Doc: "every history of a conversation is said to have earlier days",
		Breaks: []string{"runs.history.more-false"},
		Kills:  map[string]string{"history.more-is-there": "history"},
		Twist: histories(func(_ view, page map[string]any) {
			if page["threadId"] != nil && page["day"] != nil {
				page["hasMore"] = true
			}
		}),
	}, {
		Name: "more-than-one", Doc: "who has more than one message is said to have earlier days",
		Breaks: []string{"runs.history.more-false"},
		Kills:  map[string]string{"history.more-is-there": "history"},
		Twist: histories(func(_ view, page map[string]any) {
			if all, _ := page["messages"].([]any); len(all) > 1 {
				page["hasMore"] = true
			}
		}),
	}, {
		Name: "more-denied", Doc: "there is a day before one that is said to be the first",
		Breaks: []string{"runs.history.more-false"},
		Kills:  map[string]string{"history.no-more-is-there": "history"},
		Twist: earlier(func(before string, page map[string]any) {
			if day := dayBefore(before); page["day"] == nil && page["threadId"] != nil {
				page["day"], page["messages"] = day, greeting(day+"T10:00:00Z")
			}
		}),
	}, {
		Name: "more-of-no-day", Doc: "before the first day there are messages of none",
		Breaks: []string{"runs.history.more-false", "runs.history.one-day"},
		Kills: map[string]string{
			"history.no-more-is-there": "history",
			"history.one-day":          `message greeting is told, and no day`,
		},
		Twist: earlier(func(before string, page map[string]any) {
			if page["day"] == nil && page["threadId"] != nil {
				page["messages"] = greeting(before + "T10:00:00Z")
			}
		}),
	}, {
		Name: "stamps-of-other-days", Doc: "messages are told with the times of three days before",
		Breaks: []string{"runs.history.one-day"},
		Kills:  map[string]string{"history.one-day": "history"},
		Twist:  stamped(func(int) bool { return true }, 0, -3),
	}, {
		Name: "stamp-of-next-year", Doc: "the first message of a history is said to be of next year",
		Breaks: []string{"runs.history.one-day"},
		Kills:  map[string]string{"history.one-day": "history"},
		Twist:  stamped(func(i int) bool { return i == 0 }, 1, 0),
	}, {
		Name: "unnumbered", Doc: "all messages of a history have the number 0",
		Breaks: []string{"runs.history.seq-orders"},
		Kills:  map[string]string{"history.seq-orders": "history"},
		Twist:  numbered(func(int) int { return 0 }),
	}, {
		Name: "numbers-by-pairs", Doc: "the messages of a history are numbered in another order than told",
		Breaks: []string{"runs.history.seq-orders"},
		Kills:  map[string]string{"history.seq-orders": "history"},
		Twist:  numbered(func(i int) int { return (i ^ 1) + 1 }),
	},
}
