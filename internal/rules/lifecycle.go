package rules

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/streamassay/streamassay/spec"
)

var lifecycleChecks = []*spec.Check{
	RunComesFirst, RunOpensFirst, ProgressPrecedesContent, RunEnds, RunEndsOnce, RunEndIsLast, ClosesAfterEnd,
	IdleLimitEnds, RunIDIsStable, RunIDsUnique, StatusMovesForward, CreatedIsStable, CompletedAfterCreated,
	RunTimesSpan,
	OutputIsComplete, OutputMatches, RunStaysFailed, StreamsOwnRunOnly, DoneIsLast,
}

// firstFrameCheck returns a check of the first frame of each stream. The arguments id, doc and
// needs are the fields ID, Doc and Needs of the check. The function allowed reports whether the
// first frame may be of the given kind. The function want returns the name of the expected frame
// for the message of a finding; request is the request for the stream.
func firstFrameCheck(
	id, doc string, needs []spec.Kind, allowed func(spec.Kind) bool, want func(request spec.Event) eventLabel,
) *spec.Check {
	return &spec.Check{
		ID: id, Doc: doc, Needs: needs,
		Watch: eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
			seen := false
			return func(e spec.Event) {
				if e.IsFrame() && !seen {
					seen = true
					if !isUnreadable(e) {
						p.Judge(e, allowed(e.Kind), "first event is %s; expected %s",
							displayName(e).quoted(), want(request).quoted())
					}
				}
			}
		}),
	}
}

// RunComesFirst judges whether the first event of a stream is about the run. RunOpensFirst judges
// whether that event starts the run or refuses the request.
var (
	RunComesFirst = firstFrameCheck("run.comes-first",
		"the first event of a stream is about the run", []spec.Kind{spec.RunEnd},
		func(k spec.Kind) bool { return k.Subject() == "run" },
		func(spec.Event) eventLabel { return eventLabel{text: "one about the run"} })
	RunOpensFirst = firstFrameCheck("run.opens-first", `the first event of a stream starts the run

Clients create their view of the run there and have no place for earlier events.`,
		[]spec.Kind{spec.RunStart},
		func(k spec.Kind) bool { return k == spec.RunStart || k == spec.RunRefused },
		func(request spec.Event) eventLabel {
			return kindName(request, spec.RunStart, "the start of the run")
		})
)

// ProgressPrecedesContent judges whether a run is reported to be in progress before its first
// message.
var ProgressPrecedesContent = &spec.Check{
	ID:    "run.progress-precedes-content",
	Doc:   "a run is reported in progress before its first message",
	Needs: []spec.Kind{spec.RunProgress},
	Watch: eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
		inProgress, judged := false, false
		return func(e spec.Event) {
			switch subject := e.Kind.Subject(); {
			case e.Kind == spec.RunProgress:
				inProgress = true
			case isUnreadable(e): // it may be the report, so nothing is judged unless that was seen
				judged = judged || !inProgress
			case !judged && (subject == "message" || subject == "reasoning" || subject == "content"):
				p.Judge(e, inProgress, "%s comes before %s; expected the reverse order",
					displayName(e), kindName(request, spec.RunProgress, "the run is in progress"))
				judged = true
			}
		}
	}),
}

// RunEnds judges whether a stream has a terminal event before it closes.
var RunEnds = &spec.Check{
	ID: "run.ends",
	Doc: `a stream sends its run's terminal event before it closes

Without that event, a client cannot distinguish a complete answer from a truncated one. Not judged: a
stream with an idle limit in its request; a stream that has only comments, if its run was not started
in this conversation and so might not exist; and a stream whose last event is not valid JSON and so
might be the terminal event. If a request canceled the thread of the run, and was sent no later than a
second after the end of the stream, the stream is judged by cancel.run-ends instead.`,
	Needs: []spec.Kind{spec.RunEnd},
	Watch: func(p *spec.Pass) func(spec.Event) {
		exchanges := exchangesOf(p)
		var unfinished []completedStream // streams without a terminal event
		order := map[int]string{}        // by index of the exchange: " last" if the stream has several runs
		p.AtEnd(func() {
			for _, f := range unfinished {
				if !exchanges.isThreadCanceled(f) {
					p.Judge(f.bodyEnd, false, "stream closed before the%s run's terminal event",
						order[f.request.Exchange])
				}
			}
		})
		return eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
			ended, silent, hasComment, isUnknown := false, true, false, false
			return func(e spec.Event) {
				silent, hasComment = silent && !e.IsFrame(), hasComment || e.Kind == spec.Comment
				if e.IsFrame() {
					isUnknown = isUnreadable(e) // it may be any event
				}
				// The run may not exist.
				mayBeSilent := isCleanEnd(e) && isUnrequested(request) && silent && hasComment
				switch {
				case isTerminal(e):
					ended = true
				case e.Kind == spec.RunStart:
					if ended {
						order[e.Exchange] = " last"
					}
					ended = false // a second run has an end of its own
				case !isCleanEnd(e) && !isBrokenTransfer(e):
				case ended:
					p.Judge(e, true, "")
				case request.PollLimit == "" && !isUnknown && !mayBeSilent:
					unfinished = append(unfinished, completedStream{request: request, bodyEnd: e})
				}
			}
		})(p)
	},
}

// RunEndsOnce judges whether a stream has at most one terminal event.
var RunEndsOnce = &spec.Check{
	ID:    "run.ends-once",
	Doc:   "a stream sends the terminal event of its run once",
	Needs: []spec.Kind{spec.RunEnd},
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var first spec.Event
		return func(e spec.Event) {
			if isTerminal(e) {
				p.Judge(e, first.Raw == nil, "%s comes after %s; expected one terminal event",
					terminalName(e, first), terminalName(first, e))
				first = e
			}
		}
	}),
}

// terminalName returns the name of e, a terminal event, for use in a sentence that also names the
// event other. If the two events name different runs, the result names the run of e.
func terminalName(e, other spec.Event) string {
	if e.Run == "" || other.Run == "" || e.Run == other.Run {
		return displayName(e).String()
	}
	return fmt.Sprintf("%s of run %q", displayName(e), e.Run)
}

// RunEndIsLast judges whether the terminal event is the last event of its stream.
var RunEndIsLast = &spec.Check{
	ID: "run.end-is-last",
	Doc: `the terminal event of a run is the last event of its stream

Clients stop reading at that event. Only comments, a usage event and the in-band terminator may follow
it.`,
	Needs: []spec.Kind{spec.RunEnd},
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var end, after spec.Event // the last terminal event, and the first event after it
		return func(e spec.Event) {
			switch {
			case isTerminal(e):
				end, after = e, spec.Event{}
			case e.IsFrame() && e.Kind != spec.Done && e.Kind != spec.Usage && end.Raw != nil && after.Raw == nil:
				after = e
			case e.Kind == spec.BodyEnd && after.Raw != nil:
				p.Judge(after, false, "%s comes after the run's terminal event; expected no event after it", displayName(after))
			case e.Kind == spec.BodyEnd && end.Raw != nil && !errors.Is(e.Err, spec.ErrLeftAfterEnd):
				p.Judge(end, true, "")
			}
		}
	}),
}

// ClosesAfterEnd judges whether the body of a stream ends within five seconds of the terminal
// event.
var ClosesAfterEnd = &spec.Check{
	ID:    "run.closes-after-end",
	Doc:   "the body ends within five seconds of the run's terminal event",
	Needs: []spec.Kind{spec.RunEnd},
	Watch: eachStreamOrRest(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var end spec.Event
		return func(e spec.Event) {
			switch {
			case isTerminal(e):
				end = e
			case errors.Is(e.Err, spec.ErrLeftAfterEnd):
			case e.Kind == spec.BodyEnd && errors.Is(e.Err, spec.ErrStillOpen) && end.Raw != nil:
				p.Judge(end, false, "body was still open %v after the run's terminal event; expected it to end by then",
					spec.MaxOpenAfterEnd)
			case e.Kind == spec.BodyEnd && end.Raw != nil:
				closed := !errors.Is(e.Err, spec.ErrIdleTimeout) && e.At-end.At <= spec.MaxOpenAfterEnd
				p.Judge(end, closed, "body was still open %v after the run's terminal event; expected it to end within 5s",
					(e.At - end.At).Round(time.Millisecond))
			}
		}
	}),
}

// RunIDIsStable judges whether all events about the run of a stream have the same run id.
var RunIDIsStable = &spec.Check{
	ID:    "run.id-is-stable",
	Doc:   "all events about a run have the same run id",
	Needs: []spec.Kind{spec.SlotRun, spec.RunEnd},
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		id := ""
		return func(e spec.Event) {
			if e.Kind.Subject() != "run" || e.Kind == spec.RunRefused || e.Run == "" {
				return
			}
			p.Judge(e, id == "" || e.Run == id, "got run id %q; expected %q, as in the earlier events", e.Run, id)
			id = e.Run
		}
	}),
}

// StatusMovesForward judges whether the status of each run and message only moves forward, from
// created to in progress to ended.
var StatusMovesForward = &spec.Check{
	ID: "run.status-moves-forward",
	Doc: `the status of a run or message never moves backward

The order is created, in progress, ended. A client does not expect a message that has ended to start
again.`,
	Needs: []spec.Kind{spec.RunEnd},
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		last := map[string]statusEvent{}
		return func(e spec.Event) {
			rank, ranked := statusRank(e)
			key, isRun := e.Kind.Subject()+"\x00"+e.Message, e.Kind.Subject() == "run"
			if isRun {
				key = "run\x00" + e.Run
			}
			if !ranked || !isRun && (!isMessageStatus(e) || e.Message == "") {
				return
			}
			before, seen := last[key]
			forward := rank >= before.rank && (before.rank < 2 || isRun && before.kind == e.Kind)
			if !seen || forward {
				p.Judge(e, true, "")
			} else {
				p.Judge(e, false, "%s", describeStatusChange(before, e, rank < before.rank))
			}
			last[key] = statusEvent{rank, e.Kind, e.Status, e.DisplayName()}
		}
	}),
}

// statusRank returns the position of the status in e, an event about a run or message, in the order
// created (0), in progress (1) and ended (2). The result ok is false if e has none of them.
//
// A message may start with either of the first two, so its status determines the rank if it has one.
func statusRank(e spec.Event) (rank int, ok bool) {
	rank, ok = map[string]int{"start": 0, "progress": 1, "end": 2, "error": 2}[e.Kind.Phase()]
	switch {
	case e.Kind.Subject() == "run" || rank == 2:
	case e.Status == "created":
		rank = 0
	case e.Status != "":
		rank = 1
	}
	return rank, ok
}

// A statusEvent is a copy of some fields of an event about the status of a run or message: those
// that are compared with the next status or shown in a finding.
type statusEvent struct {
	rank        int // see statusRank
	kind        spec.Kind
	status      string
	displayName string // see [spec.Event.DisplayName]
}

// describeStatusChange returns the message of a finding about a status that must not follow the
// previous one. The argument before holds the previous status, and e is the event with the new one.
// If backwards is true, the new status precedes the previous one in the order of statuses.
// Otherwise, the run or message had already ended.
func describeStatusChange(before statusEvent, e spec.Event, backwards bool) string {
	subject := "run"
	if e.Kind.Subject() != "run" {
		subject = fmt.Sprintf("message %q", e.Message)
	}
	previous := cmp.Or(before.status, strconv.Quote(before.displayName))
	status := cmp.Or(e.Status, strconv.Quote(e.DisplayName()))
	if !backwards {
		return fmt.Sprintf("%s has status %s after it ended with status %s; expected no further status",
			subject, status, previous)
	}
	return fmt.Sprintf("%s went from %s back to %s; a status must not move backwards", subject, previous, status)
}

// CreatedIsStable judges whether all events about a run report the same start time.
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
			p.Judge(e, created == "" || e.Created == created,
				"got %s as the time at which the run began; expected %s, as in the earlier events", e.Created, created)
			created = e.Created
		}
	}),
}

// CompletedAfterCreated judges whether the reported end time of a run is not earlier than its start
// time.
var CompletedAfterCreated = &spec.Check{
	ID: "run.completed-after-created",
	Doc: `a run does not end before it began

Whether the times are required is judged by wire.matches-schema.`,
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
				p.Judge(e, ended >= began,
					"run began at %s and ended at %s; expected an end no earlier than the start", created, e.Completed)
			}
		}
	}),
}

// RunStaysFailed judges whether a failed run stays failed, so that no later event reports that it
// finished.
var RunStaysFailed = &spec.Check{
	ID:    "run.stays-failed",
	Doc:   "a run that failed does not succeed afterwards",
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
				p.Judge(e, false, "%s comes after %s; expected the run to stay failed", displayName(e), displayName(failed))
			case e.Kind == spec.BodyEnd && failed.Raw != nil && !endedWell:
				p.Judge(failed, true, "")
			}
		}
	}),
}

// StreamsOwnRunOnly judges whether all events of a stream belong to the requested run.
var StreamsOwnRunOnly = &spec.Check{
	ID:    "run.keeps-to-itself",
	Doc:   "a stream contains only events of the requested run",
	Needs: []spec.Kind{spec.SlotRun},
	Watch: eachResponseEvent(judgeOwnRun),
}

// judgeOwnRun judges whether e belongs to the run that the request of x asked for. It judges
// nothing if e is not a frame, if the request is invalid, or if e or the request names no run.
func judgeOwnRun(p *spec.Pass, x *exchange, e spec.Event) {
	if request := x.request; e.IsFrame() && request.Run != "" && e.Run != "" && request.Valid() {
		p.Judge(e, e.Run == request.Run,
			"got an event of run %q; expected only events of the requested run %q", e.Run, request.Run)
	}
}

// DoneIsLast judges whether the in-band terminator, such as "[DONE]", is the last event of its
// stream.
var DoneIsLast = &spec.Check{
	ID:    "done.is-last",
	Doc:   "the in-band terminator is the last event of its stream",
	Needs: []spec.Kind{spec.Done},
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var done spec.Event
		after := false
		return func(e spec.Event) {
			switch {
			case e.IsFrame() && done.Raw != nil:
				after = true
				p.Judge(e, false, "%s comes after %s; expected no event after it", displayName(e), displayName(done))
			case e.Kind == spec.Done:
				done = e
			case e.Kind == spec.BodyEnd && done.Raw != nil && !after:
				p.Judge(done, true, "")
			}
		}
	}),
}
