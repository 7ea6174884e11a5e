package rules

import "github.com/streamassay/streamassay/spec"

// A toolCallIndex finds the tool call of a run that an event belongs to. All lookups take amortized
// constant time because a stream may have very many calls.
type toolCallIndex struct {
	byID             map[string]*assembledCall
	byPosition       map[contentKey]matchingToolCalls // by the position of the call
	byResultPosition map[contentKey]matchingToolCalls // by the position of its result
	unanswered       matchingToolCalls                // in order; may contain calls that have a result by now
}

// matchingToolCalls lists the tool calls that an event may belong to, and separately those of them
// that have no id.
type matchingToolCalls struct{ all, withoutID []*assembledCall }

// with returns c with the call u added to its lists.
func (c matchingToolCalls) with(u *assembledCall) matchingToolCalls {
	if c.all = append(c.all, u); u.id == "" {
		c.withoutID = append(c.withoutID, u)
	}
	return c
}

// matching returns a pointer to the list of candidates that e may belong to: all of them, or, if e
// has a call id, only calls without an id, as those with another id are ruled out.
func (c *matchingToolCalls) matching(e spec.Event) *[]*assembledCall {
	if e.Call == "" {
		return &c.all
	}
	return &c.withoutID
}

// firstMatching returns the first call of the list for which fits returns true, or nil if there is
// none. It removes the calls before it from the list, because a call that does not fit now never
// fits later.
func firstMatching(list *[]*assembledCall, fits func(u *assembledCall) bool) *assembledCall {
	for len(*list) > 0 && !fits((*list)[0]) {
		*list = (*list)[1:]
	}
	if len(*list) == 0 {
		return nil
	}
	return (*list)[0]
}

// positionOf returns the position of an event in its stream's content: its message id and index.
func positionOf(e spec.Event) contentKey { return contentKey{e.Message, e.Index} }

// toolCallFor returns the tool call that e belongs to, found by its id or, where ids are missing,
// by position or order. If the run does not have it yet, toolCallFor adds it.
func (a *assembledRun) toolCallFor(e spec.Event) *assembledCall {
	if u := a.callIndex.find(e); u != nil {
		return u
	}
	u := &assembledCall{id: e.Call, callEvent: a.keep(e)}
	a.toolCalls = append(a.toolCalls, u)
	a.callIndex.add(u)
	return u
}

// find returns the call that e belongs to, or nil if the index does not have it.
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

// findAt returns the first call in places at the position of e for which fits returns true, or nil
// if there is none. An event that names no message has no position.
func (s *toolCallIndex) findAt(
	places map[contentKey]matchingToolCalls, e spec.Event, fits func(u *assembledCall) bool,
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

// add adds a new call to the index, by its id and its position.
func (s *toolCallIndex) add(u *assembledCall) {
	if s.byID == nil {
		s.byID = map[string]*assembledCall{}
		s.byPosition, s.byResultPosition = map[contentKey]matchingToolCalls{}, map[contentKey]matchingToolCalls{}
	}
	if u.id != "" {
		s.byID[u.id] = u
	}
	place := positionOf(*u.callEvent)
	s.byPosition[place] = s.byPosition[place].with(u)
	s.unanswered = s.unanswered.with(u)
}

// addResult adds a call that got its result to the index, by the position of the result.
func (s *toolCallIndex) addResult(u *assembledCall) {
	s.byResultPosition[u.resultEvent] = s.byResultPosition[u.resultEvent].with(u)
}
