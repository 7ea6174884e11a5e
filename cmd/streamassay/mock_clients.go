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
// --expect. Call clientJudge before the mock serves anything: it returns a usage error if --expect
// or --expect-report is invalid.
//
// When the mock has ended, call the returned function with the journal and the exit code of the
// mock. It prints the result and writes the report of --expect-report. If the exit code of the mock
// or of the result is not 0, it returns an error with that code; the code of the mock takes
// precedence. If the report cannot be written, the exit code is that of an internal error. Without
// --expect and --expect-report, the function judges nothing.
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
