package rules

import (
	"fmt"
	"maps"

	"github.com/streamassay/streamassay/spec"
)

var continueChecks = []*spec.Check{ClientCallRunSucceeds, ResultContinues, ResumeContinues}

// ClientCallRunSucceeds judges whether a run ends with success if it has a call of a tool that the
// client has to run.
var ClientCallRunSucceeds = &spec.Check{
	ID: "tool.client-call-run-succeeds",
	Doc: `a run with a call that the client must answer ends with success

Such a call is not a failure: the client returns its result in the next request.
A run with an interrupt for another tool call is not judged.`,
	Needs: []spec.Kind{spec.InputTool, spec.ToolEnd, spec.RunEnd},
	Watch: func(p *spec.Pass) func(spec.Event) {
		calls := callTrackerOf(p)
		waitsForOther := false
		return eachToolStream(func(p *spec.Pass, e spec.Event, c *streamToolCalls) {
			switch {
			case e.Kind == spec.RunStart:
				waitsForOther = false
			case e.Kind == spec.Interrupt:
				waitsForOther = waitsForOther || e.Call != "" && !calls.isLeftToClient(calls.byID[e.Call])
			case isTerminal(e) && c.openClientCalls > 0 && !waitsForOther:
				p.Judge(e, e.Kind == spec.RunEnd && (e.Status == "" || e.Status == "success"),
					"the run has a call that the client answers in a later request, and ends with %s; expected it to end with success", describeEnd(e))
			}
		})(p)
	},
}

// ResultContinues judges whether a run that continues with the results of client tools finishes
// without a failure.
var ResultContinues = &spec.Check{
	ID: "result.continues",
	Doc: `a run that continues with the results of client tools finishes without a failure

This is judged if the request contains the calls as well as their results: a server need not
remember calls of earlier requests.`,
	Needs: []spec.Kind{spec.InputToolResult, spec.RunEnd},
	Watch: eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
		continues := request.Valid() && answersItsCalls(request)
		return func(e spec.Event) {
			if continues && isTerminal(e) {
				p.Judge(e, e.Kind == spec.RunEnd,
					"the run that continues with the result of a client tool ends with %s; expected it to finish", describeEnd(e))
			}
		}
	}),
}

// ResumeContinues judges whether a run finishes if its request answers all interrupts of the
// previous run of the thread. The run must not end with an interrupt that was answered.
var ResumeContinues = &spec.Check{
	ID: "resume.continues", ReadsDocument: true,
	Doc: `a run whose request answers all interrupts of the previous run continues

The run must finish, and must not end with an interrupt that the request has answered. Answers with a
payload are judged only if the target is scripted, because other agents may expect another form of
payload. A finding counts against the requirement to which the document assigns the form of the answer.`,
	Needs: []spec.Kind{spec.Interrupt, spec.InputResume, spec.RunEnd},
	Watch: func(p *spec.Pass) func(spec.Event) {
		pending := map[string]map[string]bool{} // ids of the interrupts of the last run, by thread
		return eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
			answered := map[string]bool{}
			isJudged := request.Valid()
			for _, part := range request.Parts {
				if part.Kind == spec.InputResume {
					answered[part.ID] = true
					isJudged = isJudged && (part.Text == "" || request.Facts().Scripted)
				}
			}
			isJudged = isJudged && len(answered) > 0 && maps.Equal(answered, pending[request.Thread])
			interrupts := map[string]bool{}
			repeated := ""
			return func(e spec.Event) {
				switch {
				case e.Kind == spec.Interrupt && e.ID != "":
					interrupts[e.ID] = true
					if answered[e.ID] {
						repeated = e.ID
					}
				case isTerminal(e):
					if pending[request.Thread] = interrupts; !isJudged {
						break
					}
					end := describeEnd(e)
					if repeated != "" {
						end = fmt.Sprintf("the interrupt %q, which was answered", repeated)
					}
					for _, requirement := range request.Exercised {
						if e.Requirement = requirement; p.Judges(requirement) {
							p.Judge(e, e.Kind == spec.RunEnd && repeated == "",
								"the run that continues after an interrupt ends with %s; expected it to finish", end)
						}
					}
				}
			}
		})(p)
	},
}

// describeEnd returns the name of the terminal event e, followed by its status in parentheses if it
// has one.
func describeEnd(e spec.Event) string {
	if e.Status != "" {
		return fmt.Sprintf("%s (%s)", displayName(e), e.Status)
	}
	return fmt.Sprint(displayName(e))
}

// answersItsCalls reports whether the last message of request is the result of a tool call, and the
// request itself contains that call. It returns false if the call of any tool result in the request
// is missing or comes after the result.
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
