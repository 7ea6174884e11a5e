package fault

import "encoding/json"

// theMember is how a fault is told which member of the data it is about.
var theMember = Param{Name: "member", Doc: "which member of the data; by default an id", Type: "text"}

// MissingMember leaves a member out that has to be there.
var MissingMember = &Fault{
	Name: "missing-member", Doc: "a member of an event's data is not there", Family: Protocol,
	Params: []Param{theMember}, Places: []string{"event"},
	Checks: []string{"wire.matches-schema"},
	Begin: onMember(func(m map[string]json.RawMessage, name string) {
		delete(m, name)
	}),
}

// WrongType gives a member another JSON type than it has.
var WrongType = &Fault{
	Name: "wrong-type", Doc: "a member of an event's data has another type than it has to have", Family: Protocol,
	Params: []Param{theMember}, Places: []string{"event"},
	Checks: []string{"wire.matches-schema"},
	Begin: onMember(func(m map[string]json.RawMessage, name string) {
		m[name] = json.RawMessage(`[{"not":"this"}]`)
	}),
}

// WrongValue gives a member a value of the right type that means nothing.
var WrongValue = &Fault{
	Name: "wrong-value", Doc: "a member of an event's data, its type or object if none is named, is a text that means nothing", Family: Protocol,
	Params: []Param{theMember}, Places: []string{"event"},
	Begin: framed(func(a Args, frame, data []byte) ([]byte, bool) {
		m := members(data)
		name := a.Texts["member"]
		for _, known := range []string{"object", "type"} {
			if _, there := m[known]; name == "" && there {
				name = known
			}
		}
		if _, there := m[name]; !there {
			return nil, false
		}
		m[name] = json.RawMessage(`"nonsense"`)
		return with(frame, data, spelled(m)), true
	}),
}

// onMember changes the data of a frame that has the member.
func onMember(change func(m map[string]json.RawMessage, name string)) func(Args) Effect {
	return framed(func(a Args, frame, data []byte) ([]byte, bool) {
		m := members(data)
		name, ok := member(a, m)
		if !ok {
			return nil, false
		}
		change(m, name)
		return with(frame, data, spelled(m)), true
	})
}
