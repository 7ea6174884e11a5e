package rules

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// DeltasArriveIncrementally judges whether each delta arrives when it is produced. A server must
// not hold back deltas and send several of them together.
var DeltasArriveIncrementally = &spec.Check{
	ID: "wire.flushes",
	Doc: `events arrive as they are produced

A stream that is delivered in one piece at its end does not help a user who waits. This is judged if a
scripted target was asked for deltas at an interval. The pauses between the deltas must add up to at
least half of the requested time. A pause counts as at most three intervals, and as at most one
interval plus half a second. If eight or more deltas were requested and exactly as many arrive, at
least half of them must come after a pause. If the first delta comes late, the last one must not
follow the one before it at once, as if each were held back until the next. If a stream was requested
after its run began, the deltas that were produced before the request may arrive together. Of a stream
requested from a cursor, only the time between the deltas that it contains is expected.

If a scripted target was asked to be idle, and the stream was requested at least 300 milliseconds before
the end of that time, the start of the run must arrive at least half of the rest of it before the first
delta.

Not judged: a stream whose run was canceled; a stream that was open when another run of its thread was
canceled, which cancel.spares-others judges; a stream that lacks deltas and the terminal event, which
run.ends judges; and a stream with an idle limit, which may end between two deltas.`,
	Needs: []spec.Kind{spec.MessageDelta},
	Watch: judgeStreams(func(p *spec.Pass, a *conversationTimeline) {
		for _, l := range a.streams {
			silence, isIdle := scriptedSilence(l.request)
			if at, known := a.requestedAt[runKey(l.request)]; known {
				silence -= l.request.At - at
			}
			if isIdle && silence >= minDeltaSpan && l.firstFrame.Kind == spec.RunStart && l.firstDelta.Raw != nil &&
				l.bodyEnd.At > l.request.At && !a.exchanges.isCanceled(l) {
				before := l.firstDelta.At - l.firstFrame.At
				p.Judge(l.firstFrame, before >= silence/2,
					"the first event arrived only %v before the first delta; expected at least %v, because the prompt asks the agent to wait",
					before.Round(time.Millisecond), (silence / 2).Round(time.Millisecond))
			}
		}
		for _, l := range slices.Concat(a.streams, a.resumed) {
			n, interval, slow := scriptedDeltas(l.request)
			minimum, late := time.Duration(n-1)*interval, time.Duration(0)
			if at, known := a.requestedAt[runKey(l.request)]; known {
				late = l.request.At - at
				minimum -= late
			}
			if l.request.Cursor != "" {
				minimum = min(minimum, time.Duration(l.deltaCount-1)*interval)
			}
			timed := l.bodyEnd.At > l.request.At && l.firstDelta.Raw != nil
			isSibling := func(cancel spec.Event) bool { return areSiblingRuns(cancel, l.request) && l.isOpenAt(cancel.At, 0) }
			canceled := a.exchanges.isCanceled(l) || slices.ContainsFunc(a.exchanges.cancels, isSibling)
			isCut := l.endCount == 0 && l.deltaCount < n // run.ends judges that
			isLong := minimum >= minDeltaSpan && interval >= minDeltaInterval
			if slow && timed && !l.failed && !isCut && isLong && !canceled && l.request.PollLimit == "" {
				took := l.lastDelta.At - l.firstDelta.At
				if took < minimum/2 {
					p.Judge(l.lastDelta, false,
						"the last delta came %v after the first, and the prompt asks for %v; expected at least half of that",
						took.Round(time.Millisecond), minimum.Round(time.Millisecond))
					continue
				}
				if l.deltaCount == n && l.isOneBehind(interval) {
					p.Judge(l.lastDelta, false,
						"the first delta came %v after the request, and the last two together; expected each as it is produced",
						(l.firstDelta.At - l.request.At).Round(time.Millisecond))
					continue
				}
				isApart := l.pauseCount >= n/2 || l.deltaCount != n || n < minCountedDeltas || late > interval
				p.Judge(l.lastDelta, l.pauses >= minimum/2 && isApart,
					"deltas produced at intervals of %v arrived in groups; expected each to be sent as soon as it is produced", interval)
			}
		}
	}),
}

// isOneBehind reports whether the deltas of l, which were requested at the given interval, arrived
// as if the server held each delta back until it had produced the next one. That is so if the first
// delta arrived at least 3/4 of the interval after the request, and the last one less than 1/4 of
// the interval after the second to last. The second to last must have been on time: from 1/2 to 3/2
// of the interval after the delta before it.
func (l completedStream) isOneBehind(interval time.Duration) bool {
	return l.firstDelta.At-l.request.At >= interval*3/4 && l.lastPauses[1] < interval/4 &&
		l.lastPauses[0] >= interval/2 && l.lastPauses[0] <= interval*3/2
}

// minDeltaSpan is the shortest requested time for which DeltasArriveIncrementally judges a stream:
// the time between the first and the last delta that the prompt asks for, minus the time between
// the request for the run and the request for the stream. In a shorter time, a network may deliver
// even the deltas of a correct server in one piece.
const minDeltaSpan = 300 * time.Millisecond

// minDeltaInterval is the shortest requested interval for which DeltasArriveIncrementally judges a
// stream. The timers of a server, the network and the client may join deltas that are closer
// together.
const minDeltaInterval = 10 * time.Millisecond

// minCountedDeltas is the smallest number of requested deltas for which the pauses between them are
// counted. With fewer, a short stall of the client would hide most of the pauses of a correct
// stream.
const minCountedDeltas = 8

// maxPause returns the longest time for which a pause between two deltas counts if deltas are
// requested at the given interval; a longer pause counts as this time. Without this limit, a stream
// that holds back all deltas but the first would pass because of its one long pause.
func maxPause(interval time.Duration) time.Duration {
	return min(3*interval, interval+500*time.Millisecond)
}

// scriptedDeltas returns the number of deltas for which the prompt conformance:slow in request asks
// the target, and the interval between them. The result ok is false if the request has a different
// prompt, if the argument of the prompt is invalid or asks for fewer than two deltas, or if the
// target does not follow such prompts (see followsPrompt).
func scriptedDeltas(request spec.Event) (n int, interval time.Duration, ok bool) {
	argument, ok := strings.CutPrefix(request.Text, "conformance:slow ")
	count, milliseconds, _ := strings.Cut(argument, " ")
	n, err := strconv.Atoi(count)
	ms, err2 := strconv.Atoi(milliseconds)
	if !ok || !followsPrompt(request) || err != nil || err2 != nil || n < 2 || ms < 0 {
		return 0, 0, false
	}
	return n, time.Duration(ms) * time.Millisecond, true
}

// KeepsAlive judges whether the server sends comments on an idle stream.
var KeepsAlive = &spec.Check{
	ID: "wire.keeps-alive",
	Doc: `an idle stream sends keep-alive comments

Proxies close idle connections. The interval between comments is not specified. Two cases are judged. If
the server ends a stream because of the idle limit in the request, a comment must come after its last
event. The limit must be more than one poll, because a single poll may end before a comment is due. The
stream of a run that is known to have ended is not judged. And if comments have come one after the other
on an idle stream, no silence may be longer than three times their longest interval and one second.`,
	Needs: []spec.Kind{"slot.limit"},
	Watch: func(p *spec.Pass) func(spec.Event) {
		ended, alive := false, false
		over := map[string]bool{} // the runs, by runKey, whose end a stream has shown
		var silences keepAliveIntervals
		p.AtEnd(func() { silences.judge(p) })
		return eachResponseEvent(func(p *spec.Pass, x *exchange, e spec.Event) {
			limit := x.request.PollLimit
			if x.status() == 200 && x.response.IsStream() {
				silences.observe(e)
			}
			switch {
			case e.Kind == spec.HTTPResponse:
				ended, alive = false, false
			case x.status() != 200 || !x.response.IsStream():
			case e.Kind == spec.Comment:
				if !alive {
					p.Judge(e, true, "")
				}
				alive = true
			case isTerminal(e):
				ended, over[runKey(x.request)] = true, true
			case e.IsFrame():
				alive = false
			case isCleanEnd(e) && !ended && !alive && limit != "" && limit != "1" && !over[runKey(x.request)]:
				p.Judge(e, false,
					"server ended the idle stream without a comment after the last event; expected keep-alive comments while it is idle")
			}
		})(p)
	},
}

// A keepAliveIntervals records the intervals between keep-alive comments, and the longest silence, in
// the streams of a conversation.
type keepAliveIntervals struct {
	items    []spec.Event  // the last items of the current stream, at most three; the head counts as one
	interval time.Duration // the longest time between two successive comments with silence around each; 0: unknown
	silence  time.Duration // the longest time between two successive items
	after    spec.Event    // the item that ended that silence
}

// observe updates s with e, the next event of a stream.
func (s *keepAliveIntervals) observe(e spec.Event) {
	switch n := len(s.items); {
	case e.Kind == spec.HTTPResponse:
		s.items = s.items[:0]
	case !e.IsFrame() && e.Kind != spec.Comment:
		return // of the end of the body, no time is recorded
	default:
		last := s.items[n-1]
		if silence := e.At - last.At; silence > s.silence {
			s.silence, s.after = silence, e
		}
		if n == 3 && s.items[1].Kind == spec.Comment && last.Kind == spec.Comment &&
			s.items[1].At-s.items[0].At >= minQuiet && e.At-last.At >= minQuiet {
			if interval := last.At - s.items[1].At; interval >= minQuiet {
				s.interval = max(s.interval, interval)
			}
		}
		if n == 3 {
			s.items = append(s.items[:0], s.items[1:]...)
		}
	}
	s.items = append(s.items, e)
}

// judge judges the longest silence if the interval between comments is known.
func (s *keepAliveIntervals) judge(p *spec.Pass) {
	if s.interval > 0 && s.silence > 3*s.interval+time.Second {
		p.Judge(s.after, false,
			"no comment came in %v of silence before this; expected one, as others on an idle stream came %v apart",
			s.silence.Round(time.Millisecond), s.interval.Round(time.Millisecond))
	}
}

// minQuiet is the minimum silence both before and after a comment that counts as a keep-alive. A
// comment that only accompanies an event arrives together with it.
const minQuiet = 100 * time.Millisecond

// KeepAliveText judges whether the keep-alive comments on an idle stream have the documented text.
var KeepAliveText = &spec.Check{
	ID: "wire.keep-alive-text",
	Doc: `the comments on an idle stream have the text that the document states

Servers may send other comments, such as one with each event. A comment counts as a keep-alive only if
nothing arrived for at least 100 milliseconds before it and after it. In addition, it must come after a
second of silence, or in a stream that the server ended because of an idle limit of more than one poll.`,
	Needs: []spec.Kind{"slot.limit"},
	Watch: eachStreamOrRest(func(p *spec.Pass, request spec.Event) func(spec.Event) {
		var before, previous spec.Event // the last event, and the one before it
		var other, late spec.Event      // the first comment in a silence with another text, and the first after a second
		want := request.Facts().Promised.KeepAlive
		seen, ended := want == "", false
		return func(e spec.Event) {
			silence := before.At - previous.At
			if before.Kind == spec.Comment && before.Text != want && previous.Raw != nil &&
				silence >= minQuiet && e.At-before.At >= minQuiet {
				if other.Raw == nil {
					other = before
				}
				if late.Raw == nil && silence >= time.Second {
					late = before
				}
			}
			switch {
			case e.Kind == spec.Comment && e.Text == want:
				if !seen {
					p.Judge(e, true, "")
				}
				seen = true
			case isTerminal(e):
				ended = true
			case isCleanEnd(e) && request.PollLimit != "" && request.PollLimit != "1" && !ended && late.Raw == nil:
				late = other
			}
			if e.Kind == spec.BodyEnd && late.Raw != nil && !seen {
				p.Judge(late, false, "got the comment %q on an idle stream; expected %q", late.Text, want)
			}
			previous, before = before, e
		}
	}),
}
