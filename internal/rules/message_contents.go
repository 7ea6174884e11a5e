package rules

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// MessageContentEquals judges whether the end of a message lists the same content parts as were
// streamed before. An end without content parts is not judged.
var MessageContentEquals = &spec.Check{
	ID:    "message.content-equals",
	Doc:   "the content parts that the end of a message lists equal the streamed ones",
	Needs: []spec.Kind{spec.SlotMessage, spec.MessageEnd},
	Watch: eachResolvedStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		contents := map[string]*messageContentParts{}
		return func(e spec.Event) {
			switch {
			case isMessageContent(e) && e.Message != "":
				if contents[e.Message] == nil {
					contents[e.Message] = &messageContentParts{
						deltas: map[string]*strings.Builder{}, completed: map[string]string{}, endsEmpty: map[string]bool{},
					}
				}
				contents[e.Message].observe(e)
			case isMessageStatus(e) && e.Kind.Phase() == "end" && len(e.Parts) > 0 && contents[e.Message] != nil:
				want, got := contents[e.Message].values(false), contentValues(e.Parts)
				if !slices.EqualFunc(want, got, sameValue) {
					want = contents[e.Message].values(true)
				}
				same, repeated, streamed := slices.EqualFunc(want, got, sameValue), "", ""
				if !same {
					repeated, streamed = quotePairs(got, want)
				}
				p.Judge(e, same, "%s lists the contents %s; expected %s, as they were streamed",
					displayName(e), repeated, streamed)
				delete(contents, e.Message)
			}
		}
	}),
}

// A messageContentParts collects the content parts of one message as they are streamed. It
// identifies them by their index.
type messageContentParts struct {
	order     []string                    // indexes, in order of appearance
	deltas    map[string]*strings.Builder // by index: the joined deltas
	completed map[string]string           // by index: the complete value, if an event had one
	endsEmpty map[string]bool             // by index: whether the event that ends the part has no value or an empty one
}

// observe adds the content of e, which must be an event for which isMessageContent returns true.
func (t *messageContentParts) observe(e spec.Event) {
	if t.deltas[e.Index] == nil {
		t.order = append(t.order, e.Index)
		t.deltas[e.Index] = &strings.Builder{}
	}
	switch {
	case isDelta(e):
		t.deltas[e.Index].WriteString(e.Text)
	case contentValue(e) != "":
		t.completed[e.Index] = contentValue(e)
	case e.Kind == spec.ContentEnd:
		t.endsEmpty[e.Index] = true
	}
}

// values returns the value of each content part, in the order of the indexes. It is the complete
// value that an event had or, if there was none, the joined deltas. If emptied is true, it is ""
// for a part without a complete value whose end event has no value or an empty one. The method
// sorts t.order by index.
func (t *messageContentParts) values(emptied bool) (all []string) {
	slices.SortStableFunc(t.order, compareIndexes)
	for _, index := range t.order {
		if v, ok := t.completed[index]; ok {
			all = append(all, v)
		} else if emptied && t.endsEmpty[index] {
			all = append(all, "")
		} else {
			all = append(all, t.deltas[index].String())
		}
	}
	return all
}

// compareIndexes compares two indexes of content parts, as numbers or, if either of them is not a
// number, as text. The result is negative if a comes first, positive if b comes first, and 0 if
// they are equal.
func compareIndexes(a, b string) int {
	x, err := strconv.Atoi(a)
	y, err2 := strconv.Atoi(b)
	if err != nil || err2 != nil {
		return strings.Compare(a, b)
	}
	return x - y
}

// contentValue returns the value of e, a content part of any type, as text. The text contains the
// id of a tool call or tool result, and the name of the tool of a call. The name of the tool of a
// result is left out because it is optional.
func contentValue(e spec.Event) string {
	isResult := e.Kind == spec.ToolResult
	if e.Call == "" && (e.Name == "" || isResult) {
		return e.Text
	}
	id := " (no id)"
	if e.Call != "" {
		id = fmt.Sprintf(" (id %s)", e.Call)
	}
	if isResult {
		return fmt.Sprintf("result%s: %s", id, e.Text)
	}
	return fmt.Sprintf("call of %s%s with %s", cmp.Or(e.Name, "an unnamed tool"), id, cmp.Or(e.Text, "no arguments"))
}

// contentValues returns the result of contentValue for each part, in order.
func contentValues(parts []spec.Event) (all []string) {
	for _, part := range parts {
		all = append(all, contentValue(part))
	}
	return all
}

// sameValue reports whether a and b, the values of two content parts, are equal as text or as JSON.
func sameValue(a, b string) bool { return a == b || sameJSON(a, b) }

// sameJSON reports whether a and b are valid JSON texts with equal values. White space and the
// order of members do not matter.
func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// describeMessage returns a description of a message for a finding. It joins the role of the
// message, its type (kind) and a description of its content parts with spaces, and leaves out
// empty arguments.
func describeMessage(role, kind, contents string) string {
	return strings.Join(slices.DeleteFunc([]string{role, kind, contents}, func(s string) bool { return s == "" }), " ")
}

// describeMessageIDs returns the message ids as a list for a finding. Each id is listed once, in
// the order of first appearance, as in `"a" (2 times), "b"`.
func describeMessageIDs(ids []string) string {
	counts := map[string]int{}
	for _, id := range ids {
		counts[id]++
	}
	var texts []string
	for _, id := range ids {
		switch n := counts[id]; {
		case n == 1:
			texts = append(texts, strconv.Quote(id))
		case n > 1:
			texts = append(texts, fmt.Sprintf("%q (%d times)", id, n))
		}
		delete(counts, id)
	}
	return strings.Join(texts, ", ")
}

// sameFrameData reports whether two frames have the same data. The arguments are the bytes of the
// frames. Data that is JSON text is compared by value. All other data must be equal except for the
// line endings.
func sameFrameData(a, b []byte) bool {
	x, y := frameData(a), frameData(b)
	return x == y || sameJSON(x, y)
}

// frameData returns the data of the SSE frame raw: the values of its data fields, each without one
// space after the colon, joined by newlines (HTML Standard, section 9.2.6). If it has no data field,
// it is a frame of a stream of JSON lines, and frameData returns all of it.
func frameData(raw []byte) string {
	var lines []string
	for line := range strings.FieldsFuncSeq(string(raw), func(r rune) bool { return r == '\n' || r == '\r' }) {
		if data, ok := strings.CutPrefix(line, "data:"); ok {
			lines = append(lines, strings.TrimPrefix(data, " "))
		}
	}
	if len(lines) == 0 {
		return string(raw)
	}
	return strings.Join(lines, "\n")
}
