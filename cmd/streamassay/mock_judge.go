package main

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/streamassay/streamassay/mockserver/journal"
)

// judge prepares to say, at the end, whether clients did what was expected; the code is that
// of a command that a signal has interrupted, which stays the program's. The file is read
// before anything is served.
func (m *mock) judge(sh shell) (func(*journal.Journal, int) error, error) {
	if m.expect == "" && m.report == "" {
		return func(_ *journal.Journal, code int) error { return ended(code) }, nil
	}
	var want journal.Expect
	if m.expect != "" {
		file, err := os.Open(m.expect)
		if err != nil {
			return nil, usage("--expect %s: %v", m.expect, plainError(err))
		}
		defer file.Close()
		if want, err = journal.Load(m.expect, file); err != nil {
			return nil, usage("--expect %v", err)
		}
	}
	var to destination
	if m.report != "" {
		var err error
		if to, err = newDestination(m.report); err == nil {
			err = to.check()
		}
		if err != nil {
			return nil, usage("--expect-report %s: %v", m.report, err)
		}
	}
	return func(j *journal.Journal, code int) error {
		found := want.Conclude(j, journal.Filter{})
		if code != exitOK {
			found.Exit = code
		}
		fmt.Fprint(sh.out, found.Text())
		if m.report != "" {
			var text bytes.Buffer
			err := found.WriteJSON(&text)
			if err == nil {
				err = to.write(context.Background(), text.Bytes())
			}
			if err != nil {
				return exitError{exitInternal, fmt.Sprintf("--expect-report %s: %v", m.report, plainError(err))}
			}
		}
		return ended(found.Exit)
	}, nil
}

// ended returns how a program ends with an exit code.
func ended(code int) error {
	if code == exitOK {
		return nil
	}
	return exitError{code: code}
}
