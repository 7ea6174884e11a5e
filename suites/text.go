package suites

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/spec/rules"
)

// requireText adds a finding where the answer to the plain prompt of scenario text holds no
// text. It is about the requirement of the dialect's text event; where no stream came,
// about that of the answer's status; and where the dialect leaves open how text is sent,
// about the convention of the prompts. It reports whether whatever there was to say is
// said: false where no check of these requirements was selected.
func (t *Target) requireText(p ScenarioResult) bool {
	answer, foreign, ok := t.findMissingText(p.Trace)
	law := t.Dialect.TextRequirement()
	if slices.ContainsFunc(p.Evaluation.Results, func(r spec.Result) bool {
		cause := answer.Kind == spec.HTTPResponse || r.Obligation.Check == rules.ScriptText || r.Obligation.Check == rules.FramesAreJSON
		return cause && len(r.Findings) > 0 && r.Verdict == spec.Failed
	}) {
		return true // that there is no text follows from it
	}
	if !ok || foreign && t.requirementLevel(law).FailureVerdict() == spec.Silent {
		return true
	}
	for _, id := range []string{answer.Requirement, law, t.textConvention()} {
		i := slices.IndexFunc(p.Evaluation.Results, func(r spec.Result) bool {
			return slices.ContainsFunc(r.Obligation.Requirements, func(q spec.Requirement) bool { return q.ID == id })
		})
		if i >= 0 && t.requirementLevel(id).FailureVerdict() > spec.Silent {
			answer.Requirement = id
			p.Evaluation.Results[i].Add(answer, "a plain prompt was not answered with text: %s", describeMissingText(answer))
			return true
		}
	}
	return false
}

// describeMissingText returns what shows that there was no text, in words.
func describeMissingText(answer spec.Event) string {
	switch {
	case answer.Kind != spec.HTTPResponse:
		return "the stream has none"
	case answer.StatusCode == 0:
		return fmt.Sprintf("no answer came: %v", answer.Err)
	}
	return fmt.Sprintf("the answer is %d with content type %q", answer.StatusCode, answer.Header.Get("Content-Type"))
}

// requirementLevel returns the level of a requirement of the dialect, MAY where it has none of this id.
func (t *Target) requirementLevel(id string) spec.Level {
	for _, r := range t.Dialect.Requirements {
		if r.ID == id {
			return r.Level
		}
	}
	return spec.May
}

// textConvention returns the requirement that a scripted target says what it is asked to say.
func (t *Target) textConvention() string {
	for _, r := range t.Dialect.Requirements {
		if r.Convention() && slices.Contains(r.Checks, rules.ScriptText.ID) {
			return r.ID
		}
	}
	return ""
}

// findMissingText returns what shows that no text came in a conversation: the end of the
// last stream or, where there was none, the last answer, with the requirement on its head.
// foreign is whether a frame came that the dialect has no words for. ok is false where text
// came.
func (t *Target) findMissingText(trace spec.Trace) (last spec.Event, foreign, ok bool) {
	streams := false
	var asked spec.Event
	for e := range t.Dialect.DecodeExchanges(trace.All(), dialect.TargetInfo{Scripted: trace.Scripted, StreamLimit: trace.StreamLimit}, t.maxEventBytes()) {
		switch {
		case e.Kind == spec.HTTPRequest:
			asked = e
		case e.Kind == spec.HTTPResponse:
			if streams = streams || e.IsStream() && e.StatusCode/100 == 2; !streams {
				last, last.Requirement = e, cmp.Or(asked.Promised.Status, asked.Requirement)
			}
		case e.Kind == spec.BodyEnd && streams:
			last = e
		case hasReadableText(e):
			return last, foreign, false
		}
		foreign = foreign || e.IsFrame() && e.Kind == spec.Unrecognized
	}
	return last, foreign, last.Kind != ""
}

// readableTypes are the types of contents whose text is for a person to read.
var readableTypes = []string{"", "text", "refusal", "message"}

// hasReadableText reports whether an event of an answer carries text for a person to read, itself
// or in what it repeats. Reasoning is not the answer.
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
