package rules

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// maxMarks is the maximum number of state events that are kept for each run. It is also the maximum
// number of starts and ends of steps that are kept.
const maxMarks = 64

// A stepBoundary is the start or the end of a step. The field textLen is the length in bytes of the
// text that the run had sent before this start or end.
type stepBoundary struct {
	kind    spec.Kind
	name    string
	textLen int
}

// addMark adds e to a.stateEvents if e is about the state of the agent, to a.subagentStates if it
// is about that of a subagent (see [spec.Event.Lane]), and to a.steps if e starts or ends a step
// that has a name. It ignores all events beyond maxMarks.
func (a *assembledRun) addMark(e spec.Event) {
	switch subject := e.Kind.Subject(); {
	case subject == "state" && len(a.stateEvents) < maxMarks && e.Lane == "":
		a.stateEvents = append(a.stateEvents, e)
	case subject == "state" && len(a.subagentStates) < maxMarks && e.Lane != "":
		a.subagentStates = append(a.subagentStates, e)
	case subject == "step" && e.Name != "" && len(a.steps) < maxMarks:
		a.steps = append(a.steps, stepBoundary{e.Kind, e.Name, len(a.text())})
	}
}

// state returns, as JSON text, the state that results from the snapshots and deltas in
// a.stateEvents. If there is no snapshot, or if a delta after the last snapshot cannot be applied,
// state returns an error that says so.
func (a *assembledRun) state() (text string, err error) {
	err = errors.New("got no snapshot of the state")
	for i, e := range a.stateEvents {
		switch {
		case e.Kind == spec.StateSnapshot:
			text, err = cmp.Or(e.Text, "null"), nil
		case err == nil:
			if text, err = applyPatch(text, e.Text); err != nil {
				err = fmt.Errorf("%s, number %d of the events about the state, cannot be applied (%w)", displayName(e), i+1, err)
			}
		}
	}
	return text, err
}

// ScriptState and ScriptSteps judge what a target does with the prompts conformance:state and
// conformance:steps. A target need not know these prompts, so a run is judged only if the text of
// its answer shows that the target knows the prompt.
var (
	ScriptState = &spec.Check{
		ID: "script.state",
		Doc: `asked to change the state, the server sends the state of the request and a delta for each patch

The state may have members that the request does not have. In a new thread, however, it must not have
a member that the state of another thread had with the same value, at the start or at the end of a run.
A run whose answer is not "changed" is not judged, because the target does not know the prompt. Nor is
a run with 64 or more events about the state.`,
		Needs: []spec.Kind{spec.StateSnapshot, spec.StateDelta},
		Watch: scriptCheck("state", "", func(p *spec.Pass, a *assembledRun, patches string) {
			want, patchCount, ok := expectedState(a.request.State, patches)
			if ok && a.text() == "changed" && len(a.stateEvents) < maxMarks {
				got, err := a.state()
				if err != nil {
					p.Judge(a.endEvent(), false, "the events of the run result in no state: %v%s; expected the state %s%s",
						err, a.describeEnd(), want, a.expectedEnd())
					return
				}
				isExpected := hasJSON(got, want)
				p.Judge(a.endEvent(), isExpected && a.isSuccessful(),
					"the snapshots and deltas result in the state %s%s; expected the state %s%s",
					excerpt(got), a.describeEnd(), want, a.expectedEnd())
				isOther := func(e spec.Event) bool { return e.Kind != spec.StateDelta }
				deltaCount := len(slices.DeleteFunc(slices.Clone(a.stateEvents), isOther))
				if isExpected {
					p.Judge(a.endEvent(), deltaCount >= patchCount, "got %s; expected %d, one for each patch",
						pluralize(deltaCount, "state delta"), patchCount)
				}
				if len(a.otherStates) > 0 {
					name, leaked := leakedMember(got, want, a.otherStates)
					p.Judge(a.endEvent(), !leaked,
						"a new thread has the state %s with the member %q of another thread; expected the state %s",
						excerpt(got), name, want)
				}
			}
		}).Watch,
	}
	ScriptSteps = &spec.Check{
		ID: "script.steps",
		Doc: `asked for steps, the server sends the steps "one" and "two", each with a message that is its name

A run without these two messages is not judged, because the target does not know the prompt.`,
		Needs: []spec.Kind{spec.StepStart, spec.StepEnd},
		Watch: scriptCheck("steps", "", func(p *spec.Pass, a *assembledRun, _ string) {
			if !slices.Equal(a.texts(false), []string{"one", "two"}) || len(a.steps) == maxMarks {
				return
			}
			for _, want := range []struct {
				stepBoundary
				place string
			}{
				{stepBoundary{spec.StepStart, "one", 0}, `before the text "one"`},
				{stepBoundary{spec.StepEnd, "one", 3}, `between the texts "one" and "two"`},
				{stepBoundary{spec.StepStart, "two", 3}, `between the texts "one" and "two"`},
				{stepBoundary{spec.StepEnd, "two", 6}, `after the text "two"`},
			} {
				p.Judge(a.endEvent(), slices.Contains(a.steps, want.stepBoundary), "step %q has no %s %s; expected it there",
					want.name, want.kind.Phase(), want.place)
			}
		}).Watch,
	}
)

// expectedState applies the JSON Patches in patches to state, in order, and returns the resulting
// state as JSON text. The argument state is JSON text, or "" for an empty object. The argument
// patches consists of any number of JSON Patches, one after the other; n is their number. The
// result ok is false if one of them cannot be decoded or does not apply.
func expectedState(state, patches string) (result string, n int, ok bool) {
	if state == "" {
		state = "{}"
	}
	dec := json.NewDecoder(strings.NewReader(patches))
	for ; dec.More(); n++ {
		var patch json.RawMessage
		err := dec.Decode(&patch)
		if err == nil {
			state, err = applyPatch(state, string(patch))
		}
		if err != nil {
			return "", 0, false
		}
	}
	return state, n, true
}

// leakedMember looks for a member of got that want does not have, but that one of others has with
// the same value. It returns the name of the member, or the first name in alphabetical order if
// there are several. If there is none, ok is false. All arguments are JSON texts of objects.
func leakedMember(got, want string, others []string) (name string, ok bool) {
	expected, found := decodeMembers(want), decodeMembers(got)
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if _, ok := expected[name]; ok {
			continue
		}
		for _, other := range others {
			if v, ok := decodeMembers(other)[name]; ok && reflect.DeepEqual(v, found[name]) {
				return name, true
			}
		}
	}
	return "", false
}

// decodeMembers returns the members of object, which is JSON text, by name. Numbers are decoded as
// float64. It returns nil if the text is not a JSON object.
func decodeMembers(object string) (members map[string]any) {
	if json.Unmarshal([]byte(object), &members) != nil {
		return nil
	}
	return members
}

// hasJSON reports whether got has everything that want has. Both are JSON texts; if either is not
// valid, the result is false. An object in got may have more members than the corresponding object
// in want, at any depth. All other values must be equal.
func hasJSON(got, want string) bool {
	var x, y any
	return json.Unmarshal([]byte(got), &x) == nil && json.Unmarshal([]byte(want), &y) == nil && hasMembers(x, y)
}

// hasMembers is like hasJSON, but got and want are decoded JSON values.
func hasMembers(got, want any) bool {
	members, ok := want.(map[string]any)
	if !ok {
		return reflect.DeepEqual(got, want)
	}
	object, ok := got.(map[string]any)
	for name, value := range members {
		if inner, has := object[name]; !has || !hasMembers(inner, value) {
			return false
		}
	}
	return ok
}
