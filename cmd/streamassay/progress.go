package main

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/term"

	"github.com/streamassay/streamassay/reports"
	"github.com/streamassay/streamassay/suites"
)

// A progress is the line that says how far recording has come. It is shown on a
// terminal only.
type progress struct {
	mu     sync.Mutex
	sh     shell
	shown  bool
	played []int
	of     []int
}

func newProgress(sh shell, dialects int) *progress {
	return &progress{sh: sh, shown: isTerminal(sh.err), played: make([]int, dialects), of: make([]int, dialects)}
}

// step is told of each scenario of one dialect when it has been played.
func (p *progress) step(i int, name string) suites.Progress {
	return func(scenario string, played, of int) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.played[i], p.of[i] = played, of
		done, all := 0, 0
		for k := range p.played {
			done, all = done+p.played[k], all+p.of[k]
		}
		p.say(fmt.Sprintf("recording %d/%d  %s %s", done, all, name, scenario))
	}
}

// say shows something else in the line.
func (p *progress) say(text string) {
	if p.shown {
		fmt.Fprintf(p.sh.err, "\r\033[K%s", text)
	}
}

func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.sh.err, "\r\033[K")
	}
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// styleOf is how the report for people looks on this output.
func styleOf(sh shell, verbose bool) reports.Style {
	f, _ := sh.out.(*os.File)
	style := reports.DetectStyle(f, sh.env)
	style.Verbose = verbose
	return style
}
