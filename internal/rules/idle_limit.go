package rules

import (
	"time"

	"github.com/streamassay/streamassay/spec"
)

// IdleLimitEnds judges whether a stream whose request sets an idle limit (see
// [spec.Event.PollLimit]) ends after a silence as long as the limit, and not earlier.
var IdleLimitEnds = &spec.Check{
	ID: "run.idle-limit-ends",
	Doc: `a stream ends once it has been idle for as long as its request allows

A stream that was requested with a limit of one poll must not continue after more than five seconds
without an event. The length of a poll is not specified; five seconds are assumed to exceed it. A
stream that has a terminal event and no such pause before it is not judged.

Each event starts the count again, so a stream must not end because its pauses together exceed the
limit. This is judged by comparison with another stream with the same limit: the silence at the end of
a stream without a terminal event must be at least half as long as that of the other one.`,
	Needs: []spec.Kind{"slot.limit"},
	Watch: func(p *spec.Pass) func(spec.Event) {
		var all []endWithoutTerminal
		p.AtEnd(func() { judgeEarlyEnds(p, all) })
		return eachStreamOrRest(func(p *spec.Pass, request spec.Event) func(spec.Event) {
			return watchIdleStream(p, request, func(end endWithoutTerminal) { all = append(all, end) })
		})(p)
	},
}

// An endWithoutTerminal is the end of a stream that has an idle limit and no terminal event.
type endWithoutTerminal struct {
	limit   string // number of polls without an event after which the stream ends; see [spec.Event.PollLimit]
	bodyEnd spec.Event
	silence time.Duration // time from the last event, or from the request if there was no event, to the end
	open    time.Duration // time from the first event to the end; 0 if there was at most one event
}

// maxPollDuration is the assumed maximum duration of one idle poll, which no document states.
const maxPollDuration = 5 * time.Second

// watchIdleStream returns a function that must be called with each event of the stream that request
// asked for. If the idle limit in request is one poll, the function judges whether the stream
// continues after a silence of more than maxPollDuration. If there is a limit of any length, it
// calls add when the stream ends without a terminal event.
func watchIdleStream(p *spec.Pass, request spec.Event, add func(endWithoutTerminal)) func(spec.Event) {
	ended := false
	var first, late spec.Event // the first frame, and the first one after a silence that is too long
	lastFrameAt, silence := request.At, time.Duration(0)
	return func(e spec.Event) {
		if isCleanEnd(e) && request.PollLimit != "" && !ended {
			end := endWithoutTerminal{limit: request.PollLimit, bodyEnd: e, silence: e.At - lastFrameAt}
			if first.Raw != nil && first.At < lastFrameAt {
				end.open = e.At - first.At
			}
			add(end)
		}
		switch {
		case e.IsFrame():
			if late.Raw == nil && !ended && e.At-lastFrameAt > maxPollDuration {
				late, silence = e, e.At-lastFrameAt
			}
			if first.Raw == nil {
				first = e
			}
			lastFrameAt = e.At
			ended = ended || isTerminal(e)
		case !isCleanEnd(e) || request.PollLimit != "1":
		case late.Raw != nil:
			p.Judge(late, false,
				"event came after %v of silence; expected the stream to end before, as its request allows one idle poll (assumed to last at most %v)",
				silence.Round(time.Millisecond), maxPollDuration)
		case !ended:
			p.Judge(e, true, "")
		}
	}
}

// judgeEarlyEnds records a finding for each stream that ended because its pauses together, and not
// the last one alone, exceeded its idle limit. The argument all contains the ends of the streams of
// a conversation.
//
// A stream is reported if it was open for at least as long as the longest silence at the end of any
// stream with the same limit, but the silence at its own end was less than half as long.
func judgeEarlyEnds(p *spec.Pass, all []endWithoutTerminal) {
	longest := map[string]time.Duration{} // by limit
	for _, end := range all {
		longest[end.limit] = max(longest[end.limit], end.silence)
	}
	for _, end := range all {
		most := longest[end.limit]
		if end.open >= most && end.silence < most/2 {
			p.Judge(end.bodyEnd, false,
				"stream with an idle limit of %s polls ended after %v of silence, another only after %v; expected each event to restart the count",
				end.limit, end.silence.Round(time.Millisecond), most.Round(time.Millisecond))
		}
	}
}
