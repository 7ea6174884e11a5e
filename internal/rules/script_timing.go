package rules

import (
	"fmt"
	"strconv"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// Most functions in this file judge lower bounds of time. Text that the prompt asks for after a
// certain time cannot arrive before that time has passed. The time is measured from the request
// that started the run to the arrival of the text. A busy machine, the network and a client that
// reads late can only make it longer.

// timerError is how much earlier than requested each timer of a server may fire, because clocks and
// timers are rounded to milliseconds.
const timerError = 2 * time.Millisecond

// isTimed reports whether the times at which the events of the run arrived are known.
func (a *assembledRun) isTimed() bool { return a.streamedBy.Facts().HasTimes }

// textPieces returns the pieces of text of the answer, message by message, in the order in which
// the messages started. It leaves out reasoning, errors, empty pieces, and those that were not kept because
// of maxPieces.
func (a *assembledRun) textPieces() (all []textFragment) {
	for _, s := range a.messages {
		end := 0
		for _, piece := range s.pieces {
			if piece.end > end && s.is(false) {
				all = append(all, piece)
			}
			end = piece.end
		}
	}
	return all
}

// judgeIdleTime judges whether the target was silent for as long as the prompt conformance:idle
// asks for. The string argument is the argument of the prompt, a number of milliseconds.
//
// No text may arrive before the requested time has passed since the request. In addition, before
// the text, there must be a time without any event that is at least three quarters as long; the
// last quarter is a tolerance for events that arrive late. The time without events is judged only
// if the prompt asks for a time from minSilence to maxSilence. It is not judged if the text arrived
// less than three quarters of the requested time after the first event of the stream, for example
// because the client requested the stream late.
func (a *assembledRun) judgeIdleTime(p *spec.Pass, argument string) {
	ms, err := strconv.Atoi(argument)
	pieces := a.textPieces()
	if err != nil || ms <= 0 || len(pieces) == 0 || !a.isTimed() {
		return
	}
	first, silence := *pieces[0].event, time.Duration(ms)*time.Millisecond
	took := first.At - a.request.At
	p.Judge(first, took+timeTolerance+timerError >= silence,
		"text arrived %v after the request; expected silence for %v first", took, silence)
	if span := first.At - a.silence.begin; silence >= minSilence && silence <= maxSilence && span >= silence*3/4 {
		p.Judge(*a.silence.end, a.silence.longest >= silence*3/4,
			"in the %v before the text, the longest time without an event was %v, until this event; expected %v",
			span.Round(time.Millisecond), a.silence.longest.Round(time.Millisecond), silence)
	}
}

// These are the shortest and the longest requested silence in which judgeIdleTime looks for other
// events. In a shorter silence, an earlier event of a busy server may still arrive. In a longer
// one, a server may send events that only keep the connection open.
const (
	minSilence = 300 * time.Millisecond
	maxSilence = time.Second
)

// An eventGapTracker measures the longest time between two successive events of a stream. Comments
// do not count as events. Times are measured from the start of the conversation.
type eventGapTracker struct {
	begin   time.Duration // when the first event of the stream arrived
	last    time.Duration // when the latest event arrived
	longest time.Duration // the longest time between two events
	end     *spec.Event   // the event that ended the longest silence; the first event until there are two
}

// observe updates s with e, the next event of the stream. If e ends the longest silence so far, s
// retains a copy of e that is made by keep.
func (s *eventGapTracker) observe(e spec.Event, keep func(spec.Event) *spec.Event) {
	switch {
	case s.end == nil:
		s.begin, s.end = e.At, keep(e)
	case e.At-s.last > s.longest:
		s.longest, s.end = e.At-s.last, keep(e)
	}
	s.last = e.At
}

// judgeDeltaTimes reports the first delta that arrived earlier than the test prompt "slow" allows.
// The string argument is the argument of that prompt: a number n of deltas and an interval in
// milliseconds, separated by a space. Delta k, counted from 0, must not arrive earlier than k
// intervals after the request that started the run, minus timeTolerance and k times timerError.
//
// A server may join several deltas or split one. However many it sent, the last delta of a run that
// succeeded completes the text, so it is judged as delta n-1. If more than n deltas arrived, only
// the last one is judged.
//
// Nothing is judged if the argument is invalid, if the times of arrival are unknown, if the run
// failed or was not received to its end, or if it has no deltas or more than maxPieces deltas.
func (a *assembledRun) judgeDeltaTimes(p *spec.Pass, argument string) {
	var n, ms int
	if _, err := fmt.Sscanf(argument, "%d %d", &n, &ms); err != nil || n < 2 || ms <= 0 || !a.isTimed() {
		return
	}
	pieces := a.textPieces()
	if len(pieces) == 0 || a.pieceCount > maxPieces || !isCleanEnd(a.bodyEnd) || a.failure.Kind != "" {
		return
	}
	number := func(i int) int { // the smallest number, from 0, that the last delta in piece i may have
		switch {
		case i == len(pieces)-1 && (len(pieces) > n || a.succeeded && !a.cancelled):
			return n - 1
		case len(pieces) <= n:
			return i
		}
		return 0
	}
	for i, piece := range pieces {
		k := number(i)
		took, earliest := piece.event.At-a.request.At, time.Duration(k*ms)*time.Millisecond
		if took+timeTolerance+time.Duration(k)*timerError < earliest {
			which := fmt.Sprintf("delta %d", i+1)
			if i == len(pieces)-1 {
				which = fmt.Sprintf("the last of %s", pluralize(len(pieces), "delta"))
			}
			p.Judge(*piece.event, false,
				"%s arrived %v after the request; expected %d deltas at intervals of %v, and this one no sooner than %v",
				which, took.Round(time.Millisecond), n, time.Duration(ms)*time.Millisecond, earliest)
			return
		}
	}
	p.Judge(a.endEvent(), true, "")
}
