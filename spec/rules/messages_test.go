package rules_test

import (
	"testing"

	"github.com/streamassay/streamassay/internal/transcript"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/spec/rules"
)

// Findings name events as the dialect spells them, and say what was seen and what is
// required.
func TestMessages(t *testing.T) {
	for _, c := range []struct{ file, check, want string }{
		{"run-bad-second-end", "run.ends-once", "response completed comes after response completed"},
		{"run-bad-recovers", "run.status-moves-forward", "response completed comes after response failed"},
		{"run-bad-first-event", "run.opens-first", "the first event is message created; expected response created"},
		{"run-bad-first-event", "run.comes-first", "the first event is message created; expected one about the run"},
		{"run-bad-after-end", "run.end-is-last", "CUSTOM comes after the end of the run"},
		{"run-bad-after-done", "done.is-last", "text comes after [DONE]"},
		{"message-bad-not-created", "message.starts-first", `what is told of message "m1" first is message in_progress`},
		{"content-bad-completed-twice", "content.ends-once", `content completed text comes for content 0 of message "m1", which was completed`},
		{"tool-bad-not-open", "tool.starts-first", `tool-call-args of call "k", which is not open`},
		{"tool-bad-never-ends", "tool.result-after-call", `the result of call "a" came before the call was ended by tool-call-end`},
		{"tool-bad-result-first", "tool.result-after-call", `a result of call "b", which was not made before it`},
		{"tool-bad-after-interrupt", "interrupt.is-last", "text comes after an interrupt"},
		{"script-bad-tool-none", "script.tool", "asked for 1 call of lookup, it made no call"},
		{"script-bad-client-tool", "script.client-tool", "asked for 1 call of paint, it made 2 calls"},
		{"script-bad-error-silent", "script.error", `the event error has no text (the event has no "error"); expected one that contains "no luck"`},
		{"script-bad-error", "script.error", `asked to fail before any content, it said "Hm." first`},
		{"script-bad-interrupt", "script.interrupt", `asked for 1 interrupt with {"q":1}, it made 1 interrupt with {"q":2}`},
		{"history-bad-forgets", "history.tells-tools", "1 tool result was streamed, and the history tells of none"},
		{"resume-bad-loses-rest", "resume.ends", `the stream taken up at "2-0" ended without the end of the run`},
		{"resume-bad-cancel", "cancel.run-ends", "the run was canceled, and its stream told no end of it; expected 1"},
		{"wire-bad-schema", "wire.matches-schema", `"content" is 1: expected a string`},
		{"wire-bad-not-json", "wire.frames-are-json", `the event is "hello": expected an object`},
		{"refuse-bad-two-faults", "refuse.as-documented",
			`invalid request ("runId" has 129 characters: expected at most 128, and "threadId" is "x": expected a UUID): ` +
				`the answer is 422 AGENT_RUN_INPUT_INVALID, which neither fault explains; expected 422, or the text "runId`},
	} {
		t.Run(c.file+" "+c.check, func(t *testing.T) {
			h, _ := evaluateFile(t, "testdata/"+c.file+".txtar")
			if said := messagesOf(h, c.check); !anyBegins(said, c.want) {
				t.Errorf("got  %q\nwant %q", said, c.want)
			}
		})
	}
}

func messagesOf(h spec.Evaluation, check string) (said []string) {
	for _, r := range h.Results {
		if r.Obligation.Check.ID != check {
			continue
		}
		for _, f := range r.Findings {
			said = append(said, f.Message)
		}
	}
	return said
}

// anyBegins reports whether one of the messages is want, or the long one begins with it.
func anyBegins(said []string, want string) bool {
	for _, s := range said {
		if s == want || len(want) > 150 && len(s) > len(want) && s[:len(want)] == want {
			return true
		}
	}
	return false
}

// A request without an answer is told as what happened to it.
func TestNoAnswer(t *testing.T) {
	for _, c := range []struct {
		end  error
		want string
	}{
		{spec.ErrTruncated, "the server closed the connection without an answer"},
		{spec.ErrReset, "the server reset the connection without an answer"},
		{spec.ErrIdleTimeout, "the server did not answer in time"},
		{spec.ErrNotHTTP, "the answer is not HTTP"},
	} {
		said := messagesOf(evaluateUnanswered(t, c.end), "refuse.as-documented")
		want := `invalid request ("conversationId" is 7: expected a string): ` + c.want + "; expected 422 or 400"
		if len(said) != 1 || said[0] != want {
			t.Errorf("%v: got %q, want %q", c.end, said, want)
		}
	}
}

// evaluateUnanswered judges a conversation whose invalid request has no answer.
func evaluateUnanswered(t *testing.T, end error) spec.Evaluation {
	t.Helper()
	tr, err := transcript.Open("testdata/refuse-bad-accepted.txtar")
	if err != nil {
		t.Fatal(err)
	}
	d, err := dialect.Open(tr.Dialect)
	if err != nil {
		t.Fatal(err)
	}
	tr.Trace.Exchanges[1].Response = spec.Response{End: end}
	return spec.Run(d.Plan(rules.All), d.Events(tr.Trace), nil)
}
