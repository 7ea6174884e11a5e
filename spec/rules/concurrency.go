package rules

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
)

var concurrencyChecks = []*spec.Check{SurvivesOtherRuns, CancelEndsRun, CancelAffectsNamedRunOnly}

// CancelEndsRun judges what becomes of a canceled run.
var CancelEndsRun = &spec.Check{
	ID: "cancel.run-ends",
	Doc: `after a cancel that was accepted the stream still tells one end of the run

A stream that was asked to end after some silence may end without. A cancel that names
no run is for the one that its conversation is busy with.`,
	Needs: []spec.Kind{spec.CancelAccepted, spec.RunEnd},
	Watch: judgeStreams(func(p *spec.Pass, a *streamTimeline) {
		for _, l := range a.streams {
			if (l.endCount > 0 || l.request.PollLimit == "") && a.isCanceled(l) {
				p.Judge(l.bodyEnd, l.endCount == 1, "the run was canceled, and its stream told %s of it; expected 1", pluralize(l.endCount, "end"))
			}
		}
	}),
}

// A completedStream is a stream that told a run from its start to the server's own end.
type completedStream struct {
	request               spec.Event
	openedAt              time.Duration
	endCount              int        // how often it told the end of its run
	failed                bool       // one of them was a failure
	firstDelta, lastDelta spec.Event // deltas of messages
	bodyEnd               spec.Event
}

// streamTimeline are the streams of a conversation, and what happened to its runs meanwhile.
type streamTimeline struct {
	streams     []completedStream
	runEnds     []spec.Event             // the request that heard of it, at the time when the run ended
	cancels     []spec.Event             // requests that were accepted
	requestedAt map[string]time.Duration // run → when it was asked for
}

// isCanceled says that one of the cancels was for the run of the stream.
func (a *streamTimeline) isCanceled(l completedStream) bool {
	return slices.ContainsFunc(a.cancels, l.isCanceledBy)
}

// isCanceledBy says that a cancel was for the run of the stream.
func (l completedStream) isCanceledBy(cancel spec.Event) bool {
	if cancel.Run != "" {
		return runKey(cancel) == runKey(l.request)
	}
	return cancel.Thread != "" && cancel.Thread == l.request.Thread && cancel.Exchange > l.request.Exchange && cancel.At <= l.bodyEnd.At
}

// isOpenAt says that something happened while the stream was open, or so much later.
func (l completedStream) isOpenAt(at, later time.Duration) bool {
	return l.openedAt < at && at < l.bodyEnd.At+later
}

// areSiblingRuns says that two requests are about two runs of one conversation.
func areSiblingRuns(a, b spec.Event) bool {
	return a.Thread != "" && a.Thread == b.Thread && a.Run != "" && b.Run != "" && a.Run != b.Run
}

// judgeStreams lets a rule judge, at the end of a conversation, what became of its streams.
func judgeStreams(judge func(p *spec.Pass, a *streamTimeline)) watchFunc {
	return func(p *spec.Pass) func(spec.Event) {
		timeline := &streamTimeline{requestedAt: map[string]time.Duration{}}
		observe := eachStream(timeline.observeStream)(p)
		var request spec.Event
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.HTTPRequest:
				if _, again := timeline.requestedAt[runKey(e)]; e.Text != "" && e.Run != "" && !again {
					timeline.requestedAt[runKey(e)] = e.At
				}
				request = e
			case e.Kind == spec.CancelAccepted:
				timeline.cancels = append(timeline.cancels, request)
			case e.Kind == "":
				judge(p, timeline)
			}
			observe(e)
		}
	}
}

// observeStream notes one telling of a run.
func (a *streamTimeline) observeStream(_ *spec.Pass, request spec.Event) func(spec.Event) {
	l := completedStream{request: request}
	return func(e spec.Event) {
		if l.openedAt == 0 {
			l.openedAt = e.At
		}
		switch {
		case isTerminal(e):
			l.endCount++
			l.failed = l.failed || e.Kind == spec.RunError
			end := request
			end.At = e.At
			a.runEnds = append(a.runEnds, end)
		case e.Kind == spec.MessageDelta:
			if l.lastDelta = e; l.firstDelta.Raw == nil {
				l.firstDelta = e
			}
		case isCleanEnd(e):
			l.bodyEnd = e
			a.streams = append(a.streams, l)
		}
	}
}

// scriptedDuration is how long a scripted target was asked to take for a run, at least.
func scriptedDuration(request spec.Event) (time.Duration, bool) {
	if argument, ok := strings.CutPrefix(request.Text, "conformance:idle "); ok {
		ms, err := strconv.Atoi(argument)
		return time.Duration(ms) * time.Millisecond, request.Scripted && err == nil
	}
	return scriptedDeltaSpan(request)
}

// SurvivesOtherRuns judges streams beside which another run ended.
var SurvivesOtherRuns = &spec.Check{
	ID: "run.outlives-others",
	Doc: `the end of another run does not end the stream of this one

Judged where the end of another run of the conversation was heard while the stream was
open. A stream that was asked to end after some silence may end without its run.`,
	Needs: []spec.Kind{spec.RunEnd},
	Watch: judgeStreams(func(p *spec.Pass, a *streamTimeline) {
		for _, l := range a.streams {
			later := time.Duration(0)
			if l.endCount == 0 { // who hears two streams may hear of the cause after the effect
				later = time.Second
			}
			i := slices.IndexFunc(a.runEnds, func(e spec.Event) bool { return areSiblingRuns(e, l.request) && l.isOpenAt(e.At, later) })
			if i >= 0 && (l.endCount > 0 || l.request.PollLimit == "") {
				p.Judge(l.bodyEnd, l.endCount > 0, "the stream ended without the end of its run %q, after run %q of its conversation had ended", l.request.Run, a.runEnds[i].Run)
			}
		}
	}),
}

// CancelAffectsNamedRunOnly judges runs beside which another one was canceled.
var CancelAffectsNamedRunOnly = &spec.Check{
	ID: "cancel.spares-others",
	Doc: `a cancel ends no other run than the one that it names

Judged where a scripted target was asked to take some time over a run (slow, idle), and
another one of the conversation was canceled before half of that was over: the run takes
its time all the same. A quarter of it is left to the clocks.`,
	Needs: []spec.Kind{spec.CancelAccepted, spec.RunEnd},
	Watch: judgeStreams(func(p *spec.Pass, a *streamTimeline) {
		for _, l := range a.streams {
			minimum, scripted := scriptedDuration(l.request)
			requestedAt, known := a.requestedAt[runKey(l.request)]
			i := slices.IndexFunc(a.cancels, func(e spec.Event) bool {
				return areSiblingRuns(e, l.request) && l.isOpenAt(e.At, 0) && e.At-requestedAt < minimum/2
			})
			if scripted && known && i >= 0 && !a.isCanceled(l) {
				took := l.bodyEnd.At - requestedAt
				p.Judge(l.bodyEnd, took >= minimum*3/4, "run %q was to take %v and was over after %v: run %q of its conversation had been canceled",
					l.request.Run, minimum, took.Round(time.Millisecond), a.cancels[i].Run)
			}
		}
	}),
}
