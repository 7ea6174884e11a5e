package rules

import "github.com/streamassay/streamassay/spec"

// openRuns are the runs of each thread whose end nobody has heard. A server may hold a
// conversation locked meanwhile, also for a while after the client has hung up: no
// document forbids it, and released servers do.
type openRuns map[string]map[string]bool

// in says whether a run of a thread may be going on, or waits for the client.
func (o openRuns) in(thread string) bool { return len(o[thread]) > 0 }

// note takes in one exchange.
func (o openRuns) note(x dealing) {
	thread, asks, streamed := x.ask.Thread, len(x.ask.Parts) > 0, x.media == spec.EventStream
	if thread == "" || !x.accepted() {
		return
	}
	switch {
	case asks && streamed && whole(x.closed) && !x.asks && !x.failed: // it was answered to the end, so nothing else goes on
		delete(o, thread)
	case asks && streamed && x.failed: // what went on before may go on
	case asks && streamed:
		o[thread] = map[string]bool{"": true}
	case asks && o[thread] == nil:
		o[thread] = map[string]bool{x.ask.Run: true}
	case asks:
		o[thread][x.ask.Run] = true
	case x.ended:
		delete(o[thread], x.ask.Run)
	}
}

// frame notes what a frame of an answer says about its run.
func (x *dealing) frame(e spec.Event) {
	x.ended, x.failed = x.ended || terminal(e), x.failed || e.Kind == spec.RunError
	switch e.Kind {
	case spec.ToolStart, spec.ToolCall:
		_, offered := x.ask.Last(spec.AskToolSpec)
		x.asks = offered
	case spec.ToolResult:
		x.asks = false
	case spec.Interrupt:
		x.asks = true
	}
}
