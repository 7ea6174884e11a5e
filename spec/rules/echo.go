package rules

import "github.com/streamassay/streamassay/spec"

var echoChecks = []*spec.Check{EchoesRun, EchoesThread, CreatesThread}

// echoCheck is a rule about an id that a request gives and its answer names.
func echoCheck(id, doc string, kind spec.Kind, slot func(spec.Event) string) *spec.Check {
	return &spec.Check{
		ID: id, Doc: doc + `

A client that has several of them open sorts what it hears by these names.`,
		Needs: []spec.Kind{kind},
		Watch: func(p *spec.Pass) func(spec.Event) {
			var request spec.Event
			return func(e spec.Event) {
				switch {
				case e.Kind == spec.HTTPRequest:
					request = e
				case !request.Valid() || slot(request) == "" || slot(e) == "" || e.Kind == spec.Problem:
				case e.Kind.Subject() == "run" || e.Kind == spec.CancelAccepted:
					p.Judge(e, slot(e) == slot(request), "asked about %q, it answers about %q", slot(request), slot(e))
				}
			}
		},
	}
}

// EchoesRun and EchoesThread judge ids that come back.
var (
	EchoesRun = echoCheck("echo.run", "the run id that a request gives is the one that its answer names", spec.SlotRun,
		func(e spec.Event) string { return e.Run })
	EchoesThread = echoCheck("echo.thread", "the thread (conversation, session) id that a request gives is the one that its answer names", spec.SlotThread,
		func(e spec.Event) string { return e.Thread })
)

// CreatesThread judges what happens without one.
var CreatesThread = &spec.Check{
	ID:    "echo.thread-made",
	Doc:   "a request that names no thread gets an answer that names one",
	Needs: []spec.Kind{spec.SlotThread, spec.RunEnd},
	Watch: eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
		named := false
		return func(e spec.Event) {
			if request.Thread != "" || !request.Valid() || request.Header == nil && request.Raw == nil {
				return
			}
			if named = named || e.Thread != ""; e.Kind == spec.RunEnd {
				p.Judge(e, named, "the request names no thread, and neither does the answer")
			}
		}
	}),
}
