package rules

import (
	"fmt"

	"github.com/streamassay/streamassay/spec"
)

var continueChecks = []*spec.Check{ClientCallRunSucceeds, ResultContinues}

// ClientCallRunSucceeds judges whether a run that leaves a tool call to the client ends with
// success.
var ClientCallRunSucceeds = &spec.Check{
	ID: "tool.client-call-run-succeeds",
	Doc: `a run that leaves a call to the client ends with success

The client answers the call in its next request; nothing has failed, and nothing was cancelled. A
run that is interrupted because of another call may leave calls to the client, too.`,
	Needs: []spec.Kind{spec.InputTool, spec.ToolEnd, spec.RunEnd},
	Watch: func(p *spec.Pass) func(spec.Event) {
		calls := callTrackerOf(p)
		waitsForOther := false
		return eachToolStream(func(p *spec.Pass, e spec.Event, c *callTracker) {
			switch {
			case e.Kind == spec.RunStart:
				waitsForOther = false
			case e.Kind == spec.Interrupt:
				waitsForOther = waitsForOther || e.Call != "" && !calls.isLeftToClient(calls.find(e.Call))
			case isTerminal(e) && c.openClientCalls > 0 && !waitsForOther:
				p.Judge(e, e.Kind == spec.RunEnd && (e.Status == "" || e.Status == "success"),
					"the run leaves a call to the client and ends with %s; expected success", describeEnd(e))
			}
		})(p)
	},
}

// ResultContinues judges whether a run that continues with the results of client tools finishes
// without a failure.
var ResultContinues = &spec.Check{
	ID: "result.continues",
	Doc: `the results of client tools, sent with the conversation before them, lead to a run that finishes

Results of calls that are not in the request are not judged: a server need not know them.`,
	Needs: []spec.Kind{spec.InputToolResult, spec.RunEnd},
	Watch: eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
		continues := answersItsCalls(request)
		return func(e spec.Event) {
			if continues && isTerminal(e) {
				p.Judge(e, e.Kind == spec.RunEnd,
					"the run that continues with the result of a client tool ends with %s; expected it to finish", describeEnd(e))
			}
		}
	}),
}

// describeEnd returns the name of the terminal event e, followed by its status in parentheses if it
// has one.
func describeEnd(e spec.Event) string {
	if e.Status != "" {
		return fmt.Sprintf("%s (%s)", displayName(e), e.Status)
	}
	return fmt.Sprint(displayName(e))
}

// answersItsCalls reports whether the last message of a request is the result of a tool call that
// the request itself contains. It returns false if the request has the result of any call that it
// does not contain before that result.
func answersItsCalls(request spec.Event) bool {
	called := map[string]bool{}
	answers := false
	for _, part := range request.Parts {
		switch part.Kind {
		case spec.InputUser:
			answers = false
		case spec.InputAssistant:
			answers = false
			for _, call := range part.Parts {
				called[call.Call] = true
			}
		case spec.ToolCall:
			called[part.Call] = true
		case spec.InputToolResult:
			if answers = called[part.Call]; !answers {
				return false
			}
		}
	}
	return answers
}
