package rules_test

import (
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/internal/transcript"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// TestMessages checks the wording of findings: they state what was seen and what is required, and
// name events as the dialect spells them.
func TestMessages(t *testing.T) {
	for _, c := range []struct{ file, check, want string }{
		{"run-bad-second-end", "run.ends-once", `event response (status completed) comes after event response (status completed); expected one terminal event`},
		{"run-bad-recovers", "run.status-moves-forward", "run has status completed after it ended with status failed; expected no further status"},
		{"run-bad-first-event", "run.opens-first", `first event is message (status created); expected response (status created)`},
		{"run-bad-first-event", "run.comes-first", `first event is message (status created); expected one about the run`},
		{"run-bad-after-end", "run.end-is-last", `event "CUSTOM" comes after the run's terminal event; expected no event after it`},
		{"run-bad-after-done", "done.is-last", `event "text" comes after event "[DONE]"; expected no event after it`},
		{"message-bad-not-created", "message.starts-first", `first status event of message "m1" is message (status in_progress); expected the one that starts it`},
		{"content-bad-completed-twice", "content.ends-once", `event content (status completed, type text) comes after content 0 of message "m1" was completed; expected no further event of it`},
		{"content-bad-joins", "delta.joins-to-whole", `deltas join to "Hi", but the completed text is "Ho"; expected them to be equal`},
		{"content-bad-joins-long", "delta.joins-to-whole", `deltas join to …"` + strings.Repeat("é", 20) + `x` + strings.Repeat("é", 19) + `"… (141 bytes, first difference at byte offset 100), ` +
			`but the completed text is …"` + strings.Repeat("é", 40) + `" (140 bytes); expected them to be equal`},
		{"message-bad-same-id", "message.ids-unique", `event message (status in_progress) reuses the id "m1" of a message that has already ended; expected a new id`},
		{"message-bad-ended-twice", "message.ids-unique", `event message (status completed) ends message "m1" again; expected one end, or a new id if this is another message`},
		{"run-bad-message-status-back", "run.status-moves-forward", `message "msg_1" went from in_progress back to created; a status must not move backwards`},
		{"run-bad-status-back", "run.status-moves-forward", `run went from in_progress back to created; a status must not move backwards`},
		{"run-bad-output-missing", "run.output-is-complete", `output lists 1 message ("msg_2"), but 2 messages were completed: "msg_1", "msg_2"; expected exactly the messages completed in this run, in order of completion`},
		{"run-bad-output-order", "run.output-is-complete", `output lists the messages in the order "msg_2", "msg_1", but they were completed in the order "msg_1", "msg_2"; expected exactly the messages completed in this run, in order of completion`},
		{"sequence-bad-gap", "sequence.dense", `got sequence number 5 after 3; expected 4`},
		{"sequence-bad-from-one", "sequence.dense", `got sequence number 1; expected 0`},
		{"sequence-bad-no-cursor", "cursor.present", "no event in the stream has an SSE id; expected ids, so that clients can resume"},
		{"accept-bad-everything", "accept.as-documented", "valid request: got status 422 (\"no\"); expected a success"},
		{"accept-bad-field", "accept.as-documented", "valid request with the field Accept: */*: got status 406; expected a success"},
		{"accept-bad-value", "accept.as-documented", "valid request with \"9.7\" for /protocolVersion: got status 422 (\"unknown version\"); expected a success"},
		{"accept-bad-cut", "accept.as-documented", "the response to a valid request is truncated (the connection was closed before the end of the body); expected a complete response"},
		{"resume-bad-loses", "resume.loses-nothing", `stream resumed after "2-0" has event "4-0" where the uninterrupted stream has "3-0"; expected the same events`},
		{"error-bad-closed-well", "script.error", "got no event that reports a failure; expected the run to fail before any content"},
		{"error-bad-closed-well-mid", "script.error-mid", "got no event that reports a failure; expected the run to fail after some content"},
		{"tool-bad-not-open", "tool.starts-first", `got event "tool-call-args" of call "k", which is not open; expected event "tool-call-start" first`},
		{"tool-bad-never-ends", "tool.result-after-call", `result of call "a" comes before the end of the call; expected event "tool-call-end" first`},
		{"tool-bad-result-first", "tool.result-after-call", `got a result for call "b", which this stream has not made before; expected the call first`},
		{"tool-bad-after-interrupt", "interrupt.is-last", `event "text" comes after an interrupt; expected the end of the run`},
		{"script-bad-tool-none", "script.tool", "got no tool calls; expected 1 call to lookup"},
		{"script-bad-client-tool", "script.client-tool", "got 2 tool calls; expected 1 call to paint"},
		{"script-bad-error-silent", "script.error", `got event "error" without an error message (the event has no "error"); expected one that contains "no luck"`},
		{"script-bad-error", "script.error", `got text "Hm." before the failure; expected none`},
		{"script-bad-text", "script.text", `got text "one too"; expected the text "one two"`},
		{"script-bad-resume", "script.resume", `got text "Where were we?"; expected the text ` + "`resumed with: \"yes\"`"},
		{"resume-bad-repeats", "resume.excludes-cursor", `client resumed after "3-0", but the server sent "3-0" again; expected the event after it`},
		{"script-bad-interrupt", "script.interrupt", `got 1 interrupt with {"q":2}; expected 1 interrupt with {"q":1}`},
		{"history-bad-forgets", "history.tells-tools", "history has no tool messages, and a run streamed 1 tool result; expected a message for each"},
		{"resume-bad-loses-rest", "resume.ends", `stream resumed after "2-0" closed before the run's terminal event`},
		{"resume-bad-cancel", "cancel.run-ends", "run was canceled and its stream has no terminal events; expected 1"},
		{"wire-bad-schema", "wire.matches-schema", `"content" is 1: expected a string`},
		{"wire-bad-not-json", "wire.frames-are-json", `the event is "hello": expected an object`},
		{"refuse-bad-two-faults", "refuse.as-documented",
			`invalid request ("runId" has 129 characters: expected at most 128, and "threadId" is "x": expected a UUID): ` +
				`got status 422 AGENT_RUN_INPUT_INVALID ("RunAgentInput.messages exceeds limit"), which is right for none of these faults; expected status 422, or the text "runId`},
	} {
		t.Run(c.file+" "+c.check, func(t *testing.T) {
			h, _ := evaluateFile(t, "testdata/"+c.file+".txtar")
			if got := messagesOf(h, c.check); !anyBegins(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// messagesOf returns the messages of the findings of the check with the given id.
func messagesOf(h spec.Evaluation, check string) (all []string) {
	for _, r := range h.Results {
		if r.PlannedCheck.Check.ID != check {
			continue
		}
		for _, f := range r.Findings {
			all = append(all, f.Message)
		}
	}
	return all
}

// anyBegins reports whether one of the messages equals want. If want is longer than 150 bytes, a
// message that begins with want suffices.
func anyBegins(messages []string, want string) bool {
	for _, s := range messages {
		if s == want || len(want) > 150 && len(s) > len(want) && s[:len(want)] == want {
			return true
		}
	}
	return false
}

// TestNoAnswer checks the wording of findings about requests that got no response.
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

// evaluateUnanswered returns the evaluation of a conversation whose invalid request got no
// response. The parameter end is the reason.
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
