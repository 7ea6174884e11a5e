package fault

import (
	"encoding/json"
	"errors"
)

// UnknownEvent sends an event of a kind that nobody knows. Some protocols allow it: a
// client skips it.
var UnknownEvent = &Fault{
	Name: "unknown-event", Doc: "before an event one comes of a kind that nobody knows", Family: Protocol,
	Params: []Param{{Name: "data", Doc: "its data, a JSON object", Type: "text", Default: `{"object":"x-unknown","type":"x-unknown"}`, Check: isObject}},
	Places: []string{"event"},
	Begin: func(a Args) Effect {
		n := -1
		return Effect{Frame: func(frame []byte, tell func([]byte)) {
			if n++; n == second(a.At) {
				tell([]byte("data: " + a.Texts["data"] + "\n\n"))
			}
			tell(frame)
		}}
	},
}

func isObject(text string) error {
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &m) != nil || m == nil {
		return errors.New("it is no JSON object")
	}
	return nil
}
