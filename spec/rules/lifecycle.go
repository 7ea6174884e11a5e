package rules

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/streamassay/streamassay/spec"
)

var lifecycle = []*spec.Check{
	RunComesFirst, RunOpensFirst, ProgressPrecedesContent, RunEnds, RunEndsOnce, EndIsLast, ClosesAfterEnd,
	IdleLimitEnds, RunIDIsStable, StatusMovesForward, CreatedIsStable, CompletedAfterCreated,
	OutputIsComplete, OutputMatches, StaysFailed, KeepsToItself, DoneIsLast,
}

// firstFrame is a rule about the first frame of a stream.
func firstFrame(id, doc string, needs []spec.Kind, ok func(spec.Kind) bool, want func(ask spec.Event) string) *spec.Check {
	return &spec.Check{
		ID: id, Doc: doc, Needs: needs,
		Watch: tellings(func(p *spec.Pass, ask spec.Event) func(spec.Event) {
			seen := false
			return func(e spec.Event) {
				if e.Frame() && !seen {
					p.Judge(e, ok(e.Kind), "the first event is %s; expected %s", e.What(), want(ask))
					seen = true
				}
			}
		}),
	}
}

// RunComesFirst and RunOpensFirst judge how a stream begins.
var (
	RunComesFirst = firstFrame("run.comes-first", "the first event is about the run", []spec.Kind{spec.RunEnd},
		func(k spec.Kind) bool { return k.Thing() == "run" }, func(spec.Event) string { return "one about the run" })
	RunOpensFirst = firstFrame("run.opens-first", `the first event opens the run

A client makes its view of the run there; what comes before has nowhere to go.`,
		[]spec.Kind{spec.RunStart},
		func(k spec.Kind) bool { return k == spec.RunStart || k == spec.RunRefused },
		func(ask spec.Event) string { return ask.Spell(spec.RunStart, "the start of the run") })
)

// ProgressPrecedesContent judges whether a run is said to be under way.
var ProgressPrecedesContent = &spec.Check{
	ID:    "run.progress-precedes-content",
	Doc:   "a run is said to be under way before its first message",
	Needs: []spec.Kind{spec.RunProgress},
	Watch: tellings(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		under, judged := false, false
		return func(e spec.Event) {
			switch thing := e.Kind.Thing(); {
			case e.Kind == spec.RunProgress:
				under = true
			case !judged && (thing == "message" || thing == "reasoning" || thing == "content"):
				p.Judge(e, under, "%s comes before the run is said to be in progress", e.What())
				judged = true
			}
		}
	}),
}

// RunEnds judges whether a stream tells the end of its run.
var RunEnds = &spec.Check{
	ID: "run.ends",
	Doc: `a stream tells the end of its run before it ends itself

Without it a client cannot tell an answer from half an answer. A stream that was
asked to end after some silence may end without, and so may one of a run that nobody
was seen to ask for, if there was silence all along: there may be no such run. A
conversation that was stopped, whatever its run, is the business of cancel.run-ends.`,
	Needs: []spec.Kind{spec.RunEnd},
	Watch: func(p *spec.Pass) func(spec.Event) {
		var ask spec.Event
		var stops []spec.Event
		var open []lived // streams that ended, and their runs had not
		hear := tellings(func(p *spec.Pass, ask spec.Event) func(spec.Event) {
			return runEnds(p, ask, func(closed spec.Event) { open = append(open, lived{ask: ask, closed: closed}) })
		})(p)
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.Asked:
				ask = e
			case e.Kind == spec.CancelAccepted && ask.Run == "":
				stops = append(stops, ask)
			case e.Kind == "":
				for _, f := range open {
					if !slices.ContainsFunc(stops, f.concerns) {
						p.Judge(f.closed, false, "the stream ended, and its run had not")
					}
				}
			}
			hear(e)
		}
	},
}

// runEnds calls open at the end of a telling that owes the end of its run.
func runEnds(p *spec.Pass, ask spec.Event, open func(closed spec.Event)) func(spec.Event) {
	ended, silent, alive := false, true, false
	stray := ask.Run != "" && ask.Text == "" && len(ask.Parts) == 0
	return func(e spec.Event) {
		silent, alive = silent && !e.Frame(), alive || e.Kind == spec.Comment
		switch {
		case terminal(e):
			ended = true
		case !whole(e) && !broke(e):
		case ended:
			p.Judge(e, true, "")
		case ask.Limit == "" && !(whole(e) && stray && silent && alive):
			open(e)
		}
	}
}

// RunEndsOnce judges how often the end is told.
var RunEndsOnce = &spec.Check{
	ID:    "run.ends-once",
	Doc:   "the end of a run is told once",
	Needs: []spec.Kind{spec.RunEnd},
	Watch: tellings(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var first spec.Event
		return func(e spec.Event) {
			if terminal(e) {
				p.Judge(e, first.Raw == nil, "%s comes after %s", e.What(), first.What())
				first = e
			}
		}
	}),
}

// EndIsLast judges what comes after the end.
var EndIsLast = &spec.Check{
	ID: "run.end-is-last",
	Doc: `the last event of a stream is the end of its run

Clients stop reading there. Comments and the sentinel may follow.`,
	Needs: []spec.Kind{spec.RunEnd},
	Watch: tellings(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var last spec.Event
		ended := false
		return func(e spec.Event) {
			switch {
			case e.Frame() && e.Kind != spec.Done:
				last, ended = e, ended || terminal(e)
			case e.Kind == spec.Closed && ended:
				p.Judge(last, terminal(last), "%s comes after the end of the run", last.What())
			}
		}
	}),
}

// ClosesAfterEnd judges when the body ends.
var ClosesAfterEnd = &spec.Check{
	ID:    "run.closes-after-end",
	Doc:   "the body ends within five seconds after the run has",
	Needs: []spec.Kind{spec.RunEnd},
	Watch: tellings(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var end spec.Event
		return func(e spec.Event) {
			switch {
			case terminal(e):
				end = e
			case e.Kind == spec.Closed && end.Raw != nil:
				p.Judge(end, !errors.Is(e.Err, spec.ErrIdle) && e.At-end.At <= 5*time.Second, "the body was still open when the run had ended %v ago", (e.At - end.At).Round(time.Millisecond))
			}
		}
	}),
}

// IdleLimitEnds judges the limit that a client sets on silence.
var IdleLimitEnds = &spec.Check{
	ID: "run.idle-limit-ends",
	Doc: `a stream that was asked to end after the shortest silence ends before a long silence does

How long a poll is, is not stated; two seconds without an event are taken to be
longer than one. A stream that is never silent has nothing to end it.`,
	Needs: []spec.Kind{"slot.limit"},
	Watch: tellings(func(p *spec.Pass, ask spec.Event) func(spec.Event) {
		ended := false
		heard, silence := ask.At, time.Duration(0)
		return func(e spec.Event) {
			if e.Frame() {
				silence = max(silence, e.At-heard)
				heard = e.At
			}
			switch {
			case terminal(e):
				ended = true
			case whole(e) && ask.Limit == "1" && (!ended || silence > 2*time.Second):
				p.Judge(e, !ended, "the stream went on through %v of silence", silence.Round(time.Millisecond))
			}
		}
	}),
}

// RunIDIsStable judges the ids of run events.
var RunIDIsStable = &spec.Check{
	ID:    "run.id-is-stable",
	Doc:   "all events about a run carry one id",
	Needs: []spec.Kind{spec.SlotRun, spec.RunEnd},
	Watch: tellings(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		id := ""
		return func(e spec.Event) {
			if e.Kind.Thing() != "run" || e.Kind == spec.RunRefused || e.Run == "" {
				return
			}
			if id != "" {
				p.Judge(e, e.Run == id, "the run was called %q, and is now %q", id, e.Run)
			} else {
				p.Judge(e, true, "")
			}
			id = e.Run
		}
	}),
}

// StatusMovesForward judges the order of statuses.
var StatusMovesForward = &spec.Check{
	ID: "run.status-moves-forward",
	Doc: `the status of a run or message never goes back

Created, in progress, ended: a client that has closed something does not expect it
to begin.`,
	Needs: []spec.Kind{spec.RunEnd},
	Watch: tellings(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		ranks := map[string]int{"start": 0, "progress": 1, "end": 2, "error": 2}
		type stand struct {
			kind spec.Kind
			what string
		}
		last := map[string]stand{}
		return func(e spec.Event) {
			rank, ranked := ranks[e.Kind.Phase()]
			key := e.Kind.Thing() + "\x00" + e.Message
			switch e.Kind.Thing() {
			case "run":
				key = "run\x00" + e.Run
			case "message", "reasoning":
				if e.Message == "" {
					return
				}
			default:
				return
			}
			if !ranked {
				return
			}
			before, told := last[key]
			was := ranks[before.kind.Phase()]
			p.Judge(e, !told || rank >= was && (was < 2 || e.Kind.Thing() == "run" && before.kind == e.Kind), "%s comes after %s", e.What(), before.what)
			last[key] = stand{e.Kind, e.What()}
		}
	}),
}

// CreatedIsStable judges the time at which a run began.
var CreatedIsStable = &spec.Check{
	ID:    "run.created-is-stable",
	Doc:   "the time at which a run began does not change",
	Needs: []spec.Kind{"slot.created"},
	Watch: tellings(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		created := ""
		return func(e spec.Event) {
			if e.Kind.Thing() != "run" || e.Created == "" {
				return
			}
			p.Judge(e, created == "" || e.Created == created, "the run began at %s, and now at %s", created, e.Created)
			created = e.Created
		}
	}),
}

// CompletedAfterCreated judges the time at which a run ended.
var CompletedAfterCreated = &spec.Check{
	ID: "run.completed-after-created",
	Doc: `a run did not end before it began

Whether the times have to be told is the schema's business.`,
	Needs: []spec.Kind{"slot.completed"},
	Watch: tellings(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		created := ""
		return func(e spec.Event) {
			if e.Kind.Thing() == "run" && e.Created != "" {
				created = e.Created
			}
			began, err := strconv.ParseFloat(created, 64)
			ended, err2 := strconv.ParseFloat(e.Completed, 64)
			if e.Kind == spec.RunEnd && err == nil && err2 == nil {
				p.Judge(e, ended >= began, "the run began at %s and ended at %s", created, e.Completed)
			}
		}
	}),
}

// StaysFailed judges what comes after a failure.
var StaysFailed = &spec.Check{
	ID:    "run.stays-failed",
	Doc:   "a run that failed does not end well afterwards",
	Needs: []spec.Kind{spec.RunEnd, spec.RunError},
	Watch: tellings(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var failed spec.Event
		good := false
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.RunError:
				failed = e
			case e.Kind == spec.RunEnd && failed.Raw != nil:
				good = true
				p.Judge(e, false, "the run failed, and then ended well")
			case e.Kind == spec.Closed && failed.Raw != nil && !good:
				p.Judge(failed, true, "")
			}
		}
	}),
}

// KeepsToItself judges whose events a stream tells.
var KeepsToItself = &spec.Check{
	ID:    "run.keeps-to-itself",
	Doc:   "a stream tells the events of the run that was asked for, and of no other",
	Needs: []spec.Kind{spec.SlotRun},
	Watch: func(p *spec.Pass) func(spec.Event) {
		var ask spec.Event
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.Asked:
				ask = e
			case e.Frame() && ask.Run != "" && e.Run != "" && ask.Whole():
				p.Judge(e, e.Run == ask.Run, "asked about run %q, it tells of %q", ask.Run, e.Run)
			}
		}
	},
}

// DoneIsLast judges what comes after the sentinel.
var DoneIsLast = &spec.Check{
	ID:    "done.is-last",
	Doc:   "nothing comes after the sentinel: clients stop reading there",
	Needs: []spec.Kind{spec.Done},
	Watch: tellings(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var done spec.Event
		after := false
		return func(e spec.Event) {
			switch {
			case e.Frame() && done.Raw != nil:
				after = true
				p.Judge(e, false, "%s comes after %s", e.What(), done.What())
			case e.Kind == spec.Done:
				done = e
			case e.Kind == spec.Closed && done.Raw != nil && !after:
				p.Judge(done, true, "")
			}
		}
	}),
}
