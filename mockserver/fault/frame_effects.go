package fault

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// editFrame returns a value for [Fault.NewEffect]. The effect calls change with each frame whose
// data is a JSON object, until change returns ok as true, and sends out instead of that frame. It
// starts at the trigger or, if no trigger is set, with the second frame.
func editFrame(change func(a Args, frame, data []byte) (out []byte, ok bool)) func(Args) Effect {
	return func(a Args) Effect {
		n, done := -1, false
		from := startIndex(a.Trigger)
		return Effect{OnFrame: func(frame []byte, emit func([]byte)) {
			n++
			if done || n < from {
				emit(frame)
				return
			}
			data := frameData(frame)
			if !bytes.HasPrefix(data, []byte("{")) {
				emit(frame)
				return
			}
			out, ok := change(a, frame, data)
			if done = ok; !ok {
				out = frame
			}
			emit(out)
		}}
	}
}

// frameData returns the data of a frame: the rest of its first line that begins with "data: ",
// without the line end. That is all of the data, because the reference writes it on one line. If
// there is no such line, frameData returns nil.
func frameData(frame []byte) []byte {
	for line := range bytes.Lines(frame) {
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			return bytes.TrimSuffix(data, []byte("\n"))
		}
	}
	return nil
}

// replaceData returns a copy of frame in which its data is replaced by other. The argument data
// must be the result of frameData for that frame.
func replaceData(frame, data, other []byte) []byte {
	return bytes.Replace(frame, data, other, 1)
}

// decodeMembers returns the members of a JSON object by name, with their values still encoded. It
// returns nil if data is not a JSON object.
func decodeMembers(data []byte) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(data, &m) != nil {
		return nil
	}
	return m
}

// encodeMembers returns the JSON object with the members m, whose values are encoded already. The
// members are sorted by name, so that the result is reproducible.
func encodeMembers(m map[string]json.RawMessage) []byte {
	out := []byte{'{'}
	for i, name := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			out = append(out, ',')
		}
		key, _ := json.Marshal(name) // never fails for a string
		out = append(append(append(out, key...), ':'), m[name]...)
	}
	return append(out, '}')
}

// chooseMember returns the name of the member of m that a fault changes, and whether m has such a
// member. The parameter "member" selects it. If that is not set, chooseMember returns the first
// name in alphabetical order that ends in "id", or else the first name of any kind. It never
// returns type, object or status on its own, because the type of an event depends on these members.
func chooseMember(a Args, m map[string]json.RawMessage) (name string, ok bool) {
	if configured := a.Strings["member"]; configured != "" {
		_, ok = m[configured]
		return configured, ok
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(m)), func(name string) bool {
		return slices.Contains([]string{"type", "object", "status"}, name)
	})
	if len(names) == 0 {
		return "", false
	}
	for _, n := range names {
		if strings.HasSuffix(strings.ToLower(n), "id") {
			return n, true
		}
	}
	return names[0], true
}

// startIndex returns the event number of the trigger. If that is not set, it returns 1, because
// defects in the very first event, which has the number 0, are the least typical.
func startIndex(at Trigger) int {
	if at.Event < 0 {
		return 1
	}
	return at.Event
}
