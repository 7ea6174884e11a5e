package suites

import (
	"time"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// runIdleLimit plays the idle-limit scenario. It starts several runs that send no events for some
// seconds, and reads their streams at the same time, as many as [Target.StreamLimit] allows. One of
// these streams must continue to the end of its run. The requests for the others ask the server to
// end the stream after one or three polls that find no event. Checks judge when the streams end and
// how they are kept alive. Finally, runIdleLimit starts a run that sends text, and requests its
// stream several times, each time with a larger number of such polls.
func runIdleLimit(t *Conversation) {
	// The streams with a limit end before their runs, even if it takes long to request them all.
	long, short := t.PromptEvent("idle", "6000"), t.PromptEvent("idle", "4500")
	one, three := spec.Event{PollLimit: "1"}, spec.Event{PollLimit: "3"}
	var streams []spec.Request
	hasRoom := func() bool { return t.maxStreams(len(streams)+1) > len(streams) }
	start := func(template string, silent spec.Event) bool { return hasRoom() && t.StartRun(template, silent) }
	listen := func(e spec.Event) {
		if hasRoom() {
			streams = append(streams, t.BuildRequest("listen", e))
		}
	}
	if start("prompt", long) {
		listen(one)
	}
	t.Thread = t.NewID()
	t.SendAndRead("prompt", t.PromptEvent("text", "before the silence"))
	if !t.target.lacksCapability("error") {
		t.SendAndRead("prompt", t.PromptEvent("error", "before the silence"))
	}
	if start("prompt", long) {
		listen(three)
		listen(three)
	}
	t.Thread = t.NewID()
	if start("prompt", long) {
		if cursor := t.readLatestCursor(); cursor != "" { // nothing follows it, so the resumed streams are idle
			listen(spec.Event{PollLimit: "1", Cursor: cursor})
			listen(spec.Event{PollLimit: "3", Cursor: cursor})
		}
	}
	t.Thread = t.NewID()
	afterText := long
	if !t.target.lacksCapability("slow") {
		afterText = t.PromptEvent("slow", "2 6000")
	}
	if start("prompt", afterText) {
		listen(three)
		if hasRoom() {
			r := t.BuildRequest("listen", three)
			if r.Header = r.Header.Without("Accept"); len(t.dialect.ValidateRequest(r)) == 0 {
				streams = append(streams, r)
			}
		}
	}
	t.Thread = t.NewID()
	if !t.target.lacksCapability("slow") && start("prompt", t.PromptEvent("slow", "5 1300")) {
		listen(three)
	}
	t.Thread = t.NewID()
	if t.HasTemplate("automation") && start("automation", long) {
		listen(three)
	}
	t.Thread = t.NewID()
	if start("prompt", short) {
		listen(spec.Event{})
	}
	t.sendTogether(streams, len(streams), nil)
	if longest := t.dialect.MaxPollLimit("listen"); longest != "" && t.StartRun("prompt", t.PromptEvent("text", "one")) {
		for _, limit := range []string{longest, "9", "40"} { // as texts, "9" and "40" are greater than "3600"
			if t.isValid("listen", spec.Event{PollLimit: limit}) {
				t.SendTemplate("listen", spec.Event{PollLimit: limit})
			}
		}
	}
}

// readLatestCursor reads the stream of the current run for half a second, and returns the cursor of
// the last event, or "" if there is none. If the target cannot resume streams, readLatestCursor
// sends nothing and returns "".
func (t *Conversation) readLatestCursor() string {
	if t.target.lacksCapability("resume") {
		return ""
	}
	t.readStream("", wire.StopWhen{Elapsed: 500 * time.Millisecond})
	if cursors := t.Cursors(); len(cursors) > 0 {
		return cursors[len(cursors)-1]
	}
	return ""
}

// leaveSilent is the time after which the client in the idle-ended scenario closes a stream without
// events. Servers usually poll for events once a second and send a keep-alive comment if there are
// none. In this time, the client should therefore receive such a comment.
const leaveSilent = 1300 * time.Millisecond

// runIdleEnded plays the idle-ended scenario. It starts two runs that send no events for some
// seconds. It requests that the stream of the first run end after one poll that finds no event, and
// closes the stream of the second run after [leaveSilent]. Then it resumes the first stream, and
// reads both streams from the beginning. Checks verify that both runs continue, and that the
// resumed stream is complete.
func runIdleEnded(t *Conversation) {
	var runs []runIdentity
	for range 2 {
		t.Thread = t.NewID()
		if !t.StartRun("prompt", t.PromptEvent("idle", "3500")) {
			return
		}
		runs = append(runs, runIdentity{t.Thread, t.Run})
	}
	t.readStream("", wire.StopWhen{Elapsed: leaveSilent})
	t.Thread, t.Run = runs[0].thread, runs[0].id
	t.SendTemplate("listen", spec.Event{PollLimit: "1"})
	if t.LastEvent(spec.RunEnd).Kind == "" && !t.target.lacksCapability("resume") {
		t.resume(0)
	}
	for _, r := range runs {
		t.Thread, t.Run = r.thread, r.id
		t.ReadStream("", 0)
	}
}
