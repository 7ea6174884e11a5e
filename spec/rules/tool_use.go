package rules

import "github.com/streamassay/streamassay/spec"

// A useIndex finds the calls of an answer without looking at all of them.
type useIndex struct {
	byID map[string]*toolUse
	at   map[slot]candidates // by where the call stands
	told map[slot]candidates // by where a result of it stands
	open candidates          // not answered yet, in order; some may have been since
}

// candidates are calls, and those of them that have no id.
type candidates struct{ all, nameless []*toolUse }

func (c candidates) with(u *toolUse) candidates {
	if c.all = append(c.all, u); u.id == "" {
		c.nameless = append(c.nameless, u)
	}
	return c
}

// of are those that an event may belong to: what names a call belongs to no other that has
// a name.
func (c *candidates) of(e spec.Event) *[]*toolUse {
	if e.Call == "" {
		return &c.all
	}
	return &c.nameless
}

// first drops calls that do not fit any more, and returns the first one that does.
func first(list *[]*toolUse, fits func(u *toolUse) bool) *toolUse {
	for len(*list) > 0 && !fits((*list)[0]) {
		*list = (*list)[1:]
	}
	if len(*list) == 0 {
		return nil
	}
	return (*list)[0]
}

func placeOf(e spec.Event) slot { return slot{e.Message, e.Index} }

// use is the call that e belongs to: by its id, or, where ids are not told, by where
// it stands, or by order.
func (a *answer) use(e spec.Event) *toolUse {
	if u := a.index.find(e); u != nil {
		return u
	}
	u := &toolUse{id: e.Call, at: a.keep(e)}
	a.calls = append(a.calls, u)
	a.index.add(u)
	return u
}

func (s *useIndex) find(e spec.Event) *toolUse {
	if u := s.byID[e.Call]; u != nil && e.Call != "" {
		return u
	}
	switch e.Kind {
	case spec.ToolCall:
		return s.standing(s.at, e, func(*toolUse) bool { return true })
	case spec.ToolResult:
		if u := s.standing(s.told, e, func(u *toolUse) bool { return u.told == placeOf(e) }); u != nil {
			return u
		}
		return first(s.open.of(e), func(u *toolUse) bool { return !u.answered })
	}
	return nil
}

// standing is the first call at the place of e.
func (s *useIndex) standing(places map[slot]candidates, e spec.Event, fits func(u *toolUse) bool) *toolUse {
	if e.Message == "" {
		return nil
	}
	here := places[placeOf(e)]
	u := first(here.of(e), fits)
	if len(here.all) > 0 {
		places[placeOf(e)] = here
	}
	return u
}

func (s *useIndex) add(u *toolUse) {
	if s.byID == nil {
		s.byID, s.at, s.told = map[string]*toolUse{}, map[slot]candidates{}, map[slot]candidates{}
	}
	if u.id != "" {
		s.byID[u.id] = u
	}
	place := placeOf(*u.at)
	s.at[place] = s.at[place].with(u)
	s.open = s.open.with(u)
}

// answered notes a result of a call.
func (s *useIndex) answered(u *toolUse) { s.told[u.told] = s.told[u.told].with(u) }
