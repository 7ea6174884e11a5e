package control

import (
	"net/http"
	"slices"
	"time"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/internal/journal"
)

// statusJSON is the JSON form of the status of the mock, as GET /v1/status and the HTML page show
// it.
type statusJSON struct {
	Seed     uint64        `json:"seed"`
	Clock    time.Time     `json:"clock"`
	Dialects []dialectJSON `json:"dialects"`
	Tests    []string      `json:"tests"`
	Streams  int           `json:"streams"` // number of open streams
	Journal  journalJSON   `json:"journal"`
}

// dialectJSON names a dialect that the mock serves, with the path of its base URL on the port of
// the mock.
type dialectJSON struct {
	Name string `json:"name"`
	Base string `json:"base"`
}

// journalJSON contains the number of exchanges in the journal, the approximate memory that they use
// in bytes, and the number of exchanges that were dropped because of a limit.
type journalJSON struct {
	Exchanges int    `json:"exchanges"`
	Bytes     int64  `json:"bytes"`
	Forgotten uint64 `json:"forgotten"`
}

// currentStatus returns the status of the mock.
func (s *server) currentStatus() statusJSON {
	_, exchanges := s.journal().List(journal.Filter{Limit: 1})
	now := statusJSON{
		Seed: s.mock.Seed(), Clock: s.mock.Clock().Now(), Dialects: []dialectJSON{}, Tests: s.mock.Tests(), Streams: len(s.mock.Streams("")),
		Journal: journalJSON{exchanges, s.journal().Bytes(), s.journal().Forgotten()},
	}
	if now.Tests == nil {
		now.Tests = []string{}
	}
	for _, d := range s.mock.Dialects() {
		now.Dialects = append(now.Dialects, dialectJSON{d.Name, s.mock.BasePath(d.Name)})
	}
	return now
}

// getStatus handles GET /v1/status: it responds with the status of the mock.
func (s *server) getStatus(w http.ResponseWriter, r *http.Request) error {
	if _, err := parseQuery(r); err != nil {
		return err
	}
	writeJSON(w, s.currentStatus())
	return nil
}

// A clockChange is the body of a request that sets the clock. Exactly one field must be set.
type clockChange struct {
	Time    *time.Time `json:"time"`
	Run     bool       `json:"run"`
	Advance *string    `json:"advance"`
}

// getClock handles GET /v1/clock: it responds with the time of the mock's clock.
func (s *server) getClock(w http.ResponseWriter, r *http.Request) error {
	if _, err := parseQuery(r); err != nil {
		return err
	}
	writeJSON(w, map[string]time.Time{"time": s.mock.Clock().Now()})
	return nil
}

// putClock handles PUT /v1/clock: it stops the clock at a given time, stops it at a time later than
// now by a given duration, or lets it run again.
func (s *server) putClock(w http.ResponseWriter, r *http.Request) error {
	if _, err := parseQuery(r); err != nil {
		return err
	}
	const example = `{"time": "2026-01-01T00:00:00Z"}, {"advance": "5m"} or {"run": true}`
	var to clockChange
	if err := readJSON(w, r, &to, example); err != nil {
		return err
	}
	clock := s.mock.Clock()
	switch {
	case to.Time != nil && !to.Run && to.Advance == nil:
		clock.FreezeAt(*to.Time)
	case to.Time == nil && to.Run && to.Advance == nil:
		clock.Resume()
	case to.Time == nil && !to.Run && to.Advance != nil:
		d, err := time.ParseDuration(*to.Advance)
		if err != nil {
			return badRequest("invalid advance %.40q (e.g. 90s, 5m)", *to.Advance)
		}
		clock.FreezeAt(clock.Now().Add(d))
	default:
		return badRequest("want exactly one of time, advance and run (e.g. %s)", example)
	}
	writeJSON(w, map[string]time.Time{"time": clock.Now()})
	return nil
}

// resetMock handles POST /v1/reset: it discards the settings, the script state and the exchanges of
// the test in the query or, without a test, resets the mock as a whole (see
// [mockserver.Server.Reset]).
func (s *server) resetMock(w http.ResponseWriter, r *http.Request) error {
	test, err := testParam(r)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mock.Reset(test)
	if test == "" {
		clear(s.scriptSources)
	}
	delete(s.scriptSources, test)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// faultJSON is the JSON form of a fault.Fault.
type faultJSON struct {
	Name   string      `json:"name"`
	Doc    string      `json:"doc"`
	Family string      `json:"family"`
	Needs  []string    `json:"needs"`
	Checks []string    `json:"checks"`
	Places []string    `json:"places"`
	Params []paramJSON `json:"params"`
}

// paramJSON is the JSON form of a fault.Param.
type paramJSON struct {
	Name    string   `json:"name"`
	Doc     string   `json:"doc"`
	Type    string   `json:"type"`
	Default string   `json:"default,omitempty"`
	Min     string   `json:"min,omitempty"`
	Max     string   `json:"max,omitempty"`
	One     []string `json:"one,omitempty"`
}

// allFaults returns the JSON form of all faults.
func allFaults() []faultJSON {
	all := []faultJSON{}
	for _, f := range fault.All {
		one := faultJSON{
			Name: f.Name, Doc: f.Doc, Family: string(f.Category), Needs: []string{}, Params: []paramJSON{},
			Checks: append([]string{}, f.Checks...), Places: append([]string{}, f.Triggers...),
		}
		for _, kind := range f.RequiredKinds {
			one.Needs = append(one.Needs, string(kind))
		}
		for _, p := range f.AllParams() {
			one.Params = append(one.Params, paramJSON{p.Name, p.Doc, p.Type, p.Default, p.Min, p.Max, slices.Clone(p.Enum)})
		}
		all = append(all, one)
	}
	return all
}

// listFaults handles GET /v1/faults: it responds with a description of all faults.
func (s *server) listFaults(w http.ResponseWriter, r *http.Request) error {
	if _, err := parseQuery(r); err != nil {
		return err
	}
	writeJSON(w, map[string]any{"faults": allFaults()})
	return nil
}
