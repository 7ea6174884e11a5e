package control

import (
	"net/http"
	"net/url"
	"time"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/internal/journal"
)

// A mockStatus is the status of the mock, as GET /v1/status and the HTML page show it.
type mockStatus struct {
	Seed     uint64          `json:"seed"`  // seed of the random choices; see mockserver.Server.Seed
	Clock    time.Time       `json:"clock"` // current time of the mock's clock
	Dialects []servedDialect `json:"dialects"`
	Tests    []string        `json:"tests"`   // ids of the tests that the mock knows, sorted
	Streams  int             `json:"streams"` // number of open streams
	Journal  journalSize     `json:"journal"`
}

// A servedDialect is a dialect that the mock serves.
type servedDialect struct {
	Name string `json:"name"` // name, such as "runs@2026-04"
	Base string `json:"base"` // path of the base URL on the port of the mock
}

// A journalSize describes the size of the journal.
type journalSize struct {
	Exchanges int    `json:"exchanges"` // number of exchanges in the journal
	Bytes     int64  `json:"bytes"`     // approximate memory that these exchanges use
	Forgotten uint64 `json:"forgotten"` // number of exchanges that the limits of the journal have removed
}

// currentStatus returns the status of the mock, the response to GET /v1/status.
func (s *server) currentStatus() mockStatus {
	_, exchanges := s.journal().List(journal.Filter{Limit: 1})
	now := mockStatus{
		Seed: s.mock.Seed(), Clock: s.mock.Clock().Now(), Dialects: []servedDialect{},
		Tests: append([]string{}, s.mock.Tests()...), Streams: len(s.mock.Streams("")),
		Journal: journalSize{exchanges, s.journal().Bytes(), s.journal().Forgotten()},
	}
	for _, d := range s.mock.Dialects() {
		now.Dialects = append(now.Dialects, servedDialect{d.Name, s.mock.BasePath(d.Name)})
	}
	return now
}

// A clockChange is the body of a request that sets the clock. Exactly one field must be set.
type clockChange struct {
	Time    *time.Time `json:"time"`    // stop the clock at this time
	Run     bool       `json:"run"`     // let the clock run
	Advance *string    `json:"advance"` // stop the clock at its current time plus this duration, such as "5m"
}

// currentTime returns the time of the mock's clock as {"time": TIME}, the response to GET /v1/clock.
func (s *server) currentTime() map[string]time.Time {
	return map[string]time.Time{"time": s.mock.Clock().Now()}
}

// putClock handles PUT /v1/clock, whose body is a clockChange: it stops the clock at a certain time
// or lets it run again. It responds with {"time": TIME}, the new time of the clock. If the body is
// invalid, it changes nothing and returns an error.
func (s *server) putClock(w http.ResponseWriter, r *http.Request, query url.Values) error {
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
	return writeJSON(w, s.currentTime())
}

// resetMock handles POST /v1/reset: it discards the settings, the script state and the exchanges of
// the test in the query. If the query names no test, it resets the whole mock (see
// [mockserver.Server.Reset]). It responds with status 204, or returns an error if the request has a
// body.
func (s *server) resetMock(w http.ResponseWriter, r *http.Request, query url.Values) error {
	if err := refuseBody(w, r, "reset takes no body; to reset one test, use the query, e.g. ?test=a"); err != nil {
		return err
	}
	test := query.Get("test")
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

// A faultDescription is the JSON form of a [fault.Fault].
type faultDescription struct {
	Name   string        `json:"name"`
	Doc    string        `json:"doc"`
	Family string        `json:"family"` // category of the fault
	Needs  []string      `json:"needs"`  // what a dialect must have for the fault to apply; see fault.Fault.RequiredKinds
	Checks []string      `json:"checks"` // ids of the checks that detect the fault
	Places []string      `json:"places"` // supported triggers: "event", "byte" or "time"
	Params []fault.Param `json:"params"`
}

// allFaults returns {"faults": LIST}, the response to GET /v1/faults. The list contains descriptions
// of all faults, in the order of [fault.All].
func allFaults() map[string][]faultDescription {
	all := []faultDescription{}
	for _, f := range fault.All {
		one := faultDescription{
			Name: f.Name, Doc: f.Doc, Family: string(f.Category), Needs: []string{}, Params: f.AllParams(),
			Checks: append([]string{}, f.Checks...), Places: append([]string{}, f.Triggers...),
		}
		for _, kind := range f.RequiredKinds {
			one.Needs = append(one.Needs, string(kind))
		}
		all = append(all, one)
	}
	return map[string][]faultDescription{"faults": all}
}
