package fault

import "encoding/json"

// memberParam selects the member of the data that a fault changes.
var memberParam = Param{Name: "member", Doc: "name of the member; by default an id", Type: "text"}

// MissingMember removes a member of the data.
var MissingMember = &Fault{
	Name: "missing-member", Doc: "a member of the data of an event is missing", Category: CategoryProtocol,
	Params: []Param{memberParam}, Triggers: []string{"event"},
	Checks: []string{"wire.matches-schema"},
	NewEffect: editMember(func(m map[string]json.RawMessage, name string) {
		delete(m, name)
	}),
}

// WrongType replaces the value of a member by one of another JSON type.
var WrongType = &Fault{
	Name: "wrong-type", Doc: "a member of the data of an event has the wrong JSON type", Category: CategoryProtocol,
	Params: []Param{memberParam}, Triggers: []string{"event"},
	Checks: []string{"wire.matches-schema"},
	NewEffect: editMember(func(m map[string]json.RawMessage, name string) {
		m[name] = json.RawMessage(`[{"not":"this"}]`)
	}),
}

// WrongValue replaces the value of a member by a string without meaning.
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

// editMember returns an effect constructor for a fault that changes the data of the first
// frame that has the chosen member.
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
