package suites

import (
	"context"
	"errors"
	"time"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// maxReplayProbe is the maximum duration of each request that detectNoReplay sends. If a run takes
// longer, its events are assumed to be replayed.
const maxReplayProbe = 5 * time.Second

// maxLateStart is the maximum time for which the client waits for the first event of a stream if the
// target does not replay events. Such a stream may be without events until the target ends it for
// idleness, which may take many minutes.
const maxLateStart = 2 * time.Second

// detectNoReplay reports whether the target sends the events of a run only to clients that have
// requested its stream before; see [spec.TargetFacts]. It starts a run, reads its stream to the end
// of the run, and requests that stream twice more. The result is true if the target accepts both
// requests, and neither stream has an event before it ends or [maxLateStart] has passed. If the
// requests that start runs are answered with their streams, detectNoReplay sends nothing and returns
// false.
func (t *Target) detectNoReplay(ctx context.Context) bool {
	bounded := *t
	bounded.Timeout = min(t.Timeout, maxReplayProbe)
	conv, err := bounded.newConversation(ctx, t.idSeed()+seedStride-1) // the seed of no scenario
	if err != nil {
		return false
	}
	defer conv.releaseMemory()
	if !conv.HasTemplate("listen") {
		return false
	}
	// The end of a run that ends at once may come before the request for its stream.
	if !conv.readsRunEnd("text", "before the replay") && !(conv.accepted && conv.readsRunEnd("idle", "1000")) {
		return false
	}
	for range 2 {
		conv.readStreamOnce(spec.Event{PollLimit: "1"})
		isStream := conv.LastEvent(spec.HTTPResponse).IsStream() && conv.lastStatus()/100 == 2
		for e := range conv.Events(1) {
			failed := e.Kind == spec.BodyEnd && e.Err != nil && !errors.Is(e.Err, spec.ErrClientLeft)
			if !isStream || e.IsFrame() || failed {
				return false
			}
		}
	}
	return true
}

// readsRunEnd starts a run with the prompt for the given scenario and args, and reads the stream of
// the run. It reports whether the stream has the end of the run.
func (t *Conversation) readsRunEnd(scenario, args string) bool {
	if t.StartRun("prompt", t.PromptEvent(scenario, args)) {
		t.readStreamOnce(spec.Event{})
	}
	return t.LastEvent(spec.RunEnd).Kind != ""
}

// readStreamOnce requests the stream of the current run, with the fields of e as the values of the
// placeholders, and reads it to its end. If no event arrives in [maxLateStart], the client leaves.
func (t *Conversation) readStreamOnce(e spec.Event) {
	t.send(t.BuildRequest("listen", e), wire.StopWhen{FirstEvent: maxLateStart})
}

// limitLateStart sets limit.FirstEvent to [maxLateStart] if r requests the stream of a run without a
// cursor and the target does not replay events.
func (t *Conversation) limitLateStart(r spec.Request, limit *wire.StopWhen) {
	if !t.target.noReplay {
		return
	}
	if o := t.dialect.Operation(r); o != nil && o.IsStream && !o.StartsRun && t.dialect.ParseRequest(r).Cursor == "" {
		limit.FirstEvent = maxLateStart
	}
}
