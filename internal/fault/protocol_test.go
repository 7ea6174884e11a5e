package fault_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/spec"
)

// exampleRun returns a small run in which every fault has something to change.
func exampleRun() []spec.Event {
	text := spec.Event{Kind: spec.ContentEnd, Message: "m1", Index: "0", Text: "one two"}
	said := spec.Event{Kind: spec.MessageEnd, Message: "m1", Parts: []spec.Event{text}}
	gave := spec.Event{Kind: spec.MessageEnd, Message: "m2", Parts: []spec.Event{{Kind: spec.ToolCall, Call: "c2", Text: "{}"}, {Kind: spec.ToolResult, Call: "c2", Text: "1"}}}
	list := []spec.Event{
		{Kind: spec.RunStart, Created: "5"},
		{Kind: spec.RunProgress, Created: "5"},
		{Kind: spec.MessageStart, Message: "m1"},
		{Kind: spec.MessageDelta, Message: "m1", Index: "0", Text: "one "},
		{Kind: spec.MessageDelta, Message: "m1", Index: "0", Text: "two"},
		text,
		said,
		{Kind: spec.ToolStart, Call: "c1"},
		{Kind: spec.ToolDelta, Call: "c1", Text: "{}"},
		{Kind: spec.ToolEnd, Call: "c1"},
		{Kind: spec.ToolResult, Call: "c1", Text: "1"},
		gave,
		{Kind: spec.Interrupt, ID: "i1"},
		{Kind: spec.RunEnd, Created: "5", Completed: "6", Parts: []spec.Event{said, gave}},
	}
	for i := range list {
		list[i].Seq, list[i].Thread, list[i].Run = strconv.Itoa(i), "t1", "r1"
	}
	return append(list, spec.Event{Kind: spec.Done})
}

// describeEvent returns the kind, ids and text of an event and its parts on one line, and other
// fields if they differ from those of exampleRun.
func describeEvent(e spec.Event) string {
	words := []string{string(e.Kind)}
	for _, w := range []string{e.Message, e.Call, e.Text} {
		if w != "" {
			words = append(words, w)
		}
	}
	for name, v := range map[string][2]string{"run": {e.Run, "r1"}, "thread": {e.Thread, "t1"}, "created": {e.Created, "5"}, "completed": {e.Completed, "6"}, "index": {e.Index, "0"}} {
		if v[0] != "" && v[0] != v[1] {
			words = append(words, name+"="+v[0])
		}
	}
	for _, p := range e.Parts {
		words = append(words, "["+describeEvent(p)+"]")
	}
	return strings.Join(words, " ")
}

// applyEffect returns the events that a fault with the given effect emits for a run of the given
// events. It does not modify these.
func applyEffect(effect fault.Effect, events []spec.Event) (out []spec.Event) {
	tell := func(e *spec.Event) { out = append(out, *e) }
	for i := range events {
		e := events[i] // faults may modify their argument
		effect.OnEvent(&e, tell)
	}
	if effect.OnEnd != nil {
		effect.OnEnd(tell)
	}
	return out
}

// diffLines returns the lines of before that are missing in after, marked with "-", and the
// additional lines of after, marked with "+". The number behind the mark is the number of preceding
// lines of before. If both lists are equal, the result is nil.
func diffLines(before, after []string) (out []string) {
	// Lengths of the longest common subsequences.
	best := make([][]int, len(before)+1)
	for i := range best {
		best[i] = make([]int, len(after)+1)
	}
	for i := len(before) - 1; i >= 0; i-- {
		for j := len(after) - 1; j >= 0; j-- {
			if best[i][j] = max(best[i+1][j], best[i][j+1]); before[i] == after[j] {
				best[i][j] = best[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(before) || j < len(after) {
		switch {
		case i < len(before) && j < len(after) && before[i] == after[j]:
			i++
			j++
		case i < len(before) && (j == len(after) || best[i+1][j] >= best[i][j+1]):
			out = append(out, fmt.Sprintf("-%d %s", i, before[i]))
			i++
		default:
			out = append(out, fmt.Sprintf("+%d %s", i, after[j]))
			j++
		}
	}
	return out
}

const (
	whole     = "[content.end m1 one two]"
	called    = "[tool.call c2 {}] [tool.result c2 1]"
	listed    = "[message.end m1 " + whole + "] [message.end m2 " + called + "]"
	unknownID = "nobody-told-of-this"
	stacked   = "boom\n\nTraceback (most recent call last):\n  File \"agent.py\", line 7, in run\n    raise RuntimeError('boom')"
)

// protocolCases lists the changes that each fault makes to exampleRun, as returned by diffLines.
// seqs contains the sequence numbers that are sent; if it is "", they must be consecutive, starting
// at 0.
var protocolCases = []struct {
	use  string
	want []string
	seqs string
}{
	{use: "first-missing", want: []string{"-0 run.start"}},
	{use: "start-late", want: []string{"+0 message.start m1", "-2 message.start m1"}},
	{use: "double-start", want: []string{"+3 run.start"}},
	{use: "double-start; event=4", want: []string{"+5 run.start"}},
	{use: "progress-missing", want: []string{"-1 run.progress"}},
	{use: "end-missing", want: []string{"-13 run.end " + listed}},
	{use: "double-end", want: []string{"+14 run.end " + listed}},
	{use: "event-after-end", want: []string{"+15 message.delta m1 two"}},
	{use: "end-after-error", want: []string{"+13 run.error the run failed"}},
	{use: "error-after-end", want: []string{"+14 run.error the run failed"}},
	{use: "wrong-run", want: []string{"-0 run.start", "+1 run.start run=r2"}},
	{use: "wrong-run; event=1", want: []string{"-1 run.progress", "+2 run.progress run=r2"}},
	{use: "wrong-thread", want: []string{"-0 run.start", "+1 run.start thread=t2"}},
	{use: "wrong-thread; event=2", want: []string{"-13 run.end " + listed, "+14 run.end thread=t2 " + listed}},
	{use: "created-changes", want: []string{"-13 run.end " + listed, "+14 run.end created=4 " + listed}},
	{use: "completed-early", want: []string{"-13 run.end " + listed, "+14 run.end completed=-95 " + listed}},
	{use: "wrong-summary", want: []string{"-13 run.end " + listed, "+14 run.end [message.end m1 [content.end m1 one two?]] [message.end m2 [tool.call c2 {}?] [tool.result c2 1?]]"}},
	{use: "summary-short", want: []string{"-13 run.end " + listed, "+14 run.end [message.end m1 " + whole + "]"}},
	{use: "unknown-message", want: []string{"-3 message.delta m1 one ", "+4 message.delta " + unknownID + " one "}},
	{use: "unknown-message; event=4", want: []string{"-4 message.delta m1 two", "+5 message.delta " + unknownID + " two"}},
	{use: "message-not-started", want: []string{"-2 message.start m1"}},
	{use: "message-not-started; event=3", want: nil},
	{use: "message-not-ended", want: []string{"-6 message.end m1 " + whole}},
	{use: "message-not-ended; event=7", want: []string{"-11 message.end m2 " + called}},
	{use: "message-opened-twice", want: []string{"+3 message.start m1"}},
	{use: "late-delta", want: []string{"+7 message.delta m1 two"}},
	{use: "late-delta; event=7", want: nil},
	{use: "reused-message-id", want: []string{"+7 message.start m1", "+7 message.end m1 " + whole}},
	{use: "reused-message-id; event=7", want: []string{"+12 message.end m2 " + called}},
	{use: "wrong-message", want: []string{"-6 message.end m1 " + whole, "+7 message.end m1 [content.end m1 one two?]"}},
	{use: "wrong-text", want: []string{"-5 content.end m1 one two", "+6 content.end m1 one two?"}},
	{use: "wrong-text; event=6", want: nil},
	{use: "empty-delta", want: []string{"+4 message.delta m1"}},
	{use: "empty-delta; event=4", want: []string{"+5 message.delta m1"}},
	{use: "content-not-ended", want: []string{"-5 content.end m1 one two"}},
	{use: "content-ended-twice", want: []string{"+6 content.end m1 one two"}},
	{use: "content-empty", want: []string{"-5 content.end m1 one two", "+6 content.end m1"}},
	{use: "wrong-index", want: []string{"-3 message.delta m1 one ", "+4 message.delta m1 one  index=1"}},
	{use: "wrong-index; event=5", want: []string{"-5 content.end m1 one two", "+6 content.end m1 one two index=1"}},
	{use: "call-not-started", want: []string{"-7 tool.start c1"}},
	{use: "call-not-ended", want: []string{"-9 tool.end c1"}},
	{use: "reused-call-id", want: []string{"+8 tool.start c1"}},
	{use: "unknown-call", want: []string{"-8 tool.delta c1 {}", "+9 tool.delta " + unknownID + " {}"}},
	{use: "arguments-broken", want: []string{
		"+9 tool.delta c1 }", "-11 message.end m2 " + called, "+12 message.end m2 [tool.call c2 {}}] [tool.result c2 1]",
		"-13 run.end " + listed, "+14 run.end [message.end m1 " + whole + "] [message.end m2 [tool.call c2 {}}] [tool.result c2 1]]"}},
	{use: "result-missing", want: []string{
		"-10 tool.result c1 1", "-11 message.end m2 " + called, "+12 message.end m2 [tool.call c2 {}]",
		"-13 run.end " + listed, "+14 run.end [message.end m1 " + whole + "] [message.end m2 [tool.call c2 {}]]"}},
	{use: "result-twice", want: []string{"+11 tool.result c1 1"}},
	{use: "unknown-result", want: []string{
		"-10 tool.result c1 1", "-11 message.end m2 " + called, "+12 tool.result " + unknownID + " 1", "+12 message.end m2 [tool.call c2 {}] [tool.result " + unknownID + " 1]",
		"-13 run.end " + listed, "+14 run.end [message.end m1 " + whole + "] [message.end m2 [tool.call c2 {}] [tool.result " + unknownID + " 1]]"}},
	{use: "result-early", want: []string{"-9 tool.end c1", "+11 tool.end c1"}, seqs: "0 1 2 3 4 5 6 7 8 10 9 11 12 13"},
	{use: "interrupt-not-last", want: []string{"+13 message.delta " + unknownID + " Never mind."}},
	{use: "seq-skipped", seqs: "0 1 2 4 5 6 7 8 9 10 11 12 13 14"},
	{use: "seq-skipped; event=0", seqs: "1 2 3 4 5 6 7 8 9 10 11 12 13 14"},
	{use: "seq-skipped; event=5", seqs: "0 1 2 3 4 6 7 8 9 10 11 12 13 14"},
	{use: "seq-repeated", seqs: "0 1 2 2 3 4 5 6 7 8 9 10 11 12"},
	{use: "seq-repeated; event=12", seqs: "0 1 2 3 4 5 6 7 8 9 10 11 11 12"},
	{use: "seq-falls", seqs: "0 1 0 3 4 5 6 7 8 9 10 11 12 13"},
	{use: "seq-falls; event=7", seqs: "0 1 2 3 4 5 6 0 8 9 10 11 12 13"},
	{use: "duplicated", want: []string{"+4 message.delta m1 one "}, seqs: "0 1 2 3 3 4 5 6 7 8 9 10 11 12 13"},
	{use: "duplicated; event=0", want: []string{"+1 run.start"}, seqs: "0 0 1 2 3 4 5 6 7 8 9 10 11 12 13"},
	{use: "reordered", want: []string{"-3 message.delta m1 one ", "+5 message.delta m1 one "}, seqs: "0 1 2 4 3 5 6 7 8 9 10 11 12 13"},
	{use: "reordered; event=14", want: nil}, // nothing follows it
	{use: "lost", want: []string{"-3 message.delta m1 one "}, seqs: "0 1 2 4 5 6 7 8 9 10 11 12 13"},
	{use: "lost; event=9", want: []string{"-9 tool.end c1"}, seqs: "0 1 2 3 4 5 6 7 8 10 11 12 13"},
	{use: "sentinel-missing", want: []string{"-14 done"}},
	{use: "sentinel-twice", want: []string{"+15 done"}},
	{use: "failure-missing", want: nil}, // this run does not fail
	{use: "step-end-missing", want: []string{"+1 step.start"}},
	{use: "step-end-alone", want: []string{"+1 step.end"}},
	{use: "step-start-twice", want: []string{"+1 step.start", "+1 step.start", "+1 step.end"}},
	{use: "delta-malformed", want: []string{`+1 state.delta {"value":1}`}, seqs: "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14"},
	{use: "snapshot-forgets", want: []string{"+7 history [told.assistant m1 one]"}, seqs: "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14"},
	{use: "as-chunks", want: []string{
		"-2 message.start m1", "-4 message.delta m1 two", "+5 message.delta two", "-6 message.end m1 " + whole,
		"-7 tool.start c1", "-9 tool.end c1"}, seqs: "0 1 3 4 5 8 10 11 12 13"},
	{use: "chunk-unnamed", want: []string{
		"-2 message.start m1", "-3 message.delta m1 one ", "-4 message.delta m1 two", "+5 message.delta one ", "+5 message.delta two",
		"-6 message.end m1 " + whole, "-11 message.end m2 " + called}, seqs: "0 1 3 4 5 7 8 9 10 12 13"},
	{use: "chunk-role-changes", want: []string{"-2 message.start m1", "-6 message.end m1 " + whole, "-11 message.end m2 " + called},
		seqs: "0 1 3 4 5 7 8 9 10 12 13"},
}

func newEffect(t *testing.T, text string) fault.Effect {
	t.Helper()
	effect, _ := newReportingEffect(t, text)
	return effect
}

// newReportingEffect returns the effect of the fault that text describes, and a function that
// reports whether the effect has called applied.
func newReportingEffect(t *testing.T, text string) (effect fault.Effect, hasApplied func() bool) {
	t.Helper()
	uses, err := fault.Parse(text)
	if err != nil || len(uses) != 1 {
		t.Fatalf("%s: %v", text, err)
	}
	applied := false
	effect = uses[0].NewEffect(fault.ResponseContext{
		Rand: rand.New(rand.NewPCG(1, 2)), TypeMembers: []string{"type"}, Applied: func() { applied = true },
	})
	return effect, func() bool { return applied }
}

// originalSeqs are the sequence numbers of exampleRun.
const originalSeqs = "0 1 2 3 4 5 6 7 8 9 10 11 12 13"

func TestHarm(t *testing.T) {
	var before []string
	for _, e := range exampleRun() {
		before = append(before, describeEvent(e))
	}
	for _, h := range protocolCases {
		t.Run(h.use, func(t *testing.T) {
			events := exampleRun()
			effect, hasApplied := newReportingEffect(t, h.use)
			told := applyEffect(effect, events)
			var after, seqs, dense []string
			for _, e := range told {
				after = append(after, describeEvent(e))
				if e.Seq != "" {
					dense, seqs = append(dense, strconv.Itoa(len(seqs))), append(seqs, e.Seq)
				}
			}
			if same := slices.Equal(before, after) && strings.Join(seqs, " ") == originalSeqs; hasApplied() == same {
				t.Errorf("it reports a change: %v; the events are the same: %v", !same, same)
			}
			if got := diffLines(before, after); !slices.Equal(got, h.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(h.want, "\n"))
			}
			want := h.seqs
			if want == "" {
				want = strings.Join(dense, " ")
			}
			if got := strings.Join(seqs, " "); got != want {
				t.Errorf("the numbers are %s, want %s", got, want)
			}
			for i, e := range exampleRun() { // the server's own events are not modified
				if describeEvent(e) != describeEvent(events[i]) {
					t.Errorf("the server's own event is now %s", describeEvent(events[i]))
				}
			}
		})
	}
}

// TestFailures checks the faults that concern the error event of a run.
func TestFailures(t *testing.T) {
	failed := append(exampleRun()[:4:4], spec.Event{Kind: spec.RunError, Text: "out of luck", Seq: "4"})
	for _, c := range []struct {
		use    string
		events []spec.Event
		want   string // the events from the fourth on
	}{
		{"failure-missing", failed, "message.delta m1 one "},
		{"end-after-error", failed, "message.delta m1 one , run.error out of luck, run.end"},
		{"end-missing", failed, "message.delta m1 one "},
		{"run-fails", exampleRun(), "run.error the run failed"},
		{"run-fails; event=4; text=no more", exampleRun(), "message.delta m1 one , run.error no more"},
		{"run-fails; event=100", exampleRun(), "message.delta m1 one , message.delta m1 two, "},
		{"stack-trace", exampleRun(), "run.error " + stacked},
	} {
		var after []string
		for _, e := range applyEffect(newEffect(t, c.use), c.events)[3:] {
			after = append(after, describeEvent(e))
		}
		got := strings.Join(after, ", ")
		if got != c.want && !(strings.HasSuffix(c.want, ", ") && strings.HasPrefix(got, c.want)) {
			t.Errorf("%s: %s, want %s", c.use, got, c.want)
		}
	}
}

// TestAllAreTested checks that the tables of this package contain every fault.
func TestAllAreTested(t *testing.T) {
	tested := map[string]bool{"run-fails": true, "stack-trace": true, "crlf": true}
	note := func(use string) {
		name, _, _ := strings.Cut(use, ";")
		tested[strings.TrimSpace(name)] = true
	}
	for _, h := range protocolCases {
		note(h.use)
	}
	for _, h := range encodeMembers {
		note(h.use)
	}
	for _, h := range wireCases {
		note(h.use)
	}
	for _, h := range responseCases {
		note(h.use)
	}
	for _, h := range resumeCases {
		note(h.use)
	}
	for _, f := range fault.All {
		if !tested[f.Name] {
			t.Errorf("%s is not tested", f.Name)
		}
	}
}
