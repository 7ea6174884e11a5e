package rules

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/streamassay/streamassay/spec"
)

var stateChecks = []*spec.Check{StateDeltaApplies}

// StateDeltaApplies judges whether each delta of the agent's state, which is a JSON Patch, applies to
// the state so far.
var StateDeltaApplies = &spec.Check{
	ID: "state.delta-applies",
	Doc: `a delta of the state applies to the state so far

The state so far is the last snapshot, changed by the deltas since then. Before the first snapshot of a
stream, it is the state in the request. It is then unknown if the thread had an earlier run, because the
server may have kept the state of that run. It is also unknown after a delta that does not apply, and
after an event about the state of another agent, until the next snapshot.

Not judged: deltas while the state is unknown, and deltas that violate the document.`,
	Needs: []spec.Kind{spec.StateSnapshot, spec.StateDelta},
	Watch: func(p *spec.Pass) func(spec.Event) {
		had := map[string]bool{} // threads that had a run
		return eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
			hadRun := had[request.Thread] || slices.ContainsFunc(request.Parts, isAnswer)
			s := trackedAgentState{text: request.State, known: request.State != "" && !hadRun}
			had[request.Thread] = true
			return func(e spec.Event) {
				if e.Kind.Subject() == "state" {
					s.observe(p, e)
				}
			}
		})(p)
	},
}

// isAnswer reports whether e, a part of a request, shows that the thread had an earlier run, that
// is, whether e is an assistant message, a tool result or a resume.
func isAnswer(e spec.Event) bool {
	return e.Kind == spec.InputAssistant || e.Kind == spec.InputToolResult || e.Kind == spec.InputResume
}

// A trackedAgentState is the state of an agent, as far as it is known from a stream and the request
// for that stream.
type trackedAgentState struct {
	text  string // the state, as JSON
	lane  string // the agent that the last state event is about; see [spec.Event.Lane]
	known bool   // whether text is the current state; if false, the current state is unknown
}

// observe updates the state with e, which must be a snapshot or a delta. It judges whether a delta
// applies, unless the state is unknown or the delta violates the OpenAPI document.
//
// A subagent may share the state of the agent or have a state of its own. After an event about a
// different agent (see [spec.Event.Lane]), the state is therefore unknown until the next snapshot.
func (s *trackedAgentState) observe(p *spec.Pass, e spec.Event) {
	s.known, s.lane = s.known && s.lane == e.Lane, e.Lane
	switch {
	case e.Kind == spec.StateSnapshot:
		s.text, s.known = cmp.Or(e.Text, "null"), true
	case s.known && e.Valid():
		next, err := applyPatch(s.text, e.Text)
		p.Judge(e, err == nil || errors.Is(err, errNotPatch),
			"delta does not apply to the state %s: %v; expected a delta that applies", excerpt(s.text), err)
		s.text, s.known = next, err == nil
	default:
		s.known = false
	}
}

// excerpt returns text for use in the message of a finding. If text has more than 80 characters,
// the result consists of the first 80 and an ellipsis.
func excerpt(text string) string {
	const most = 80
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// errNotPatch means that a patch cannot be judged because it is not a JSON Patch, because the state
// is not JSON, or because the patch makes the state too large.
var errNotPatch = errors.New("not a JSON Patch")

// maxCopied is the maximum number of bytes that the copy operations of one patch may add to a
// state.
const maxCopied = 1 << 20

// applyPatch applies patch, a JSON Patch (RFC 6902), to state and returns the resulting state.
// Both states are JSON texts, with a value of any type. If the patch removes the whole value, the
// result is "null". If the error is errNotPatch, it is unknown whether the patch applies. Any
// other error means that it does not.
func applyPatch(state, patch string) (string, error) {
	// The library needs an object or array at the root, and compares numbers as text.
	document, err := canonicalJSON(map[string]json.RawMessage{"s": json.RawMessage(state)})
	if err != nil {
		return "", errNotPatch
	}
	var operations []map[string]any
	if json.Unmarshal([]byte(patch), &operations) != nil {
		return "", errNotPatch
	}
	for _, o := range operations {
		for _, member := range []string{"path", "from"} {
			if path, ok := o[member].(string); ok {
				o[member] = "/s" + path
			}
		}
	}
	text, err := json.Marshal(operations)
	if err != nil {
		return "", errNotPatch
	}
	decoded, err := jsonpatch.DecodePatch(text)
	if err != nil {
		return "", errNotPatch
	}
	options := jsonpatch.NewApplyOptions()
	options.SupportNegativeIndices, options.AccumulatedCopySizeLimit = false, maxCopied
	changed, err := decoded.ApplyWithOptions(document, options)
	if large := (*jsonpatch.AccumulatedCopySizeError)(nil); errors.As(err, &large) {
		return "", errNotPatch
	} else if err != nil {
		text := strings.Replace(err.Error(), "value /s failed", "the whole value failed", 1)
		text = strings.Replace(text, "failed: test failed", "failed, since it has another value", 1)
		return "", errors.New(strings.Replace(text, "/s", "", 1)) // the path as it was sent
	}
	var result struct{ S json.RawMessage }
	if json.Unmarshal(changed, &result) != nil || len(result.S) == 0 {
		return "null", nil // the root was removed
	}
	return string(result.S), nil
}

// canonicalJSON encodes v as JSON in which equal numbers are written in the same way. If v cannot
// be encoded, it returns the error of package json.
func canonicalJSON(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}
