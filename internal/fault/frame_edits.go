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

// editFrame returns a value for [Fault.NewEffect]. The effect calls change with each frame whose
// data is a JSON object until change returns true for ok. The frame of that last call is replaced
// with out, the other result of the call. The effect starts at the trigger or, if no trigger is
// set, with the second frame. The argument data is the only data field of the frame, because the
// reference server writes the data of an event on one line.
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

// startIndex returns the event number of the trigger t. If t has no event number, it returns 1,
// because a defect in the very first event, which has the number 0, would be less typical than one
// in a later event.
func startIndex(t Trigger) int {
	if t.Event < 0 {
		return 1
	}
	return t.Event
}

// editData returns a value for [Fault.NewEffect]. The effect is that of editFrame, but change
// receives only the data of each frame, and its result out replaces the data instead of the whole
// frame.
func editData(change func(a Args, data []byte) (out []byte, ok bool)) func(Args) Effect {
	return editFrame(func(a Args, frame []byte, data sse.Line) ([]byte, bool) {
		out, ok := change(a, data.Value)
		return replaceData(frame, data, out), ok
	})
}

// replaceData returns a copy of frame in which the value of data, a field of the frame, is replaced
// by other.
func replaceData(frame []byte, data sse.Line, other []byte) []byte {
	return slices.Concat(frame[:data.ValueStart], other, frame[data.ValueEnd():])
}

// breakString is the argument of editData for the bad-utf8 fault. It returns a copy of data, the
// data of an event, with a byte that is not valid UTF-8 in its last string, and true. If data
// contains no string, it returns nil and false.
func breakString(_ Args, data []byte) ([]byte, bool) {
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

// memberParam is the parameter that selects the JSON member that a fault changes.
var memberParam = Param{Name: "member", Doc: "name of the member; by default an id", Type: "text"}

// editMember returns a value for [Fault.NewEffect]. From the trigger on or, if no trigger is set,
// from the second frame on, the effect edits the first frame whose data has the chosen member. The
// fault's parameter "member" names that member; if it is not set, choose returns the name. The
// function choose receives the members of the data and [ResponseContext.TypeMembers], and returns
// "" if it chooses no member. The function change edits the members m of the data in place; its
// argument name is the name of the chosen member.
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

// chooseID returns the first name in m, in alphabetical order, that ends in "id" or "ID". If no
// name does, it returns the first of all names, or "" if m is empty. It ignores the names in types,
// so that the event keeps its type.
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

// chooseType returns the first name in types that m has, or "" if m has none of them.
func chooseType(m jsonMembers, types []string) string {
	for _, name := range types {
		if m[name] != nil {
			return name
		}
	}
	return ""
}

// setMember returns a function for the change parameter of editMember. The function sets the member
// with the given name to value, which is JSON text.
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
