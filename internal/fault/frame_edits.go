package fault

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/sse"
)

// editFrame returns a value for [Fault.NewEffect]. The effect replaces one frame with the result
// out of change. It calls change with one frame after the other, until the result ok is true, and
// then replaces that frame. It begins with the frame of the event at the trigger or, if no trigger
// is set, with the second frame. It skips frames whose data is not a JSON object. The argument data
// of change is the first "data" field of the frame.
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

// startIndex returns t.Event, the index of an event, counted from 0. If t has no event number, it
// returns 1, the index of the second event.
func startIndex(t Trigger) int {
	if t.Event < 0 {
		return 1
	}
	return t.Event
}

// editData returns a value for [Fault.NewEffect]. The effect is like that of editFrame, but change
// receives only the data of a frame, and out replaces only the data.
func editData(change func(a Args, data []byte) (out []byte, ok bool)) func(Args) Effect {
	return editFrame(func(a Args, frame []byte, data sse.Line) ([]byte, bool) {
		out, ok := change(a, data.Value)
		return replaceData(frame, data, out), ok
	})
}

// replaceData returns a copy of frame in which other replaces the value of data, a field of frame.
func replaceData(frame []byte, data sse.Line, other []byte) []byte {
	return slices.Concat(frame[:data.ValueStart], other, frame[data.ValueEnd():])
}

// breakString is the argument of editData for the bad-utf8 fault. It returns a copy of data, a JSON
// text, with an invalid UTF-8 byte added at the end of its last string. If data contains no string,
// ok is false.
func breakString(_ Args, data []byte) (out []byte, ok bool) {
	i := bytes.LastIndexByte(data, '"')
	if i < 0 {
		return nil, false
	}
	return slices.Concat(data[:i], []byte{0xff}, data[i:]), true
}

// addField is the argument of editFrame for the other-fields fault. It returns a copy of frame with
// an additional field, "event" or, if the frame has an event field already, "retry". It always
// returns true.
func addField(_ Args, frame []byte, _ sse.Line) ([]byte, bool) {
	field := "event: message\n"
	if _, ok := sse.FindField(frame, "event"); ok {
		field = "retry: 3000\n"
	}
	return slices.Concat([]byte(field), frame), true
}

// jsonMembers holds the members of a JSON object by name, with their values still encoded.
type jsonMembers = map[string]json.RawMessage

// decodeMembers returns the members of data, a JSON object. It returns nil if data is anything
// else.
func decodeMembers(data []byte) (m jsonMembers) {
	_ = json.Unmarshal(data, &m) // leaves m nil if data is not an object
	return m
}

// encodeMembers returns the JSON object with the members m, sorted by name, so that the result is
// reproducible.
func encodeMembers(m jsonMembers) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(m) // never fails for values that were decoded
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// memberParam is the parameter that names the JSON member that a fault changes.
var memberParam = Param{Name: "member", Doc: "name of the member; by default an id", Type: "text"}

// editMember returns a value for [Fault.NewEffect]. The effect edits one member of the data of a
// frame. The fault's parameter "member" names the member; if the parameter is not set, the function
// choose selects it. The effect edits the first frame that has the member, starting with the frame
// of the event at the trigger or, if no trigger is set, with the second frame.
//
// The function choose receives the members of the data and [ResponseContext.TypeMembers]. It
// returns the name of a member, or "" for no member. The function change edits m, the members of
// the data, in place; name is the name of the member to edit.
func editMember(
	choose func(m jsonMembers, types []string) string, change func(m jsonMembers, name string),
) func(Args) Effect {
	return editData(func(a Args, data []byte) ([]byte, bool) {
		m := decodeMembers(data)
		name := cmp.Or(a.Strings["member"], choose(m, a.TypeMembers))
		if _, ok := m[name]; !ok {
			return nil, false
		}
		change(m, name)
		return encodeMembers(m), true
	})
}

// chooseID returns the name of the member of m that is most likely an id: the alphabetically first
// name that ends in "id", ignoring case, or else the alphabetically first name. It skips the names
// in types, whose members hold the type of the event. It returns "" if no name is left.
func chooseID(m jsonMembers, types []string) string {
	first := ""
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if slices.Contains(types, name) {
			continue
		}
		if strings.HasSuffix(strings.ToLower(name), "id") {
			return name
		}
		first = cmp.Or(first, name)
	}
	return first
}

// chooseType returns the first name in types that is the name of a member of m, or "" if there is
// none.
func chooseType(m jsonMembers, types []string) string {
	for _, name := range types {
		if m[name] != nil {
			return name
		}
	}
	return ""
}

// setMember returns a change function for editMember. The function replaces the value of the member
// with the given name by value, which is JSON text.
func setMember(value string) func(m jsonMembers, name string) {
	return func(m jsonMembers, name string) { m[name] = json.RawMessage(value) }
}

// insertEvent is a value for [Fault.NewEffect]. The effect inserts an event at the trigger or, if
// no trigger is set, before the second event. The data of the event is the fault's parameter
// "data". If that parameter is not set, the data is a JSON object that contains only the type
// "x-unknown".
func insertEvent(a Args) Effect {
	data := []byte(a.Strings["data"])
	if len(data) == 0 {
		m := jsonMembers{}
		for _, name := range a.TypeMembers {
			m[name] = json.RawMessage(`"x-unknown"`)
		}
		data = encodeMembers(m)
	}
	n := -1
	return Effect{OnFrame: func(frame []byte, emit func([]byte)) {
		if n++; n == startIndex(a.Trigger) {
			a.Applied()
			extra, _ := sse.Append(nil, sse.Frame{Data: data}) // data never fails
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
