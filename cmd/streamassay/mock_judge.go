package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/streamassay/streamassay/mockserver/journal"
)

// judge prepares to say, at the end, whether clients did what was expected. The file is
// read before anything is served.
func (m *mock) judge(sh shell) (func(*journal.Journal) error, error) {
	if m.expect == "" && m.report == "" {
		return func(*journal.Journal) error { return nil }, nil
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
	if m.report != "" {
		if info, err := os.Stat(filepath.Dir(m.report)); err != nil || !info.IsDir() {
			return nil, usage("--expect-report %s: there is no directory %s", m.report, filepath.Dir(m.report))
		}
	}
	return func(j *journal.Journal) error {
		found := want.Conclude(j, journal.Filter{})
		fmt.Fprint(sh.out, found.Text())
		if m.report != "" {
			file, err := os.Create(m.report)
			if err == nil {
				err = found.WriteJSON(file)
			}
			if err == nil {
				err = file.Close()
			}
			if err != nil {
				return exitError{exitInternal, fmt.Sprintf("--expect-report %s: %v", m.report, plainError(err))}
			}
		}
		if found.Exit != exitOK {
			return exitError{found.Exit, ""}
		}
		return nil
	}, nil
}
