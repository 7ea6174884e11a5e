package main

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/term"

	"github.com/streamassay/streamassay/reports"
	"github.com/streamassay/streamassay/suites"
)

// A progressLine shows how many scenarios have been played in the test of a target, in a single
// line on standard error that is updated in place. It shows nothing if standard error is not a
// terminal. The functions that callback returns may be called concurrently.
type progressLine struct {
	mu     sync.Mutex
	stdio  stdio
	shown  bool  // standard error is a terminal
	played []int // scenarios played, by index of the dialect
	totals []int // scenarios to play, by index of the dialect
}

// newProgress returns a progress line on sh.err for a test of one target in the given number of
// dialects.
func newProgress(sh stdio, dialects int) *progressLine {
	return &progressLine{
		stdio: sh, shown: isTerminal(sh.err), played: make([]int, dialects), totals: make([]int, dialects),
	}
}

// callback returns a function that the suite calls to report its progress in one dialect. The
// argument i is the index of the dialect, from 0, and name is its name. The function shows how many
// scenarios have been played in all dialects together, the name of the dialect and the name of the
// current scenario.
func (p *progressLine) callback(i int, name string) suites.ProgressFunc {
	return func(scenario string, played, of int) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.played[i], p.totals[i] = played, of
		done, all := 0, 0
		for k := range p.played {
			done, all = done+p.played[k], all+p.totals[k]
		}
		p.show(fmt.Sprintf("running %d/%d  %s %s", done, all, name, scenario))
	}
}

// show replaces the text on the line. It does nothing if p.shown is false, that is, if standard
// error is not a terminal. If other goroutines use p, the caller must hold p.mu.
func (p *progressLine) show(text string) {
	if p.shown {
		fmt.Fprintf(p.stdio.err, "\r\033[K%s", text)
	}
}

// clear removes the line from the terminal. It locks p.mu, which the caller must not hold.
func (p *progressLine) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.show("")
}

// isTerminal reports whether w is an [*os.File] that is a terminal.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// textStyle returns the style for a text report on standard output. The style has colors if
// standard output is a terminal that supports them (see [reports.DetectStyle]). Its Verbose field
// is set to verbose.
func textStyle(sh stdio, verbose bool) reports.TextStyle {
	f, _ := sh.out.(*os.File)
	style := reports.DetectStyle(f, sh.env)
	style.Verbose = verbose
	return style
}
