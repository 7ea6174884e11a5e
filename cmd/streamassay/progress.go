package main

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/term"

	"github.com/streamassay/streamassay/reports"
	"github.com/streamassay/streamassay/suites"
)

// A progressLine is the line that says how far recording has come. It is shown on a
// terminal only.
type progressLine struct {
	mu     sync.Mutex
	stdio  stdio
	shown  bool
	played []int
	totals []int
}

func newProgress(sh stdio, dialects int) *progressLine {
	return &progressLine{stdio: sh, shown: isTerminal(sh.err), played: make([]int, dialects), totals: make([]int, dialects)}
}

// callback is told of each scenario of one dialect when it has been played.
func (p *progressLine) callback(i int, name string) suites.ProgressFunc {
	return func(scenario string, played, of int) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.played[i], p.totals[i] = played, of
		done, all := 0, 0
		for k := range p.played {
			done, all = done+p.played[k], all+p.totals[k]
		}
		p.show(fmt.Sprintf("recording %d/%d  %s %s", done, all, name, scenario))
	}
}

// show shows something else in the line.
func (p *progressLine) show(text string) {
	if p.shown {
		fmt.Fprintf(p.stdio.err, "\r\033[K%s", text)
	}
}

func (p *progressLine) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.stdio.err, "\r\033[K")
	}
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// textStyle is how the report for people looks on this output.
func textStyle(sh stdio, verbose bool) reports.TextStyle {
	f, _ := sh.out.(*os.File)
	style := reports.DetectStyle(f, sh.env)
	style.Verbose = verbose
	return style
}
