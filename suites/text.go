package suites

import (
	"fmt"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/spec"
)

// requireText adds a finding to p, the result of the scenario "text", if no response contains text
// and no other finding explains this. It returns false if it cannot add the finding, because no
// selected check judges a requirement that the finding could cite. Otherwise, it returns true.
func (t *Target) requireText(p ScenarioResult) bool {
	evidence, foreign, ok := findMissingText(p)
	textRequirement := t.Dialect.TextRequirement()
	if slices.ContainsFunc(p.Evaluation.Results, func(r spec.CheckResult) bool {
		cause := evidence.Kind == spec.HTTPResponse ||
			r.PlannedCheck.Check == rules.ScriptText || r.PlannedCheck.Check == rules.FramesAreJSON
		return cause && len(r.Findings) > 0 && r.Verdict == spec.Failed
	}) {
		return true // already reported by its cause
	}
	if !ok || foreign && t.requirementLevel(textRequirement).FailureVerdict() == spec.Silent {
		return true
	}
	for _, id := range []string{evidence.Requirement, textRequirement, t.textConvention()} {
		i := slices.IndexFunc(p.Evaluation.Results, func(r spec.CheckResult) bool {
			return slices.ContainsFunc(r.PlannedCheck.Requirements, func(q spec.Requirement) bool { return q.ID == id })
		})
		if i >= 0 && t.requirementLevel(id).FailureVerdict() > spec.Silent {
			evidence.Requirement = id
			p.Evaluation.Results[i].Add(evidence, "%s", describeMissingText(evidence))
			return true
		}
	}
	return false
}

// describeMissingText returns the message of a finding about a reply without text. The argument
// evidence is the result of [findMissingText].
func describeMissingText(evidence spec.Event) string {
	switch {
	case evidence.Kind != spec.HTTPResponse:
		return "the stream that answers a plain prompt contains no text; expected at least one text event"
	case evidence.StatusCode == 0:
		return fmt.Sprintf("no response to a plain prompt (%v); expected a response that contains text", evidence.Err)
	}
	return fmt.Sprintf("request with a plain prompt was answered with status %d and content type %q; "+
		"expected a success status, and then an answer that contains text", evidence.StatusCode, evidence.Header.Get("Content-Type"))
}

// requirementLevel returns the level of the dialect's requirement with the given id. If there is no
// such requirement, it returns MAY, which cannot be violated.
func (t *Target) requirementLevel(id string) spec.Level {
	for _, r := range t.Dialect.Requirements {
		if r.ID == id {
			return r.Level
		}
	}
	return spec.May
}

// textConvention returns the id of the requirement that the agent reply with the text of the
// prompt. This is a convention: a requirement of the test prompts (docs/prompts.md), not of the
// protocol. textConvention returns "" if the dialect does not have it.
func (t *Target) textConvention() string {
	for _, r := range t.Dialect.Requirements {
		if r.Convention() && slices.Contains(r.Checks, rules.ScriptText.ID) {
			return r.ID
		}
	}
	return ""
}

// findMissingText returns the evidence for a finding that no response of p contains text. The event
// last is the end of the last response or, if no response is a successful stream, its head. foreign
// reports whether a frame matches no schema of the dialect; such a frame may contain the text. ok
// is false if a response contains text or if there are no responses.
func findMissingText(p ScenarioResult) (last spec.Event, foreign, ok bool) {
	hasStream := false
	for _, o := range p.summaries {
		if o.hasText {
			return spec.Event{}, false, false
		}
		if hasStream = hasStream || o.head.IsStream() && o.head.StatusCode/100 == 2; hasStream {
			last = o.bodyEnd
		} else {
			last, last.Requirement = o.head, o.statusRequirement
		}
		foreign = foreign || o.hasUnrecognized
	}
	return last, foreign, last.Kind != ""
}

// readableTypes are the types, in lower case, of messages and content parts whose text is meant for
// people to read. The empty string stands for messages and parts without a type.
var readableTypes = []string{"", "text", "refusal", "message"}

// hasReadableText reports whether e, an event of a response, contains text that is meant for people
// to read, in its field Text or in one of its parts. It ignores the text of reasoning, and the
// field Text of the event that ends a run.
func hasReadableText(e spec.Event) bool {
	switch e.Kind {
	case spec.MessageStart, spec.MessageProgress, spec.MessageDelta, spec.MessageEnd, spec.ContentPart, spec.ContentEnd:
		if e.Text != "" && slices.Contains(readableTypes, strings.ToLower(e.Type)) {
			return true
		}
	case spec.RunEnd:
	default:
		return false
	}
	return slices.ContainsFunc(e.Parts, hasReadableText)
}
