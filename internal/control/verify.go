package control

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/streamassay/streamassay/internal/journal"
)

// verifyCalls handles POST /v1/verify: it compares the exchanges that match the query with the
// expected calls in the body, which is a journal.Expectations in JSON or YAML. The response has
// status 200 and the body {"ok": true}, or {"ok": false, "failures": LIST} if the number or the
// order of the calls differs; LIST holds values of the type journal.UnmetExpectation. If the query
// or the body is invalid, verifyCalls returns an error with the status for the response.
func (s *server) verifyCalls(w http.ResponseWriter, r *http.Request, query url.Values) error {
	f, err := s.parseFilter(query)
	if err != nil {
		return err
	}
	data, _, err := readBody(w, r, maxBody, "application/json", "application/yaml")
	if err != nil {
		return err
	}
	expected, err := journal.LoadExpectations("body", bytes.NewReader(data), s.mock.Dialects())
	if err != nil {
		return badRequest("%v", err)
	}
	if len(expected.Calls) == 0 {
		return badRequest(`no calls to verify (e.g. {"calls": [{"op": "run", "exactly": 1}]})`)
	}
	failures := s.journal().Verify(f, expected)
	if len(failures) == 0 {
		return writeJSON(w, map[string]any{"ok": true})
	}
	return writeJSON(w, map[string]any{"ok": false, "failures": failures})
}

// waitForExchanges handles POST /v1/wait: it waits until at least N exchanges match a filter, or
// until a timeout has passed. The body is {"filter": FILTER, "n": N, "timeout": DURATION}: FILTER is
// a journal.Filter, N is 1 by default, and DURATION is a string such as "5s", by default
// defaultWait. The response has status 200 and the body {"ok": BOOL, "seen": COUNT, "wanted": N}.
// BOOL is false after a timeout, and COUNT is the number of matching exchanges. The error has status
// 400 if the body is invalid, and 503 if the mock shuts down. Other errors are those of readJSON and
// acquireLong.
func (s *server) waitForExchanges(w http.ResponseWriter, r *http.Request, query url.Values) error {
	var to struct {
		Filter  journal.Filter `json:"filter"`
		N       *int           `json:"n"`
		Timeout *string        `json:"timeout"`
	}
	if err := readJSON(w, r, &to, `{"filter": {"op": "run", "ended": "whole"}, "n": 1, "timeout": "5s"}`); err != nil {
		return err
	}
	n, timeout := 1, defaultWait
	if to.N != nil {
		if n = *to.N; n < 1 || n > maxPageSize {
			return badRequest("invalid n %d (want a number from 1 to %d)", n, maxPageSize)
		}
	}
	if to.Timeout != nil {
		var err error
		if timeout, err = time.ParseDuration(*to.Timeout); err != nil || timeout < 0 || timeout > maxWait {
			return badRequest("invalid timeout %.40q (want at most %v, e.g. 5s)", *to.Timeout, maxWait)
		}
	}
	f := to.Filter
	if err := f.Check(s.mock.Dialects()); err != nil {
		return badRequest("%v", err)
	}
	ctx, leave, err := s.acquireLong(w, r)
	if err != nil {
		return err
	}
	defer leave()
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(timeout + writeTimeout))
	limited, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	err = s.journal().Wait(limited, f, n)
	f.Limit = 1
	_, seen := s.journal().List(f)
	if err != nil && ctx.Err() != nil {
		return problemf(http.StatusServiceUnavailable, "the mock is shutting down")
	}
	return writeJSON(w, map[string]any{"ok": err == nil, "seen": seen, "wanted": n})
}
