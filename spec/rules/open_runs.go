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
	waitsForClient bool // for the client: to resume it, or for the result of a tool
}

// mayRefuse reports whether a run of the same thread may be going on, or waits for something
// else of the client, so that a server may refuse the request. It has no such reason to
// refuse to tell of that run, or of what was said.
func (o openRuns) mayRefuse(request spec.Event) bool {
	if !isRunRequest(request) && request.Valid() {
		return false
	}
	givesInput := slices.ContainsFunc(request.Parts, func(p spec.Event) bool {
		return p.Kind == spec.InputToolResult || p.Kind == spec.InputResume
	})
	for _, run := range o[request.Thread] {
		if !run.waitsForClient || !givesInput {
			return true
		}
	}
	return false
}

// record takes in one exchange.
func (o openRuns) record(x exchange) {
	thread, isRun, streamed := x.request.Thread, isRunRequest(x.request), x.mediaType == spec.EventStream
	if thread == "" || !x.isAccepted() {
		return
	}
	if o[thread] == nil {
		o[thread] = map[[2]string]openRun{}
	}
	run := [2]string{x.request.User, x.request.Run}
	if isRun && streamed { // the answer is the run: one at a time
		run[1] = ""
	}
	switch {
	case isRun && streamed && isCleanEnd(x.bodyEnd) && !x.waitsForClient && !x.runFailed: // it was answered to the end, so nothing else goes on
		delete(o[thread], run)
	case isRun && streamed && x.runFailed: // what went on before may go on
	case isRun:
		o[thread][run] = openRun{waitsForClient: streamed && x.waitsForClient && isCleanEnd(x.bodyEnd)}
	case x.runEnded:
		delete(o[thread], run)
	}
}

// isRunRequest reports whether a request opens a run or goes on with one: an upload does not.
func isRunRequest(request spec.Event) bool {
	return slices.ContainsFunc(request.Parts, func(p spec.Event) bool {
		return p.Kind == spec.InputUser || p.Kind == spec.InputToolResult || p.Kind == spec.InputResume
	})
}

// observeFrame notes what a frame of an answer says about its run.
func (x *exchange) observeFrame(e spec.Event) {
	x.runEnded, x.streamDone, x.runFailed = x.runEnded || isTerminal(e), x.streamDone || e.Kind == spec.Done, x.runFailed || e.Kind == spec.RunError
	switch e.Kind {
	case spec.ToolStart, spec.ToolCall:
		_, offered := x.request.Last(spec.InputTool)
		x.waitsForClient = offered
	case spec.ToolResult:
		x.waitsForClient = false
	case spec.Interrupt:
		x.waitsForClient = true
	}
}
