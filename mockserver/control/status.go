package control

import (
	"net/http"
	"slices"
	"time"

	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/mockserver/journal"
)

// standing is how the mock stands.
type standing struct {
	Seed     uint64    `json:"seed"`
	Clock    time.Time `json:"clock"`
	Dialects []served  `json:"dialects"`
	Tests    []string  `json:"tests"`
	Streams  int       `json:"streams"` // that are open
	Journal  kept      `json:"journal"`
}

// served is a dialect, and the path of its base URL on the port of the mock.
type served struct {
	Name string `json:"name"`
	Base string `json:"base"`
}

type kept struct {
	Exchanges int    `json:"exchanges"`
	Bytes     int64  `json:"bytes"`
	Forgotten uint64 `json:"forgotten"`
}

func (s *server) standing() standing {
	_, asked := s.journal().List(journal.Filter{Limit: 1})
	now := standing{
		Seed: s.mock.Seed(), Clock: s.mock.Clock().Now(), Dialects: []served{}, Tests: s.mock.Tests(), Streams: len(s.mock.Streams("")),
		Journal: kept{asked, s.journal().Bytes(), s.journal().Forgotten()},
	}
	if now.Tests == nil {
		now.Tests = []string{}
	}
	for _, d := range s.mock.Dialects() {
		now.Dialects = append(now.Dialects, served{d.Name, s.mock.Base(d.Name)})
	}
	return now
}

func (s *server) status(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	answer(w, s.standing())
	return nil
}

// A told is a time as clients say it.
type told struct {
	Time    *time.Time `json:"time"`
	Run     bool       `json:"run"`
	Advance *string    `json:"advance"`
}

func (s *server) clock(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	answer(w, map[string]time.Time{"time": s.mock.Clock().Now()})
	return nil
}

// putClock makes the clock stand at a time, or go on.
func (s *server) putClock(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	const example = `{"time": "2026-01-01T00:00:00Z"}, {"advance": "5m"} or {"run": true}`
	var to told
	if err := read(w, r, &to, example); err != nil {
		return err
	}
	clock := s.mock.Clock()
	switch {
	case to.Time != nil && !to.Run && to.Advance == nil:
		clock.Set(*to.Time)
	case to.Time == nil && to.Run && to.Advance == nil:
		clock.Run()
	case to.Time == nil && !to.Run && to.Advance != nil:
		d, err := time.ParseDuration(*to.Advance)
		if err != nil {
			return bad("advance is %.40q: a span of time is such as 90s or 5m", *to.Advance)
		}
		clock.Set(clock.Now().Add(d))
	default:
		return bad("one of time, advance and run is wanted: %s", example)
	}
	answer(w, map[string]time.Time{"time": clock.Now()})
	return nil
}

// reset forgets what a test has set and what was asked in it; of all without a test.
func (s *server) reset(w http.ResponseWriter, r *http.Request) error {
	test, err := testOf(r)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mock.Reset(test)
	if test == "" {
		clear(s.written)
	}
	delete(s.written, test)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// listed is a fault of the catalogue.
type listed struct {
	Name   string    `json:"name"`
	Doc    string    `json:"doc"`
	Family string    `json:"family"`
	Needs  []string  `json:"needs"`
	Checks []string  `json:"checks"`
	Places []string  `json:"places"`
	Params []settled `json:"params"`
}

// settled is a parameter of a fault.
type settled struct {
	Name    string   `json:"name"`
	Doc     string   `json:"doc"`
	Type    string   `json:"type"`
	Default string   `json:"default,omitempty"`
	Min     string   `json:"min,omitempty"`
	Max     string   `json:"max,omitempty"`
	One     []string `json:"one,omitempty"`
}

func catalogue() []listed {
	all := []listed{}
	for _, f := range fault.All {
		one := listed{f.Name, f.Doc, string(f.Category), []string{}, append([]string{}, f.Checks...), append([]string{}, f.Triggers...), []settled{}}
		for _, kind := range f.RequiredKinds {
			one.Needs = append(one.Needs, string(kind))
		}
		for _, p := range f.AllParams() {
			one.Params = append(one.Params, settled{p.Name, p.Doc, p.Type, p.Default, p.Min, p.Max, slices.Clone(p.Enum)})
		}
		all = append(all, one)
	}
	return all
}

func (s *server) faults(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	answer(w, map[string]any{"faults": catalogue()})
	return nil
}
