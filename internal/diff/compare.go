package diff

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// An exchangeEvents is a request and what was told in answer.
type exchangeEvents struct {
	request      spec.Event
	index        int
	events       []spec.Event
	startsMidway bool // it was asked for from the middle on
	clientLeft   bool // the client left before its end
}

// splitExchanges takes a conversation apart by exchange, and brings each answer to a form that
// does not depend on how a text was cut into pieces.
func splitExchanges(events []spec.Event) (all []exchangeEvents) {
	at := map[int]int{}
	for _, e := range events {
		i, known := at[e.Exchange]
		if !known {
			i = len(all)
			at[e.Exchange] = i
			all = append(all, exchangeEvents{index: e.Exchange})
		}
		x := &all[i]
		switch e.Kind {
		case spec.HTTPRequest:
			x.request, x.startsMidway = e, e.Cursor != ""
		case spec.Comment:
		case spec.BodyEnd:
			x.clientLeft = errors.Is(e.Err, spec.ErrClientLeft)
			x.events = append(x.events, e)
		default:
			x.appendEvent(e)
		}
	}
	return all
}

// appendEvent appends an event, or what it adds to the one before it.
func (x *exchangeEvents) appendEvent(e spec.Event) {
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
func (x exchangeEvents) status() int {
	if i := slices.IndexFunc(x.events, func(e spec.Event) bool { return e.Kind == spec.HTTPResponse }); i >= 0 {
		return x.events[i].StatusCode
	}
	return 0
}

// requestKey is what is asked, without ids.
func (x exchangeEvents) requestKey() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s|%s|%s|%s|%s|%t", x.request.Operation, x.request.Principal, x.request.Name, x.request.PollLimit, x.request.Text, x.startsMidway)
	for _, p := range x.request.Parts {
		fmt.Fprintf(&b, "|%s %s", p.Kind, p.Text)
	}
	for _, f := range x.request.Violations {
		fmt.Fprintf(&b, "|%s: %s", f.Location, f.Message)
	}
	return b.String()
}

// A comparer compares two conversations.
type comparer struct {
	volatile  volatileFields
	scope     string                       // whose messages and cursors are spoken of
	idsAToB   map[string]map[string]string // field → id of A → id of B
	idsBToA   map[string]map[string]string // and the other way
	exchanges int
	events    int
	found     []Difference
	notes     []string
}

func newComparer(moving volatileFields) *comparer {
	return &comparer{volatile: moving, idsAToB: map[string]map[string]string{}, idsBToA: map[string]map[string]string{}}
}

func (m *comparer) compareConversations(a, b []exchangeEvents) {
	keysA, keysB := requestKeys(a), requestKeys(b)
	pairs := align(len(a), len(b), func(i, j int) int {
		switch {
		case keysA[i] == keysB[j] && a[i].status() == b[j].status():
			return 5 // of what was asked at once, either may be answered first
		case keysA[i] == keysB[j]:
			return 4
		case a[i].request.Operation == b[j].request.Operation && a[i].request.Principal == b[j].request.Principal && a[i].startsMidway == b[j].startsMidway:
			return 1
		}
		return 0
	})
	matched := map[string]bool{}
	for _, p := range pairs {
		if p.a >= 0 && p.b >= 0 {
			matched[a[p.a].request.Operation] = true
			m.compareExchange(a[p.a], b[p.b])
		}
	}
	for _, p := range pairs {
		switch {
		case p.b < 0:
			m.addUnmatched(a[p.a], "A", matched)
		case p.a < 0:
			m.addUnmatched(b[p.b], "B", matched)
		}
	}
}

func requestKeys(list []exchangeEvents) (all []string) {
	for _, x := range list {
		all = append(all, x.requestKey())
	}
	return all
}

// addUnmatched tells of an exchange that only one side has. One of a sort that both have is
// what an earlier answer led to (a run that came in more pieces is taken up again more
// often): that is noted, and is no difference.
func (m *comparer) addUnmatched(x exchangeEvents, side string, matched map[string]bool) {
	if matched[x.request.Operation] {
		m.notes = append(m.notes, fmt.Sprintf("only %s was asked in exchange %d: %s", side, x.index, x.describeRequest()))
		return
	}
	m.addOneSided(x, x.request, side)
}

// compareExchange compares two answers to one question.
func (m *comparer) compareExchange(a, b exchangeEvents) {
	m.exchanges++
	m.scope = a.request.Run
	if m.scope == "" {
		m.scope = fmt.Sprint(a.index)
	}
	for _, id := range requestIDs(a.request, b.request) {
		m.matchIDs(id[0], id[1], id[2])
	}
	pairs := align(len(a.events), len(b.events), func(i, j int) int { return m.similarity(a.events[i], b.events[j]) })
	open := exchangeEvents{startsMidway: a.startsMidway || b.startsMidway, clientLeft: a.clientLeft || b.clientLeft}
	first, last := pairedRange(pairs, a.events)
	for i, p := range pairs {
		switch {
		case p.a >= 0 && p.b >= 0:
			m.events++
			if fields := m.compareEvent(a.events[p.a], b.events[p.b], open); len(fields) > 0 {
				m.found = append(m.found, Difference{a.describeRequest(), newSide(a, a.events[p.a]), newSide(b, b.events[p.b]), fields})
			}
		case open.startsMidway && i < first || open.clientLeft && i > last: // they were not cut at the same place
		case p.b < 0:
			m.addOneSided(a, a.events[p.a], "A")
		default:
			m.addOneSided(b, b.events[p.b], "B")
		}
	}
}

// pairedRange is the first and the last pair of frames that belong together.
func pairedRange(pairs []indexPair, a []spec.Event) (first, last int) {
	first, last = len(pairs), -1
	for i, p := range pairs {
		if p.a >= 0 && p.b >= 0 && a[p.a].Kind != spec.HTTPResponse && a[p.a].Kind != spec.BodyEnd {
			first, last = min(first, i), i
		}
	}
	return first, last
}

// requestIDs are the ids of two requests that belong together: field, of A, of B.
func requestIDs(a, b spec.Event) (all [][3]string) {
	fa, fb := facts(a), facts(b)
	for _, f := range fa {
		if i := slices.IndexFunc(fb, func(g fact) bool { return g.name == f.name && f.comparison == compareAsID }); i >= 0 {
			all = append(all, [3]string{f.name, f.value, fb[i].value})
		}
	}
	return all
}

// similarity says how well two events go together; 0: not at all.
func (m *comparer) similarity(a, b spec.Event) int {
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

// addOneSided tells of an event that only one side has.
func (m *comparer) addOneSided(x exchangeEvents, e spec.Event, of string) {
	if m.volatile[string(e.Kind)+" *"] {
		return
	}
	d := Difference{Request: x.describeRequest()}
	if of == "A" {
		d.A = newSide(x, e)
	} else {
		d.B = newSide(x, e)
	}
	m.found = append(m.found, d)
}

func newSide(x exchangeEvents, e spec.Event) *DifferenceSide {
	return &DifferenceSide{Exchange: x.index, Event: e.Frame, Kind: e.Kind, Facts: describeEvent(e)}
}

// compareEvent says in what two events differ.
func (m *comparer) compareEvent(a, b spec.Event, open exchangeEvents) (fields []FieldDiff) {
	differ := func(name, va, vb string) {
		if !m.volatile[string(a.Kind)+" "+name] && !m.volatile[string(b.Kind)+" "+name] {
			va, vb = differingParts(va, vb)
			fields = append(fields, FieldDiff{name, va, vb})
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
		case !m.factsMatch(a.Kind, f, fb[i], open):
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

// factsMatch compares two values of one fact.
func (m *comparer) factsMatch(kind spec.Kind, a, b fact, open exchangeEvents) bool {
	cut := open.startsMidway || open.clientLeft
	switch {
	case a.comparison == comparePresence || a.value == b.value && a.comparison == compareEqual:
		return true
	case a.comparison == compareAsID:
		return m.matchIDs(a.name, a.value, b.value)
	case cut && a.name == "text" && kind.Phase() == "delta":
		return strings.Contains(a.value, b.value) || strings.Contains(b.value, a.value)
	}
	return cut && a.name == "end"
}

// matchIDs says whether two ids can be the same thing: neither has stood for another one.
func (m *comparer) matchIDs(field, a, b string) bool {
	field = field[strings.LastIndexByte(field, '.')+1:]
	if field == "message" || field == "cursor" { // a run's own: another run may use them again
		field += " " + m.scope
	}
	if m.idsAToB[field] == nil {
		m.idsAToB[field], m.idsBToA[field] = map[string]string{}, map[string]string{}
	}
	to, known := m.idsAToB[field][a]
	from, known2 := m.idsBToA[field][b]
	if !known && !known2 {
		m.idsAToB[field][a], m.idsBToA[field][b] = b, a
		return true
	}
	return to == b && from == a
}
