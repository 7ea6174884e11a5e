package mutation

import (
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// editHistories returns a middleware that edits the histories that the server returns. It calls
// edit with the request v and the decoded history e, whose Parts are the messages. The function
// edit changes e in place before it is sent.
func editHistories(edit func(v parsedRequest, e *spec.Event)) middleware {
	return editReplies(spec.History, edit)
}

// editHistoryImages returns a middleware that changes the images in histories. It calls edit for
// each history that has messages. Element i of images contains the images of the message with index
// i, and element i of the result contains the images that replace them. The result must not be
// longer than images; if it is shorter, the remaining messages lose their images. The function edit
// may modify images.
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

// editMessages returns a middleware that calls edit for each message m of the given kind, such as
// [spec.HistoryUser], in the histories that the server returns. The function edit changes m in
// place before the history is sent.
func editMessages(kind spec.Kind, edit func(m *spec.Event)) middleware {
	return editHistories(func(_ parsedRequest, e *spec.Event) {
		for i := range e.Parts {
			if e.Parts[i].Kind == kind {
				edit(&e.Parts[i])
			}
		}
	})
}

// dropMessages returns a middleware that removes all messages of the given kind, such as
// [spec.HistoryUser], from the histories that the server returns.
func dropMessages(kind spec.Kind) middleware {
	return editHistories(func(_ parsedRequest, e *spec.Event) {
		e.Parts = slices.DeleteFunc(e.Parts, func(m spec.Event) bool { return m.Kind == kind })
	})
}

// historyContentMutants are servers whose histories lack messages, images or tool results, or
// contain them in altered form.
var historyContentMutants = []*Mutant{
	{
		Name: "history-user-messages-missing", Doc: "omits user messages from the history",
		KilledBy: map[string]string{
			"history.tells-the-user": "history",
			"accepted.keeps-prompt":  "history problem", // the prompt never appears in the history
		},
		// A history has images only in the user's messages.
		AlsoFails:  []string{"history.tells-images"},
		Middleware: dropMessages(spec.HistoryUser),
	}, {
		Name: "history-user-text-12-bytes", Doc: "truncates user messages in the history to 12 bytes",
		KilledBy: map[string]string{
			"history.tells-the-user": "history",
			"accepted.keeps-prompt":  "history problem",
		},
		AlsoFails:  []string{"history.tells-images"}, // images are searched for together with the complete text
		Middleware: editMessages(spec.HistoryUser, func(m *spec.Event) { m.Text = m.Text[:min(len(m.Text), 12)] }),
	}, {
		Name: "history-images-missing", Doc: "omits all images from the history",
		KilledBy:   map[string]string{"history.tells-images": "history"},
		Middleware: editHistoryImages(func([][]spec.Event) [][]spec.Event { return nil }),
	}, {
		Name: "history-first-image-only", Doc: "returns only the first image of each message in the history",
		KilledBy: map[string]string{"history.tells-all-images": "history"},
		Middleware: editHistoryImages(func(images [][]spec.Event) [][]spec.Event {
			for i, of := range images {
				images[i] = of[:min(1, len(of))]
			}
			return images
		}),
	}, {
		Name: "history-last-image-missing", Doc: "omits the last image of a message with several images from the history",
		KilledBy: map[string]string{"history.tells-all-images": "history"},
		Middleware: editHistoryImages(func(images [][]spec.Event) [][]spec.Event {
			for i, of := range images {
				images[i] = of[:max(min(1, len(of)), len(of)-1)]
			}
			return images
		}),
	}, {
		Name: "history-links-to-first-image", Doc: "returns the link to the first image for every image in the history",
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
		Name: "history-images-misattributed", Doc: "returns the images of a message with another message in the history",
		KilledBy: map[string]string{"history.tells-images": "history"},
		Middleware: editHistoryImages(func(images [][]spec.Event) [][]spec.Event {
			return slices.Concat([][]spec.Event{nil}, images[:len(images)-1])
		}),
	}, {
		Name: "history-assistant-messages-missing", Doc: "omits assistant messages from the history",
		KilledBy:   map[string]string{"history.tells-the-answer": "history"},
		Middleware: dropMessages(spec.HistoryAssistant),
	}, {
		Name: "history-assistant-last-character-missing", Doc: "omits the last character of each assistant message in the history",
		KilledBy: map[string]string{"history.tells-the-answer": "history"},
		Middleware: editMessages(spec.HistoryAssistant, func(m *spec.Event) {
			runes := []rune(m.Text)
			m.Text = string(runes[:max(0, len(runes)-1)])
		}),
	}, {
		Name: "history-assistant-text-differs", Doc: "returns another text for each assistant message in the history",
		KilledBy:   map[string]string{"history.tells-only-answers": "history"},
		AlsoFails:  []string{"history.tells-the-answer"},
		Middleware: editMessages(spec.HistoryAssistant, func(m *spec.Event) { m.Text = "%% reworded %%" }),
	}, {
		Name: "history-extra-assistant-message", Doc: "returns an extra assistant message before each answer in the history",
		KilledBy:  map[string]string{"history.tells-only-answers": "history"},
		AlsoFails: []string{"history.seq-orders"}, // the message has the number of the prompt
		Middleware: editHistories(func(_ parsedRequest, e *spec.Event) {
			var all []spec.Event
			for _, m := range e.Parts {
				all = append(all, m)
				if m.Kind == spec.HistoryUser {
					m.Kind, m.Role, m.Parts, m.Text = spec.HistoryAssistant, "", nil, "%% let me see %%"
					m.ID += "-announced"
					all = append(all, m)
				}
			}
			e.Parts = all
		}),
	}, {
		Name: "history-assistant-text-65535-bytes", Doc: "truncates assistant messages in the history to 65,535 bytes",
		KilledBy: map[string]string{"history.tells-the-answer": "history"},
		Middleware: editMessages(spec.HistoryAssistant, func(m *spec.Event) {
			m.Text = strings.ToValidUTF8(m.Text[:min(len(m.Text), 1<<16-1)], "")
		}),
	}, {
		Name: "history-tool-results-missing", Doc: "omits tool results from the history",
		KilledBy:   map[string]string{"history.tells-tools": "history"},
		Middleware: dropMessages(spec.HistoryTool),
	}, {
		Name: "history-tool-results-as-assistant", Doc: "returns tool results in the history as assistant messages",
		KilledBy:  map[string]string{"history.tells-tools": "history"},
		AlsoFails: []string{"history.tells-only-answers"},
		Middleware: editMessages(spec.HistoryTool, func(m *spec.Event) {
			m.Kind, m.Role = spec.HistoryAssistant, ""
		}),
	}, {
		Name: "history-tool-results-plain-text", Doc: "returns tool results in the history as plain text instead of JSON",
		KilledBy:   map[string]string{"history.tools-are-json": "history"},
		Middleware: editMessages(spec.HistoryTool, func(m *spec.Event) { m.Text = "The tool gave " + m.Text }),
	}, {
		Name: "history-tool-results-truncated", Doc: "omits the last byte of each tool result in the history",
		KilledBy:   map[string]string{"history.tools-are-json": "history"},
		Middleware: editMessages(spec.HistoryTool, func(m *spec.Event) { m.Text = m.Text[:max(0, len(m.Text)-1)] }),
	},
}

// alsoWithOtherMessages lists the ids, for [Mutant.AlsoFails], of the checks that may fail if a
// history contains the messages of other threads.
var alsoWithOtherMessages = []string{
	"history.tells-once", "history.tells-only-sent-prompts", "history.tells-only-sent-images", "history.tells-only-answers",
}
