package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/streamassay/streamassay/internal/journal"
)

// clientJudge returns a function that judges the requests of the clients by the expectations of
// --expect. It must be called before the mock serves anything. It returns a usage error if --expect
// or --expect-report is invalid.
//
// The caller must call the returned function when the mock has ended, with the journal and the exit
// code of the mock. The function prints the result and writes the report of --expect-report. It
// returns an error with the exit code for internal errors if the report cannot be written;
// otherwise with the exit code of the mock or, if that is 0, of the result. If that is 0 as well,
// it returns nil. Without --expect and --expect-report, it neither judges nor prints anything.
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
		text := bufio.NewReader(file)
		if _, err := text.Peek(1); err == io.EOF {
			return nil, usageError("--expect %s: is empty: want calls", m.expect)
		}
		if want, err = journal.LoadExpectations(m.expect, text, m.dialects); err != nil {
			return nil, usageError("--expect %v", err)
		}
	}
	var to outputDestination
	if m.expectReport != "" {
		var err error
		if to, err = writableDestination("--expect-report "+m.expectReport, m.expectReport); err != nil {
			return nil, err
		}
		name, ready := "--expect-report "+m.expectReport, m.endpoint
		if err := to.checkInputs(name, append(m.inputs, ready.cert, ready.key)...); err != nil {
			return nil, err
		}
		if err := to.checkDistinct(name, ready.readyTo, "--ready-file "+ready.readyFile); err != nil {
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
