package fault

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/sse"
)

// editFrame returns a value for [Fault.NewEffect]. The effect calls change with each frame whose
// data is a JSON object, until change returns ok as true, and sends out instead of that frame. It
// starts at the trigger or, if no trigger is set, with the second frame. The argument data is the
// data field of the frame, which is a single one because the reference writes it on one line.
func editFrame(change func(a Args, frame []byte, data sse.Line) (out []byte, ok bool)) func(Args) Effect {
	return func(a Args) Effect {
		n, done := -1, false
		return Effect{OnFrame: func(frame []byte, emit func([]byte)) {
			n++
			if data, ok := sse.FindField(frame, "data"); ok && !done && n >= startIndex(a.Trigger) &&
				bytes.HasPrefix(data.Value, []byte("{")) {
				if out, ok := change(a, frame, data); ok {
					a.Applied()
					frame, done = out, true
				}
			}
			emit(frame)
		}}
	}
}

// startIndex returns the event number of the trigger. If that is not set, it returns 1, because
// defects in the very first event, which has the number 0, are the least typical.
func startIndex(at Trigger) int {
	if at.Event < 0 {
		return 1
	}
	return at.Event
}

// editData returns a value for [Fault.NewEffect]. The effect replaces the data of a frame by the
// result of change. Which frame that is depends on ok, as for editFrame.
func editData(change func(a Args, data []byte) (out []byte, ok bool)) func(Args) Effect {
	return editFrame(func(a Args, frame []byte, data sse.Line) ([]byte, bool) {
		out, ok := change(a, data.Value)
		return replaceData(frame, data, out), ok
	})
}

// replaceData returns a copy of frame in which other replaces its data field.
func replaceData(frame []byte, data sse.Line, other []byte) []byte {
	return slices.Concat(frame[:data.ValueStart], other, frame[data.ValueEnd():])
}

// breakString inserts a byte that is not valid UTF-8 into a string of an event's data.
func breakString(_ Args, data []byte) ([]byte, bool) {
	i := bytes.LastIndexByte(data, '"')
	if i < 0 {
		return nil, false
	}
	return slices.Concat(data[:i], []byte{0xff}, data[i:]), true
}

// addField adds a field other than data to a frame: "event", or "retry" if the frame has an event
// field already.
func addField(_ Args, frame []byte, _ sse.Line) ([]byte, bool) {
	field := "event: message\n"
	if _, ok := sse.FindField(frame, "event"); ok {
		field = "retry: 3000\n"
	}
	return slices.Concat([]byte(field), frame), true
}

// members are the members of a JSON object by name, with their values still encoded.
type members = map[string]json.RawMessage

// decodeMembers returns the members of a JSON object, or nil if data is not a JSON object.
func decodeMembers(data []byte) (m members) {
	if json.Unmarshal(data, &m) != nil {
		return nil
	}
	return m
}

// encodeMembers returns the JSON object with the given members, sorted by name, so that the result
// is reproducible.
func encodeMembers(m members) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(m) // never fails for values that were decoded
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// memberParam is the parameter that selects the JSON member that a fault changes.
var memberParam = Param{Name: "member", Doc: "name of the member; by default an id", Type: "text"}

// editMember returns a value for [Fault.NewEffect]. The effect edits the first frame whose data has
// the member that the parameter "member" names or, if that is not set, that choose(m) returns. change
// edits the members m of that data in place; name is the name of the member.
func editMember(choose func(m members) string, change func(m members, name string)) func(Args) Effect {
	return editData(func(a Args, data []byte) ([]byte, bool) {
		m := decodeMembers(data)
		name := a.Strings["member"]
		if name == "" {
			name = choose(m)
		}
		if _, ok := m[name]; !ok {
			return nil, false
		}
		change(m, name)
		return encodeMembers(m), true
	})
}

// chooseID returns the first name in m, in alphabetical order, that ends in "id", or else the first
// name of any kind, or "" if there is none. It never returns type, object or status, because the
// type of an event depends on these members.
func chooseID(m members) string {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(m)), func(name string) bool {
		return slices.Contains([]string{"type", "object", "status"}, name)
	})
	if len(names) == 0 {
		return ""
	}
	isID := func(name string) bool { return strings.HasSuffix(strings.ToLower(name), "id") }
	return names[max(slices.IndexFunc(names, isID), 0)]
}

// chooseType returns the name of a member of m on which the type of the event depends.
func chooseType(m members) string {
	if _, ok := m["object"]; ok {
		return "object"
	}
	return "type"
}

// setMember returns an argument of editMember that sets the member to the given JSON value.
func setMember(value string) func(m members, name string) {
	return func(m members, name string) { m[name] = json.RawMessage(value) }
}

// insertEvent is the [Fault.NewEffect] that inserts an event with the data of the parameter "data".
func insertEvent(a Args) Effect {
	n := -1
	return Effect{OnFrame: func(frame []byte, emit func([]byte)) {
		if n++; n == startIndex(a.Trigger) {
			a.Applied()
			extra, _ := sse.Append(nil, sse.Frame{Data: []byte(a.Strings["data"])}) // data never fails
			emit(extra)
		}
		emit(frame)
	}}
}

// validateJSONObject returns an error if text is not a JSON object.
func validateJSONObject(text string) error {
	if decodeMembers([]byte(text)) == nil {
		return errors.New("the text is not a JSON object")
	}
	return nil
}
