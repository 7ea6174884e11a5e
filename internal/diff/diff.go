// Package diff says in what two recordings of the same questions differ. It compares
// neutral events, so it knows no dialect; it does not know where the recordings came from,
// and it does not judge: which of the two is right, it cannot tell.
package diff

import (
	"fmt"
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// A Conversation is one conversation as a target answered it, once or several times: what
// differs between two answers of the same target is volatile, and never compared.
type Conversation struct {
	Name  string
	Takes [][]spec.Event // each in the order in which it was told
}

// A ConversationDiff is what comparing two talks came to.
type ConversationDiff struct {
	Name        string       `json:"name"`
	Compared    bool         `json:"compared"`
	Reason      string       `json:"why,omitempty"` // it was not compared
	Exchanges   int          `json:"exchanges"`     // that were compared
	Events      int          `json:"events"`        // likewise
	Differences []Difference `json:"differences"`
	Dropped     int          `json:"dropped,omitempty"` // differences beyond [MostDifferences]
	Volatile    []string     `json:"volatile"`          // what was left out: "message.delta text"
	Notes       []string     `json:"notes,omitempty"`
}

// A Difference is one place where two answers part. A side that is nil has nothing there.
type Difference struct {
	Request string          `json:"asked"` // what is answered here, in words
	A       *DifferenceSide `json:"a"`
	B       *DifferenceSide `json:"b"`
	Fields  []FieldDiff     `json:"fields,omitempty"` // where both have something
}

// A DifferenceSide is what stands at a place.
type DifferenceSide struct {
	Exchange int       `json:"exchange"` // of the conversation, from 0
	Event    int       `json:"event"`    // of the exchange, from 0; -1: no frame
	Kind     spec.Kind `json:"kind"`
	Facts    string    `json:"facts"`
}

// A FieldDiff is one thing that is not the same on both sides; "" is absent.
type FieldDiff struct {
	Name string `json:"name"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// MaxDifferences bounds what is kept of one conversation.
const MaxDifferences = 100

// Compare says in what the first takes of two talks differ, apart from what their other
// takes show to be volatile.
func Compare(a, b Conversation) ConversationDiff {
	c := ConversationDiff{Name: a.Name, Differences: []Difference{}, Volatile: []string{}}
	for _, side := range []struct {
		name string
		talk Conversation
	}{{"A", a}, {"B", b}} {
		switch {
		case len(side.talk.Takes) == 0:
			c.Reason = side.name + " was not asked"
		case !hasResponse(side.talk.Takes[0]):
			c.Reason = side.name + " never answered"
		default:
			continue
		}
		return c
	}
	moving := volatileFields{}
	for _, t := range []Conversation{a, b} {
		for _, again := range t.Takes[1:] {
			moving.addDifferences(t.Takes[0], again)
		}
	}
	m := newComparer(moving)
	m.compareConversations(splitExchanges(a.Takes[0]), splitExchanges(b.Takes[0]))
	c.Exchanges, c.Events, c.Notes = m.exchanges, m.events, m.notes
	c.Compared = m.exchanges > 0
	if !c.Compared {
		c.Reason = "they were asked nothing alike"
	}
	if c.Differences = append(c.Differences, m.found...); len(c.Differences) > MaxDifferences {
		c.Dropped = len(c.Differences) - MaxDifferences
		c.Differences = c.Differences[:MaxDifferences]
	}
	c.Volatile = append(c.Volatile, moving.sorted()...)
	return c
}

func hasResponse(events []spec.Event) bool {
	return slices.ContainsFunc(events, func(e spec.Event) bool { return e.Kind == spec.HTTPResponse && e.StatusCode != 0 })
}

// A volatileFields set names what differs between two answers of one target: "KIND FIELD", or
// "KIND *" for events that are not always there.
type volatileFields map[string]bool

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

func (v volatileFields) sorted() (all []string) {
	for name := range v {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// describeRequest says what an exchange asked for, for people.
func (x exchangeEvents) describeRequest() string {
	s := x.request.Operation
	if s == "" {
		s = "a request that the document does not know"
	}
	if text, ok := x.request.Prompt(); ok && text != "" {
		s += fmt.Sprintf(" %.60q", text)
	}
	if len(x.request.Violations) > 0 {
		s += " (" + x.request.Violations[0].Location + " broken)"
	}
	if x.request.Principal != spec.PrimaryUser {
		s += " as " + string(x.request.Principal)
	}
	return s
}
