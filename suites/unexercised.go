package suites

import (
	"fmt"

	"github.com/streamassay/streamassay/spec"
)

// explainUnexercised says why silence in a part breaks a promise: what was promised, what was
// asked and what was answered.
func (t *Target) explainUnexercised(p ScenarioResult) string {
	s := p.Scenario
	var promise string
	switch {
	case s.Name == "text":
		promise = "every target has to answer a plain prompt, and the answer had nothing in it that this rule is about"
	case s.Required:
		promise = fmt.Sprintf("the document demands %s, and nothing that this rule is about came in scenario %s", s.capabilityName(), s.Name)
	default:
		promise = fmt.Sprintf("you claimed %s, but nothing that this rule is about came in scenario %s", s.capabilityName(), s.Name)
	}
	promise += ": " + describeDialogue(p)
	if s.Required {
		promise += fmt.Sprintf("; a target without it is run with --lacks %s", s.capabilityName())
	}
	return promise
}

// describeDialogue says what was asked in a part, and what was answered: to the first request
// that got no good answer, or else to the first prompt.
func describeDialogue(p ScenarioResult) string {
	if len(p.summaries) == 0 {
		return "nothing was asked"
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
		return fmt.Sprintf("%s, and the run failed with %q", shown.describeRequest(), shown.failureText)
	case shown.symptom != "" || shown.status/100 != 2:
		return fmt.Sprintf("%s %s", shown.operation, shown.describeResponse())
	case shown.responseText != "":
		return fmt.Sprintf("%s, the answer was %q", shown.describeRequest(), excerpt([]byte(shown.responseText)))
	}
	return fmt.Sprintf("%s, the answer had no text", shown.describeRequest())
}

func firstPrompt(p ScenarioResult) string {
	for _, o := range p.summaries {
		if o.prompt != "" {
			return o.prompt
		}
	}
	return ""
}

// describeRequest says what was asked.
func (o exchangeSummary) describeRequest() string {
	if o.prompt == "" {
		return o.operation + " was sent"
	}
	return fmt.Sprintf("asked %q", excerpt([]byte(o.prompt)))
}

// MissingCapability returns the capability that a target seems to lack, if that is why a result is
// bad: the request of every finding was answered as by a server that has no such operation.
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
	return capability, p.Scenario.Run != nil // else it was read, and nobody can be asked for less
}
