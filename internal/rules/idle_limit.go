package rules

import (
	"time"

	"github.com/streamassay/streamassay/spec"
)

// IdleLimitEnds judges whether a stream ends once it has sent no event for as long as its request
// allows, and not before.
var IdleLimitEnds = &spec.Check{
	ID: "run.idle-limit-ends",
	Doc: `a stream ends once it has been idle for as long as its request allows

A stream that was requested with a limit of one poll must not continue after more than five seconds
without an event. The length of a poll is not specified; five seconds are assumed to exceed it. A
stream that has a terminal event and no such pause before it is not judged.

A stream that sends events after pauses must not end because the pauses together exceed the limit.
This is judged by comparison: it must not end without a terminal event after less than half of the
silence after which another stream with the same limit ended.`,
	Needs: []spec.Kind{"slot.limit"},
	Watch: func(p *spec.Pass) func(spec.Event) {
		var all []idleEnd
		p.AtEnd(func() { judgeEarlyEnds(p, all) })
		return eachStreamOrRest(func(p *spec.Pass, request spec.Event) func(spec.Event) {
			return watchIdleStream(p, request, func(end idleEnd) { all = append(all, end) })
		})(p)
	},
}

// An idleEnd is the end of a stream that has an idle limit and no terminal event.
type idleEnd struct {
	limit   string // the limit, in polls
	bodyEnd spec.Event
	silence time.Duration // time between the last event or, if there was none, the request and the end
	open    time.Duration // time between the first event and the end; 0 if there was at most one event
}

// watchIdleStream returns a function that judges whether the stream continues although it has
// exceeded a limit of one poll. The function calls add if the stream ends without a terminal event
// although its request has a limit.
func watchIdleStream(p *spec.Pass, request spec.Event, add func(idleEnd)) func(spec.Event) {
	ended := false
	var first, late spec.Event // the first frame, and the first one after a silence that is too long
	lastFrameAt, silence := request.At, time.Duration(0)
	return func(e spec.Event) {
		if isCleanEnd(e) && request.PollLimit != "" && !ended {
			end := idleEnd{limit: request.PollLimit, bodyEnd: e, silence: e.At - lastFrameAt}
			if first.Raw != nil && first.At < lastFrameAt {
				end.open = e.At - first.At
			}
			add(end)
		}
		switch {
		case e.IsFrame():
			if late.Raw == nil && !ended && e.At-lastFrameAt > 5*time.Second {
				late, silence = e, e.At-lastFrameAt
			}
			if first.Raw == nil {
				first = e
			}
			lastFrameAt = e.At
			ended = ended || isTerminal(e)
		case !isCleanEnd(e) || request.PollLimit != "1":
		case late.Raw != nil:
			p.Judge(late, false, "stream continued after %v of silence; expected the limit of one poll to end it",
				silence.Round(time.Millisecond))
		case !ended:
			p.Judge(e, true, "")
		}
	}
}

// judgeEarlyEnds judges whether a stream ended early although it sent events after pauses. The
// argument all contains the ends of the streams of a conversation. A stream ended early if its last
// silence is less than half of that of another stream with the same limit, and it had been open for
// longer than that.
func judgeEarlyEnds(p *spec.Pass, all []idleEnd) {
	longest := map[string]time.Duration{} // by limit
	for _, end := range all {
		longest[end.limit] = max(longest[end.limit], end.silence)
	}
	for _, end := range all {
		most := longest[end.limit]
		if end.open >= most && end.silence < most/2 {
			p.Judge(end.bodyEnd, false,
				"stream with a limit of %s polls ended after %v of silence, and another one after %v; expected each event to start a new count",
				end.limit, end.silence.Round(time.Millisecond), most.Round(time.Millisecond))
		}
	}
}
