package rules

import (
	"cmp"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

var echoChecks = []*spec.Check{EchoesRun, EchoesThread, CreatesThread}

// echoCheck returns a check with the given id that judges whether responses repeat an identifier of
// their requests. The function slot returns that identifier of an event, such as its run id, or ""
// if the event has none. The Doc of the check is doc, followed by an explanation. The argument
// kind, such as [spec.SlotRun] for a run id, becomes the field Needs: the check applies only to
// protocols that have the identifier.
func echoCheck(id, doc string, kind spec.Kind, slot func(spec.Event) string) *spec.Check {
	return &spec.Check{
		ID: id, Doc: doc + `

A client with several open streams distinguishes them by these ids. Not every event of a
response must have the id.`,
		Needs: []spec.Kind{kind},
		Watch: func(p *spec.Pass) func(spec.Event) {
			noun := strings.TrimPrefix(string(kind), "slot.")
			isNamed := false
			return eachResponseEvent(func(p *spec.Pass, x *exchange, e spec.Event) {
				isNamed = isNamed && e.Kind != spec.HTTPResponse
				switch want := slot(x.request); {
				case !x.request.Valid() || want == "" || e.Kind == spec.Problem:
				case slot(e) == "":
					if e.Kind == spec.RunEnd && x.response.IsStream() && isRunRequest(x.request) {
						p.Judge(e, isNamed, "no event of the response has a %s id; expected %q, the id in the request", noun, want)
					}
				case e.Kind.Subject() == "run" || e.Kind == spec.CancelAccepted:
					isNamed = true
					p.Judge(e, slot(e) == want, "response has the %s id %q; expected %q, the id in the request", noun, slot(e), want)
				}
			})(p)
		},
	}
}

// EchoesRun judges whether a response names the run that its request named. EchoesThread judges the
// same for the thread.
var (
	EchoesRun = echoCheck("echo.run", "a response names the run id of its request", spec.SlotRun,
		func(e spec.Event) string { return e.Run })
	EchoesThread = echoCheck("echo.thread", "a response names the thread id of its request", spec.SlotThread,
		func(e spec.Event) string { return e.Thread })
)

// CreatesThread judges whether the server assigns a new thread id if a request names no thread.
var CreatesThread = &spec.Check{
	ID:    "echo.thread-made",
	Doc:   "the server names one new thread in its response to a request that names none",
	Needs: []spec.Kind{spec.SlotThread, spec.RunEnd},
	Watch: func(p *spec.Pass) func(spec.Event) {
		made := map[string]bool{}
		return eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
			thread, judged := "", false
			return func(e spec.Event) {
				if judged || request.Thread != "" || !request.Valid() || request.Header == nil && request.Raw == nil {
					return
				}
				if thread = cmp.Or(thread, e.Thread); e.Thread != "" && e.Thread != thread {
					judged = true
					p.Judge(e, false, "server names the thread %q after %q in the same run; expected one id", e.Thread, thread)
				}
				if judged || e.Kind != spec.RunEnd && e.Kind != spec.RunError {
					return
				}
				judged = true
				if e.Kind == spec.RunEnd {
					p.Judge(e, thread != "",
						"neither the request nor an event of the response has a thread id; expected the server to assign one")
				}
				if len(made) > 0 && thread != "" {
					p.Judge(e, !made[thread],
						"server assigned the thread id %q, as to an earlier request that names no thread; expected a new one", thread)
				}
				made[thread] = thread != ""
			}
		})(p)
	},
}
