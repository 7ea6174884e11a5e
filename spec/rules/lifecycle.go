package rules

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/streamassay/streamassay/spec"
)

var lifecycleChecks = []*spec.Check{
	RunComesFirst, RunOpensFirst, ProgressPrecedesContent, RunEnds, RunEndsOnce, RunEndIsLast, ClosesAfterEnd,
	IdleLimitEnds, RunIDIsStable, StatusMovesForward, CreatedIsStable, CompletedAfterCreated,
	OutputIsComplete, OutputMatches, RunStaysFailed, StreamsOwnRunOnly, DoneIsLast,
}

// firstFrameCheck is a rule about the first frame of a stream.
func firstFrameCheck(id, doc string, needs []spec.Kind, allowed func(spec.Kind) bool, want func(request spec.Event) string) *spec.Check {
	return &spec.Check{
		ID: id, Doc: doc, Needs: needs,
		Watch: eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
			seen := false
			return func(e spec.Event) {
				if e.IsFrame() && !seen {
					p.Judge(e, allowed(e.Kind), "the first event is %s; expected %s", e.DisplayName(), want(request))
					seen = true
				}
			}
		}),
	}
}

// RunComesFirst and RunOpensFirst judge how a stream begins.
var (
	RunComesFirst = firstFrameCheck("run.comes-first", "the first event is about the run", []spec.Kind{spec.RunEnd},
		func(k spec.Kind) bool { return k.Subject() == "run" }, func(spec.Event) string { return "one about the run" })
	RunOpensFirst = firstFrameCheck("run.opens-first", `the first event opens the run

A client makes its view of the run there; what comes before has nowhere to go.`,
		[]spec.Kind{spec.RunStart},
		func(k spec.Kind) bool { return k == spec.RunStart || k == spec.RunRefused },
		func(request spec.Event) string { return request.KindName(spec.RunStart, "the start of the run") })
)

// ProgressPrecedesContent judges whether a run is said to be under way.
var ProgressPrecedesContent = &spec.Check{
	ID:    "run.progress-precedes-content",
	Doc:   "a run is said to be under way before its first message",
	Needs: []spec.Kind{spec.RunProgress},
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		inProgress, judged := false, false
		return func(e spec.Event) {
			switch subject := e.Kind.Subject(); {
			case e.Kind == spec.RunProgress:
				inProgress = true
			case !judged && (subject == "message" || subject == "reasoning" || subject == "content"):
				p.Judge(e, inProgress, "%s comes before the run is said to be in progress", e.DisplayName())
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
		var request spec.Event
		var cancels []spec.Event
		var unfinished []completedStream // streams that ended, and their runs had not
		observe := eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
			return watchRunEnd(p, request, func(closed spec.Event) {
				unfinished = append(unfinished, completedStream{request: request, bodyEnd: closed})
			})
		})(p)
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.HTTPRequest:
				request = e
			case e.Kind == spec.CancelAccepted && request.Run == "":
				cancels = append(cancels, request)
			case e.Kind == "":
				for _, f := range unfinished {
					if !slices.ContainsFunc(cancels, f.isCanceledBy) {
						p.Judge(f.bodyEnd, false, "the stream ended, and its run had not")
					}
				}
			}
			observe(e)
		}
	},
}

// watchRunEnd calls open at the end of a telling that owes the end of its run.
func watchRunEnd(p *spec.Pass, request spec.Event, onMissingEnd func(closed spec.Event)) func(spec.Event) {
	ended, silent, hasComment := false, true, false
	unrequested := request.Run != "" && request.Text == "" && len(request.Parts) == 0
	return func(e spec.Event) {
		silent, hasComment = silent && !e.IsFrame(), hasComment || e.Kind == spec.Comment
		switch {
		case isTerminal(e):
			ended = true
		case !isCleanEnd(e) && !isBrokenTransfer(e):
		case ended:
			p.Judge(e, true, "")
		case request.PollLimit == "" && !(isCleanEnd(e) && unrequested && silent && hasComment):
			onMissingEnd(e)
		}
	}
}

// RunEndsOnce judges how often the end is told.
var RunEndsOnce = &spec.Check{
	ID:    "run.ends-once",
	Doc:   "the end of a run is told once",
	Needs: []spec.Kind{spec.RunEnd},
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var first spec.Event
		return func(e spec.Event) {
			if isTerminal(e) {
				p.Judge(e, first.Raw == nil, "%s comes after %s", e.DisplayName(), first.DisplayName())
				first = e
			}
		}
	}),
}

// RunEndIsLast judges what comes after the end.
var RunEndIsLast = &spec.Check{
	ID: "run.end-is-last",
	Doc: `the last event of a stream is the end of its run

Clients stop reading there. Comments and the sentinel may follow.`,
	Needs: []spec.Kind{spec.RunEnd},
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var last spec.Event
		ended := false
		return func(e spec.Event) {
			switch {
			case e.IsFrame() && e.Kind != spec.Done:
				last, ended = e, ended || isTerminal(e)
			case e.Kind == spec.BodyEnd && ended:
				p.Judge(last, isTerminal(last), "%s comes after the end of the run", last.DisplayName())
			}
		}
	}),
}

// ClosesAfterEnd judges when the body ends.
var ClosesAfterEnd = &spec.Check{
	ID:    "run.closes-after-end",
	Doc:   "the body ends within five seconds after the run has",
	Needs: []spec.Kind{spec.RunEnd},
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var end spec.Event
		return func(e spec.Event) {
			switch {
			case isTerminal(e):
				end = e
			case e.Kind == spec.BodyEnd && end.Raw != nil:
				p.Judge(end, !errors.Is(e.Err, spec.ErrIdleTimeout) && e.At-end.At <= 5*time.Second, "the body was still open when the run had ended %v ago", (e.At - end.At).Round(time.Millisecond))
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
	Watch: eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
		ended := false
		lastFrameAt, silence := request.At, time.Duration(0)
		return func(e spec.Event) {
			if e.IsFrame() {
				silence = max(silence, e.At-lastFrameAt)
				lastFrameAt = e.At
			}
			switch {
			case isTerminal(e):
				ended = true
			case isCleanEnd(e) && request.PollLimit == "1" && (!ended || silence > 2*time.Second):
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
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		id := ""
		return func(e spec.Event) {
			if e.Kind.Subject() != "run" || e.Kind == spec.RunRefused || e.Run == "" {
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
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		ranks := map[string]int{"start": 0, "progress": 1, "end": 2, "error": 2}
		last, keep, none := map[string]*spec.Event{}, keeper(p), &spec.Event{}
		return func(e spec.Event) {
			rank, ranked := ranks[e.Kind.Phase()]
			key := e.Kind.Subject() + "\x00" + e.Message
			switch e.Kind.Subject() {
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
			before, seen := last[key]
			if !seen {
				before = none
			}
			previousRank := ranks[before.Kind.Phase()]
			p.Judge(e, !seen || rank >= previousRank && (previousRank < 2 || e.Kind.Subject() == "run" && before.Kind == e.Kind), "%s comes after %s", e.DisplayName(), before.DisplayName())
			last[key] = keep(e)
		}
	}),
}

// CreatedIsStable judges the time at which a run began.
var CreatedIsStable = &spec.Check{
	ID:    "run.created-is-stable",
	Doc:   "the time at which a run began does not change",
	Needs: []spec.Kind{"slot.created"},
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		created := ""
		return func(e spec.Event) {
			if e.Kind.Subject() != "run" || e.Created == "" {
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
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		created := ""
		return func(e spec.Event) {
			if e.Kind.Subject() == "run" && e.Created != "" {
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

// RunStaysFailed judges what comes after a failure.
var RunStaysFailed = &spec.Check{
	ID:    "run.stays-failed",
	Doc:   "a run that failed does not end well afterwards",
	Needs: []spec.Kind{spec.RunEnd, spec.RunError},
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var failed spec.Event
		endedWell := false
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.RunError:
				failed = e
			case e.Kind == spec.RunEnd && failed.Raw != nil:
				endedWell = true
				p.Judge(e, false, "the run failed, and then ended well")
			case e.Kind == spec.BodyEnd && failed.Raw != nil && !endedWell:
				p.Judge(failed, true, "")
			}
		}
	}),
}

// StreamsOwnRunOnly judges whose events a stream tells.
var StreamsOwnRunOnly = &spec.Check{
	ID:    "run.keeps-to-itself",
	Doc:   "a stream tells the events of the run that was asked for, and of no other",
	Needs: []spec.Kind{spec.SlotRun},
	Watch: func(p *spec.Pass) func(spec.Event) {
		var request spec.Event
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.HTTPRequest:
				request = e
			case e.IsFrame() && request.Run != "" && e.Run != "" && request.Valid():
				p.Judge(e, e.Run == request.Run, "asked about run %q, it tells of %q", request.Run, e.Run)
			}
		}
	},
}

// DoneIsLast judges what comes after the sentinel.
var DoneIsLast = &spec.Check{
	ID:    "done.is-last",
	Doc:   "nothing comes after the sentinel: clients stop reading there",
	Needs: []spec.Kind{spec.Done},
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var done spec.Event
		after := false
		return func(e spec.Event) {
			switch {
			case e.IsFrame() && done.Raw != nil:
				after = true
				p.Judge(e, false, "%s comes after %s", e.DisplayName(), done.DisplayName())
			case e.Kind == spec.Done:
				done = e
			case e.Kind == spec.BodyEnd && done.Raw != nil && !after:
				p.Judge(done, true, "")
			}
		}
	}),
}
