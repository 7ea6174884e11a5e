package suites

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/spec"
)

// TestAnswerMessages checks which parts of requests repeat the events of a stream.
func TestAnswerMessages(t *testing.T) {
	text := func(id, text string) []spec.Event {
		return []spec.Event{
			{Kind: spec.MessageStart, Message: id}, {Kind: spec.MessageDelta, Message: id, Text: text}, {Kind: spec.MessageEnd, Message: id},
		}
	}
	call := func(id, parent, arguments string) []spec.Event {
		return []spec.Event{
			{Kind: spec.ToolStart, Call: id, Name: "paint", ID: parent}, {Kind: spec.ToolDelta, Call: id, Text: arguments}, {Kind: spec.ToolEnd, Call: id},
		}
	}
	end, failed := []spec.Event{{Kind: spec.RunEnd}}, []spec.Event{{Kind: spec.RunError}}
	long := strings.Repeat("é", maxRepeatedText)
	for _, c := range []struct {
		name   string
		events [][]spec.Event
		want   string
	}{
		{"two messages", [][]spec.Event{text("a", "one"), text("b", "two"), end}, "ask.assistant a one; ask.assistant b two"},
		{"an empty message", [][]spec.Event{text("a", ""), end}, ""},
		{"the user's message", [][]spec.Event{{{Kind: spec.MessageStart, Message: "a", Role: "user"}}, {{Kind: spec.MessageDelta, Message: "a", Text: "x"}}, end}, ""},
		{"a call of a message, and its result", [][]spec.Event{text("a", "one"), call("c", "a", "{}"),
			{{Kind: spec.ToolResult, Message: "r", Call: "c", Text: "done"}}, end}, "ask.assistant a one (c paint {}); ask.tool r done"},
		{"a call without a message", [][]spec.Event{call("c", "", "{}"), end}, "ask.assistant c  (c paint {})"},
		{"a result that only the snapshot has", [][]spec.Event{call("c", "a", "{}"), {{Kind: spec.History, Parts: []spec.Event{
			{Kind: spec.HistoryTool, Message: "r", Call: "c", Text: "done"}, {Kind: spec.HistoryTool, Message: "s", Call: "d", Text: "old"}}}}, end},
			"ask.assistant a  (c paint {}); ask.tool r done"},
		{"a result that the snapshot repeats", [][]spec.Event{call("c", "a", "{}"), {{Kind: spec.ToolResult, Message: "r", Call: "c", Text: "done"}},
			{{Kind: spec.History, Parts: []spec.Event{{Kind: spec.HistoryTool, Message: "s", Call: "c", Text: "done"}}}}, end},
			"ask.assistant a  (c paint {}); ask.tool r done"},
		{"messages that only the snapshot has", [][]spec.Event{
			{{Kind: spec.HTTPRequest, Parts: []spec.Event{{Kind: spec.InputAssistant, Message: "old", Text: "before"}}}},
			{{Kind: spec.History, Parts: []spec.Event{
				{Kind: spec.HistoryAssistant, Message: "old", Text: "before"}, {Kind: spec.HistoryUser, Message: "u", Text: "hello"},
				{Kind: spec.HistoryAssistant, Message: "a", Text: "one"}, {Kind: spec.HistoryAssistant, Message: "b", Text: "two"}}}}, end},
			"ask.assistant a one; ask.assistant b two"},
		{"texts in brackets that only the snapshot has", [][]spec.Event{call("c", "a", "{}"), {{Kind: spec.History, Parts: []spec.Event{
			{Kind: spec.HistoryTool, Message: "r", Call: "c", Text: `[{"name":"x"}]`},
			{Kind: spec.HistoryAssistant, Message: "b", Text: "[1] says so."}, {Kind: spec.HistoryAssistant, Message: "d", Text: "[1,2]"}}}}, end},
			`ask.assistant a  (c paint {}); ask.tool r [{"name":"x"}]; ask.assistant b [1] says so.; ask.assistant d [1,2]`},
		{"an empty list as a result", [][]spec.Event{call("c", "a", "{}"), {{Kind: spec.History, Parts: []spec.Event{
			{Kind: spec.HistoryTool, Message: "r", Call: "c", Text: "[]"}}}}, end}, "ask.assistant a  (c paint {}); ask.tool r []"},
		{"contents in parts", [][]spec.Event{call("c", "a", "{}"), {{Kind: spec.History, Parts: []spec.Event{
			{Kind: spec.HistoryTool, Message: "r", Call: "c", Text: `[{"text":"x","type":"text"}]`},
			{Kind: spec.HistoryAssistant, Message: "b", Text: `[{"text":"x","type":"text"}]`}, {Kind: spec.HistoryAssistant, Message: "d", Text: "[]"}}}}, end},
			"ask.assistant a  (c paint {})"},
		{"a snapshot of what was sent", [][]spec.Event{text("a", "one"), {{Kind: spec.History, Parts: []spec.Event{
			{Kind: spec.HistoryAssistant, Message: "joined", Text: "one"}}}}, end}, "ask.assistant a one"},
		{"a failed run", [][]spec.Event{text("a", "one"), failed}, ""},
		{"a run without its end", [][]spec.Event{text("a", "one")}, ""},
		{"a long text", [][]spec.Event{text("a", long), end}, "ask.assistant a " + long[:maxRepeatedText]},
		{"long arguments", [][]spec.Event{text("a", "one"), call("c", "a", long), end}, ""},
	} {
		var got []string
		for _, m := range answerMessages(slices.Values(slices.Concat(c.events...))) {
			s := fmt.Sprint(m.Kind, " ", m.Message, " ", m.Text)
			for _, part := range m.Parts {
				s += fmt.Sprintf(" (%s %s %s)", part.Call, part.Name, part.Text)
			}
			got = append(got, s)
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%s: got %.200q, want %.200q", c.name, s, c.want)
		}
	}
}

// TestLatestTurns checks that the turns before the last prompt do not exceed the limit, and that the
// first of them has a prompt.
func TestLatestTurns(t *testing.T) {
	for _, c := range []struct{ turns, want string }{
		{"p1 p1 p1", "p1 p1 p1"},
		{"p30 p30", "p30"},
		{"p10 r30 p10", "p10"},
		{"p1 p60", "p60"},
		{"p60 r1", "p60 r1"},
		{"r1", "r1"},
	} {
		var turns []historyTurn
		for word := range strings.FieldsSeq(c.turns) {
			var size int
			fmt.Sscan(word[1:], &size)
			turns = append(turns, historyTurn{hasPrompt: word[0] == 'p', size: size << 10})
		}
		var got []string
		for _, u := range latestTurns(turns) {
			got = append(got, map[bool]string{true: "p", false: "r"}[u.hasPrompt]+fmt.Sprint(u.size>>10))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: got %s, want %s", c.turns, s, c.want)
		}
	}
}
