package rules

import (
	"fmt"
	"slices"
	"time"

	"github.com/streamassay/streamassay/spec"
)

var concurrencyChecks = []*spec.Check{SurvivesOtherRuns, CancelEndsRun, CancelAffectsNamedRunOnly}

// CancelEndsRun judges whether the stream of a canceled run has exactly one terminal event.
var CancelEndsRun = &spec.Check{
	ID: "cancel.run-ends",
	Doc: `the stream of a canceled run sends one terminal event

This is judged if the server accepted the cancel request. A cancel request that names no run cancels
the active run of its thread. A stream with an idle limit in its request may close without a terminal
event.`,
	Needs: []spec.Kind{spec.CancelAccepted, spec.RunEnd},
	Watch: judgeStreams(func(p *spec.Pass, a *conversationTimeline) {
		for _, l := range a.streams {
			if (l.endCount > 0 || l.request.PollLimit == "") && a.exchanges.isCanceled(l) {
				p.Judge(l.bodyEnd, l.endCount == 1,
					"run was canceled and its stream has %s; expected 1", pluralize(l.endCount, "terminal event"))
			}
		}
	}),
}

// A completedStream is a stream whose body has ended. The field request.Text is the prompt of the
// run, if that is known.
type completedStream struct {
	request    spec.Event
	openedAt   time.Duration // time of its first event, since the start of the conversation
	firstFrame spec.Event    // its first event in the body that is not a comment
	endCount   int           // number of terminal events
	endUnknown bool          // the last frame could not be decoded, and may be a terminal event
	failed     bool          // whether a terminal event reports a failure
	bodyEnd    spec.Event    // the event for the end of the body
	deltaTimes               // of the agent itself or, if it has sent no deltas, of its subagents
}

// A deltaTimes holds the times at which the deltas of messages in a stream arrived.
type deltaTimes struct {
	firstDelta, lastDelta spec.Event       // the first and the last delta; zero if there are none
	pauses                time.Duration    // the sum of the pauses between deltas, each limited to maxPause
	deltaCount            int              // number of deltas
	lastPauses            [2]time.Duration // the pauses before the last two deltas, in order
	pauseCount            int              // number of pauses of at least a quarter of the interval in the prompt
}

// add adds e, the next delta of a message. The prompt asks for deltas at the given interval.
func (d *deltaTimes) add(e spec.Event, interval time.Duration) {
	if d.deltaCount++; d.deltaCount == 1 {
		d.firstDelta = e
	} else {
		pause := e.At - d.lastDelta.At
		d.pauses += min(pause, maxPause(interval))
		d.lastPauses = [2]time.Duration{d.lastPauses[1], pause}
		if pause >= interval/4 {
			d.pauseCount++
		}
	}
	d.lastDelta = e
}

// A conversationTimeline holds the completed streams of a conversation, and the times at which runs
// were requested and ended.
type conversationTimeline struct {
	exchanges *exchangeTracker
	streams   []completedStream
	resumed   []completedStream // streams that were requested from a cursor
	// runEnds has one event per terminal event: the request for the stream, with At set to the time
	// of the terminal event.
	runEnds []spec.Event
	// requestedAt has, by runKey, the time at which the run was first requested, since the start of
	// the conversation.
	requestedAt map[string]time.Duration
}

// isCanceled reports whether an accepted cancel request of the conversation applies to the run of
// the stream l. It uses only the fields request and bodyEnd of l.
func (a *exchangeTracker) isCanceled(l completedStream) bool {
	return slices.ContainsFunc(a.cancels, l.isCanceledBy)
}

// isThreadCanceled reports whether the server accepted a cancel request that names the thread of
// the stream l but no run, and was sent at most a second after the last bytes of l arrived. The
// body of l may have ended later. isThreadCanceled uses only the fields request and bodyEnd of l.
func (a *exchangeTracker) isThreadCanceled(l completedStream) bool {
	l.bodyEnd.At += time.Second
	return slices.ContainsFunc(a.cancels, func(cancel spec.Event) bool {
		return cancel.Run == "" && l.isCanceledBy(cancel)
	})
}

// isCanceledBy reports whether the given cancel request applies to the run of the stream. A request
// that names a run applies to that run only. A request that names only a thread applies if the
// thread is that of the stream and if the request was sent while the stream was open.
func (l completedStream) isCanceledBy(cancel spec.Event) bool {
	if cancel.Run != "" {
		return runKey(cancel) == runKey(l.request)
	}
	return cancel.Thread != "" && cancel.Thread == l.request.Thread &&
		cancel.Exchange > l.request.Exchange && cancel.At <= l.bodyEnd.At
}

// isOpenAt reports whether the stream was open at the given time, measured from the start of the
// conversation. The stream also counts as open for the duration grace after the end of its body.
func (l completedStream) isOpenAt(at, grace time.Duration) bool {
	return l.openedAt < at && at < l.bodyEnd.At+grace
}

// areSiblingRuns reports whether the requests a and b name different runs of the same thread. It
// returns false if either of them names no run or no thread.
func areSiblingRuns(a, b spec.Event) bool {
	return a.Thread != "" && a.Thread == b.Thread && a.Run != "" && b.Run != "" && a.Run != b.Run
}

// judgeStreams returns a newWatcherFunc that calls judge once, at the end of a conversation. The
// argument a holds the completed streams of the conversation.
func judgeStreams(judge func(p *spec.Pass, a *conversationTimeline)) newWatcherFunc {
	return judgeAtEnd(func(p *spec.Pass) *conversationTimeline {
		return spec.Shared(p, "stream timeline", func() (*conversationTimeline, func(spec.Event)) {
			timeline := &conversationTimeline{exchanges: exchangesOf(p), requestedAt: map[string]time.Duration{}}
			observeStreams := eachStream(timeline.observeStream)(p)
			observeResumed := eachStreamOrRest(timeline.observeResumed)(p)
			return timeline, func(e spec.Event) {
				if e.Kind == spec.HTTPRequest && e.Text != "" && e.Run != "" {
					if _, again := timeline.requestedAt[runKey(e)]; !again {
						timeline.requestedAt[runKey(e)] = e.At
					}
				}
				observeStreams(e)
				observeResumed(e)
			}
		})
	}, judge)
}

// observeResumed is like [conversationTimeline.observeStream], but only for streams that were requested from
// a cursor: the function that it returns adds the stream to a.resumed, and nothing to a.runEnds.
// For any other stream, the function does nothing.
func (a *conversationTimeline) observeResumed(p *spec.Pass, _ spec.Event) func(spec.Event) {
	request := streamsOf(p).request // with the prompt of its run
	if request.Cursor == "" {
		return func(spec.Event) {}
	}
	return observeCompleted(request, func(l completedStream) { a.resumed = append(a.resumed, l) })
}

// observeStream returns a function that must be called with each event of the stream that request
// asked for. For each terminal event, the function adds an element to a.runEnds. When the response
// body ends, it adds the stream to a.streams, unless the transfer was cut off or the client stopped
// reading before the run ended.
func (a *conversationTimeline) observeStream(_ *spec.Pass, request spec.Event) func(spec.Event) {
	observe := observeCompleted(request, func(l completedStream) { a.streams = append(a.streams, l) })
	return func(e spec.Event) {
		if isTerminal(e) {
			end := request
			end.At = e.At
			a.runEnds = append(a.runEnds, end)
		}
		observe(e)
	}
}

// observeCompleted returns a function that must be called with each event of the stream that
// request asked for. When the body of the stream ends, the function calls add with the completed
// stream, unless the transfer was cut off or the client stopped reading before the run ended.
func observeCompleted(request spec.Event, add func(completedStream)) func(spec.Event) {
	l := completedStream{request: request}
	_, interval, _ := scriptedDeltas(request)
	var subagents subagentOutput
	var subagentTimes deltaTimes
	return func(e spec.Event) {
		if l.openedAt == 0 {
			l.openedAt = e.At
		}
		if e.IsFrame() {
			if l.firstFrame.Raw == nil {
				l.firstFrame = e
			}
			l.endUnknown = e.Kind == spec.Undecodable
		}
		switch {
		case isTerminal(e):
			l.endCount++
			l.failed = l.failed || e.Kind == spec.RunError
		case subagents.contains(e):
			if e.Kind == spec.MessageDelta {
				subagentTimes.add(e, interval)
			}
		case e.Kind == spec.MessageDelta:
			l.add(e, interval)
		case isCleanEnd(e):
			if l.bodyEnd = e; l.deltaCount == 0 {
				l.deltaTimes = subagentTimes
			}
			add(l)
		}
	}
}

// scriptedDuration returns the minimum duration of a run that the prompt of request sets. The
// second result is false if the prompt sets no duration, or if the tested server does not
// understand the test prompts (see [spec.Trace.Scripted]).
func scriptedDuration(request spec.Event) (time.Duration, bool) {
	if silence, ok := scriptedSilence(request); ok {
		return silence, true
	}
	n, interval, ok := scriptedDeltas(request)
	return time.Duration(n-1) * interval, ok
}

// SurvivesOtherRuns judges whether the stream of a run stays open until its own terminal event if
// another run of the same thread ends before it.
var SurvivesOtherRuns = &spec.Check{
	ID: "run.outlives-others",
	Doc: `the end of one run does not close the stream of another run

This is judged if another run of the thread ended while the stream was open. A stream without a
terminal event is also judged if the other run ended up to a second after the stream closed, because
the client may read the two streams at different speeds. Such a stream is not judged, however, if its
run was canceled, if its request has an idle limit, or if its last event cannot be decoded and may be
the terminal event.`,
	Needs: []spec.Kind{spec.RunEnd},
	Watch: judgeStreams(func(p *spec.Pass, a *conversationTimeline) {
		for _, l := range a.streams {
			later := time.Duration(0)
			if l.endCount == 0 { // a client that reads two streams may see the cause after the effect
				later = time.Second
			}
			i := slices.IndexFunc(a.runEnds, func(e spec.Event) bool {
				return areSiblingRuns(e, l.request) && l.isOpenAt(e.At, later)
			})
			hasOtherCause := l.request.PollLimit != "" || l.endUnknown || a.exchanges.isCanceled(l)
			if i >= 0 && (l.endCount > 0 || !hasOtherCause) {
				p.Judge(l.bodyEnd, l.endCount > 0,
					"stream of run %q closed when run %q of the same thread ended; expected its own terminal event first",
					l.request.Run, a.runEnds[i].Run)
			}
		}
	}),
}

// CancelAffectsNamedRunOnly judges whether a run continues after a cancel request that does not
// cancel it: a request that canceled another run, or one that the server refused. It judges runs
// that were not canceled and whose prompt sets a duration (see scriptedDuration), if the cancel
// request was sent in the first half of that duration.
var CancelAffectsNamedRunOnly = &spec.Check{
	ID: "cancel.spares-others",
	Doc: `a run ends early only if a cancel request that names it was accepted

This is judged for runs of scripted targets whose prompt sets a duration (slow, idle). The run must
last at least three quarters of its duration if, in the first half of it, one of the following
happened: the server refused a request to cancel the run, it canceled another run of the thread, or
it canceled a run with the same id in another thread. Streams that end at the idle limit in their
request are not judged.`,
	Needs: []spec.Kind{spec.CancelAccepted, spec.RunEnd},
	// The cancel requests of other users are refused.
	AllPrincipals: true,
	Watch: judgeStreams(func(p *spec.Pass, a *conversationTimeline) {
		for _, l := range a.streams {
			minimum, scripted := scriptedDuration(l.request)
			requestedAt, known := a.requestedAt[runKey(l.request)]
			endedByLimit := l.endCount == 0 && l.request.PollLimit != ""
			if !scripted || !known || endedByLimit || a.exchanges.isCanceled(l) {
				continue
			}
			took := l.bodyEnd.At - requestedAt
			// judgeIfEarly judges the run if one of the cancel requests was sent in time and
			// concerns it while its stream is open.
			judgeIfEarly := func(cancels []spec.Event, concerns func(spec.Event) bool, describe func(spec.Event) string) {
				i := slices.IndexFunc(cancels, func(e spec.Event) bool {
					return concerns(e) && l.isOpenAt(e.At, 0) && e.At-requestedAt < minimum/2
				})
				if i >= 0 {
					p.Judge(l.bodyEnd, took >= minimum*3/4, "run %q ended %v after its start, when %s; expected it to last %v",
						l.request.Run, took.Round(time.Millisecond), describe(cancels[i]), minimum)
				}
			}
			isSibling := func(e spec.Event) bool { return areSiblingRuns(e, l.request) }
			judgeIfEarly(a.exchanges.cancels, isSibling, func(e spec.Event) string {
				return fmt.Sprintf("run %q of the same thread was canceled", e.Run)
			})
			judgeIfEarly(a.exchanges.cancels, func(e spec.Event) bool {
				return e.Run != "" && e.Run == l.request.Run && e.Thread != l.request.Thread
			}, func(e spec.Event) string {
				return fmt.Sprintf("the run with this id in thread %q was canceled", e.Thread)
			})
			judgeIfEarly(a.exchanges.refusedCancels, l.isCanceledBy,
				func(spec.Event) string { return "a request to cancel it was sent, which was refused" })
		}
	}),
}
