package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/streamassay/streamassay/internal/journal"
)

// clientJudge returns a function that judges the requests of the clients or, without --expect and
// --expect-report, judges nothing. It must be called before anything is served, because it returns
// a usage error if one of these flags is invalid.
//
// The returned function must be called when the mock has ended, with the journal and the exit code
// so far. It prints the result and writes the report requested with --expect-report. If it cannot
// write the report, it returns an error with the exit code of an internal error. Otherwise it
// returns an error with the exit code so far or, if that is 0, with the exit code of the result; it
// returns nil if both are 0.
func (m *mockOptions) clientJudge(sh stdio) (func(*journal.Journal, int) error, error) {
	if m.expect == "" && m.expectReport == "" {
		return func(_ *journal.Journal, code int) error { return exitWith(code) }, nil
	}
	var want journal.Expectations
	if m.expect != "" {
		file, err := os.Open(m.expect)
		if err != nil {
			return nil, usageError("--expect %s: %v", m.expect, withoutPath(err))
		}
		defer file.Close()
		if want, err = journal.LoadExpectations(m.expect, file); err != nil {
			return nil, usageError("--expect %v", err)
		}
	}
	var to destination
	if m.expectReport != "" {
		var err error
		if to, err = writableDestination("--expect-report "+m.expectReport, m.expectReport); err != nil {
			return nil, err
		}
	}
	started := time.Now()
	return func(j *journal.Journal, code int) error {
		found := want.Conclude(j)
		found.Tool, found.Version = "streamassay", buildVersion()
		found.Started, found.DurationMS = started.UTC().Truncate(time.Second), time.Since(started).Milliseconds()
		if code != exitOK {
			found.Exit = code
		}
		fmt.Fprint(sh.out, found.Text())
		if m.expectReport != "" {
			var text bytes.Buffer
			err := found.WriteJSON(&text)
			if err == nil {
				err = to.write(context.Background(), text.Bytes())
			}
			if err != nil {
				return exitError{exitInternal, fmt.Sprintf("--expect-report %s: %v", m.expectReport, withoutPath(err))}
			}
		}
		return exitWith(found.Exit)
	}, nil
}
