package suites

import (
	"fmt"

	"github.com/streamassay/streamassay/spec"
)

// explainUnexercised returns the message for the failure of a check that had nothing to judge in p.
// It says what the target promised, what was requested and how the server responded.
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

// explainUnreachedLimit returns the reason why nothing in p, the result of the stream-limit
// scenario, shows what happens to a stream above the limit.
func (t *Target) explainUnreachedLimit(p ScenarioResult) string {
	return fmt.Sprintf("the limit of %d streams was not reached, so no stream above it was requested: %s",
		t.StreamLimit, describeDialogue(p))
}

// describeDialogue describes one exchange of p: what was requested and how the server responded.
// Among the valid exchanges of the primary user, it chooses the first one with a symptom, which is
// a reason why little can be judged, such as a 5xx status. If there is none, it chooses the first
// of all exchanges whose response has text, which it describes as the reply to the first prompt of
// p. If there is none either, it chooses the first exchange. If no request was sent, the
// description says so.
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
	case shown.symptom == symptomRunFailed:
		return fmt.Sprintf("%s, the run failed with %s", shown.describeRequest(), quote([]byte(shown.failureText)))
	case shown.symptom != "" || shown.status/100 != 2:
		return fmt.Sprintf("%s: %s", shown.operation, shown.describeResponse())
	case shown.responseText != "":
		return fmt.Sprintf("%s, reply %s", shown.describeRequest(), quote([]byte(shown.responseText)))
	}
	return fmt.Sprintf("%s, the reply has no text", shown.describeRequest())
}

// firstPrompt returns the text of the first prompt in p, or "" if no request has a prompt.
func firstPrompt(p ScenarioResult) string {
	for _, o := range p.summaries {
		if o.prompt != "" {
			return o.prompt
		}
	}
	return ""
}

// describeRequest describes the request of the exchange by its prompt or, if it has none, by its
// operation.
func (o exchangeSummary) describeRequest() string {
	if o.prompt == "" {
		return o.operation + " was sent"
	}
	return "prompt " + quote([]byte(o.prompt))
}

// MissingCapability returns the name of the capability that the target seems to lack, judging by r,
// the result of a check in p. ok is true if the lack would explain all findings of r, because each
// finding refers to a response whose status (404, 405, 410 or 501) means that the server does not
// have the operation. If ok is false, capability must not be used.
//
// In particular, ok is false if r has no findings, if a finding is about an operation that starts
// runs, if the scenario needs the capability "text" or "refusals", or if p is the evaluation of a
// recording.
func MissingCapability(p ScenarioResult, r spec.Result) (capability string, ok bool) {
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
