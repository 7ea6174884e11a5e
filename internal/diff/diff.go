// Package diff compares two conversations with the same requests. It compares decoded events and is
// thus independent of the dialect. It does not judge which of the two is correct.
package diff

import (
	"fmt"
	"maps"
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// A RepeatedConversation holds one or more recordings of the same conversation with a server under
// test. [Compare] compares the first recording with the first recording of another server. A field
// is volatile if another recording of the same server differs in it from the first. Volatile fields
// are not compared.
type RepeatedConversation struct {
	Name       string         // name of the scenario or of the recording
	Takes      [][]spec.Event // the recordings, each with its events in order
	Incomplete bool           // it was cut short or lacks a recording, and must not be compared
	Error      string         // why it could not be played, if it has no recordings; may be ""
}

// A ConversationDiff is the result of comparing two conversations.
type ConversationDiff struct {
	Name        string       `json:"name"`
	Compared    bool         `json:"compared"`          // false: Reason states why not
	Reason      string       `json:"why,omitempty"`     // why the conversations were not compared; "" if they were
	Exchanges   int          `json:"exchanges"`         // number of exchanges compared
	Events      int          `json:"events"`            // number of events compared
	Differences []Difference `json:"differences"`       // the first [MaxDifferences] differences
	Dropped     int          `json:"dropped,omitempty"` // number of further differences
	Volatile    []string     `json:"volatile"`          // fields that were ignored, such as "message.delta text"
	Notes       []string     `json:"notes,omitempty"`   // unpaired exchanges that do not count as differences

	statuses  []int // distinct status codes of the responses that were compared
	answered  bool  // exchangeEvents.isAnswered is true for a response that was compared
	validSent bool  // a request that was compared is a valid one of the [spec.PrimaryUser]
}

// A Difference is one difference between two conversations: an event that only one side has, or an
// event that differs between the sides. If a side lacks the event, its field A or B is nil. If only
// one side has an exchange, the event is the request of that exchange.
type Difference struct {
	Request string        `json:"asked"` // description of the request, such as its operation and prompt
	A       *EventSummary `json:"a"`
	B       *EventSummary `json:"b"`
	Fields  []FieldDiff   `json:"fields,omitempty"` // fields that differ, if both sides have the event
}

// An EventSummary is the event that one side of a difference has.
type EventSummary struct {
	Exchange int       `json:"exchange"` // index in the conversation, from 0
	Event    int       `json:"event"`    // index of the frame in the exchange, from 0; -1 if the event is not a frame
	Kind     spec.Kind `json:"kind"`
	Facts    string    `json:"facts"` // the compared properties of the event, in one line
}

// A FieldDiff is a field of an event that differs between side A and side B. The fields A and B
// hold the values as text. If a value is long, both are excerpts that begin shortly before the
// first byte that differs. A value is "" if the field is absent or empty.
type FieldDiff struct {
	Name string `json:"name"` // such as "text", or "parts[0].name" for a field of a part
	A    string `json:"a"`
	B    string `json:"b"`
}

// MaxDifferences is the maximum number of differences that a [ConversationDiff] contains, so that
// reports stay readable. Further differences are only counted.
const MaxDifferences = 100

// Compare compares the first recordings of a and b, except for volatile fields (see
// [RepeatedConversation]). It compares nothing if a conversation is incomplete or has no responses,
// or if the conversations have no request in common. The field Compared of the result is then
// false, and Reason states why.
func Compare(a, b RepeatedConversation) ConversationDiff {
	c := ConversationDiff{Name: a.Name, Differences: []Difference{}, Volatile: []string{}}
	for _, side := range []struct {
		name         string
		conversation RepeatedConversation
	}{{"A", a}, {"B", b}} {
		switch {
		case side.conversation.Incomplete:
			c.Reason = side.name + " was not played to the end"
		case len(side.conversation.Takes) == 0 && side.conversation.Error != "":
			c.Reason = side.name + ": " + side.conversation.Error
		case len(side.conversation.Takes) == 0:
			c.Reason = side.name + " was sent no requests"
		case !hasResponse(side.conversation.Takes[0]):
			c.Reason = side.name + " never responded"
		default:
			continue
		}
		return c
	}
	volatile := volatileFields{}
	for _, t := range []RepeatedConversation{a, b} {
		for _, again := range t.Takes[1:] {
			volatile.addDifferences(t.Takes[0], again)
		}
	}
	m := newComparer(volatile)
	m.compareConversations(splitExchanges(a.Takes[0]), splitExchanges(b.Takes[0]))
	c.Exchanges, c.Events, c.Notes = m.exchanges, m.events, m.notes
	c.statuses, c.answered, c.validSent = m.statuses, m.answered, m.validSent
	c.Compared = m.exchanges > 0
	if !c.Compared {
		c.Reason = "no common request"
	}
	if c.Differences = append(c.Differences, m.found...); len(c.Differences) > MaxDifferences {
		c.Dropped = len(c.Differences) - MaxDifferences
		c.Differences = c.Differences[:MaxDifferences]
	}
	c.Volatile = append(c.Volatile, slices.Sorted(maps.Keys(volatile))...)
	return c
}

// hasResponse reports whether at least one request in the events of a conversation got a response.
func hasResponse(events []spec.Event) bool {
	return slices.ContainsFunc(events, func(e spec.Event) bool { return e.Kind == spec.HTTPResponse && e.StatusCode != 0 })
}

// A volatileFields is a set of fields that differ between recordings of the same target. Its keys
// have the form "KIND FIELD", such as "message.delta text". The key "KIND *" means that not every
// recording has the same events of that kind.
type volatileFields map[string]bool

// addDifferences compares a and b, the events of two recordings of the same target, and adds the
// fields that differ to v. For an event that only one recording has, it adds "KIND *".
func (v volatileFields) addDifferences(a, b []spec.Event) {
	m := newComparer(volatileFields{})
	m.compareConversations(splitExchanges(a), splitExchanges(b))
	for _, d := range m.found {
		switch {
		case d.A == nil:
			v[string(d.B.Kind)+" *"] = true
		case d.B == nil:
			v[string(d.A.Kind)+" *"] = true
		default:
			for _, f := range d.Fields {
				v[string(d.A.Kind)+" "+f.Name], v[string(d.B.Kind)+" "+f.Name] = true, true
			}
		}
	}
}

// describeRequest returns a short description of the request for reports: the operation, the
// prompt, the location of the first [spec.Violation], and the principal if it is not
// [spec.PrimaryUser].
func (x exchangeEvents) describeRequest() string {
	s := x.request.Operation
	if s == "" {
		s = "an undocumented request"
	}
	if text, ok := x.request.Prompt(); ok && text != "" {
		s += fmt.Sprintf(" %.60q", text)
	}
	if len(x.request.Violations) > 0 {
		s += " (" + x.request.Violations[0].Location + " invalid)"
	}
	if x.request.Principal != spec.PrimaryUser {
		s += " as " + string(x.request.Principal)
	}
	return s
}
