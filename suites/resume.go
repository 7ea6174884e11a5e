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

// cursorKinds is the value of [Scenario.Kinds] for scenarios that need cursors to resume streams.
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

// maxDisconnects limits the duration of the resume scenario if runs have many events. The scenario
// disconnects fewer than maxDisconnects times. It then resumes one run from at most maxDisconnects
// cursors.
const maxDisconnects = 32

// quietTimeout is the time for which the client reads a stream that it resumed after the last event
// of the run. A server may keep such a stream open without sending anything.
const quietTimeout = 2 * time.Second

// runResume plays the resume scenario. For k = 1, 2, and so on, it starts a run, closes the
// connection after the k-th event of the stream, resumes the stream, and finally reads the complete
// stream. It stops when k reaches the number of events in the stream or [maxDisconnects].
//
// Then it resumes the stream of the last of these runs after each of its events. Finally, it reads
// and resumes the streams of further runs: those of requests that it builds from the other
// templates for prompts, one with a tool call and one with many events. Checks compare the resumed
// streams with the complete ones.
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
		t.form = nil
		if i%2 == 1 { // HTTP/2 has only lower case, and proxies keep it
			t.form = func(r spec.Request) spec.Request { return withFieldNames(r, strings.ToLower) }
		}
		limit := wire.StopWhen{}
		if i == len(all)-1 { // after the last event some servers keep the stream open
			limit.Elapsed = quietTimeout
		}
		t.readStream(cursor, limit)
	}
	t.form = nil
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

// readAndResume starts a run in the same way as [Conversation.StartRun] and reads the stream of the
// run. Then it resumes the stream from each cursor that choose returns. The argument of choose
// contains all cursors in the stream. If there are none, choose is not called.
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

// firstAndMiddle returns two cursors, the first and the middle one of those given, of which there
// must be at least one. If their number is even, the middle one is the earlier of the two in the
// middle. The two are equal if fewer than three are given.
func firstAndMiddle(cursors []string) []string {
	return []string{cursors[0], cursors[(len(cursors)-1)/2]}
}

// lateAndLonger returns some of the last 300 cursors: the first one, and each one that is shorter
// than the next, such as "999" before "1000". There must be at least one cursor.
func lateAndLonger(cursors []string) []string {
	// A server that compares cursors as strings resumes incorrectly after "999".
	late := cursors[max(0, len(cursors)-300):]
	all := late[:1:1]
	for i, next := range late[1:] {
		if len(next) > len(late[i]) {
			all = append(all, late[i])
		}
	}
	return all
}

// resume resumes the stream of the current run from the last cursor in the last response. It reads
// the given number of events; if events is 0, it reads the stream to its end. If the last response
// contains no cursor, resume sends nothing and returns false. Otherwise it returns true.
func (t *Conversation) resume(events int) bool {
	cursors := t.Cursors()
	if len(cursors) == 0 {
		return false
	}
	t.ReadStream(cursors[len(cursors)-1], events)
	return true
}

// readFirstCursor reads the first event in the stream of the current run and returns its cursor, or
// "" if it has none. If the target cannot resume streams, readFirstCursor sends nothing and returns
// "".
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

// minPartialEvent is the minimum number of bytes of an incomplete event that the client in the
// resume-inside scenario must have received before it disconnects.
const minPartialEvent = 512

// maxPartialBody is the number of bytes of a response after which the client in the resume-inside
// scenario disconnects even if it has received no incomplete event.
const maxPartialBody = 1 << 20

// largeEventSize is a common buffer size, in bytes. The resume-inside scenario resumes the stream
// after the first event that is larger.
const largeEventSize = 4096

// runResumeInside plays the resume-inside scenario. It disconnects in the middle of a large event
// and resumes the stream from the previous event. Checks verify that the server sends the whole
// large event again. Then it reads the complete stream, and resumes it after the large event.
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

// runResumeTwice plays the resume-twice scenario. It disconnects and resumes several times in one
// run, and once in another run while the agent sends no events. Checks compare the resumed streams
// with the complete ones.
func runResumeTwice(t *Conversation) {
	t.noteNewThread()
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
	if cursors := t.Cursors(); len(cursors) > 1 { // reading again must not change the history
		t.ReadStream(cursors[0], 0)
	}
	t.completeHistory()
}

// disconnectDuration is the time for which the client in the resume-alone scenario is disconnected.
// It is longer than the run, so that the run ends during that time.
const disconnectDuration = 300 * time.Millisecond

// runResumeAlone plays the resume-alone scenario. It disconnects from a run after two events, waits
// until the run has ended, and resumes the stream. It also disconnects from a run that fails, and
// resumes its stream without waiting. Checks verify that no events are missing and that the resumed
// streams end.
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
// time, one from the beginning and one from a cursor. Checks verify that both receive the same
// events after the cursor, that both streams end, and that the history contains the answer once.
func runTwoReaders(t *Conversation) {
	t.noteNewThread()
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

// probeTimeout is the time for which the client reads a stream that it requested from a cursor that
// does not belong to the run. The server need not send events or end such a stream.
const probeTimeout = time.Second

// runForeignCursors plays the foreign-cursors scenario. It requests the stream of a run from
// cursors that do not belong to the run: those of another run and of another thread, one after the
// latest event, and malformed ones. Checks judge the responses.
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

// earlierCursors starts a run in the current thread and another one in a new thread, and reads
// their streams. It returns the cursors of the first run and those of the second one. It does not
// change the current thread.
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

// laterCursor returns a cursor that is probably after the latest event. It replaces the first digit
// below 9 in the given cursor with 9. If there is no such digit, it appends a 9.
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
