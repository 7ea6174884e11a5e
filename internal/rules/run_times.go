package rules

import (
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// RunTimesSpan judges whether the reported start and end of a run are consistent with the time
// that the run took for the client. Only durations are compared, because the clocks of the client
// and the server may differ.
var RunTimesSpan = &spec.Check{
	ID: "run.times-span-the-run",
	Doc: `the reported start and end of a run are consistent with the time that the run took

The reported duration must not be longer than the time from the request to the end of the run, as
measured by the client; ten seconds are allowed for a clock that is set forward. It must not be shorter
than the silence for which the prompt asked a scripted target, unless the run took less time.

The reported start of a run must not be before the reported end of another run, if the client received
that end before it sent the request; 300 milliseconds are allowed for a clock that is set back. Times
in whole seconds may be off by another second.`,
	Needs: []spec.Kind{"slot.created", "slot.completed", spec.RunEnd},
	Watch: func(p *spec.Pass) func(spec.Event) {
		var ends reportedEndTimes
		return eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
			asked, scripted := scriptedSilence(request)
			created, previous := "", ends.latestBefore(request.At-timeTolerance)
			_, starts := request.Prompt()
			return func(e spec.Event) {
				if e.Kind.Subject() != "run" || !starts || !request.Facts().HasTimes {
					return
				}
				if created == "" && e.Created != "" {
					created = e.Created
					if later, rounding, ok := reportedSpan(previous, created); ok {
						p.Judge(e, later+rounding+clockStep >= 0,
							"run reports its start as %s; expected a time after %s, the reported end of an earlier run", created, previous)
					}
				}
				if e.Kind != spec.RunEnd {
					return
				}
				ends.add(e)
				took := e.At - request.At
				reported, tolerance, ok := reportedSpan(created, e.Completed)
				if ok && scripted && asked > tolerance && took >= asked-timeTolerance {
					p.Judge(e, reported+tolerance >= asked,
						"run began at %s and ended at %s, but it was silent for %v; expected times that far apart",
						created, e.Completed, asked)
				}
				if ok {
					p.Judge(e, reported <= took+tolerance+maxClockChange,
						"run began at %s and ended at %s, but it took %v; expected times no farther apart",
						created, e.Completed, took.Round(time.Millisecond))
				}
			}
		})(p)
	},
}

// These are the largest changes of a server's clock that the checks tolerate, because the clock may
// be set during a test.
const (
	clockStep      = 300 * time.Millisecond // how much the clock may be set back between two runs
	maxClockChange = 10 * time.Second       // how much the clock may be set forward during a run
)

// A reportedEndTimes holds the reported end times of the runs that were added. The runs may be
// added in any order, because streams may be open at the same time. The elements, one for each run,
// are sorted by the time at which the client received the terminal event. An end time is a Unix
// time in seconds or milliseconds; see reportedSpan.
type reportedEndTimes []struct {
	at time.Duration // when the terminal event arrived, since the start of the conversation
	// latest is the latest end time in this element and the elements before it, or "" if there is
	// none. If the end time of this element cannot be compared with the latest one before it, because
	// one of them is not a number or their units differ, latest is the end time of this element.
	latest string
}

// add adds a run that has ended. The argument e is the terminal event of the run.
func (r *reportedEndTimes) add(e spec.Event) {
	isLater := func(completed, than string) bool {
		later, _, ok := reportedSpan(than, completed)
		return ok && later > 0
	}
	i := sort.Search(len(*r), func(i int) bool { return (*r)[i].at > e.At })
	*r = slices.Insert(*r, i, reportedEndTimes{{e.At, e.Completed}}[0])
	for k := max(1, i); k < len(*r); k++ {
		if (*r)[k].latest == "" || isLater((*r)[k-1].latest, (*r)[k].latest) {
			(*r)[k].latest = (*r)[k-1].latest
		}
	}
}

// latestBefore returns the latest of the end times in the terminal events that arrived no later
// than at, a time since the start of the conversation. It returns "" if there is none.
func (r reportedEndTimes) latestBefore(at time.Duration) string {
	if i := sort.Search(len(r), func(i int) bool { return r[i].at > at }); i > 0 {
		return r[i-1].latest
	}
	return ""
}

// scriptedSilence returns the time for which the prompt conformance:idle in request asks the target
// to be silent. The result ok is false if the request has a different prompt, if the prompt does
// not end with a number of milliseconds, or if the target does not follow such prompts (see
// followsPrompt).
func scriptedSilence(request spec.Event) (silence time.Duration, ok bool) {
	argument, isIdle := strings.CutPrefix(request.Text, "conformance:idle ")
	ms, err := strconv.Atoi(argument)
	return time.Duration(ms) * time.Millisecond, isIdle && err == nil && followsPrompt(request)
}

// reportedSpan returns the span from began to ended, two reported time stamps, and the tolerance,
// by which rounding may have shortened the span. The span is negative if ended is the earlier of
// the two. The time stamps are Unix times in milliseconds or, if they are less than 10¹¹, in
// seconds. The result ok is false if either of them is not an integer, or if their units differ.
func reportedSpan(began, ended string) (span, tolerance time.Duration, ok bool) {
	const firstMilliseconds = 100_000_000_000 // in seconds, a date in the year 5138
	b, err := strconv.ParseInt(began, 10, 64)
	e, err2 := strconv.ParseInt(ended, 10, 64)
	switch {
	case err != nil || err2 != nil || (b < firstMilliseconds) != (e < firstMilliseconds):
		return 0, 0, false
	case b < firstMilliseconds:
		return time.Duration(e-b) * time.Second, time.Second, true
	case b%1000 == 0 && e%1000 == 0: // seconds, written as milliseconds
		return time.Duration(e-b) * time.Millisecond, time.Second, true
	}
	return time.Duration(e-b) * time.Millisecond, 2 * timeTolerance, true
}
