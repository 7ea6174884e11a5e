package diff

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// An exchange is a request and what was told in answer.
type exchange struct {
	ask    spec.Event
	nth    int
	events []spec.Event
	front  bool // it was asked for from the middle on
	back   bool // the client left before its end
}

// split takes a conversation apart by exchange, and brings each answer to a form that
// does not depend on how a text was cut into pieces.
func split(events []spec.Event) (all []exchange) {
	at := map[int]int{}
	for _, e := range events {
		i, known := at[e.Exchange]
		if !known {
			i = len(all)
			at[e.Exchange] = i
			all = append(all, exchange{nth: e.Exchange})
		}
		x := &all[i]
		switch e.Kind {
		case spec.HTTPRequest:
			x.ask, x.front = e, e.Cursor != ""
		case spec.Comment:
		case spec.BodyEnd:
			x.back = errors.Is(e.Err, spec.ErrClientLeft)
			x.events = append(x.events, e)
		default:
			x.add(e)
		}
	}
	return all
}

// add appends an event, or what it adds to the one before it.
func (x *exchange) add(e spec.Event) {
	n := len(x.events)
	for n > 0 && x.events[n-1].Kind == spec.Unrecognized { // it comes between the pieces of a text
		n--
	}
	if n > 0 {
		last := &x.events[n-1]
		same := last.Kind == e.Kind && last.Message == e.Message && last.Call == e.Call && last.Index == e.Index
		switch {
		case same && e.Kind.Phase() == "delta":
			last.Text += e.Text
			last.Violations = append(slices.Clone(last.Violations), e.Violations...)
			last.Flaws = append(slices.Clone(last.Flaws), e.Flaws...)
			return
		case same && (e.Kind == spec.ContentPart || e.Kind == spec.ToolCall || e.Kind.Phase() == "progress"):
			x.events[n-1] = e // it replaces what was there
			return
		}
	}
	x.events = append(x.events, e)
}

// status is that of the answer, 0 if there is none.
func (x exchange) status() int {
	if i := slices.IndexFunc(x.events, func(e spec.Event) bool { return e.Kind == spec.HTTPResponse }); i >= 0 {
		return x.events[i].StatusCode
	}
	return 0
}

// key is what is asked, without ids.
func (x exchange) key() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s|%s|%s|%s|%s|%t", x.ask.Operation, x.ask.Principal, x.ask.Name, x.ask.PollLimit, x.ask.Text, x.front)
	for _, p := range x.ask.Parts {
		fmt.Fprintf(&b, "|%s %s", p.Kind, p.Text)
	}
	for _, f := range x.ask.Violations {
		fmt.Fprintf(&b, "|%s: %s", f.Location, f.Message)
	}
	return b.String()
}

// A match compares two conversations.
type match struct {
	moving    volatile
	scope     string                       // whose messages and cursors are spoken of
	names     map[string]map[string]string // field → id of A → id of B
	back      map[string]map[string]string // and the other way
	exchanges int
	events    int
	found     []Difference
	notes     []string
}

func newMatch(moving volatile) *match {
	return &match{moving: moving, names: map[string]map[string]string{}, back: map[string]map[string]string{}}
}

func (m *match) talks(a, b []exchange) {
	keysA, keysB := keys(a), keys(b)
	pairs := align(len(a), len(b), func(i, j int) int {
		switch {
		case keysA[i] == keysB[j] && a[i].status() == b[j].status():
			return 5 // of what was asked at once, either may be answered first
		case keysA[i] == keysB[j]:
			return 4
		case a[i].ask.Operation == b[j].ask.Operation && a[i].ask.Principal == b[j].ask.Principal && a[i].front == b[j].front:
			return 1
		}
		return 0
	})
	matched := map[string]bool{}
	for _, p := range pairs {
		if p.a >= 0 && p.b >= 0 {
			matched[a[p.a].ask.Operation] = true
			m.exchange(a[p.a], b[p.b])
		}
	}
	for _, p := range pairs {
		switch {
		case p.b < 0:
			m.alone(a[p.a], "A", matched)
		case p.a < 0:
			m.alone(b[p.b], "B", matched)
		}
	}
}

func keys(list []exchange) (all []string) {
	for _, x := range list {
		all = append(all, x.key())
	}
	return all
}

// alone tells of an exchange that only one side has. One of a sort that both have is
// what an earlier answer led to (a run that came in more pieces is taken up again more
// often): that is noted, and is no difference.
func (m *match) alone(x exchange, side string, matched map[string]bool) {
	if matched[x.ask.Operation] {
		m.notes = append(m.notes, fmt.Sprintf("only %s was asked in exchange %d: %s", side, x.nth, x.asked()))
		return
	}
	m.one(x, x.ask, side)
}

// exchange compares two answers to one question.
func (m *match) exchange(a, b exchange) {
	m.exchanges++
	m.scope = a.ask.Run
	if m.scope == "" {
		m.scope = fmt.Sprint(a.nth)
	}
	for _, id := range ids(a.ask, b.ask) {
		m.same(id[0], id[1], id[2])
	}
	pairs := align(len(a.events), len(b.events), func(i, j int) int { return m.weight(a.events[i], b.events[j]) })
	open := exchange{front: a.front || b.front, back: a.back || b.back}
	first, last := span(pairs, a.events)
	for i, p := range pairs {
		switch {
		case p.a >= 0 && p.b >= 0:
			m.events++
			if fields := m.event(a.events[p.a], b.events[p.b], open); len(fields) > 0 {
				m.found = append(m.found, Difference{a.asked(), side(a, a.events[p.a]), side(b, b.events[p.b]), fields})
			}
		case open.front && i < first || open.back && i > last: // they were not cut at the same place
		case p.b < 0:
			m.one(a, a.events[p.a], "A")
		default:
			m.one(b, b.events[p.b], "B")
		}
	}
}

// span is the first and the last pair of frames that belong together.
func span(pairs []pair, a []spec.Event) (first, last int) {
	first, last = len(pairs), -1
	for i, p := range pairs {
		if p.a >= 0 && p.b >= 0 && a[p.a].Kind != spec.HTTPResponse && a[p.a].Kind != spec.BodyEnd {
			first, last = min(first, i), i
		}
	}
	return first, last
}

// ids are the ids of two requests that belong together: field, of A, of B.
func ids(a, b spec.Event) (all [][3]string) {
	fa, fb := facts(a), facts(b)
	for _, f := range fa {
		if i := slices.IndexFunc(fb, func(g fact) bool { return g.name == f.name && f.by == renamed }); i >= 0 {
			all = append(all, [3]string{f.name, f.value, fb[i].value})
		}
	}
	return all
}

// weight says how well two events go together; 0: not at all.
func (m *match) weight(a, b spec.Event) int {
	switch {
	case a.Kind == b.Kind:
		w := 8
		if a.Text == b.Text {
			w += 2
		}
		if a.Type == b.Type && a.Name == b.Name && a.Status == b.Status && a.StatusCode == b.StatusCode {
			w += 2
		}
		return w
	case a.Kind == spec.HTTPResponse || b.Kind == spec.HTTPResponse || a.Kind == spec.BodyEnd || b.Kind == spec.BodyEnd:
		return 0
	case a.Kind.Subject() == b.Kind.Subject() && a.Kind.Phase() != "" && (a.Kind.Phase() == "end" || b.Kind.Phase() == "end"):
		return 1 // it ended in another way
	case a.Frame < 0 && b.Frame < 0:
		return 1 // the whole body of a reply
	}
	return 0
}

// one tells of an event that only one side has.
func (m *match) one(x exchange, e spec.Event, of string) {
	if m.moving[string(e.Kind)+" *"] {
		return
	}
	d := Difference{Asked: x.asked()}
	if of == "A" {
		d.A = side(x, e)
	} else {
		d.B = side(x, e)
	}
	m.found = append(m.found, d)
}

func side(x exchange, e spec.Event) *Side {
	return &Side{Exchange: x.nth, Event: e.Frame, Kind: e.Kind, Facts: told(e)}
}

// event says in what two events differ.
func (m *match) event(a, b spec.Event, open exchange) (fields []Field) {
	differ := func(name, va, vb string) {
		if !m.moving[string(a.Kind)+" "+name] && !m.moving[string(b.Kind)+" "+name] {
			va, vb = shown(va, vb)
			fields = append(fields, Field{name, va, vb})
		}
	}
	if a.Kind != b.Kind {
		differ("kind", string(a.Kind), string(b.Kind))
	}
	fa, fb := facts(a), facts(b)
	for _, f := range fa {
		i := slices.IndexFunc(fb, func(g fact) bool { return g.name == f.name })
		switch {
		case i < 0:
			differ(f.name, f.value, "")
		case !m.agree(a.Kind, f, fb[i], open):
			differ(f.name, f.value, fb[i].value)
		}
	}
	for _, g := range fb {
		if !slices.ContainsFunc(fa, func(f fact) bool { return f.name == g.name }) {
			differ(g.name, "", g.value)
		}
	}
	return fields
}

// agree compares two values of one fact.
func (m *match) agree(kind spec.Kind, a, b fact, open exchange) bool {
	cut := open.front || open.back
	switch {
	case a.by == present || a.value == b.value && a.by == alike:
		return true
	case a.by == renamed:
		return m.same(a.name, a.value, b.value)
	case cut && a.name == "text" && kind.Phase() == "delta":
		return strings.Contains(a.value, b.value) || strings.Contains(b.value, a.value)
	}
	return cut && a.name == "end"
}

// same says whether two ids can be the same thing: neither has stood for another one.
func (m *match) same(field, a, b string) bool {
	field = field[strings.LastIndexByte(field, '.')+1:]
	if field == "message" || field == "cursor" { // a run's own: another run may use them again
		field += " " + m.scope
	}
	if m.names[field] == nil {
		m.names[field], m.back[field] = map[string]string{}, map[string]string{}
	}
	to, known := m.names[field][a]
	from, known2 := m.back[field][b]
	if !known && !known2 {
		m.names[field][a], m.back[field][b] = b, a
		return true
	}
	return to == b && from == a
}
