package suites

import (
	"strconv"
	"sync"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// sendTogether sends the requests, at most n of them at the same time, and reads all responses. It
// records the exchanges in the order of the requests. The function limit returns the conditions
// under which the client stops reading the response to a request; it may be called concurrently. If
// limit is nil, all responses are read to their ends.
func (t *Conversation) sendTogether(requests []spec.Request, n int, limit func(spec.Request) wire.StopWhen) {
	slots := make(chan struct{}, max(1, n))
	var wait sync.WaitGroup
	for _, r := range requests {
		slots <- struct{}{}
		i, ok := t.beginExchange(r)
		if !ok {
			break
		}
		wait.Go(func() {
			defer func() { <-slots }()
			var until wire.StopWhen
			if limit != nil {
				until = limit(r)
			}
			t.completeExchange(i, t.clients[r.Principal], r, r.Target, until)
		})
	}
	wait.Wait()
}

// runTwoRuns plays the two-runs scenario. It starts two runs of one thread and reads their streams
// in the opposite order. Then it starts six more runs of the thread, which are in progress at the
// same time, reads their streams, and resumes one of them at each of its events. It omits runs that
// the server refuses. Checks verify that each stream contains all events of its own run and no
// others.
func runTwoRuns(t *Conversation) {
	first := t.StartRun("prompt", t.PromptEvent("slow", "4 40"))
	run := t.Run
	if t.StartRun("prompt", t.PromptEvent("text", "two")) {
		t.ReadStream("", 0)
	}
	if t.Run = run; first {
		t.ReadStream("", 0)
	}
	var runs []string
	var streams []spec.Request
	for i := range 6 {
		if t.startIfTaken("", t.PromptEvent("slow", "5 "+strconv.Itoa(70+10*i))) {
			runs = append(runs, t.Run)
			streams = append(streams, t.BuildRequest("listen", spec.Event{}))
		}
	}
	t.sendTogether(streams, t.maxStreams(maxOpenStreams), nil)
	if len(runs) == 0 || t.target.lacksCapability("resume") {
		return
	}
	t.Run = runs[0]
	t.ReadStream("", 0)
	cursors := t.Cursors()
	for _, cursor := range cursors[:max(0, min(len(cursors)-1, maxDisconnects))] {
		t.ReadStream(cursor, 0)
	}
}

// runTogether plays the together scenario. While the client reads the stream of one run, from the
// beginning or from a cursor, other runs of the thread end or are cancelled. The client also
// requests a second stream of the same run, which the server must end after one poll that finds no
// event. It sends this request while it reads the first stream, unless [Target.StreamLimit] is 2,
// and again afterwards. Checks verify that the first stream continues. Then the client reads the
// stream of a short run while another run of the thread is in progress, and waits for the end of
// the body. If [Target.StreamLimit] is 1, runTogether sends nothing.
func runTogether(t *Conversation) {
	if t.target.StreamLimit == 1 || !t.StartRun("prompt", t.PromptEvent("idle", "2000")) {
		return
	}
	others := func() {
		t.SendAndRead("prompt", t.PromptEvent("text", "meanwhile"))
		if !t.target.lacksCapability("error") {
			t.SendAndRead("prompt", t.PromptEvent("error", "failed meanwhile"))
		}
		if t.StartRun("prompt", t.PromptEvent("slow", "60 50")) {
			t.cancelDuringStream(3)
		}
	}
	brief := t.BuildRequest("listen", spec.Event{PollLimit: "1"})
	streams := []spec.Request{t.BuildRequest("listen", spec.Event{}), brief}
	t.duringStreams(streams[:t.maxStreams(3)-1], others) // others reads another stream
	t.Send(brief)                                        // it may have been refused because there were too many streams
	if t.target.lacksCapability("resume") || !t.StartRun("prompt", t.PromptEvent("slow", "30 50")) {
		return
	}
	if cursor := t.readFirstCursor(); cursor != "" {
		run := t.Run
		t.DuringStream(t.BuildRequest("listen", spec.Event{Cursor: cursor}), 1, others)
		t.Run = run
		t.ReadStream("", 0) // to compare
	}
	if !t.StartRun("prompt", t.PromptEvent("slow", "200 50")) {
		return
	}
	active := t.Run
	if t.StartRun("prompt", t.PromptEvent("text", "closed while another run is active")) {
		t.readUntilClosed([]spec.Request{t.BuildRequest("listen", spec.Event{})})
	}
	t.Run = active
	t.SendTemplate("cancel", spec.Event{})
}
