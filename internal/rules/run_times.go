package rules

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// RunTimesSpan judges whether the reported start and end of a run are at least as far apart as the
// time for which the prompt asked the run to be silent.
var RunTimesSpan = &spec.Check{
	ID: "run.times-span-the-run",
	Doc: `the reported start and end of a run are as far apart as its silence was long

Judged where a scripted target was asked to be silent, and was. Times in whole seconds may be
closer together by a second.`,
	Needs: []spec.Kind{"slot.created", "slot.completed", spec.RunEnd},
	Watch: eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
		asked, scripted := scriptedSilence(request)
		created := ""
		return func(e spec.Event) {
			if scripted && e.Kind.Subject() == "run" {
				created = cmp.Or(created, e.Created)
			}
			if !scripted || !request.Facts().HasTimes || e.Kind != spec.RunEnd || e.At-request.At < asked-timeTolerance {
				return
			}
			reported, tolerance, ok := reportedSpan(created, e.Completed)
			if ok && asked > tolerance {
				p.Judge(e, reported+tolerance >= asked,
					"run began at %s and ended at %s, but it was silent for %v; expected times that far apart",
					created, e.Completed, asked)
			}
		}
	}),
}

// scriptedSilence returns the time for which the prompt conformance:idle in request asks the target
// to be silent. The result ok is false if the request has another prompt or the target is not
// scripted.
func scriptedSilence(request spec.Event) (silence time.Duration, ok bool) {
	argument, isIdle := strings.CutPrefix(request.Text, "conformance:idle ")
	ms, err := strconv.Atoi(argument)
	return time.Duration(ms) * time.Millisecond, isIdle && err == nil && request.Facts().Scripted
}

// reportedSpan returns the time between two reported time stamps, and by how much rounding may have
// shortened that time. The time stamps are Unix times in milliseconds or, if they are less than
// 10¹¹, in seconds. The result ok is false if either of them is not an integer, or if their units
// differ.
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
