package suites

import (
	"fmt"

	"github.com/streamassay/streamassay/spec"
)

// unexercised says why silence in a part breaks a promise: what was promised, what was
// asked and what was answered.
func (t *Target) unexercised(p Part) string {
	s := p.Scenario
	var promise string
	switch {
	case s.Name == "text":
		promise = "every target has to answer a plain prompt, and the answer had nothing in it that this rule is about"
	case s.Expected:
		promise = fmt.Sprintf("the document demands %s, and nothing that this rule is about came in scenario %s", s.capability(), s.Name)
	default:
		promise = fmt.Sprintf("you claimed %s, but nothing that this rule is about came in scenario %s", s.capability(), s.Name)
	}
	promise += ": " + dialogue(p)
	if s.Expected {
		promise += fmt.Sprintf("; a target without it is run with --lacks %s", s.capability())
	}
	return promise
}

// dialogue says what was asked in a part, and what was answered: to the first request
// that got no good answer, or else to the first prompt.
func dialogue(p Part) string {
	if len(p.outlines) == 0 {
		return "nothing was asked"
	}
	shown := p.outlines[0]
	for _, o := range p.outlines {
		if o.plain && o.symptom != "" {
			shown = o
			break
		}
		if shown.said == "" && o.said != "" {
			o.asked, o.op = firstAsked(p), shown.op
			shown = o
		}
	}
	switch {
	case shown.symptom == SymptomRunFailed:
		return fmt.Sprintf("%s, and the run failed with %q", shown.request(), shown.failure)
	case shown.symptom != "" || shown.status/100 != 2:
		return fmt.Sprintf("%s %s", shown.op, shown.answered())
	case shown.said != "":
		return fmt.Sprintf("%s, the answer was %q", shown.request(), brief([]byte(shown.said)))
	}
	return fmt.Sprintf("%s, the answer had no text", shown.request())
}

func firstAsked(p Part) string {
	for _, o := range p.outlines {
		if o.asked != "" {
			return o.asked
		}
	}
	return ""
}

// request says what was asked.
func (o outline) request() string {
	if o.asked == "" {
		return o.op + " was sent"
	}
	return fmt.Sprintf("asked %q", brief([]byte(o.asked)))
}

// Lackable returns the capability that a target seems to lack, if that is why a result is
// bad: the request of every finding was answered as by a server that has no such operation.
func Lackable(p Part, r spec.Result) (capability string, ok bool) {
	if capability = p.Scenario.capability(); capability == "text" || capability == "refusals" || len(r.Findings) == 0 {
		return "", false
	}
	for _, f := range r.Findings {
		i := f.Event.Exchange
		if i >= len(p.outlines) || p.outlines[i].symptom != SymptomPath || p.outlines[i].asks {
			return "", false
		}
	}
	return capability, p.Scenario.Lead != nil // else it was read, and nobody can be asked for less
}
