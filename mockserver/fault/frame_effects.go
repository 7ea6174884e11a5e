package fault

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// editFrame is a fault that changes the bytes of the first frame from its place on whose
// data is JSON, or from the second on. change is given the data, and tells no: the frame
// does not fit.
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

// frameData is the data of a frame as servers of ours spell it: on one line.
func frameData(frame []byte) []byte {
	for line := range bytes.Lines(frame) {
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			return bytes.TrimSuffix(data, []byte("\n"))
		}
	}
	return nil
}

// replaceData is the frame with other data.
func replaceData(frame, data, other []byte) []byte {
	return bytes.Replace(frame, data, other, 1)
}

// decodeMembers are those of a JSON object, each as it is spelled.
func decodeMembers(data []byte) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(data, &m) != nil {
		return nil
	}
	return m
}

// encodeMembers is the object again.
func encodeMembers(m map[string]json.RawMessage) []byte {
	out := []byte{'{'}
	for i, name := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			out = append(out, ',')
		}
		key, _ := json.Marshal(name) // a string is always encoded
		out = append(append(append(out, key...), ':'), m[name]...)
	}
	return append(out, '}')
}

// chooseMember is the one that a fault is about: the one that it was told, or else the first
// by name, ids before all others, without those that tell frames apart.
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

// startIndex is where a fault strikes that can anywhere: the beginning is the worst example.
func startIndex(at Trigger) int {
	if at.Event < 0 {
		return 1
	}
	return at.Event
}
