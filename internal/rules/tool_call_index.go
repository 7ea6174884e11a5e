package rules

import "github.com/streamassay/streamassay/spec"

// A toolCallIndex finds the tool call of a run to which an event belongs. Each lookup takes
// amortized constant time, because a stream may have very many calls. The zero value is an empty
// index.
type toolCallIndex struct {
	byID             map[string]*assembledCall         // by call id
	byPosition       map[contentKey]candidateToolCalls // by the position of the call; see positionOf
	byResultPosition map[contentKey]candidateToolCalls // by the position of the result of the call
	unanswered       candidateToolCalls                // calls without a result, oldest first, and some with one
}

// A candidateToolCalls lists the tool calls to which an event may belong. The field all holds every
// such call, and withoutID holds those that have no id.
type candidateToolCalls struct{ all, withoutID []*assembledCall }

// with returns c with u appended to c.all and, if u has no id, to c.withoutID.
func (c candidateToolCalls) with(u *assembledCall) candidateToolCalls {
	if c.all = append(c.all, u); u.id == "" {
		c.withoutID = append(c.withoutID, u)
	}
	return c
}

// matching returns a pointer to the list of the calls to which e may belong: &c.all if e has no
// call id, and &c.withoutID if it has one. If a call with the id of e is known, e belongs to that
// call, and matching must not be called.
func (c *candidateToolCalls) matching(e spec.Event) *[]*assembledCall {
	if e.Call == "" {
		return &c.all
	}
	return &c.withoutID
}

// firstMatching returns the first call in *list for which fits returns true, or nil if there is
// none. It removes all calls before the result from *list. Once fits has returned false for a
// call, it must never return true for that call.
func firstMatching(list *[]*assembledCall, fits func(u *assembledCall) bool) *assembledCall {
	for len(*list) > 0 && !fits((*list)[0]) {
		*list = (*list)[1:]
	}
	if len(*list) == 0 {
		return nil
	}
	return (*list)[0]
}

// toolCallFor returns the tool call to which e belongs. It finds the call by its id. If e or the
// call has no id, it finds the call by the position of e (see positionOf) or, if e is a result,
// takes the first call without a result. If the run has no such call yet, toolCallFor adds it.
func (a *assembledRun) toolCallFor(e spec.Event) *assembledCall {
	if u := a.callIndex.find(e); u != nil {
		return u
	}
	u := &assembledCall{id: e.Call, callEvent: a.keep(e)}
	a.toolCalls = append(a.toolCalls, u)
	a.callIndex.add(u)
	return u
}

// find returns the call to which e belongs, or nil if the index does not have such a call.
func (s *toolCallIndex) find(e spec.Event) *assembledCall {
	if u := s.byID[e.Call]; u != nil && e.Call != "" {
		return u
	}
	switch e.Kind {
	case spec.ToolCall:
		return s.findAt(s.byPosition, e, func(*assembledCall) bool { return true })
	case spec.ToolResult:
		sameResult := func(u *assembledCall) bool { return u.resultEvent == positionOf(e) }
		if u := s.findAt(s.byResultPosition, e, sameResult); u != nil {
			return u
		}
		return firstMatching(s.unanswered.matching(e), func(u *assembledCall) bool { return !u.hasResult })
	}
	return nil
}

// findAt returns the first call at the position of e (see positionOf) for which fits returns true,
// or nil if there is none or if e names no message. The map places maps each position to its calls.
// findAt removes the calls before the result from that map. Once fits has returned false for a
// call, it must therefore never return true for that call.
func (s *toolCallIndex) findAt(
	places map[contentKey]candidateToolCalls, e spec.Event, fits func(u *assembledCall) bool,
) *assembledCall {
	if e.Message == "" {
		return nil
	}
	here := places[positionOf(e)]
	u := firstMatching(here.matching(e), fits)
	if len(here.all) > 0 {
		places[positionOf(e)] = here
	}
	return u
}

// add adds u, a new call without a result, to the index.
func (s *toolCallIndex) add(u *assembledCall) {
	if s.byID == nil {
		s.byID = map[string]*assembledCall{}
		s.byPosition, s.byResultPosition = map[contentKey]candidateToolCalls{}, map[contentKey]candidateToolCalls{}
	}
	if u.id != "" {
		s.byID[u.id] = u
	}
	place := positionOf(*u.callEvent)
	s.byPosition[place] = s.byPosition[place].with(u)
	s.unanswered = s.unanswered.with(u)
}
