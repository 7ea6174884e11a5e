package suites

import (
	"bytes"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// resumeChecks are the checks that a resumed stream exercises.
var resumeChecks = []string{
	"resume.starts-after-cursor", "resume.excludes-cursor", "resume.loses-nothing", "resume.tells-the-same", "resume.ends",
}

// cursorKinds is the kind that a dialect must have for its streams to be resumable.
var cursorKinds = []spec.Kind{spec.SlotCursor}

// resumeScenarios are the scenarios of a client that loses its connection.
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

// maxDisconnects is how often the resume scenario loses the connection at most, however long the
// run is.
const maxDisconnects = 32

// quietTimeout is how long a client waits for events that need not be sent.
const quietTimeout = 2 * time.Second

// runResume resumes runs after each event.
func runResume(t *Conversation) {
	for k, n := 1, 2; k < min(n, maxDisconnects); k++ {
		if !t.StartRun("prompt", t.PromptEvent("text", "resume after event "+strconv.Itoa(k))) {
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
		t.send(t.BuildRequest("listen", spec.Event{Cursor: cursor}), limit)
	}
	t.ReadStream("", 0)
}

// resume requests the stream from the last cursor of the last exchange on, and closes the
// connection after the given number of events (0: reads to the end). It reports whether there
// was a cursor.
func (t *Conversation) resume(events int) bool {
	cursors := t.Cursors()
	if len(cursors) == 0 {
		return false
	}
	t.ReadStream(cursors[len(cursors)-1], events)
	return true
}

// minPartialEvent is how many bytes of an incomplete event a client has read when it disconnects.
const minPartialEvent = 512

// maxPartialBody is after how many bytes the client disconnects in any case.
const maxPartialBody = 1 << 20

// runResumeInside disconnects in the middle of an event and resumes.
func runResumeInside(t *Conversation) {
	if !t.StartRun("prompt", t.PromptEvent("large", "100000")) {
		return
	}
	t.send(t.BuildRequest("listen", spec.Event{}), wire.StopWhen{Until: func(r spec.Response) bool {
		if len(r.Body) > maxPartialBody {
			return true
		}
		text := bytes.ReplaceAll(r.Body, []byte("\r"), nil)
		last := bytes.LastIndex(text, []byte("\n\n"))
		return last >= 0 && len(text)-last > minPartialEvent
	}})
	t.resume(0)
	t.ReadStream("", 0)
}

// runResumeTwice disconnects and resumes several times during one run, and in a silent one.
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

// disconnectDuration is how long no client is connected: longer than the run takes.
const disconnectDuration = 300 * time.Millisecond

// runResumeAlone resumes a run that has ended meanwhile.
func runResumeAlone(t *Conversation) {
	if !t.StartRun("prompt", t.PromptEvent("slow", "10 15")) {
		return
	}
	t.ReadStream("", 2)
	cursors := t.Cursors()
	t.sleep(disconnectDuration)
	if len(cursors) > 0 {
		t.ReadStream(cursors[len(cursors)-1], 0)
	}
	t.ReadStream("", 0)
}

// runTwoReaders reads one run by two clients at once.
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
	var wait sync.WaitGroup
	for _, r := range []spec.Request{all, rest} {
		wait.Go(func() { t.send(r, wire.StopWhen{}) })
	}
	wait.Wait()
}

// probeTimeout is how long a stream is read that was requested from a foreign cursor: it need
// neither have events nor end.
const probeTimeout = 250 * time.Millisecond

// runForeignCursors requests a stream from cursors that are not its own.
func runForeignCursors(t *Conversation) {
	t.SendAndRead("prompt", t.PromptEvent("text", "one"))
	before := t.Cursors()
	thread := t.Thread
	t.Thread = t.newID()
	t.SendAndRead("prompt", t.PromptEvent("text", "elsewhere"))
	elsewhere := t.Cursors()
	t.Thread = thread
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
		t.send(t.BuildRequest("listen", spec.Event{Cursor: cursor}), wire.StopWhen{Elapsed: probeTimeout})
	}
	t.ReadStream("", 0)
}

// laterCursor returns a cursor of the same form with a larger first number.
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
