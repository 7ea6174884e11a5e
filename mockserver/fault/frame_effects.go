package fault

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// editFrame returns an effect constructor for a fault that changes one frame: the first
// with a JSON object as data, from the trigger on or, without one, from the second frame
// on, for which change reports true.
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

// frameData returns the data of a frame, or nil. The reference puts it on one line.
func frameData(frame []byte) []byte {
	for line := range bytes.Lines(frame) {
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			return bytes.TrimSuffix(data, []byte("\n"))
		}
	}
	return nil
}

// replaceData returns a copy of frame with other data.
func replaceData(frame, data, other []byte) []byte {
	return bytes.Replace(frame, data, other, 1)
}

// decodeMembers returns the members of a JSON object with their encoded values, or nil if
// data is not an object.
func decodeMembers(data []byte) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(data, &m) != nil {
		return nil
	}
	return m
}

// encodeMembers returns the JSON object with the given members, sorted by name.
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

// chooseMember returns the member that a fault changes: the one named by the parameter
// "member", or else the first by name, with ids before all others and without the
// discriminators of frames. It reports false if there is none.
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

// startIndex returns the event number of the trigger, or 1 if it is not set: faults in the
// very first event are the least typical.
func startIndex(at Trigger) int {
	if at.Event < 0 {
		return 1
	}
	return at.Event
}
