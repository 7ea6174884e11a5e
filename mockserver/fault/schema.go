package fault

import "encoding/json"

// memberParam is how a fault is told which member of the data it is about.
var memberParam = Param{Name: "member", Doc: "which member of the data; by default an id", Type: "text"}

// MissingMember leaves a member out that has to be there.
var MissingMember = &Fault{
	Name: "missing-member", Doc: "a member of an event's data is not there", Category: CategoryProtocol,
	Params: []Param{memberParam}, Triggers: []string{"event"},
	Checks: []string{"wire.matches-schema"},
	NewEffect: editMember(func(m map[string]json.RawMessage, name string) {
		delete(m, name)
	}),
}

// WrongType gives a member another JSON type than it has.
var WrongType = &Fault{
	Name: "wrong-type", Doc: "a member of an event's data has another type than it has to have", Category: CategoryProtocol,
	Params: []Param{memberParam}, Triggers: []string{"event"},
	Checks: []string{"wire.matches-schema"},
	NewEffect: editMember(func(m map[string]json.RawMessage, name string) {
		m[name] = json.RawMessage(`[{"not":"this"}]`)
	}),
}

// WrongValue gives a member a value of the right type that means nothing.
var WrongValue = &Fault{
	Name: "wrong-value", Doc: "a member of an event's data, its type or object if none is named, is a text that means nothing", Category: CategoryProtocol,
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

// editMember changes the data of a frame that has the member.
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
