package sse_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/sse"
)

// A model implements WHATWG HTML 9.2.6 literally and slowly, for streams without a written
// expectation. It shares no code with the decoder and yields only what a client sees.
type model struct {
	data, event, idBuffer, lastID string
	seen                          []seen
	comments                      []string
}

// seen is an event as a client sees it.
type seen struct{ event, data, lastID string }

// interpret returns a model that has processed the complete stream body.
func interpret(body []byte) *model {
	m := &model{}
	text := strings.TrimPrefix(string(body), "\ufeff")
	// All three line ends become LF; text after the last one is not a line.
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(text, "\n")
	for _, line := range lines[:len(lines)-1] {
		switch name, value, found := strings.Cut(line, ":"); {
		case line == "":
			m.dispatch()
		case strings.HasPrefix(line, ":"):
			m.comments = append(m.comments, value)
		case found:
			m.process(name, strings.TrimPrefix(value, " "))
		default:
			m.process(line, "")
		}
	}
	return m
}

// process implements the step "process the field" of the standard.
func (m *model) process(name, value string) {
	switch name {
	case "event":
		m.event = value
	case "data":
		m.data += value + "\n"
	case "id":
		if !strings.Contains(value, "\x00") {
			m.idBuffer = value
		}
	}
}

// dispatch implements the step "dispatch the event" of the standard.
func (m *model) dispatch() {
	m.lastID = m.idBuffer
	if m.data != "" {
		m.seen = append(m.seen, seen{m.event, strings.TrimSuffix(m.data, "\n"), m.lastID})
	}
	m.data, m.event = "", ""
}

// A failer is a test that can fail: a *testing.T or a *rapid.T.
type failer interface {
	Fatalf(format string, args ...any)
}

// agree fails the test unless the items decoded from body agree with the model. It also checks that
// each item lies where it claims, that items are in order, and that there are only line ends
// between them.
func agree(t failer, body []byte, items []sse.Item) {
	m := interpret(body)
	var events []seen
	var comments []string
	lastID, end, covered := "", 0, make([]bool, len(body))
	for _, item := range items {
		if item.Offset < 0 || item.Offset+len(item.Raw) > item.End || item.End > len(body) ||
			!bytes.Equal(item.Raw, body[item.Offset:item.Offset+len(item.Raw)]) {
			t.Fatalf("%q: %+v does not lie where it says", body, item)
		}
		// Only an incomplete item may end with a comment inside it.
		if (item.End < end || item.End == end && !item.Incomplete) || item.Line != lineAt(body, item.Offset) {
			t.Fatalf("%q: %+v comes after one that ends at %d, and is in line %d", body, item, end, lineAt(body, item.Offset))
		}
		end = item.End
		for i := range item.Raw {
			covered[item.Offset+i] = true
		}
		if item.Incomplete {
			if item.End != len(body) || item.LastEventID != lastID {
				t.Fatalf("%q: %+v is incomplete, but not at the end or with an id that counts", body, item)
			}
			continue
		}
		lastID = item.LastEventID
		switch item.Kind {
		case sse.Event:
			events = append(events, seen{item.Event, string(item.Data), item.LastEventID})
		case sse.Comment:
			comments = append(comments, item.Text)
		}
	}
	text := bytes.TrimPrefix(body, []byte(mark))
	for i, c := range text {
		if at := len(body) - len(text) + i; !covered[at] && c != '\r' && c != '\n' {
			t.Fatalf("%q: the byte at %d is in no item", body, at)
		}
	}
	if !slices.Equal(events, m.seen) || !slices.Equal(comments, m.comments) || lastID != m.lastID {
		t.Fatalf("%q\n got %q, comments %q, last event ID %q\nwant %q, comments %q, last event ID %q",
			body, events, comments, lastID, m.seen, m.comments, m.lastID)
	}
}

// lineAt returns the number of the line that contains an offset.
func lineAt(body []byte, offset int) int {
	before := bytes.ReplaceAll(body[:offset], []byte("\r\n"), []byte("\n"))
	return 1 + bytes.Count(before, []byte("\n")) + bytes.Count(before, []byte("\r"))
}

// TestModel validates the model against the corpus.
func TestModel(t *testing.T) {
	for _, s := range corpus() {
		for _, r := range s.renderings() {
			agree(t, r.body, r.items)
		}
	}
}
