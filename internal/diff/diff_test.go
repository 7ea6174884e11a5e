package diff

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/exitcode"
	"github.com/streamassay/streamassay/spec"
)

// answer returns the events of a request and of a response that consists of the given events. nth
// is the index of the exchange in the conversation.
func answer(nth int, events ...spec.Event) []spec.Event {
	run := fmt.Sprintf("run-%d", nth)
	all := []spec.Event{{Kind: spec.HTTPRequest, Frame: -1, Operation: "POST /runs", Run: run, Thread: "t", Parts: []spec.Event{{Kind: spec.InputUser, Text: "hello"}}}}
	all = append(all, spec.Event{Kind: spec.HTTPResponse, Frame: -1, StatusCode: 200, MediaType: spec.EventStream, Header: spec.Header{{Name: "content-type", Value: "text/event-stream;charset=utf-8"}, {Name: "Date", Value: "today"}}})
	for i, e := range events {
		e.Frame = i
		all = append(all, e)
	}
	if len(events) == 0 || all[len(all)-1].Kind != spec.BodyEnd {
		all = append(all, spec.Event{Kind: spec.BodyEnd, Frame: -1})
	}
	for i := range all {
		all[i].Exchange = nth
	}
	return all
}

func start(id string) spec.Event {
	return spec.Event{Kind: spec.MessageStart, Message: id, Role: "assistant"}
}

func delta(id, text string) spec.Event {
	return spec.Event{Kind: spec.MessageDelta, Message: id, Text: text}
}

func closes(id string) spec.Event { return spec.Event{Kind: spec.MessageEnd, Message: id} }

// said returns the events of a run with one message. id is used for the ids of the run and of the
// message.
func said(id, text string) []spec.Event {
	return []spec.Event{{Kind: spec.RunStart, Run: "r" + id, Created: "2026-01-0" + id}, start(id), delta(id, text), closes(id), {Kind: spec.RunEnd, Run: "r" + id}}
}

func seen(c ConversationDiff) string {
	var all []string
	for _, d := range c.Differences {
		switch {
		case d.B == nil:
			all = append(all, "only A "+string(d.A.Kind))
		case d.A == nil:
			all = append(all, "only B "+string(d.B.Kind))
		}
		for _, f := range d.Fields {
			all = append(all, fmt.Sprintf("%s %s: %s | %s", d.A.Kind, f.Name, f.A, f.B))
		}
	}
	return strings.Join(all, "\n")
}

func TestCompare(t *testing.T) {
	cut := func(events ...spec.Event) []spec.Event {
		return answer(0, append(events, spec.Event{Kind: spec.BodyEnd, Err: spec.ErrClientLeft})...)
	}
	for _, c := range []struct {
		name string
		a, b []spec.Event
		want string // what differs
	}{
		{"the same", answer(0, said("1", "hello")...), answer(0, said("1", "hello")...), ""},
		{"other ids and times", answer(0, said("1", "hello")...), answer(0, said("2", "hello")...), ""},
		{"other pieces", answer(0, start("1"), delta("1", "hel"), delta("1", "lo"), closes("1")), answer(0, start("1"), delta("1", "hello"), closes("1")), ""},
		{"another text", answer(0, said("1", "hello")...), answer(0, said("1", "hallo")...), "message.delta text: hello | hallo"},
		{"an id for two", answer(0, start("1"), closes("1"), start("2"), closes("2")), answer(0, start("1"), closes("1"), start("1"), closes("1")),
			"message.start message: 2 | 1\nmessage.end message: 2 | 1"},
		{"an id that is none", answer(0, start("1"), delta("1", "a")), answer(0, start("1"), delta("3", "a")), "message.delta message: 1 | 3"},
		{"no time", answer(0, spec.Event{Kind: spec.RunStart, Created: "1"}), answer(0, spec.Event{Kind: spec.RunStart}), "run.start created: 1 | "},
		{"an event less", answer(0, said("1", "x")...), answer(0, start("1"), delta("1", "x"), closes("1"), spec.Event{Kind: spec.RunEnd}), "only A run.start\nrun.end run: r1 | "},
		{"an event more", answer(0, start("1"), closes("1")), answer(0, start("1"), closes("1"), start("2"), closes("2")), "only B message.start\nonly B message.end"},
		{"another order", answer(0, spec.Event{Kind: spec.StepStart}, start("1")), answer(0, start("1"), spec.Event{Kind: spec.StepStart}), "only A step.start\nonly B step.start"},
		{"another end", answer(0, start("1"), spec.Event{Kind: spec.RunEnd}), answer(0, start("1"), spec.Event{Kind: spec.RunError, Code: "boom"}), "run.end kind: run.end | run.error\nrun.end code:  | boom"},
		{"cut off", answer(0, start("1")), answer(0, start("1"), spec.Event{Kind: spec.BodyEnd, Err: spec.ErrTruncated}), "http.close end: complete | " + spec.ErrTruncated.Error()},
		{"JSON in another order", answer(0, spec.Event{Kind: spec.ToolResult, Text: `{"a":1,"b":2}`}), answer(0, spec.Event{Kind: spec.ToolResult, Text: `{"b": 2, "a": 1}`}), ""},
		{"comments", answer(0, start("1"), spec.Event{Kind: spec.Comment, Text: "ping"}), answer(0, start("1")), ""},
		{"left at another place of the text", cut(start("1"), delta("1", "he")), cut(start("1"), delta("1", "hell"), closes("1")), ""},
		{"left after another text", cut(start("1"), delta("1", "he")), cut(start("1"), delta("1", "ho")), "message.delta text: he | ho"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Compare(RepeatedConversation{Name: c.name, Takes: [][]spec.Event{c.a}}, RepeatedConversation{Name: c.name, Takes: [][]spec.Event{c.b}})
			if !got.Compared || seen(got) != c.want {
				t.Errorf("compared: %v (%s)\n%s\nwanted\n%s", got.Compared, got.Reason, seen(got), c.want)
			}
			back := Compare(RepeatedConversation{Name: c.name, Takes: [][]spec.Event{c.b}}, RepeatedConversation{Name: c.name, Takes: [][]spec.Event{c.a}})
			if len(back.Differences) != len(got.Differences) {
				t.Errorf("%d differences, and %d the other way round", len(got.Differences), len(back.Differences))
			}
		})
	}
}

// TestHeads checks that the status code and the relevant headers are compared, and other headers
// are not.
func TestHeads(t *testing.T) {
	a, b := answer(0), answer(0)
	b[1].StatusCode, b[1].MediaType = 404, "text/html"
	b[1].Header = spec.Header{{Name: "Content-Type", Value: "text/html"}, {Name: "Date", Value: "tomorrow"}}
	got := seen(Compare(RepeatedConversation{Name: "", Takes: [][]spec.Event{a}}, RepeatedConversation{Name: "", Takes: [][]spec.Event{b}}))
	want := "http.response http: 200 | 404\nhttp.response content-type: text/event-stream; charset=utf-8 | text/html"
	if got != want {
		t.Errorf("%s\nwanted\n%s", got, want)
	}
}

// TestVolatile checks that fields that differ between two recordings of the same target are ignored
// when two targets are compared.
func TestVolatile(t *testing.T) {
	a := RepeatedConversation{Name: "", Takes: [][]spec.Event{answer(0, said("1", "it is 10:01")...), answer(0, said("2", "it is 10:02")...)}}
	b := RepeatedConversation{Name: "", Takes: [][]spec.Event{answer(0, said("1", "it is 10:03")...), answer(0, said("2", "it is 10:04")...)}}
	got := Compare(a, b)
	if seen(got) != "" || !slices.Equal(got.Volatile, []string{"message.delta text"}) {
		t.Errorf("%s, volatile %q", seen(got), got.Volatile)
	}
	b.Takes[0] = b.Takes[0][:len(b.Takes[0])-2] // without an end
	if got := seen(Compare(a, RepeatedConversation{Name: "", Takes: b.Takes[:1]})); !strings.Contains(got, "only A run.end") {
		t.Errorf("what is not volatile was left out, too: %q", got)
	}
}

// TestNothing checks that a target that does not respond is not compared.
func TestNothing(t *testing.T) {
	mute := answer(0)
	mute[1] = spec.Event{Kind: spec.HTTPResponse, Frame: -1, Err: spec.ErrReset}
	for _, takes := range [][][]spec.Event{nil, {mute}} {
		c := Compare(RepeatedConversation{Name: "", Takes: [][]spec.Event{answer(0)}}, RepeatedConversation{Name: "", Takes: takes})
		r := Report{Dialects: []DialectDiff{{Conversations: []ConversationDiff{c}}}}
		if r.Conclude(); c.Compared || c.Reason == "" || r.Exit != exitcode.Inconclusive {
			t.Errorf("compared: %v, why: %q, exit %d", c.Compared, c.Reason, r.Exit)
		}
	}
}

// TestIncomplete checks that an incomplete conversation is not compared, and that an incomplete
// comparison without differences has the exit code 3, one with differences the exit code 1.
func TestIncomplete(t *testing.T) {
	whole := RepeatedConversation{Name: "text", Takes: [][]spec.Event{answer(0, said("1", "one")...)}}
	other := RepeatedConversation{Name: "text", Takes: [][]spec.Event{answer(0, said("1", "two")...)}}
	cut := RepeatedConversation{Name: "cut", Takes: other.Takes, Incomplete: true}
	if c := Compare(whole, cut); c.Compared || c.Reason != "B was not played to the end" {
		t.Errorf("compared: %v, why: %q", c.Compared, c.Reason)
	}
	for _, c := range []struct {
		b    RepeatedConversation
		exit int
		last string
	}{
		{whole, exitcode.Inconclusive, "INCOMPLETE  (exit 3)\n"},
		{other, exitcode.Failed, "DIFFERENT  (exit 1)\n"},
	} {
		r := Report{Incomplete: "stopped", Dialects: []DialectDiff{{Conversations: []ConversationDiff{Compare(whole, c.b), Compare(whole, cut)}}}}
		r.Conclude()
		var b strings.Builder
		if err := r.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		if r.Exit != c.exit || !strings.HasSuffix(b.String(), c.last) {
			t.Errorf("exit %d, want %d and %q\n%s", r.Exit, c.exit, c.last, &b)
		}
	}
}

// TestRefused checks that nothing counts as compared if both sides refused every request and one of
// the requests is valid, and that the report states the status codes and what to do.
func TestRefused(t *testing.T) {
	refused := func(status int, violations ...spec.Violation) []spec.Event {
		events := answer(0)
		events[0].Violations, events[1].StatusCode = violations, status
		return events
	}
	invalid := spec.Violation{Location: "/a", Message: "missing"}
	other := func(mediaType string) []spec.Event { // status 200, with a body of that type
		events := refused(200)
		events[0].MediaType, events[1].MediaType = spec.EventStream, mediaType
		return events
	}
	for _, c := range []struct {
		name  string
		takes [][]spec.Event // one per conversation, of both sides
		seed  uint64         // 0: recordings
		exit  int
		want  string
	}{
		{"401", [][]spec.Event{refused(401)}, 1, exitcode.Inconclusive,
			"not compared: 0 (both replied 401 to every request)\nto do: give valid credentials with --header"},
		{"404 and 405", [][]spec.Event{refused(405), refused(404), refused(405)}, 1, exitcode.Inconclusive,
			"not compared: 0, 2 (both replied 405 to every request)\n  not compared: 1 (both replied 404 to every request)\nto do: check the base URLs"},
		{"web page and 404", [][]spec.Event{other("text/html"), refused(404)}, 1, exitcode.Inconclusive,
			"0 (both replied 200 (without the requested content) to every request)"},
		{"JSON instead of a stream", [][]spec.Event{other("application/json")}, 1, exitcode.Inconclusive, "to do: check the base URLs"},
		{"stream", [][]spec.Event{other(spec.EventStream)}, 1, exitcode.Passed, "1 conversation"},
		{"500", [][]spec.Event{refused(500)}, 1, exitcode.Inconclusive, "to do: look in the servers' logs"},
		{"recordings", [][]spec.Event{refused(401)}, 0, exitcode.Inconclusive, "to do: compare recordings of requests that were not refused"},
		{"only invalid requests", [][]spec.Event{refused(422, invalid)}, 1, exitcode.Passed, "1 conversation, 2 events compared; 0 differences in 0 of them"},
		{"an invalid request and a valid one", [][]spec.Event{refused(401, invalid), refused(401)}, 1, exitcode.Inconclusive, "0 conversations"},
		{"not all", [][]spec.Event{refused(404), answer(0, said("1", "x")...)}, 1, exitcode.Passed, "2 conversations"},
	} {
		var list []ConversationDiff
		for i, take := range c.takes {
			side := RepeatedConversation{Name: fmt.Sprint(i), Takes: [][]spec.Event{take}}
			list = append(list, Compare(side, side))
		}
		r := Report{Seed: c.seed, Dialects: []DialectDiff{{Conversations: list}}}
		r.Conclude()
		var b strings.Builder
		if err := r.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		if r.Exit != c.exit || !strings.Contains(b.String(), c.want) {
			t.Errorf("%s: exit %d, want %d and %q\n%s", c.name, r.Exit, c.exit, c.want, &b)
		}
	}
}

// TestExchanges checks that another request for an operation that both sides used is only a note,
// and that a request for an operation that only one side used is a difference.
func TestExchanges(t *testing.T) {
	one := answer(0, said("1", "x")...)
	more := slices.Concat(one, answer(1, said("1", "x")...))
	c := Compare(RepeatedConversation{Name: "", Takes: [][]spec.Event{one}}, RepeatedConversation{Name: "", Takes: [][]spec.Event{more}})
	if len(c.Differences) != 0 || len(c.Notes) != 1 || c.Exchanges != 1 {
		t.Errorf("%s, notes %q, %d exchanges", seen(c), c.Notes, c.Exchanges)
	}
	more[len(one)].Operation = "POST /cancel"
	if got := seen(Compare(RepeatedConversation{Name: "", Takes: [][]spec.Event{one}}, RepeatedConversation{Name: "", Takes: [][]spec.Event{more}})); got != "only B http.request" {
		t.Error(got)
	}
}

func TestAlign(t *testing.T) {
	same := func(a, b string) func(i, j int) int {
		return func(i, j int) int {
			if a[i] == b[j] {
				return 1
			}
			return 0
		}
	}
	for _, c := range []struct {
		a, b string
		want int // pairs: the length of the longest common subsequence
	}{{"", "", 0}, {"abc", "", 0}, {"abc", "abc", 3}, {"abcbdab", "bdcaba", 4}, {"xaxbx", "ab", 2}, {"ab", "ba", 1}} {
		pairs := 0
		i, j := 0, 0
		for _, p := range align(len(c.a), len(c.b), same(c.a, c.b)) {
			if p.a >= 0 && p.b >= 0 {
				pairs++
			}
			if p.a >= 0 {
				if p.a != i {
					t.Errorf("%s %s: place %d of A comes at %d", c.a, c.b, p.a, i)
				}
				i++
			}
			if p.b >= 0 {
				if p.b != j {
					t.Errorf("%s %s: place %d of B comes at %d", c.a, c.b, p.b, j)
				}
				j++
			}
		}
		if pairs != c.want || i != len(c.a) || j != len(c.b) {
			t.Errorf("%s %s: %d pairs, not %d; %d and %d places told", c.a, c.b, pairs, c.want, i, j)
		}
	}
	if got := len(align(3000, 3000, func(i, j int) int { return 1 })); got != 3000 {
		t.Errorf("too much for a table: %d pairs", got)
	}
}

// TestText checks that the text report has columns and contains no control characters.
func TestText(t *testing.T) {
	c := Compare(RepeatedConversation{Name: "text", Takes: [][]spec.Event{answer(0, said("1", "hello \x1b[2J"+strings.Repeat("x", 2000))...)}}, RepeatedConversation{Name: "text", Takes: [][]spec.Event{answer(0, said("1", "hello you")[:4]...)}})
	r := Report{A: "one", B: "two\x1b", Dialects: []DialectDiff{{Dialect: "talk@2", Conversations: []ConversationDiff{c}}}}
	r.Conclude()
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"A  one\n", "text  talk@2\n", `exchange 0: POST /runs "hello"`, "  ~ message.delta (event 2)", `│ text: "hello you"`, "  < run.end", "DIFFERENT  (exit 1)", "2 differences in 1 of them"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, &b)
		}
	}
	if strings.Contains(b.String(), "\x1b") {
		t.Error("an escape character reached the terminal")
	}
	for l := range strings.Lines(b.String()) {
		if n := len([]rune(l)); n > 140 {
			t.Errorf("a line of %d characters: %s", n, l)
		}
	}
}
