package rules

import (
	"regexp"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

var errorChecks = []*spec.Check{ErrorVisible, ErrorSaysFailed, NoStackTrace}

// ErrorVisible judges whether clients can see that a run failed. It applies to runs whose prompt
// asked for a failure.
var ErrorVisible = &spec.Check{
	ID: "error.visible",
	Doc: `a failed run does not end like a successful one

The stream of a failed run ends with an event that reports the failure, or the connection closes
before the end of the response. If the document states statuses for a run that fails before it has a
stream, a response with such a status reports the failure, too.`,
	Watch: eachScriptedRun(func(p *spec.Pass, a *assembledRun) {
		if a.isToFail() {
			p.Judge(a.bodyEnd, a.hasVisibleFailure(),
				"the prompt asked the run to fail, but no event reports a failure; expected an error event or a connection closed before the end of the response")
		}
	}),
}

// ErrorSaysFailed judges whether a failed run is reported with the status failed. It applies to
// runs whose prompt asked for a failure, if the event that reports the failure has a status.
var ErrorSaysFailed = &spec.Check{
	ID:  "error.says-failed",
	Doc: "a run that fails is reported as failed, neither as canceled nor as rejected",
	Watch: eachScriptedRun(func(p *spec.Pass, a *assembledRun) {
		if f := a.failure; a.isToFail() && f.Kind == spec.RunError && f.Status != "" {
			p.Judge(f, f.Status == "failed", "the prompt asked the run to fail, but it has status %s; expected failed", f.Status)
		}
	}),
}

// failsBeforeStream reports whether response, the head of the response to request, says that the
// run failed before it had a stream, as the prompt of request asked. It must not be a stream, and
// its status must be one that the document states for such a failure.
func failsBeforeStream(request, response spec.Event) bool {
	prompt, _ := request.Prompt()
	name, _, _ := strings.Cut(prompt, " ")
	fits := func(want string) bool { return matchesStatus(want, response.StatusCode) }
	return name == "conformance:error" && !response.IsStream() &&
		slices.ContainsFunc(request.Facts().Promised.FailureStatus, fits)
}

// stackTracePattern matches text that is typical of the stack traces of Python, Java, JavaScript,
// .NET or Go.
var stackTracePattern = regexp.MustCompile(
	`Traceback \(most recent call last\)|(\n|\\n)(\t|\\t| {3,4})at |goroutine \d+ \[`)

// NoStackTrace judges whether error responses, and events of streams that report a failure, are
// free of stack traces, which would reveal internals of the server.
var NoStackTrace = &spec.Check{
	ID:  "error.no-stack-trace",
	Doc: "errors contain no stack trace",

	AllPrincipals: true,
	Watch: eachResponseEvent(func(p *spec.Pass, x *exchange, e spec.Event) {
		isError := x.status() >= 400 || e.Kind == spec.RunError || e.Kind == spec.RunRefused
		if e.Kind != spec.HTTPResponse && isError && len(e.Raw) > 0 {
			shown := stackTracePattern.Find(e.Raw)
			p.Judge(e, shown == nil, "error contains a stack trace (%q); expected none", shown)
		}
	}),
}
