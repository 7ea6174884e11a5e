package suites

import (
	"errors"
	"time"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// streamEndScenarios are the scenarios that wait for the end of every body after the end of its
// run. Other scenarios wait only for [laterGrace] if the target has left a stream open before.
var streamEndScenarios = []Scenario{{
	Name: "closes", Doc: "the end of the response after each kind of end of a run", Capability: "text", Templates: promptTemplates,
	ExpectedChecks: []string{"wire.ends", "run.closes-after-end"}, Run: runCloses,
}}

// Limits on the time between the end of a run and the end of its body, for which the client waits
// up to [spec.MaxOpenAfterEnd]. After the target has left a stream open for more than maxQuickClose
// once, the client waits for at most laterGrace in most scenarios.
const (
	maxQuickClose = time.Second
	laterGrace    = 250 * time.Millisecond
)

// openTolerance is added to [spec.MaxOpenAfterEnd], because the client may detect the end of a body
// late on a busy machine.
const openTolerance = 200 * time.Millisecond

// lingerAfterEnd returns a function for [wire.StopWhen.Linger] that limits the time for which the
// client reads the response to r after the end of the run. It returns nil if the response to r is
// not an event stream.
//
// When the response contains the end of the run, the function sets *endedAt to the current time,
// and returns the results of untilStillOpen. If the target has left a stream open before, it
// returns [laterGrace] and [spec.ErrLeftAfterEnd] instead.
func (t *Conversation) lingerAfterEnd(r spec.Request, endedAt *time.Time) func(spec.Response) (time.Duration, error) {
	return t.afterRunEnd(r, func() (time.Duration, error) {
		*endedAt = time.Now()
		if t.target.resources.leavesOpen.Load() {
			return laterGrace, spec.ErrLeftAfterEnd
		}
		return untilStillOpen()
	})
}

// untilStillOpen returns the time for which a body may stay open after the end of its run, and the
// error with which the client then ends the response.
func untilStillOpen() (time.Duration, error) {
	return spec.MaxOpenAfterEnd + openTolerance, spec.ErrStillOpen
}

// afterRunEnd returns a function for [wire.StopWhen.Linger], or nil if the response to r is not an
// event stream. When the response contains the end of the run, the function calls leave and returns
// its results: the time for which to continue reading, and the error with which the response then
// ends. Before the end of the run, and for bodies with a content coding, the function returns 0 and
// nil, which mean that there is no limit.
func (t *Conversation) afterRunEnd(
	r spec.Request, leave func() (time.Duration, error),
) func(spec.Response) (time.Duration, error) {
	end := t.dialect.NewRunEndDetector(r)
	if end == nil {
		return nil
	}
	isStream, known := false, false
	return func(r spec.Response) (time.Duration, error) {
		if !known {
			known = true
			isStream = r.Status/100 == 2 && r.Header.MediaType() == spec.EventStream && r.Header.ContentCoding() == ""
		}
		if !isStream || !end.Find(r.Body) {
			return 0, nil
		}
		return leave()
	}
}

// noteOpenStream sets b.leavesOpen if the body of r, a complete response, stayed open for more than
// [maxQuickClose] after the end of its run. The argument endedAt is the time of that end, or zero
// if it is unknown.
func (b *sharedRunState) noteOpenStream(r spec.Response, endedAt time.Time) {
	if errors.Is(r.End, spec.ErrStillOpen) || !endedAt.IsZero() && time.Since(endedAt) > maxQuickClose {
		b.leavesOpen.Store(true)
	}
}

// isReadToEnd reports whether the client has read r to the end of the body or to the end of the
// run.
func isReadToEnd(r spec.Response) bool {
	return r.End == nil || errors.Is(r.End, spec.ErrLeftAfterEnd) || errors.Is(r.End, spec.ErrStillOpen)
}

// runCloses plays the closes scenario. It starts runs that end in different ways, and reads their
// streams until the bodies end or have been open for too long after the ends of the runs.
func runCloses(t *Conversation) {
	var streams []spec.Request
	addTurn := func(template string, e spec.Event) {
		t.Run = t.NewID()
		r := t.BuildRequest(template, e)
		if !t.respondsWithStream(template) {
			if !t.Send(r) {
				return
			}
			r = t.BuildRequest("listen", spec.Event{})
		}
		streams = append(streams, r)
	}
	addThread := func(template string, e spec.Event) {
		t.Thread = t.NewID()
		addTurn(template, e)
	}
	addThread("prompt", t.PromptEvent("text", "closed after the end"))
	addThread("prompt", t.PromptEvent("error", "closed after a failure"))
	addThread("prompt", t.PromptEvent("error-mid", "closed after a late failure"))
	addThread("prompt", t.PromptEvent("empty", ""))
	for _, reply := range []string{"tool-result", "resume"} {
		if !t.canSend(reply) {
			continue
		}
		addThread(t.elicitingRequest(reply))
		t.Thread = t.NewID()
		if e, ok := t.elicit(reply); ok {
			addTurn(reply, e)
		}
	}
	t.Thread = t.NewID()
	t.SendAndRead("prompt", t.PromptEvent("text", "the first turn"))
	addTurn("prompt", t.PromptEvent("text", "closed after the second turn"))
	t.readUntilClosed(streams)
}

// maxOpenStreams is the maximum number of streams that the closes and similar-runs scenarios, among
// others, read at the same time.
const maxOpenStreams = 5

// maxStreams returns n or the number of streams that the conversations may have open at the same
// time, whichever is less; see [streamSlots]. If that number is not limited, it returns n.
func (t *Conversation) maxStreams(n int) int {
	if limit := t.target.resources.streams.maxOpen(); limit > 0 {
		return min(n, limit)
	}
	return n
}

// readUntilClosed sends the given requests for streams and reads all responses. It reads each
// response until its body ends, or until the body has been open for longer than
// [spec.MaxOpenAfterEnd] after the end of the run. It reads at most [maxOpenStreams] responses at
// the same time, or fewer if [Target.StreamLimit] is lower.
func (t *Conversation) readUntilClosed(streams []spec.Request) {
	t.sendTogether(streams, t.maxStreams(maxOpenStreams), func(r spec.Request) wire.StopWhen {
		return wire.StopWhen{Linger: t.afterRunEnd(r, untilStillOpen)}
	})
}
