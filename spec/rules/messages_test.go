package rules_test

import (
	"testing"

	"github.com/streamassay/streamassay/internal/transcript"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/spec/rules"
)

// TestMessages holds findings to their form: what was seen and what is required, with events
// as the dialect spells them.
func TestMessages(t *testing.T) {
	for _, c := range []struct{ file, check, want string }{
		{"run-bad-second-end", "run.ends-once", "response completed comes after response completed; expected one terminal event"},
		{"run-bad-recovers", "run.status-moves-forward", "response completed comes after response failed; expected no earlier status"},
		{"run-bad-first-event", "run.opens-first", "first event is message created; expected response created"},
		{"run-bad-first-event", "run.comes-first", "first event is message created; expected one about the run"},
		{"run-bad-after-end", "run.end-is-last", "CUSTOM comes after the run's terminal event; expected no event after it"},
		{"run-bad-after-done", "done.is-last", "text comes after [DONE]; expected no event after it"},
		{"message-bad-not-created", "message.starts-first", `first status event of message "m1" is message in_progress; expected its start`},
		{"content-bad-completed-twice", "content.ends-once", `content completed text comes after content 0 of message "m1" was completed; expected no further event of it`},
		{"tool-bad-not-open", "tool.starts-first", `got tool-call-args of call "k", which is not open; expected tool-call-start first`},
		{"tool-bad-never-ends", "tool.result-after-call", `result of call "a" comes before the end of the call; expected tool-call-end first`},
		{"tool-bad-result-first", "tool.result-after-call", `got a result for call "b", which was not made; expected the call first`},
		{"tool-bad-after-interrupt", "interrupt.is-last", "text comes after an interrupt; expected the end of the run"},
		{"script-bad-tool-none", "script.tool", "got no tool calls; expected 1 call of lookup"},
		{"script-bad-client-tool", "script.client-tool", "got 2 tool calls; expected 1 call of paint"},
		{"script-bad-error-silent", "script.error", `got error without an error message (the event has no "error"); expected one that contains "no luck"`},
		{"script-bad-error", "script.error", `got text "Hm." before the failure; expected none`},
		{"script-bad-interrupt", "script.interrupt", `got 1 interrupt with {"q":2}; expected 1 interrupt with {"q":1}`},
		{"history-bad-forgets", "history.tells-tools", "history has no tool message for a run that streamed 1 tool result; expected one"},
		{"resume-bad-loses-rest", "resume.ends", `stream resumed after "2-0" closed before the run's terminal event`},
		{"resume-bad-cancel", "cancel.run-ends", "run was canceled and its stream has no terminal events; expected 1"},
		{"wire-bad-schema", "wire.matches-schema", `"content" is 1: expected a string`},
		{"wire-bad-not-json", "wire.frames-are-json", `the event is "hello": expected an object`},
		{"refuse-bad-two-faults", "refuse.as-documented",
			`invalid request ("runId" has 129 characters: expected at most 128, and "threadId" is "x": expected a UUID): ` +
				`got status 422 AGENT_RUN_INPUT_INVALID, which is right for none of these faults; expected status 422, or the text "runId`},
	} {
		t.Run(c.file+" "+c.check, func(t *testing.T) {
			h, _ := evaluateFile(t, "testdata/"+c.file+".txtar")
			if got := messagesOf(h, c.check); !anyBegins(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// messagesOf returns the messages of one check.
func messagesOf(h spec.Evaluation, check string) (all []string) {
	for _, r := range h.Results {
		if r.Obligation.Check.ID != check {
			continue
		}
		for _, f := range r.Findings {
			all = append(all, f.Message)
		}
	}
	return all
}

// anyBegins reports whether one of the messages is want, or begins with it if want is long.
func anyBegins(messages []string, want string) bool {
	for _, s := range messages {
		if s == want || len(want) > 150 && len(s) > len(want) && s[:len(want)] == want {
			return true
		}
	}
	return false
}

// TestNoAnswer holds findings about missing responses to their wording.
func TestNoAnswer(t *testing.T) {
	for _, c := range []struct {
		end  error
		want string
	}{
		{spec.ErrTruncated, "server closed the connection without a response"},
		{spec.ErrReset, "server reset the connection without a response"},
		{spec.ErrIdleTimeout, "got no response in time"},
		{spec.ErrNotHTTP, "response is not HTTP"},
	} {
		got := messagesOf(evaluateUnanswered(t, c.end), "refuse.as-documented")
		want := `invalid request ("conversationId" is 7: expected a string): ` + c.want + "; expected status 422 or 400"
		if len(got) != 1 || got[0] != want {
			t.Errorf("%v: got %q, want %q", c.end, got, want)
		}
	}
}

// evaluateUnanswered evaluates a conversation whose invalid request has no response.
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
