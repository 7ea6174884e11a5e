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

// StateDeltaApplies judges whether the deltas of the agent's state apply to the state so far.
var StateDeltaApplies = &spec.Check{
	ID: "state.delta-applies",
	Doc: `a delta of the state applies to the state so far

That is the last snapshot with the deltas since. Before the first snapshot of a stream it is the
state in the request, unless the thread had an earlier run, whose state the server may have kept.
Not judged are deltas before the state is known, deltas after one that did not apply or that
another agent sent until the next snapshot, and deltas that violate the document.`,
	Needs: []spec.Kind{spec.StateSnapshot, spec.StateDelta},
	Watch: func(p *spec.Pass) func(spec.Event) {
		had := map[string]bool{} // threads that had a run
		return eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
			hadRun := had[request.Thread] || slices.ContainsFunc(request.Parts, isAnswer)
			s := toldState{text: request.State, known: request.State != "" && !hadRun}
			had[request.Thread] = true
			return func(e spec.Event) {
				if e.Kind.Subject() == "state" {
					s.observe(p, e)
				}
			}
		})(p)
	},
}

// isAnswer reports whether e, a part of a request, tells of an earlier run or continues it.
func isAnswer(e spec.Event) bool {
	return e.Kind == spec.InputAssistant || e.Kind == spec.InputToolResult || e.Kind == spec.InputResume
}

// A toldState is the state of an agent as far as a stream has told it.
type toldState struct {
	text  string // JSON
	lane  string // of the last event
	known bool
}

// observe judges e, a snapshot or a delta, and updates the state. A nested agent may change the state
// of its parent or a state of its own, and the stream does not tell which. After an event of another
// agent, observe therefore judges no delta until the next snapshot.
func (s *toldState) observe(p *spec.Pass, e spec.Event) {
	s.known, s.lane = s.known && s.lane == e.Lane, e.Lane
	switch {
	case e.Kind == spec.StateSnapshot:
		s.text, s.known = cmp.Or(e.Text, "null"), true
	case s.known && e.Valid():
		next, err := applyPatch(s.text, e.Text)
		p.Judge(e, err == nil || errors.Is(err, errNotPatch),
			"delta does not apply to the state %s: %v; expected one that does", excerpt(s.text), err)
		s.text, s.known = next, err == nil
	default:
		s.known = false
	}
}

// excerpt returns the first bytes of a text, as many as a message can show.
func excerpt(text string) string {
	const most = 80
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// errNotPatch means that a text is not a JSON Patch, or one that makes a state too large.
var errNotPatch = errors.New("not a JSON Patch")

// maxCopied is the maximum number of bytes that the copies of one patch may add to a state.
const maxCopied = 1 << 20

// applyPatch applies a JSON Patch (RFC 6902) to a state, which is any JSON value, and returns the
// state that results. The error wraps errNotPatch if patch is not a JSON Patch.
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
		return "", errors.New(strings.Replace(err.Error(), "/s", "", 1)) // the path as it was sent
	}
	var result struct{ S json.RawMessage }
	if json.Unmarshal(changed, &result) != nil || len(result.S) == 0 {
		return "null", nil // the root was removed
	}
	return string(result.S), nil
}

// canonicalJSON returns v as JSON in which equal numbers have the same form.
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
