package rules

import "github.com/streamassay/streamassay/spec"

// A toolCallIndex finds the calls of an answer without looking at all of them.
type toolCallIndex struct {
	byID             map[string]*toolCall
	byPosition       map[contentKey]callCandidates // by where the call stands
	byResultPosition map[contentKey]callCandidates // by where a result of it stands
	unanswered       callCandidates                // not answered yet, in order; some may have been since
}

// callCandidates are calls, and those of them that have no id.
type callCandidates struct{ all, withoutID []*toolCall }

func (c callCandidates) with(u *toolCall) callCandidates {
	if c.all = append(c.all, u); u.id == "" {
		c.withoutID = append(c.withoutID, u)
	}
	return c
}

// matching are those that an event may belong to: what names a call belongs to no other that has
// a name.
func (c *callCandidates) matching(e spec.Event) *[]*toolCall {
	if e.Call == "" {
		return &c.all
	}
	return &c.withoutID
}

// firstMatching drops calls that do not fit any more, and returns the first one that does.
func firstMatching(list *[]*toolCall, fits func(u *toolCall) bool) *toolCall {
	for len(*list) > 0 && !fits((*list)[0]) {
		*list = (*list)[1:]
	}
	if len(*list) == 0 {
		return nil
	}
	return (*list)[0]
}

func positionOf(e spec.Event) contentKey { return contentKey{e.Message, e.Index} }

// toolCallFor is the call that e belongs to: by its id, or, where ids are not told, by where
// it stands, or by order.
func (a *assembledRun) toolCallFor(e spec.Event) *toolCall {
	if u := a.callIndex.find(e); u != nil {
		return u
	}
	u := &toolCall{id: e.Call, callEvent: a.keep(e)}
	a.toolCalls = append(a.toolCalls, u)
	a.callIndex.add(u)
	return u
}

func (s *toolCallIndex) find(e spec.Event) *toolCall {
	if u := s.byID[e.Call]; u != nil && e.Call != "" {
		return u
	}
	switch e.Kind {
	case spec.ToolCall:
		return s.findAt(s.byPosition, e, func(*toolCall) bool { return true })
	case spec.ToolResult:
		if u := s.findAt(s.byResultPosition, e, func(u *toolCall) bool { return u.resultEvent == positionOf(e) }); u != nil {
			return u
		}
		return firstMatching(s.unanswered.matching(e), func(u *toolCall) bool { return !u.hasResult })
	}
	return nil
}

// findAt is the first call at the place of e.
func (s *toolCallIndex) findAt(places map[contentKey]callCandidates, e spec.Event, fits func(u *toolCall) bool) *toolCall {
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

func (s *toolCallIndex) add(u *toolCall) {
	if s.byID == nil {
		s.byID, s.byPosition, s.byResultPosition = map[string]*toolCall{}, map[contentKey]callCandidates{}, map[contentKey]callCandidates{}
	}
	if u.id != "" {
		s.byID[u.id] = u
	}
	place := positionOf(*u.callEvent)
	s.byPosition[place] = s.byPosition[place].with(u)
	s.unanswered = s.unanswered.with(u)
}

// addResult notes a result of a call.
func (s *toolCallIndex) addResult(u *toolCall) {
	s.byResultPosition[u.resultEvent] = s.byResultPosition[u.resultEvent].with(u)
}
