package suites

import (
	"cmp"
	"fmt"

	"github.com/streamassay/streamassay/internal/printable"
	"github.com/streamassay/streamassay/spec"
)

// explainUnexercised returns the message for the failure of a check that judged nothing in p,
// although the target promised the capability of the scenario. The message describes the promise, a
// request and the response to it.
func (t *Target) explainUnexercised(p ScenarioResult) string {
	s := p.Scenario
	var promise string
	switch {
	case s.Name == "text":
		promise = "every server must answer a plain prompt, but the response has nothing that this rule judges"
	case s.Required:
		promise = fmt.Sprintf(
			"the document requires %s, but no response in scenario %s has anything that this rule judges", s.capabilityName(), s.Name)
	default:
		promise = fmt.Sprintf(
			"%s is claimed, but no response in scenario %s has anything that this rule judges", s.capabilityName(), s.Name)
	}
	promise += " (for example, " + describeDialogue(p) + ")"
	if s.Required {
		promise += fmt.Sprintf("; if the server does not support it, add --lacks %s", s.capabilityName())
	}
	return promise
}

// explainUnreachedLimit returns the message for checks that judged nothing in p, the result of the
// stream-limit scenario, because the limit was not reached.
func (t *Target) explainUnreachedLimit(p ScenarioResult) string {
	return fmt.Sprintf("the limit of %s was not reached, so no stream above it was requested: %s",
		printable.Count(t.StreamLimit, "stream"), describeDialogue(p))
}

// describeDialogue returns a description of the request and the response of one exchange of p. It
// prefers an exchange with a symptom, such as [symptomNotFound], and otherwise one whose response
// contains text. If a response of p contains text, it ignores failed runs, because some prompts ask
// for a failure. If no request was sent, the description states this.
func describeDialogue(p ScenarioResult) string {
	if len(p.summaries) == 0 {
		return "no request was sent"
	}
	shown, prompt := p.summaries[0], ""
	hasText := p.hasText()
	for _, o := range p.summaries {
		if o.isPlain && o.symptom != "" && !(hasText && o.symptom == symptomRunFailed) {
			shown = o
			break
		}
		prompt = cmp.Or(o.prompt, prompt)
		if shown.responseText == "" && o.responseText != "" {
			o.prompt, o.operation = prompt, p.summaries[0].operation // the text may be in a separate stream
			shown = o
		}
	}
	switch {
	case shown.symptom == symptomRunFailed:
		return fmt.Sprintf("%s, the run failed with %s", shown.describeRequest(), quote([]byte(shown.failureText)))
	case shown.symptom != "" || shown.status/100 != 2:
		return fmt.Sprintf("%s: %s", shown.operation, shown.describeResponse())
	case shown.responseText != "":
		return fmt.Sprintf("%s, reply %s", shown.describeRequest(), quote([]byte(shown.responseText)))
	}
	return fmt.Sprintf("%s, the reply has no text", shown.describeRequest())
}

// describeRequest returns a description of the request: its prompt or, if it has none, its
// operation.
func (o exchangeSummary) describeRequest() string {
	if o.prompt == "" {
		return o.operation + " was sent"
	}
	return "prompt " + quote([]byte(o.prompt))
}

// MissingCapability returns the capability that the scenario of p needs, if the target seems to
// lack it. This is the case if each finding of r, a check result of p, refers to a response with
// status 404, 405, 410 or 501, which means that the server does not have the operation. ok is false
// if r has no findings, or if a finding refers to an operation that starts runs. It is also false
// for the capabilities "text" and "refusals", and if p is a recording, whose scenario has no Run
// function. The capability is only valid if ok is true.
func MissingCapability(p ScenarioResult, r spec.CheckResult) (capability string, ok bool) {
	if capability = p.Scenario.capabilityName(); capability == "text" || capability == "refusals" || len(r.Findings) == 0 {
		return "", false
	}
	for _, f := range r.Findings {
		i := f.Event.Exchange
		if i >= len(p.summaries) || p.summaries[i].symptom != symptomNotFound || p.summaries[i].startsRun {
			return "", false
		}
	}
	return capability, p.Scenario.Run != nil // else a recording, for which there is no --lacks
}
