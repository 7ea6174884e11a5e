package rules

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// maxMarks is the maximum number of changes of the state, and of marks of steps, that are kept for
// each run.
const maxMarks = 64

// A stepMark is the start or the end of a step, and the length of the text before it.
type stepMark struct {
	kind    spec.Kind
	name    string
	textLen int
}

// addMark adds e if it changes the state, or starts or ends a step that has a name.
func (a *assembledRun) addMark(e spec.Event) {
	switch subject := e.Kind.Subject(); {
	case subject == "state" && len(a.stateEvents) < maxMarks && e.Lane == "":
		a.stateEvents = append(a.stateEvents, e)
	case subject == "step" && e.Name != "" && len(a.steps) < maxMarks:
		a.steps = append(a.steps, stepMark{e.Kind, e.Name, len(a.text())})
	}
}

// state returns the state that results from the changes of the run, or "" if it cannot be told.
func (a *assembledRun) state() (state string) {
	for _, e := range a.stateEvents {
		if e.Kind == spec.StateSnapshot {
			state = e.Text
		} else if next, err := applyPatch(state, e.Text); err == nil {
			state = next
		} else {
			state = "" // until the next snapshot
		}
	}
	return state
}

// ScriptState and ScriptSteps judge targets that know the prompts, as the texts of their answers
// tell: a target need not know them.
var (
	ScriptState = &spec.Check{
		ID: "script.state",
		Doc: `asked to change the state, a target sends the state of the request and a delta for each patch

The state may have other members than those of the request. A target that does not answer "changed"
does not know the prompt, and is not judged.`,
		Needs: []spec.Kind{spec.StateSnapshot, spec.StateDelta},
		Watch: scriptCheck("state", "", func(p *spec.Pass, a *assembledRun, patches string) {
			want, ok := expectedState(a.request.State, patches)
			if ok && a.text() == "changed" {
				got := a.state()
				p.Judge(a.endEvent(), hasJSON(got, want) && a.isSuccessful(), "got the state %s%s; expected %s",
					excerpt(got), a.describeEnd(), want)
			}
		}).Watch,
	}
	ScriptSteps = &spec.Check{
		ID: "script.steps",
		Doc: `asked for steps, a target sends the steps "one" and "two" with a message of the same text in each

A target that does not answer with these two texts does not know the prompt, and is not judged.`,
		Needs: []spec.Kind{spec.StepStart, spec.StepEnd},
		Watch: scriptCheck("steps", "", func(p *spec.Pass, a *assembledRun, _ string) {
			if !slices.Equal(a.texts(false), []string{"one", "two"}) {
				return
			}
			for _, want := range []stepMark{
				{spec.StepStart, "one", 0}, {spec.StepEnd, "one", 3}, {spec.StepStart, "two", 3}, {spec.StepEnd, "two", 6},
			} {
				p.Judge(a.endEvent(), slices.Contains(a.steps, want), "no %s of step %q after %d bytes of text; expected one",
					want.kind.Phase(), want.name, want.textLen)
			}
		}).Watch,
	}
)

// expectedState applies patches to state, the JSON state of a request, and returns the resulting
// JSON. The argument patches is a sequence of JSON Patch arrays, which are applied in order. ok is
// false if one of them is invalid or does not apply. If state is "", it is taken as {}.
func expectedState(state, patches string) (result string, ok bool) {
	if state == "" {
		state = "{}"
	}
	dec := json.NewDecoder(strings.NewReader(patches))
	for dec.More() {
		var patch json.RawMessage
		err := dec.Decode(&patch)
		if err == nil {
			state, err = applyPatch(state, string(patch))
		}
		if err != nil {
			return "", false
		}
	}
	return state, true
}

// hasJSON reports whether got is JSON with the value want or, if that is an object, an object that
// has all its members. Members that want does not have are ignored in objects within objects, too.
func hasJSON(got, want string) bool {
	var x, y any
	return json.Unmarshal([]byte(got), &x) == nil && json.Unmarshal([]byte(want), &y) == nil && hasMembers(x, y)
}

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
