package diff

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// An exchangeEvents holds the events of one exchange: the request and the events of its response.
type exchangeEvents struct {
	request      spec.Event
	key          string       // see [requestKey]
	index        int          // index of the exchange in the conversation, from 0
	events       []spec.Event // events of the response, in order, without comments
	startsMidway bool         // the request has a cursor: the position from which to resume a stream
	clientLeft   bool         // the client left before the end of the response
}

// splitExchanges groups the events of a conversation by exchange, in the order in which the
// exchanges begin. It omits comments. It merges successive deltas of one text, because servers may
// divide a text into deltas in different ways.
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
	for i := range all {
		all[i].key = requestKey(all[i].request)
	}
	return all
}

// appendEvent adds e, an event of the response, to x.events. In two cases, it changes the last
// event instead, not counting events of kind [spec.Unrecognized]. If e and the last event are
// deltas of the same text, the text of e is appended to that of the last event. If e is a later
// state of the tool call or content part in the last event, or if both are progress events of the
// same run or message, e replaces the last event.
func (x *exchangeEvents) appendEvent(e spec.Event) {
	n := len(x.events)
	for n > 0 && x.events[n-1].Kind == spec.Unrecognized { // these may occur between deltas of one text
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
			x.events[n-1] = e
			return
		}
	}
	x.events = append(x.events, e)
}

// response returns the event of the response, or the zero Event if there was no response.
func (x exchangeEvents) response() spec.Event {
	if i := slices.IndexFunc(x.events, func(e spec.Event) bool { return e.Kind == spec.HTTPResponse }); i >= 0 {
		return x.events[i]
	}
	return spec.Event{}
}

// isAnswered reports whether the status of the response is 2xx, and the body is neither a web page
// nor, if the request is for an event stream, anything else than one.
func (x exchangeEvents) isAnswered() bool {
	r := x.response()
	return r.StatusCode/100 == 2 && r.MediaType != "text/html" && (r.IsStream() || !x.request.IsStream())
}

// requestKey returns a key for the request r. Requests have equal keys if the fields Operation,
// Principal, Name, PollLimit and Text of their events are equal, if the elements of Parts have
// equal kinds and texts, if the elements of Violations have equal locations and messages, and if
// all or none of the requests resume a stream. The key contains no ids, because these differ
// between conversations.
func requestKey(r spec.Event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s|%s|%s|%s|%s|%t", r.Operation, r.Principal, r.Name, r.PollLimit, r.Text, r.Cursor != "")
	for _, p := range r.Parts {
		fmt.Fprintf(&b, "|%s %s", p.Kind, p.Text)
	}
	for _, f := range r.Violations {
		fmt.Fprintf(&b, "|%s: %s", f.Location, f.Message)
	}
	return b.String()
}

// A comparer compares two conversations, A and B, and records their differences.
type comparer struct {
	volatile  volatileFields
	scope     string            // identifies the run whose exchanges are being compared; see matchIDs
	ids       map[sideID]string // for each id of one side, the corresponding id of the other side
	exchanges int               // number of pairs of exchanges that were compared
	events    int               // number of pairs of events that were compared
	statuses  []int             // distinct status codes of the responses in these pairs, both sides together
	answered  bool              // at least one pair has a response for which isAnswered is true
	validSent bool              // at least one pair has a valid request of the [spec.PrimaryUser]
	found     []Difference      // the differences so far
	notes     []string          // descriptions of unpaired exchanges that do not count as differences
}

// A sideID is an id that a field of events has on one side of the comparison. The member side is
// "A" or "B", and field is the name of the field.
type sideID struct{ side, field, id string }

// newComparer returns a comparer that ignores differences in the given volatile fields.
func newComparer(volatile volatileFields) *comparer {
	return &comparer{volatile: volatile, ids: map[sideID]string{}}
}

// compareConversations pairs the exchanges of the conversations a and b, and records the
// differences between the responses in each pair. It also records exchanges that only one of the
// conversations has (see addUnmatched).
func (m *comparer) compareConversations(a, b []exchangeEvents) {
	pairs := align(len(a), len(b), func(i, j int) int {
		switch {
		case a[i].key == b[j].key && a[i].response().StatusCode == b[j].response().StatusCode:
			return 5 // concurrent requests may be answered in any order
		case a[i].key == b[j].key:
			return 4
		case a[i].sameOperation(b[j]):
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

// sameOperation reports whether the responses of x and y can be compared although their requests
// may differ. This is the case if the requests have the same operation and principal, and if both
// or neither of them resume a stream.
func (x exchangeEvents) sameOperation(y exchangeEvents) bool {
	return x.request.Operation == y.request.Operation && x.request.Principal == y.request.Principal &&
		x.startsMidway == y.startsMidway
}

// addUnmatched records that only the given side, "A" or "B", has the exchange x. It adds a note if
// matched contains the operation of x, and otherwise a difference. The set matched holds the
// operations for which at least one pair of exchanges was compared.
func (m *comparer) addUnmatched(x exchangeEvents, side string, matched map[string]bool) {
	// The number of requests for an operation may depend on earlier responses. For example, a run
	// that is streamed in more pieces is resumed more often.
	if matched[x.request.Operation] {
		m.notes = append(m.notes, fmt.Sprintf("only %s has exchange %d: %s", side, x.index, x.describeRequest()))
		return
	}
	m.addOneSided(x, x.request, side)
}

// compareExchange records the differences between the responses of a and b, the two exchanges of a
// pair. It also records the status codes of the responses, and which ids in the two requests
// correspond.
func (m *comparer) compareExchange(a, b exchangeEvents) {
	m.exchanges++
	for _, x := range []exchangeEvents{a, b} {
		if s := x.response().StatusCode; s != 0 && !slices.Contains(m.statuses, s) {
			m.statuses = append(m.statuses, s)
		}
		m.answered = m.answered || x.isAnswered()
		m.validSent = m.validSent || len(x.request.Violations) == 0 && x.request.Principal == spec.PrimaryUser
	}
	m.scope = a.request.Run
	if m.scope == "" {
		m.scope = fmt.Sprint(a.index)
	}
	ofB := facts(b.request)
	for _, f := range facts(a.request) {
		if g, ok := factNamed(f.name, ofB); ok && f.comparison == compareAsID {
			m.matchIDs(f.name, f.value, g.value)
		}
	}
	pairs := align(len(a.events), len(b.events), func(i, j int) int { return m.similarity(a.events[i], b.events[j]) })
	startsMidway, clientLeft := a.startsMidway || b.startsMidway, a.clientLeft || b.clientLeft
	first, last := pairedRange(pairs, a.events)
	for i, p := range pairs {
		switch {
		case p.a >= 0 && p.b >= 0:
			m.events++
			if fields := m.compareEvent(a.events[p.a], b.events[p.b], startsMidway || clientLeft); len(fields) > 0 {
				d := Difference{a.describeRequest(), newSide(a, a.events[p.a]), newSide(b, b.events[p.b]), fields}
				m.found = append(m.found, d)
			}
		case startsMidway && i < first || clientLeft && i > last: // one response begins later or ends earlier
		case p.b < 0:
			m.addOneSided(a, a.events[p.a], "A")
		default:
			m.addOneSided(b, b.events[p.b], "B")
		}
	}
}

// pairedRange returns the indexes of the first and of the last pair with events on both sides. It
// ignores pairs of events of kind [spec.HTTPResponse] or [spec.BodyEnd]. If no pair remains, it
// returns len(pairs) and -1. The argument a holds the events of side A.
func pairedRange(pairs []indexPair, a []spec.Event) (first, last int) {
	first, last = len(pairs), -1
	for i, p := range pairs {
		if p.a >= 0 && p.b >= 0 && a[p.a].Kind != spec.HTTPResponse && a[p.a].Kind != spec.BodyEnd {
			first, last = min(first, i), i
		}
	}
	return first, last
}

// similarity returns how well two events match, as a weight for [align], from 0 (no match) to 12.
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
	case a.Kind.Subject() == b.Kind.Subject() && a.Kind.Phase() != "" &&
		(a.Kind.Phase() == "end" || b.Kind.Phase() == "end"):
		return 1 // for example, an end and an error of a run
	case a.Frame < 0 && b.Frame < 0:
		return 1 // the bodies of two replies
	}
	return 0
}

// addOneSided records a difference: only the given side, "A" or "B", has the event e in exchange x.
// It records nothing if events of this kind are volatile (see volatileFields).
func (m *comparer) addOneSided(x exchangeEvents, e spec.Event, side string) {
	if m.volatile[string(e.Kind)+" *"] {
		return
	}
	d := Difference{Request: x.describeRequest()}
	if side == "A" {
		d.A = newSide(x, e)
	} else {
		d.B = newSide(x, e)
	}
	m.found = append(m.found, d)
}

// newSide returns a description of the event e in exchange x, for the field A or B of a
// [Difference].
func newSide(x exchangeEvents, e spec.Event) *EventSummary {
	return &EventSummary{Exchange: x.index, Event: e.Frame, Kind: e.Kind, Facts: describeEvent(e)}
}

// compareEvent returns the fields in which the events a and b differ, or nil if they match. It
// omits volatile fields. The argument cut states whether the response of at least one side is
// incomplete, because it resumes a stream or because the client left before the end. If cut is
// true, compareEvent also omits differences that may result from that.
func (m *comparer) compareEvent(a, b spec.Event, cut bool) (fields []FieldDiff) {
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
		if g, ok := factNamed(f.name, fb); !ok || !m.factsMatch(a.Kind, f, g, cut) {
			differ(f.name, f.value, g.value)
		}
	}
	for _, g := range fb {
		if _, ok := factNamed(g.name, fa); !ok {
			differ(g.name, "", g.value)
		}
	}
	return fields
}

// factNamed returns the fact with the given name in list. The second result is false if there is
// none.
func factNamed(name string, list []comparedProperty) (comparedProperty, bool) {
	if i := slices.IndexFunc(list, func(f comparedProperty) bool { return f.name == name }); i >= 0 {
		return list[i], true
	}
	return comparedProperty{}, false
}

// factsMatch reports whether a and b, two values of the same fact of events of the given kind,
// match according to a.comparison. For ids, it calls [comparer.matchIDs]. If cut is true, values
// also match if they may differ only because a stream was cut (see compareEvent).
func (m *comparer) factsMatch(kind spec.Kind, a, b comparedProperty, cut bool) bool {
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

// matchIDs reports whether the id a of side A can correspond to the id b of side B. It returns
// false if an earlier call paired one of them with another id. Otherwise, it records the pair and
// returns true.
//
// The argument field is the name of the field that holds the ids; only the part after the last dot
// matters. Ids in fields with different names are independent of each other. The same is true of
// message ids, and of cursors, in different runs (see m.scope).
func (m *comparer) matchIDs(field, a, b string) bool {
	field = field[strings.LastIndexByte(field, '.')+1:]
	if field == "message" || field == "cursor" { // unique only within a run
		field += " " + m.scope
	}
	ofA, ofB := sideID{"A", field, a}, sideID{"B", field, b}
	to, knownA := m.ids[ofA]
	from, knownB := m.ids[ofB]
	if !knownA && !knownB {
		m.ids[ofA], m.ids[ofB] = b, a
		return true
	}
	return to == b && from == a
}
