package rules

import (
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// openRuns are the runs of each thread whose end nobody has heard, by the user that the
// request named and the run. A server may hold a conversation locked meanwhile, also for a
// while after the client has hung up: no document forbids it, and released servers do. Some
// hold one lock for a thread, others one for each of its users.
type openRuns map[string]map[[2]string]openRun

// An openRun is how far a run is known to have come whose end nobody has heard.
type openRun struct {
	waits bool // for the client: to resume it, or for the result of a tool
}

// keepsFrom reports whether a run of the same thread may be going on, or waits for something
// else of the client, so that a server may refuse the request. It has no such reason to
// refuse to tell of that run, or of what was said.
func (o openRuns) keepsFrom(ask spec.Event) bool {
	if !asksRun(ask) && ask.Valid() {
		return false
	}
	answers := slices.ContainsFunc(ask.Parts, func(p spec.Event) bool {
		return p.Kind == spec.InputToolResult || p.Kind == spec.InputResume
	})
	for _, run := range o[ask.Thread] {
		if !run.waits || !answers {
			return true
		}
	}
	return false
}

// note takes in one exchange.
func (o openRuns) note(x dealing) {
	thread, asks, streamed := x.ask.Thread, asksRun(x.ask), x.media == spec.EventStream
	if thread == "" || !x.accepted() {
		return
	}
	if o[thread] == nil {
		o[thread] = map[[2]string]openRun{}
	}
	run := [2]string{x.ask.User, x.ask.Run}
	if asks && streamed { // the answer is the run: one at a time
		run[1] = ""
	}
	switch {
	case asks && streamed && whole(x.closed) && !x.asks && !x.failed: // it was answered to the end, so nothing else goes on
		delete(o[thread], run)
	case asks && streamed && x.failed: // what went on before may go on
	case asks:
		o[thread][run] = openRun{waits: streamed && x.asks && whole(x.closed)}
	case x.ended:
		delete(o[thread], run)
	}
}

// asksRun reports whether a request opens a run or goes on with one: an upload does not.
func asksRun(ask spec.Event) bool {
	return slices.ContainsFunc(ask.Parts, func(p spec.Event) bool {
		return p.Kind == spec.InputUser || p.Kind == spec.InputToolResult || p.Kind == spec.InputResume
	})
}

// frame notes what a frame of an answer says about its run.
func (x *dealing) frame(e spec.Event) {
	x.ended, x.done, x.failed = x.ended || terminal(e), x.done || e.Kind == spec.Done, x.failed || e.Kind == spec.RunError
	switch e.Kind {
	case spec.ToolStart, spec.ToolCall:
		_, offered := x.ask.Last(spec.InputTool)
		x.asks = offered
	case spec.ToolResult:
		x.asks = false
	case spec.Interrupt:
		x.asks = true
	}
}
