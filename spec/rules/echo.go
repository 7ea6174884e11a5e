package rules

import "github.com/streamassay/streamassay/spec"

var echoes = []*spec.Check{EchoesRun, EchoesThread, MakesThread}

// echo is a rule about an id that a request gives and its answer names.
func echo(id, doc string, needs spec.Kind, slot func(spec.Event) string) *spec.Check {
	return &spec.Check{
		ID: id, Doc: doc + `

A client that has several of them open sorts what it hears by these names.`,
		Needs: []spec.Kind{needs},
		Watch: func(p *spec.Pass) func(spec.Event) {
			var ask spec.Event
			return func(e spec.Event) {
				switch {
				case e.Kind == spec.HTTPRequest:
					ask = e
				case !ask.Valid() || slot(ask) == "" || slot(e) == "" || e.Kind == spec.Problem:
				case e.Kind.Subject() == "run" || e.Kind == spec.CancelAccepted:
					p.Judge(e, slot(e) == slot(ask), "asked about %q, it answers about %q", slot(ask), slot(e))
				}
			}
		},
	}
}

// EchoesRun and EchoesThread judge ids that come back.
var (
	EchoesRun = echo("echo.run", "the run id that a request gives is the one that its answer names", spec.SlotRun,
		func(e spec.Event) string { return e.Run })
	EchoesThread = echo("echo.thread", "the thread (conversation, session) id that a request gives is the one that its answer names", spec.SlotThread,
		func(e spec.Event) string { return e.Thread })
)

// MakesThread judges what happens without one.
var MakesThread = &spec.Check{
	ID:    "echo.thread-made",
	Doc:   "a request that names no thread gets an answer that names one",
	Needs: []spec.Kind{spec.SlotThread, spec.RunEnd},
	Watch: tellings(func(p *spec.Pass, ask spec.Event) func(spec.Event) {
		named := false
		return func(e spec.Event) {
			if ask.Thread != "" || !ask.Valid() || ask.Header == nil && ask.Raw == nil {
				return
			}
			if named = named || e.Thread != ""; e.Kind == spec.RunEnd {
				p.Judge(e, named, "the request names no thread, and neither does the answer")
			}
		}
	}),
}
