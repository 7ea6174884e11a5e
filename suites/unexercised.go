package suites

import (
	"fmt"

	"github.com/streamassay/streamassay/spec"
)

// explainUnexercised returns why a check that nothing exercised fails: what was promised, what
// was requested and how the server responded.
func (t *Target) explainUnexercised(p ScenarioResult) string {
	s := p.Scenario
	var promise string
	switch {
	case s.Name == "text":
		promise = "every server must answer a plain prompt, and nothing in the response is covered by this rule"
	case s.Required:
		promise = fmt.Sprintf(
			"the document requires %s, and nothing in scenario %s is covered by this rule", s.capabilityName(), s.Name)
	default:
		promise = fmt.Sprintf(
			"you claimed %s, but nothing in scenario %s is covered by this rule", s.capabilityName(), s.Name)
	}
	promise += ": " + describeDialogue(p)
	if s.Required {
		promise += fmt.Sprintf("; if the server does not support it, add --lacks %s", s.capabilityName())
	}
	return promise
}

// describeDialogue returns what was requested in a scenario and how the server responded: to the
// first valid request with a symptom, or else to the first prompt.
func describeDialogue(p ScenarioResult) string {
	if len(p.summaries) == 0 {
		return "no request was sent"
	}
	shown := p.summaries[0]
	for _, o := range p.summaries {
		if o.isPlain && o.symptom != "" {
			shown = o
			break
		}
		if shown.responseText == "" && o.responseText != "" {
			o.prompt, o.operation = firstPrompt(p), shown.operation
			shown = o
		}
	}
	switch {
	case shown.symptom == SymptomRunFailed:
		return fmt.Sprintf("%s, the run failed with %s", shown.describeRequest(), quote([]byte(shown.failureText)))
	case shown.symptom != "" || shown.status/100 != 2:
		return fmt.Sprintf("%s: %s", shown.operation, shown.describeResponse())
	case shown.responseText != "":
		return fmt.Sprintf("%s, reply %s", shown.describeRequest(), quote([]byte(shown.responseText)))
	}
	return fmt.Sprintf("%s, the reply has no text", shown.describeRequest())
}

// firstPrompt returns the first prompt of a scenario, "" if it has none.
func firstPrompt(p ScenarioResult) string {
	for _, o := range p.summaries {
		if o.prompt != "" {
			return o.prompt
		}
	}
	return ""
}

// describeRequest returns the prompt of the request, or else its operation.
func (o exchangeSummary) describeRequest() string {
	if o.prompt == "" {
		return o.operation + " was sent"
	}
	return "prompt " + quote([]byte(o.prompt))
}

// MissingCapability returns the capability that a target seems to lack, and true if that
// explains all findings of a result: each is about a response that the server gives for an
// operation that it does not have (404, 405, 410, 501).
func MissingCapability(p ScenarioResult, r spec.Result) (capability string, ok bool) {
	if capability = p.Scenario.capabilityName(); capability == "text" || capability == "refusals" || len(r.Findings) == 0 {
		return "", false
	}
	for _, f := range r.Findings {
		i := f.Event.Exchange
		if i >= len(p.summaries) || p.summaries[i].symptom != SymptomNotFound || p.summaries[i].startsRun {
			return "", false
		}
	}
	return capability, p.Scenario.Run != nil // else a recording, for which there is no --lacks
}
