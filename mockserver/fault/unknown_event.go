package fault

import (
	"encoding/json"
	"errors"
)

// UnknownEvent is the fault that inserts an event of a type that no protocol defines, which some
// protocols require clients to ignore. It only tests clients: no check detects it.
var UnknownEvent = &Fault{
	Name: "unknown-event", Doc: "an event of an undefined type is inserted", Category: CategoryProtocol,
	Params:   []Param{{Name: "data", Doc: "data of the event, a JSON object", Type: "text", Default: `{"object":"x-unknown","type":"x-unknown"}`, Validate: validateJSONObject}},
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

// validateJSONObject returns an error if text is not a JSON object. It is the validation of the
// parameter "data" of UnknownEvent.
func validateJSONObject(text string) error {
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &m) != nil || m == nil {
		return errors.New("the text is not a JSON object")
	}
	return nil
}
