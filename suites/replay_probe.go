package suites

import (
	"context"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// maxReplayProbe is the maximum duration of each request that detectNoReplay sends. If a run takes
// longer, its events are assumed to be replayed.
const maxReplayProbe = 5 * time.Second

// detectNoReplay reports whether the target sends the events of a run only to clients that have
// requested its stream before; see [spec.TargetFacts]. It starts a run, reads its stream to the end
// of the run, and requests that stream twice more. The result is true if the target accepts both
// requests and ends both streams without an event. If the requests that start runs are answered
// with their streams, detectNoReplay sends nothing and returns false.
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
	conv.SendAndRead("prompt", conv.PromptEvent("text", "before the replay"))
	if conv.LastEvent(spec.RunEnd).Kind == "" {
		return false
	}
	for range 2 {
		isStream := conv.SendTemplate("listen", spec.Event{PollLimit: "1"}) && conv.LastEvent(spec.HTTPResponse).IsStream()
		for e := range conv.Events(1) {
			if !isStream || e.IsFrame() || e.Kind == spec.BodyEnd && e.Err != nil {
				return false
			}
		}
	}
	return true
}
