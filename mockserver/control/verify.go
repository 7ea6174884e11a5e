package control

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/streamassay/streamassay/mockserver/journal"
)

// verify says whether what was expected was seen.
func (s *server) verify(w http.ResponseWriter, r *http.Request) error {
	q, err := query(r, "test", "after")
	if err != nil {
		return err
	}
	f, err := filterOf(q)
	if err != nil {
		return err
	}
	if _, err := media(r, "application/json", "application/yaml"); err != nil {
		return err
	}
	data, err := body(w, r, mostBody)
	if err != nil {
		return err
	}
	wanted, err := journal.Load("body", bytes.NewReader(data))
	if err != nil {
		return bad("%v", err)
	}
	if len(wanted.Calls) == 0 {
		return bad(`no calls are expected: {"calls": [{"op": "run", "exactly": 1}]} is right`)
	}
	failures := s.journal().Verify(f, wanted)
	if len(failures) == 0 {
		answer(w, map[string]any{"ok": true})
		return nil
	}
	answer(w, map[string]any{"ok": false, "failures": failures})
	return nil
}

// wanted is what a client waits for.
type wanted struct {
	Filter  *filter `json:"filter"`
	N       *int    `json:"n"`
	Timeout *string `json:"timeout"`
}

// A filter is [journal.Filter] as JSON has it.
type filter struct {
	Dialect  string    `json:"dialect"`
	Op       string    `json:"op"`
	Method   string    `json:"method"`
	Path     string    `json:"path"`
	Status   statusOf  `json:"status"`
	Test     *string   `json:"test"`
	Thread   string    `json:"thread"`
	Run      string    `json:"run"`
	Rule     string    `json:"rule"`
	Ended    string    `json:"ended"`
	Finding  string    `json:"finding"`
	Contains string    `json:"contains"`
	Since    time.Time `json:"since"`
	After    uint64    `json:"after"`
}

// A statusOf is a status: a number, or a text such as "4XX".
type statusOf string

func (s *statusOf) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] != '"' {
		*s = statusOf(data)
		return nil
	}
	return json.Unmarshal(data, (*string)(s))
}

func (f *filter) chosen() journal.Filter {
	if f == nil {
		return journal.Filter{}
	}
	return journal.Filter{
		Dialect: f.Dialect, Op: f.Op, Method: f.Method, Path: f.Path, Status: string(f.Status), Test: f.Test, Thread: f.Thread,
		Run: f.Run, Rule: f.Rule, Ended: f.Ended, Finding: f.Finding, Contains: f.Contains, Since: f.Since, After: f.After,
	}
}

// wait answers when there are so many exchanges of a kind, or when it took too long.
func (s *server) wait(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	var to wanted
	if err := read(w, r, &to, `{"filter": {"op": "run", "ended": "whole"}, "n": 1, "timeout": "5s"}`); err != nil {
		return err
	}
	n, span := 1, usualWait
	if to.N != nil {
		if n = *to.N; n < 1 || n > mostPage {
			return bad("n is %d: it is a number from 1 to %d", n, mostPage)
		}
	}
	if to.Timeout != nil {
		var err error
		if span, err = time.ParseDuration(*to.Timeout); err != nil || span < 0 || span > mostWait {
			return bad("timeout is %.40q: it is a span of time up to %v, such as 5s", *to.Timeout, mostWait)
		}
	}
	f := to.Filter.chosen()
	if err := checked(f); err != nil {
		return err
	}
	ctx, leave, err := s.stay(w, r)
	if err != nil {
		return err
	}
	defer leave()
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(span + writeWait)) // not everything has deadlines
	late, stop := context.WithTimeout(ctx, span)
	defer stop()
	err = s.journal().Wait(late, f, n)
	f.Limit = 1
	_, seen := s.journal().List(f)
	if err != nil && ctx.Err() != nil {
		return &wrong{status: http.StatusServiceUnavailable, text: "the mock is being shut"}
	}
	answer(w, map[string]any{"ok": err == nil, "seen": seen, "wanted": n})
	return nil
}
