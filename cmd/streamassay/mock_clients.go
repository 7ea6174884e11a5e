package main

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/streamassay/streamassay/mockserver/journal"
)

// clientJudge returns a function that judges the clients at the end, prints and writes the
// report and returns the exit. A code other than 0, from an interrupted command, takes
// precedence. The file of --expect is read at once, before anything is served.
func (m *mockOptions) clientJudge(sh stdio) (func(*journal.Journal, int) error, error) {
	if m.expect == "" && m.expectReport == "" {
		return func(_ *journal.Journal, code int) error { return exitWith(code) }, nil
	}
	var want journal.Expect
	if m.expect != "" {
		file, err := os.Open(m.expect)
		if err != nil {
			return nil, usageError("--expect %s: %v", m.expect, withoutPath(err))
		}
		defer file.Close()
		if want, err = journal.LoadExpect(m.expect, file); err != nil {
			return nil, usageError("--expect %v", err)
		}
	}
	var to destination
	if m.expectReport != "" {
		var err error
		if to, err = newDestination(m.expectReport); err == nil {
			err = to.checkWritable()
		}
		if err != nil {
			return nil, usageError("--expect-report %s: %v", m.expectReport, err)
		}
	}
	return func(j *journal.Journal, code int) error {
		found := want.Conclude(j, journal.Filter{})
		if code != exitOK {
			found.ExitCode = code
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
		return exitWith(found.ExitCode)
	}, nil
}

// exitWith returns the error that ends the program with a code; nil for success.
func exitWith(code int) error {
	if code == exitOK {
		return nil
	}
	return exitError{code: code}
}
