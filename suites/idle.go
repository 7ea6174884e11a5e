package suites

import (
	"time"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// runIdleLimit plays the idle-limit scenario. It starts several silent runs and reads their streams
// at the same time, up to the stream limit of the target. All streams but one are requested with a
// limit of one or three idle polls, after which the server must end the stream. With three polls, a
// silence also follows the first keep-alive comment. The stream without a limit must go on to the
// end of its run. Some of the runs are special:
//   - One follows a failed run in its thread, and two clients read its stream.
//   - The stream of another is requested twice from the cursor of its first event, once with each
//     limit.
//   - A third one falls silent after some text, and its stream is also requested without an Accept
//     field.
//   - One is started with the template "automation", if the dialect has it.
//
// Checks judge when the streams end and how they are kept alive. Then runIdleLimit requests the
// stream of a run that sends text, with the largest limit on idle polls that the document allows
// and with smaller ones.
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
		if cursor := t.readFirstCursor(); cursor != "" {
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

// leaveSilent is how long the client of the idle-ended scenario reads a silent stream before it
// leaves. Servers that poll every second send a keep-alive comment in that time.
const leaveSilent = 1300 * time.Millisecond

// runIdleEnded plays the idle-ended scenario. It starts two silent runs in different threads. It
// reads the stream of the first with a limit of one idle poll, and leaves that of the second after
// [leaveSilent]. Then it resumes the first stream after its last event, and reads both from the
// beginning. Checks verify that both runs go on, and that the resumed stream lacks nothing.
func runIdleEnded(t *Conversation) {
	var runs []runRef
	for range 2 {
		t.Thread = t.NewID()
		if !t.StartRun("prompt", t.PromptEvent("idle", "3500")) {
			return
		}
		runs = append(runs, runRef{t.Thread, t.Run})
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
