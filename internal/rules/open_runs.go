package rules

import (
	"slices"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// An openRuns holds the runs that were started and whose end was not seen. The outer key is the
// thread id, and the inner key consists of the user id and the run id. A run whose stream is the
// response to the request that started it has "" as its run id, because a user can have only one
// such run in a thread at a time.
//
// A server may lock a thread while one of its runs is active, and for some time after the client
// has left. It then refuses requests for other runs in the thread, either of all users or only of
// the user of the run. No document forbids this, and released servers do it. If the duration of
// the run is known, the lock must end at openRun.freeAt.
type openRuns map[string]map[[2]string]openRun

// An openRun is the state of a run whose end was not seen.
type openRun struct {
	waitsForClient bool          // the run has stopped and waits for a resume or for the result of a client tool
	freeAt         time.Duration // time in the conversation from which the thread must accept requests; 0 if unknown
}

// lockTimeout is how long a thread may stay locked after the earliest time at which its run could
// have ended. That time is known only for runs whose prompt sets their duration (see
// scriptedDuration), and for runs that were canceled.
const lockTimeout = 5 * time.Second

// mayRefuse reports whether the server may refuse a request because another run of its thread may
// be active, or may be waiting for input that the request does not contain. The result is false
// for a valid request that does not start or continue a run, such as a request for a history. An
// invalid request is treated as if it could start a run.
func (o openRuns) mayRefuse(request spec.Event) bool {
	if !isRunRequest(request) && request.Valid() {
		return false
	}
	givesInput := givesNew(request, spec.InputToolResult) || givesNew(request, spec.InputResume)
	for _, run := range o[request.Thread] {
		isFree := run.freeAt > 0 && request.At >= run.freeAt
		if !isFree && (!run.waitsForClient || !givesInput) {
			return true
		}
	}
	return false
}

// record updates o after the exchange x: it adds a run that the request started or continued, and
// removes a run whose end was seen. If the request was refused or names no thread, record does
// nothing.
func (o openRuns) record(x exchange) {
	thread, isRun, streamed := x.request.Thread, isRunRequest(x.request), x.response.IsStream()
	if thread == "" || !x.isAccepted() {
		return
	}
	if o[thread] == nil {
		o[thread] = map[[2]string]openRun{}
	}
	run := [2]string{x.request.User, x.request.Run}
	if isRun && streamed { // the stream is the run, and a user has one at a time
		run[1] = ""
	}
	switch {
	case isRun && streamed && isCleanEnd(x.bodyEnd) && !x.waitsForClient && !x.runFailed: // the thread is idle
		delete(o[thread], run)
	case isRun && streamed && x.runFailed: // an earlier run may still be active
	case isRun:
		open := openRun{waitsForClient: streamed && x.waitsForClient && isCleanEnd(x.bodyEnd)}
		if d, ok := scriptedDuration(x.request); ok {
			open.freeAt = x.request.At + d + lockTimeout
		}
		o[thread][run] = open
	case x.runEnded:
		delete(o[thread], run)
	}
}

// recordCancel updates o with request, a cancel request that was accepted. If the request names a
// thread and no run, the run that it cancels may lock the thread for lockTimeout, even if its
// stream ends earlier. Otherwise, recordCancel does nothing.
func (o openRuns) recordCancel(request spec.Event) {
	if request.Run != "" || request.Thread == "" {
		return
	}
	if o[request.Thread] == nil {
		o[request.Thread] = map[[2]string]openRun{}
	}
	o[request.Thread][[2]string{request.User, ""}] = openRun{freeAt: request.At + lockTimeout}
}

// isRunRequest reports whether a request starts or continues a run, that is, whether it contains a
// user message, a tool result or a resume.
func isRunRequest(request spec.Event) bool {
	return slices.ContainsFunc(request.Parts, func(p spec.Event) bool {
		return p.Kind == spec.InputUser || p.Kind == spec.InputToolResult || p.Kind == spec.InputResume
	})
}

// observeFrame adds e, the next frame of the stream, to x. The caller must not pass a run.refused
// event.
func (x *exchange) observeFrame(e spec.Event) {
	x.runEnded, x.streamDone = x.runEnded || isTerminal(e), x.streamDone || e.Kind == spec.Done
	x.runFailed = x.runFailed || e.Kind == spec.RunError
	x.hasContent = x.hasContent || e.Kind.InRun() && e.Kind.Subject() != "run"
	failedAtOnce := !x.hasContent && e.Status != "canceled"
	x.runRejected = x.runRejected || e.Kind == spec.RunError && (e.Status == "rejected" || failedAtOnce)
	switch e.Kind {
	case spec.RunEnd:
		x.refusedInBand = false // the server executed the run all the same
	case spec.ToolStart, spec.ToolCall:
		_, offered := x.request.Last(spec.InputTool)
		x.waitsForClient = offered
	case spec.ToolResult:
		x.waitsForClient = false
	case spec.Interrupt:
		x.waitsForClient = true
	}
}
