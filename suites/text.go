package suites

import (
	"fmt"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/spec"
)

// requireText adds a finding to p, the result of the scenario "text", if the reply to the prompt
// has no text and no other finding explains that. The finding cites the first of these requirements
// that a selected check judges: the requirement on the status code, if there was no stream; the
// requirement on text events; the convention that a scripted agent replies with the requested text.
// requireText returns false if a finding is due but no selected check judges any of these
// requirements, and true otherwise.
func (t *Target) requireText(p ScenarioResult) bool {
	evidence, foreign, ok := findMissingText(p)
	textRequirement := t.Dialect.TextRequirement()
	if slices.ContainsFunc(p.Evaluation.Results, func(r spec.Result) bool {
		cause := evidence.Kind == spec.HTTPResponse ||
			r.Obligation.Check == rules.ScriptText || r.Obligation.Check == rules.FramesAreJSON
		return cause && len(r.Findings) > 0 && r.Verdict == spec.Failed
	}) {
		return true // already reported by its cause
	}
	if !ok || foreign && t.requirementLevel(textRequirement).FailureVerdict() == spec.Silent {
		return true
	}
	for _, id := range []string{evidence.Requirement, textRequirement, t.textConvention()} {
		i := slices.IndexFunc(p.Evaluation.Results, func(r spec.Result) bool {
			return slices.ContainsFunc(r.Obligation.Requirements, func(q spec.Requirement) bool { return q.ID == id })
		})
		if i >= 0 && t.requirementLevel(id).FailureVerdict() > spec.Silent {
			evidence.Requirement = id
			p.Evaluation.Results[i].Add(evidence, "%s", describeMissingText(evidence))
			return true
		}
	}
	return false
}

// describeMissingText returns the message of a finding that says that a reply has no text. The
// argument evidence is the event that [findMissingText] returned.
func describeMissingText(evidence spec.Event) string {
	switch {
	case evidence.Kind != spec.HTTPResponse:
		return "the stream that answers a plain prompt contains no text; expected at least one text event"
	case evidence.StatusCode == 0:
		return fmt.Sprintf("no response to a plain prompt (%v); expected a response that contains text", evidence.Err)
	}
	return fmt.Sprintf("response to a plain prompt has status %d and content type %q; "+
		"expected a successful response with message text", evidence.StatusCode, evidence.Header.Get("Content-Type"))
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

// textConvention returns the id of the dialect's convention that a scripted agent replies with the
// requested text, or "" if the dialect has no such convention.
func (t *Target) textConvention() string {
	for _, r := range t.Dialect.Requirements {
		if r.Convention() && slices.Contains(r.Checks, rules.ScriptText.ID) {
			return r.ID
		}
	}
	return ""
}

// findMissingText looks for text in the responses of p. ok is true if there are responses and none
// has text. In that case, last is the event to cite in a finding: the end of the last response or,
// if no response was a stream, the head of the last response. foreign reports whether there is a
// frame that the dialect does not define and that might therefore contain the text.
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

// readableTypes are the types of content parts, in lower case, whose text is meant for people to
// read. The empty string stands for parts without a type.
var readableTypes = []string{"", "text", "refusal", "message"}

// hasReadableText reports whether e, an event of a response, or one of its parts has text that is
// meant for people to read. Reasoning does not count. Of the event that ends a run, only the parts
// count.
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
