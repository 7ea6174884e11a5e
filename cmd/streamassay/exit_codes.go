package main

import (
	"fmt"
	"strings"

	"github.com/streamassay/streamassay/internal/exitcode"
	"github.com/streamassay/streamassay/internal/printable"
)

// A targetExitCodes holds one exit code per target, in the order of the targets.
type targetExitCodes []int

// worst returns the worst of the exit codes, as defined by [exitcode.Worse], or [exitOK] if c is
// empty.
func (c targetExitCodes) worst() int {
	worst := exitOK
	for _, code := range c {
		worst = exitcode.Worse(worst, code)
	}
	return worst
}

// summaryLine returns the line that sums up the results of several targets. If unwritten is true, it
// states that a report could not be written, and shows the exit code of an internal error in place of
// that of the targets. An example of a line:
//
//	FAILED  3 targets: 2 passed, 1 failed  (exit 1)
func (c targetExitCodes) summaryLine(unwritten bool) string {
	kinds := []struct {
		code        int
		word, count string
	}{
		{exitOK, "PASSED", "passed"}, {exitFailed, "FAILED", "failed"},
		{exitInconclusive, "INCONCLUSIVE", "not measured in full"}, {exitInternal, "INTERNAL ERROR", "ended by an internal error"},
	}
	worst := c.worst()
	if unwritten {
		worst = exitInternal
	}
	word, counts := "", []string{}
	for _, kind := range kinds {
		n := 0
		for _, code := range c {
			if code == kind.code {
				n++
			}
		}
		if n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, kind.count))
		}
		if kind.code == worst {
			word = kind.word
		}
	}
	if unwritten {
		counts = append(counts, "a report could not be written")
	}
	return fmt.Sprintf("%s  %s: %s  (exit %d)", word, printable.Count(len(c), "target"), strings.Join(counts, ", "), worst)
}
