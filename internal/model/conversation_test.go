package model

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/streamassay/streamassay/internal/state"
)

// TestSettle checks the result of normalize for random conversations: each call is followed by one
// result before any other message, each result has a call, and no message is missing.
func TestSettle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		said := rapid.SliceOf(rapid.Custom(func(t *rapid.T) chatMessage {
			w := chatMessage{
				role: rapid.SampledFrom([]string{roleUser, roleAssistant, roleAssistant, roleTool, roleTool}).Draw(t, "role"),
				text: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "text"),
			}
			switch w.role {
			case roleTool:
				w.call = id.Draw(t, "call")
			case roleAssistant:
				for _, c := range rapid.SliceOfNDistinct(id, 0, 3, rapid.ID[string]).Draw(t, "calls") {
					w.calls = append(w.calls, state.Call{ID: c, Name: "tool"})
				}
			}
			return w
		})).Draw(t, "said")
		for i := range said { // so that it can be found again
			if said[i].text != "" {
				said[i].text += fmt.Sprint(i, ";")
			}
		}
		known := map[string]state.Call{}
		for _, c := range rapid.SliceOfDistinct(id, rapid.ID[string]).Draw(t, "known") {
			known[c] = state.Call{ID: c, Name: "remembered"}
		}
		settled := normalize(said, known)
		if why := unsettled(settled); why != "" {
			t.Fatalf("%s in\n%+v", why, settled)
		}
		all := fmt.Sprint(settled)
		for _, w := range said {
			if !strings.Contains(all, w.text) {
				t.Fatalf("%q is missing in\n%+v", w.text, settled)
			}
		}
	})
}

// unsettled returns a description of the first thing in a conversation that a server of a model
// would reject, or "" if there is none.
func unsettled(said []chatMessage) string {
	open := map[string]bool{}
	for i, w := range said {
		if w.role == roleTool {
			if !open[w.call] {
				return fmt.Sprintf("result %d has no call", i)
			}
			delete(open, w.call)
			continue
		}
		if len(open) > 0 {
			return fmt.Sprintf("calls before %d have no result", i)
		}
		if w.role == roleAssistant && w.text == "" && len(w.calls) == 0 {
			return fmt.Sprintf("%d says nothing", i)
		}
		for _, c := range w.calls {
			if open[c.ID] {
				return fmt.Sprintf("%d calls twice", i)
			}
			open[c.ID] = true
		}
	}
	if len(open) > 0 {
		return "the last calls have no result"
	}
	return ""
}
