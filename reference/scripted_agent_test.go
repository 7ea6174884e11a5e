package reference

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/streamassay/streamassay/internal/state"
	"github.com/streamassay/streamassay/spec"
)

// user returns a turn of the run "r" with one user message.
func user(text string) Turn {
	return Turn{Event: spec.Event{Run: "r", Parts: []spec.Event{{Kind: spec.InputUser, Text: text}}}}
}

// lines returns the events, one per line: the kind of each event and its slots that are not empty.
func lines(events []spec.Event) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString(string(e.Kind))
		for _, slot := range []string{e.Message, e.Call, e.ID, e.Name, e.Type, e.Text} {
			if slot != "" {
				b.WriteString(" " + slot)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func play(ctx context.Context, t Turn) (events []spec.Event) {
	for e := range Scripted(ctx, t) {
		events = append(events, e)
	}
	return events
}

func TestScripted(t *testing.T) {
	offering := user(`conformance:client-tool {"n":7}`)
	offering.ClientTools = []string{"paint", "draw"}
	recalling := user("conformance:recall")
	recalling.EarlierMessages = func(context.Context) ([]state.Message, error) {
		return []state.Message{{Role: "user", Text: "conformance:text  x "}, {Role: "assistant", Text: " x "}}, nil
	}
	answering := func(parts ...spec.Event) Turn { return Turn{Event: spec.Event{Run: "r", Parts: parts}} }
	before := spec.Event{Kind: spec.InputUser, Text: "conformance:text old"}
	for _, c := range []struct {
		name string
		turn Turn
		want string
	}{
		{"text", user("conformance:text  größer "), "message.start r-m1\nmessage.delta r-m1  g\nmessage.delta r-m1 röß\nmessage.delta r-m1 er \nmessage.end r-m1\n"},
		{"two characters", user("conformance:text 世界"), "message.start r-m1\nmessage.delta r-m1 世\nmessage.delta r-m1 界\nmessage.end r-m1\n"},
		{"no words", user("conformance:text"), "message.start r-m1\nmessage.end r-m1\n"},
		{"empty", user("conformance:empty"), ""},
		{"messages", user("conformance:messages"), "message.start r-m1\nmessage.delta r-m1 o\nmessage.delta r-m1 n\nmessage.delta r-m1 e\nmessage.end r-m1\n" +
			"message.start r-m2\nmessage.delta r-m2 t\nmessage.delta r-m2 w\nmessage.delta r-m2 o\nmessage.end r-m2\n"},
		{"contents", user("conformance:contents"), "message.start r-m1\nmessage.delta r-m1 s\nmessage.delta r-m1 e\nmessage.delta r-m1 e\n" +
			"content.end r-m1 image https://example.com/image.png\nmessage.end r-m1\n"},
		{"reasoning", user("conformance:reasoning ok"), "reasoning.start r-m1\nreasoning.delta r-m1 th\nreasoning.delta r-m1 ink\nreasoning.delta r-m1 ing\nreasoning.end r-m1\n" +
			"message.start r-m2\nmessage.delta r-m2 o\nmessage.delta r-m2 k\nmessage.end r-m2\n"},
		{"tool", user(`conformance:tool {"a":1}`), "tool.start r-m1 r-c1 lookup\ntool.delta r-c1 {\"\ntool.delta r-c1 a\"\ntool.delta r-c1 :1}\ntool.end r-c1\n" +
			"tool.result r-m2 r-c1 lookup {\"found\":true}\nmessage.start r-m3\nmessage.delta r-m3 I have\nmessage.delta r-m3  looked\nmessage.delta r-m3  it up.\nmessage.end r-m3\n"},
		{"client-tool", offering, "tool.start r-m1 r-c1 paint\ntool.delta r-c1 {\"\ntool.delta r-c1 n\"\ntool.delta r-c1 :7}\ntool.end r-c1\n"},
		{"client-tool without an offer", user(`conformance:client-tool {}`), "message.start r-m1\nmessage.delta r-m1 {\nmessage.delta r-m1 }\nmessage.end r-m1\n"},
		{"interrupt", user(`conformance:interrupt {"ask": "why?"}`), "interrupt r-i1 {\"ask\":\"why?\"}\n"},
		{"recall", recalling, "message.start r-m1\nmessage.delta r-m1 confor\nmessage.delta r-m1 mance:t\nmessage.delta r-m1 ext  x \nmessage.end r-m1\n"},
		{"recall of nothing", user("conformance:recall"), "message.start r-m1\nmessage.delta r-m1 no\nmessage.delta r-m1 th\nmessage.delta r-m1 ing\nmessage.end r-m1\n"},
		{"many", user("conformance:many 2"), "message.start r-m1\nmessage.delta r-m1 1 \nmessage.delta r-m1 2 \nmessage.end r-m1\n"},
		{"large", user("conformance:large 5"), "message.start r-m1\nmessage.delta r-m1 01234\nmessage.end r-m1\n"},
		{"one result", answering(before, spec.Event{Kind: spec.InputToolResult, Text: "7"}), "message.start r-m1\nmessage.delta r-m1 tool\nmessage.delta r-m1  sai\nmessage.delta r-m1 d: 7\nmessage.end r-m1\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := lines(play(t.Context(), c.turn)); got != "run.start\n"+c.want+"run.end\n" {
				t.Errorf("got\n%s", got)
			}
		})
	}
}

// says returns the text of all messages in events, joined.
func says(events []spec.Event) (text string) {
	for _, e := range events {
		if e.Kind == spec.MessageDelta {
			text += e.Text
		}
	}
	return text
}

func TestScriptedSays(t *testing.T) {
	answering := func(parts ...spec.Event) Turn { return Turn{Event: spec.Event{Run: "r", Parts: parts}} }
	tool := func(text string) spec.Event { return spec.Event{Kind: spec.InputToolResult, Text: text} }
	resume := func(text string) spec.Event { return spec.Event{Kind: spec.InputResume, ID: "r-i1", Text: text} }
	for _, c := range []struct {
		name string
		turn Turn
		want string
	}{
		{"anything", user("hello"), "Hello, world."},
		{"nothing asked", answering(), "Hello, world."},
		{"another prompt", user("conformance:dance"), "Hello, world."},
		{"no number", user("conformance:many x"), "Hello, world."},
		{"a number too many", user("conformance:many 1 2"), "Hello, world."},
		{"a number below", user("conformance:many -1"), "Hello, world."},
		{"a number beyond", user("conformance:large 99999999999"), "Hello, world."},
		{"words in another place", user("please conformance:text x"), "Hello, world."},
		{"results", answering(tool("a"), tool("b")), "tool said: a\nb"},
		{"results of this turn only", answering(tool("old"), spec.Event{Kind: spec.InputUser, Text: "x"}, tool("new")), "tool said: new"},
		{"a string resumes", answering(resume("approved <&>")), `resumed with: "approved <&>"`},
		{"a JSON string resumes", answering(resume(`"approved"`)), `resumed with: "approved"`},
		{"an object resumes", answering(resume(`{ "ok" : true }`)), `resumed with: {"ok":true}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := says(play(t.Context(), c.turn)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestScriptedTools checks that the two calls are open at the same time, and that each has its own
// arguments and result.
func TestScriptedTools(t *testing.T) {
	open, most := 0, 0
	args, results := map[string]string{}, map[string]bool{}
	for _, e := range play(t.Context(), user("conformance:tools")) {
		switch e.Kind {
		case spec.ToolStart:
			open++
			most = max(most, open)
		case spec.ToolDelta:
			args[e.Call] += e.Text
		case spec.ToolEnd:
			open--
		case spec.ToolResult:
			results[e.Call] = args[e.Call] != ""
		}
	}
	if open != 0 || most != 2 || len(args) != 2 || !results["r-c1"] || !results["r-c2"] {
		t.Errorf("%d calls were open at once, %d stayed open; arguments %q, results %v", most, open, args, results)
	}
}

func TestScriptedFails(t *testing.T) {
	for prompt, want := range map[string]string{
		"conformance:error no luck":     "run.start\nrun.error no luck\n",
		"conformance:error-mid no luck": "run.start\nmessage.start r-m1\nmessage.delta r-m1 This is \nmessage.delta r-m1 as far as \nrun.error no luck\n",
	} {
		if got := lines(play(t.Context(), user(prompt))); got != want {
			t.Errorf("%s: got\n%s", prompt, got)
		}
	}
}

// TestScriptedSchedule checks that deltas follow an absolute schedule, regardless of how long it
// takes to send each of them.
func TestScriptedSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []time.Duration
		for e := range Scripted(t.Context(), user("conformance:slow 4 100")) {
			if e.Kind == spec.MessageDelta {
				at = append(at, time.Since(began))
				wait(30 * time.Millisecond) // the consumer is slow
			}
		}
		for i, d := range at {
			if want := time.Duration(i) * 100 * time.Millisecond; d != want {
				t.Errorf("delta %d came after %v, want %v", i, d, want)
			}
		}
		if len(at) != 4 {
			t.Errorf("%d deltas", len(at))
		}
		began = time.Now()
		if got := says(play(t.Context(), user("conformance:idle 2500"))); got != "done" || time.Since(began) != 2500*time.Millisecond {
			t.Errorf("got %q after %v", got, time.Since(began))
		}
	})
}

// wait blocks for the duration d, which advances the clock of a synctest bubble.
func wait(d time.Duration) { <-time.After(d) }

func TestScriptedStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began, n := time.Now(), 0
		time.AfterFunc(250*time.Millisecond, cancel)
		for e := range Scripted(ctx, user("conformance:slow 100 100")) {
			if e.Kind == spec.MessageDelta {
				n++
			}
			if e.Kind == spec.RunEnd {
				t.Error("a run that was stopped ended well")
			}
		}
		if n != 3 || time.Since(began) != 250*time.Millisecond {
			t.Errorf("%d deltas, stopped after %v", n, time.Since(began))
		}
		for range Scripted(t.Context(), user("conformance:many 1000")) {
			break // it must not go on
		}
	})
}

func TestPieces(t *testing.T) {
	for _, text := range []string{"", "a", "ab", "größer", "👩‍👩‍👧 done", strings.Repeat("世", 1000)} {
		cut := splitText(text)
		for _, piece := range cut {
			if piece == "" || !utf8.ValidString(piece) {
				t.Errorf("%q: piece %q", text, piece)
			}
		}
		if strings.Join(cut, "") != text || utf8.RuneCountInString(text) >= 2 && len(cut) < 2 {
			t.Errorf("%q was cut into %q", text, cut)
		}
	}
}
