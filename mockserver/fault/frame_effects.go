package fault

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// editFrame returns a value for [Fault.NewEffect]: the effect changes one frame. It calls change
// with each frame whose data is a JSON object, from the trigger on or, if none is set, from the
// second frame on, until change returns ok with the frame to send instead.
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
// without the line end. It returns nil if there is no such line. The reference writes the data of
// an event on one line.
func frameData(frame []byte) []byte {
	for line := range bytes.Lines(frame) {
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			return bytes.TrimSuffix(data, []byte("\n"))
		}
	}
	return nil
}

// replaceData returns a copy of frame in which the first occurrence of data, as returned by
// frameData, is replaced by other.
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

// chooseMember returns the name of the member of m that a fault changes: the one that the
// parameter "member" names or, if it is not set, the first by name whose name ends in "id", or the
// first of any name. It never chooses type, object or status by itself, because the type of an
// event depends on them. ok is false if m has no such member.
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

// startIndex returns the event number of the trigger, or 1 if it is not set. The default is not 0
// because defects in the very first event are the least typical.
func startIndex(at Trigger) int {
	if at.Event < 0 {
		return 1
	}
	return at.Event
}
