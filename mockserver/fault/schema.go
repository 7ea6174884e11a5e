package fault

import "encoding/json"

// memberParam is the parameter that selects the JSON member that a fault changes.
var memberParam = Param{Name: "member", Doc: "name of the member; by default an id", Type: "text"}

// MissingMember is the fault that removes a member from the JSON data of an event.
var MissingMember = &Fault{
	Name: "missing-member", Doc: "a member of the data of an event is missing", Category: CategoryProtocol,
	Params: []Param{memberParam}, Triggers: []string{"event"},
	Checks: []string{"wire.matches-schema"},
	NewEffect: editMember(func(m map[string]json.RawMessage, name string) {
		delete(m, name)
	}),
}

// WrongType is the fault that replaces the value of a member of an event's JSON data by an array,
// which is the wrong JSON type.
var WrongType = &Fault{
	Name: "wrong-type", Doc: "a member of the data of an event has the wrong JSON type", Category: CategoryProtocol,
	Params: []Param{memberParam}, Triggers: []string{"event"},
	Checks: []string{"wire.matches-schema"},
	NewEffect: editMember(func(m map[string]json.RawMessage, name string) {
		m[name] = json.RawMessage(`[{"not":"this"}]`)
	}),
}

// WrongValue is the fault that replaces the value of a member of an event's JSON data by the
// string "nonsense".
var WrongValue = &Fault{
	Name: "wrong-value", Doc: "a member of the data of an event (type or object if none is named) has an undefined value", Category: CategoryProtocol,
	Params: []Param{memberParam}, Triggers: []string{"event"},
	NewEffect: editFrame(func(a Args, frame, data []byte) ([]byte, bool) {
		m := decodeMembers(data)
		name := a.Strings["member"]
		for _, known := range []string{"object", "type"} {
			if _, there := m[known]; name == "" && there {
				name = known
			}
		}
		if _, there := m[name]; !there {
			return nil, false
		}
		m[name] = json.RawMessage(`"nonsense"`)
		return replaceData(frame, data, encodeMembers(m)), true
	}),
}

// editMember returns a value for [Fault.NewEffect]. The effect edits the first frame whose data has
// the member that chooseMember selects. change edits the members m of that data in place; name is
// the name of the selected member.
func editMember(change func(m map[string]json.RawMessage, name string)) func(Args) Effect {
	return editFrame(func(a Args, frame, data []byte) ([]byte, bool) {
		m := decodeMembers(data)
		name, ok := chooseMember(a, m)
		if !ok {
			return nil, false
		}
		change(m, name)
		return replaceData(frame, data, encodeMembers(m)), true
	})
}
