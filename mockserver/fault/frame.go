package fault

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// framed is a fault that changes the bytes of the first frame from its place on whose
// data is JSON, or from the second on. change is given the data, and tells no: the frame
// does not fit.
func framed(change func(a Args, frame, data []byte) (out []byte, ok bool)) func(Args) Effect {
	return func(a Args) Effect {
		n, done := -1, false
		from := second(a.At)
		return Effect{Frame: func(frame []byte, tell func([]byte)) {
			n++
			if done || n < from {
				tell(frame)
				return
			}
			data := dataOf(frame)
			if !bytes.HasPrefix(data, []byte("{")) {
				tell(frame)
				return
			}
			out, ok := change(a, frame, data)
			if done = ok; !ok {
				out = frame
			}
			tell(out)
		}}
	}
}

// dataOf is the data of a frame as servers of ours spell it: on one line.
func dataOf(frame []byte) []byte {
	for line := range bytes.Lines(frame) {
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			return bytes.TrimSuffix(data, []byte("\n"))
		}
	}
	return nil
}

// with is the frame with other data.
func with(frame, data, other []byte) []byte {
	return bytes.Replace(frame, data, other, 1)
}

// members are those of a JSON object, each as it is spelled.
func members(data []byte) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(data, &m) != nil {
		return nil
	}
	return m
}

// spelled is the object again.
func spelled(m map[string]json.RawMessage) []byte {
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

// member is the one that a fault is about: the one that it was told, or else the first
// by name, ids before all others, without those that tell frames apart.
func member(a Args, m map[string]json.RawMessage) (name string, ok bool) {
	if told := a.Texts["member"]; told != "" {
		_, ok = m[told]
		return told, ok
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

// second is where a fault strikes that can anywhere: the beginning is the worst example.
func second(at Place) int {
	if at.Event < 0 {
		return 1
	}
	return at.Event
}
