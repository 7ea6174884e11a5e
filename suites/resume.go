package suites

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// resumeChecks are the ids of the checks that judge streams that were resumed from a cursor.
var resumeChecks = []string{
	"resume.starts-after-cursor", "resume.excludes-cursor", "resume.loses-nothing", "resume.tells-the-same", "resume.ends",
}

// cursorKinds is the value of [Scenario.Kinds] for scenarios that resume streams, which need a
// dialect whose frames have cursors.
var cursorKinds = []spec.Kind{spec.SlotCursor}

// resumeScenarios are the scenarios that request streams from a cursor: after a lost connection,
// while another client reads the same stream, or with a cursor that does not belong to the run.
var resumeScenarios = []Scenario{
	{
		Name: "resume", Doc: "a stream that is resumed after each of its events, each time in a new run; then one run resumed at each of its events", Required: true,
		Templates: []string{"prompt", "listen"}, Kinds: cursorKinds, ExpectedChecks: resumeChecks, Run: runResume,
	}, {
		Name: "resume-inside", Doc: "a connection lost in the middle of an event, resumed at the event before", Capability: "resume", Required: true,
		Templates: []string{"prompt", "listen"}, Kinds: cursorKinds, Run: runResumeInside,
	}, {
		Name: "resume-twice", Doc: "a connection lost several times during a run, also while the agent is silent", Capability: "resume", Required: true,
		Templates: []string{"prompt", "listen"}, Kinds: cursorKinds, ExpectedChecks: resumeChecks, Run: runResumeTwice,
	}, {
		Name: "resume-alone", Doc: "a run that goes on while no client is connected", Capability: "resume", Required: true,
		Templates: []string{"prompt", "listen"}, Kinds: cursorKinds, ExpectedChecks: resumeChecks, Run: runResumeAlone,
	}, {
		Name: "two-readers", Doc: "two clients reading the same run at once, one of them from a cursor", Capability: "resume", Required: true,
		Templates: []string{"prompt", "listen"}, Kinds: cursorKinds, ExpectedChecks: resumeChecks, Run: runTwoReaders,
	}, {
		Name: "foreign-cursors", Doc: "cursors of another run, of another thread, and invented ones", Capability: "resume", Required: true,
		Templates: []string{"prompt", "listen"}, Kinds: cursorKinds, ExpectedChecks: []string{"resume.takes-thread-cursor"}, Run: runForeignCursors,
	},
}

// maxDisconnects limits how often the resume scenario loses the connection, and also how often it
// resumes its last run afterwards. It keeps the scenario short if runs have very many events.
const maxDisconnects = 32

// quietTimeout is how long the client reads a stream that it resumed after the last event of the
// run. A server may keep such a stream open without sending anything.
const quietTimeout = 2 * time.Second

// runResume plays the resume scenario. It first starts several runs, one after the other. In the
// stream of run number k, from 1, the client closes the connection on purpose after the k-th event,
// resumes the stream after that event, and finally requests the complete stream. This is done for
// each k that is less than the number of events in the complete stream and less than
// maxDisconnects.
//
// Then the client resumes the stream of the last of these runs after each of its events, up to
// maxDisconnects times. After that, it reads and resumes the streams of further runs: one for each
// template of requests with a prompt, one with a tool call, and two with many events. The events of
// the second of these two are spread over some time, and the client resumes its stream at the first
// event once the run is over. Checks compare the resumed streams with the complete ones.
func runResume(t *Conversation) {
	for k, n := 1, 2; k < min(n, maxDisconnects); k++ {
		if !t.StartRun("prompt", t.PromptEvent("text", "resume after event "+strconv.Itoa(k)+" \u00e9 e\u0301")) {
			return
		}
		t.ReadStream("", k)
		t.resume(0)
		t.ReadStream("", 0)
		n = len(t.Cursors())
	}
	all := t.Cursors()
	for i, cursor := range all[:min(len(all), maxDisconnects)] {
		limit := wire.StopWhen{}
		if i == len(all)-1 { // after the last event some servers keep the stream open
			limit.Elapsed = quietTimeout
		}
		t.readStream(cursor, limit)
	}
	t.ReadStream("", 0)
	o, _ := t.dialect.TemplateOperation("prompt")
	for _, template := range o.Templates() {
		if !isReplyTemplate(template) {
			e := t.PromptEvent("text", "resumed as "+template)
			e.Name = "paint"
			t.readAndResume(template, e, firstAndMiddle)
		}
	}
	t.readAndResume("prompt", t.PromptEvent("tool", `{"city":"Paris"}`), firstAndMiddle)
	t.Thread = t.NewID() // so that servers that number the events of a thread pass 1,000 near the end
	t.readAndResume("prompt", t.PromptEvent("many", "1100"), lateAndLonger)
	first := func(cursors []string) []string { return cursors[:1] }
	t.readAndResume("prompt", t.PromptEvent("slow", "600 1"), first) // many events that are not there at once
}

// readAndResume starts a run with the request of the template, with the values in e in place of its
// placeholders. It reads the stream of the run, and then requests the stream again from each of the
// cursors that the function choose returns. The argument of choose is a list of all cursors in the
// stream. If there are none, choose is not called.
func (t *Conversation) readAndResume(template string, e spec.Event, choose func(cursors []string) []string) {
	if !t.StartRun(template, e) {
		return
	}
	t.ReadStream("", 0)
	if cursors := t.Cursors(); len(cursors) > 0 {
		for _, cursor := range slices.Compact(choose(cursors)) {
			t.ReadStream(cursor, 0)
		}
	}
}

// firstAndMiddle returns the first of the cursors and the middle one, or the earlier of the two
// middle ones. There must be at least one cursor.
func firstAndMiddle(cursors []string) []string {
	return []string{cursors[0], cursors[(len(cursors)-1)/2]}
}

// lateAndLonger returns the 300th cursor from the end, or the first if there are fewer, followed by
// each cursor after which the cursors become longer, such as "999" before "1000". A server that
// compares cursors as strings takes "999" for the later one. There must be at least one cursor.
func lateAndLonger(cursors []string) []string {
	late := cursors[max(0, len(cursors)-300):]
	all := late[:1:1]
	for i, next := range late[1:] {
		if len(next) > len(late[i]) {
			all = append(all, late[i])
		}
	}
	return all
}

// resume requests the stream of the current run from the last cursor in the last exchange. It
// closes the connection after the given number of events; 0 means to read to the end. If the last
// exchange contains no cursor, it sends nothing and returns false. Otherwise it returns true, even
// if the request fails.
func (t *Conversation) resume(events int) bool {
	cursors := t.Cursors()
	if len(cursors) == 0 {
		return false
	}
	t.ReadStream(cursors[len(cursors)-1], events)
	return true
}

// readFirstCursor requests the stream of the current run, reads its first event, and returns the
// cursor of that event, or "" if the event has none. If the target lacks the capability to resume
// streams, readFirstCursor sends no request and returns "".
func (t *Conversation) readFirstCursor() string {
	if t.target.lacksCapability("resume") {
		return ""
	}
	t.ReadStream("", 1)
	if cursors := t.Cursors(); len(cursors) > 0 {
		return cursors[0]
	}
	return ""
}

// minPartialEvent is the number of bytes of an incomplete event that the client reads before it
// disconnects. With so many bytes, the connection is certainly lost within an event.
const minPartialEvent = 512

// maxPartialBody is the number of bytes in a response after which the client disconnects even if it
// has not received part of a second event.
const maxPartialBody = 1 << 20

// largeEventSize is the size of an event, in bytes, above which runResumeInside resumes the stream
// after the event. It is a common size of buffers.
const largeEventSize = 4096

// runResumeInside plays the resume-inside scenario. It disconnects in the middle of a large event
// and resumes the stream from the previous event. Checks verify that the large event is sent again.
// Then it reads the whole stream, and resumes it after the large event.
func runResumeInside(t *Conversation) {
	if !t.StartRun("prompt", t.PromptEvent("large", "100000")) {
		return
	}
	seen, frames := 0, 0
	var split sse.FrameSplitter
	t.send(t.BuildRequest("listen", spec.Event{}), wire.StopWhen{Until: func(r spec.Response) bool {
		for range split.Split(r.Body[seen:]) {
			frames++
		}
		seen = len(r.Body)
		return seen > maxPartialBody || frames > 0 && len(split.Rest()) > minPartialEvent
	}})
	t.resume(0)
	t.ReadStream("", 0)
	for e := range t.Events(1) {
		if e.Cursor != "" && len(e.Raw) > largeEventSize {
			t.ReadStream(e.Cursor, 0)
			return
		}
	}
}

// runResumeTwice plays the resume-twice scenario. In one run, it disconnects and resumes several
// times. In a second run, it does so once, while the agent is silent. Checks compare the resumed
// streams with the complete ones.
func runResumeTwice(t *Conversation) {
	if !t.StartRun("prompt", t.PromptEvent("slow", "12 15")) {
		return
	}
	t.ReadStream("", 2)
	for range 3 {
		t.resume(2)
	}
	t.resume(0)
	t.ReadStream("", 0)
	if !t.StartRun("prompt", t.PromptEvent("idle", "300")) {
		return
	}
	t.ReadStream("", 1)
	t.resume(0) // while the agent is silent
	t.ReadStream("", 0)
}

// disconnectDuration is how long the client of the resume-alone scenario stays disconnected. It is
// longer than the run takes, so that the run ends in the meantime.
const disconnectDuration = 300 * time.Millisecond

// runResumeAlone plays the resume-alone scenario. It reads two events of a run, closes the
// connection, waits until the run has ended without a client, and resumes the stream. Then it
// closes the connection to the stream of a run that fails, also after two events, and resumes that
// stream at once. Checks verify that nothing was lost and that the bodies of the resumed streams
// end.
func runResumeAlone(t *Conversation) {
	if !t.StartRun("prompt", t.PromptEvent("slow", "10 15")) {
		return
	}
	t.ReadStream("", 2)
	cursors := t.Cursors()
	t.Sleep(disconnectDuration)
	if len(cursors) > 0 {
		t.readUntilClosed([]spec.Request{t.BuildRequest("listen", spec.Event{Cursor: cursors[len(cursors)-1]})})
	}
	t.ReadStream("", 0)
	if t.StartRun("prompt", t.PromptEvent("error-mid", "resumed failure")) {
		t.ReadStream("", 2)
		t.resume(0)
		t.ReadStream("", 0)
	}
}

// runTwoReaders plays the two-readers scenario. Two clients read the stream of one run at the same
// time, one from the beginning and one from a cursor. Checks verify that both get the same events
// from the cursor on, that both bodies end, and that the history contains the answer once.
func runTwoReaders(t *Conversation) {
	if !t.StartRun("prompt", t.PromptEvent("slow", "12 15")) {
		return
	}
	t.ReadStream("", 2)
	cursors := t.Cursors()
	if len(cursors) == 0 {
		return
	}
	all := t.BuildRequest("listen", spec.Event{})
	rest := t.BuildRequest("listen", spec.Event{Cursor: cursors[len(cursors)-1]})
	t.readUntilClosed([]spec.Request{all, rest})
	t.ReadStream("", 0) // a server may send the earlier events of a run only when it has ended
	t.completeHistory()
}

// probeTimeout is how long the client reads a stream that it requested from a cursor that does not
// belong to the run. The server need not send any events on such a stream and need not end it.
const probeTimeout = time.Second

// runForeignCursors plays the foreign-cursors scenario. It requests the stream of a run from
// cursors that do not belong to the run: cursors of another run and of another thread, a cursor
// that the server has not assigned yet, and malformed ones. Checks judge the responses.
func runForeignCursors(t *Conversation) {
	before, elsewhere := t.earlierCursors()
	t.SendAndRead("prompt", t.PromptEvent("text", "two"))
	own := t.Cursors()
	if len(before) == 0 || len(elsewhere) == 0 || len(own) == 0 {
		return
	}
	last := own[len(own)-1]
	for _, cursor := range []string{
		before[len(before)-1], // of the run before, in the same thread
		before[0],
		elsewhere[0],      // of another thread
		laterCursor(last), // not assigned yet
		last + "-0-x",     // malformed
		"0",
		strings.Repeat("9", 400),
	} {
		t.readStream(cursor, wire.StopWhen{Elapsed: probeTimeout})
	}
	t.ReadStream("", 0)
}

// earlierCursors starts a run in the current thread and then a run in a new thread, and reads the
// stream of each to its end. The first result contains the cursors of the first run, and the second
// result those of the second. The current thread stays the same.
func (t *Conversation) earlierCursors() (here, elsewhere []string) {
	t.SendAndRead("prompt", t.PromptEvent("text", "one"))
	here = t.Cursors()
	thread := t.Thread
	t.Thread = t.NewID()
	t.SendAndRead("prompt", t.PromptEvent("text", "elsewhere"))
	elsewhere = t.Cursors()
	t.Thread = thread
	return here, elsewhere
}

// laterCursor returns a cursor that the server has probably not assigned yet. It replaces the first
// digit below 9 in the given cursor with 9. If there is no such digit, it appends a 9.
func laterCursor(cursor string) string {
	out := []byte(cursor)
	for i, c := range out {
		if c >= '0' && c < '9' {
			out[i] = '9'
			break
		}
	}
	if string(out) == cursor {
		return cursor + "9"
	}
	return string(out)
}
