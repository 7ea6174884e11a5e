package fault

import (
	"encoding/json"
	"errors"
)

// UnknownEvent sends an event of a kind that nobody knows. Some protocols allow it: a
// client skips it.
var UnknownEvent = &Fault{
	Name: "unknown-event", Doc: "before an event one comes of a kind that nobody knows", Category: CategoryProtocol,
	Params:   []Param{{Name: "data", Doc: "its data, a JSON object", Type: "text", Default: `{"object":"x-unknown","type":"x-unknown"}`, Validate: validateJSONObject}},
	Triggers: []string{"event"},
	NewEffect: func(a Args) Effect {
		n := -1
		return Effect{OnFrame: func(frame []byte, emit func([]byte)) {
			if n++; n == startIndex(a.Trigger) {
				emit([]byte("data: " + a.Strings["data"] + "\n\n"))
			}
			emit(frame)
		}}
	},
}

func validateJSONObject(text string) error {
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &m) != nil || m == nil {
		return errors.New("it is no JSON object")
	}
	return nil
}
