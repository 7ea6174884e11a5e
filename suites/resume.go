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

// resumeChecks are the checks that a stream which is taken up again exercises.
var resumeChecks = []string{
	"resume.starts-after-cursor", "resume.excludes-cursor", "resume.loses-nothing", "resume.tells-the-same", "resume.ends",
}

// cursorKinds are what a dialect needs for a stream to be taken up again.
var cursorKinds = []spec.Kind{spec.SlotCursor}

// resumeScenarios are the scenarios of a client that loses its connection.
var resumeScenarios = []Scenario{
	{
		Name: "resume", Doc: "the connection is lost after every event in turn, and taken up again; then one run is taken up at each of its events", Required: true,
		Templates: []string{"prompt", "listen"}, Kinds: cursorKinds, ExpectedChecks: resumeChecks, Run: runResume,
	}, {
		Name: "resume-inside", Doc: "the connection is lost in the middle of an event, and taken up at the one before", Capability: "resume", Required: true,
		Templates: []string{"prompt", "listen"}, Kinds: cursorKinds, Run: runResumeInside,
	}, {
		Name: "resume-twice", Doc: "the connection is lost again and again while the run goes on, also in silence", Capability: "resume", Required: true,
		Templates: []string{"prompt", "listen"}, Kinds: cursorKinds, ExpectedChecks: resumeChecks, Run: runResumeTwice,
	}, {
		Name: "resume-alone", Doc: "a run that goes on while nobody listens", Capability: "resume", Required: true,
		Templates: []string{"prompt", "listen"}, Kinds: cursorKinds, ExpectedChecks: resumeChecks, Run: runResumeAlone,
	}, {
		Name: "two-readers", Doc: "two clients that hear the same run at once, one of them from its middle on", Capability: "resume", Required: true,
		Templates: []string{"prompt", "listen"}, Kinds: cursorKinds, ExpectedChecks: resumeChecks, Run: runTwoReaders,
	}, {
		Name: "foreign-cursors", Doc: "cursors of another run, of another conversation, and such as nobody handed out", Capability: "resume", Required: true,
		Templates: []string{"prompt", "listen"}, Kinds: cursorKinds, ExpectedChecks: []string{"resume.takes-thread-cursor"}, Run: runForeignCursors,
	},
}

// maxDisconnects bounds how often the resume scenario loses the connection: how long the
// run is, is the target's word.
const maxDisconnects = 32

// quietTimeout is how long a client waits for what may not come.
const quietTimeout = 2 * time.Second

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
		if i == len(all)-1 { // that of the end: nothing comes any more, and some servers wait for it
			limit.Elapsed = quietTimeout
		}
		t.send(t.BuildRequest("listen", spec.Event{Cursor: cursor}), limit)
	}
	t.ReadStream("", 0)
}

// resume takes the stream up where the last exchange left it, and hangs up after so many
// events; 0 is never. It says whether there was a place to go on from.
func (t *Conversation) resume(events int) bool {
	heard := t.Cursors()
	if len(heard) == 0 {
		return false
	}
	t.ReadStream(heard[len(heard)-1], events)
	return true
}

// minPartialEvent is how many bytes of an unfinished event a client has seen that loses it.
const minPartialEvent = 512

// maxPartialBody is how much is heard, in bytes, before the client is lost in any case.
const maxPartialBody = 1 << 20

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
	t.resume(0) // in the silence
	t.ReadStream("", 0)
}

// disconnectDuration is how long nobody listens: longer than the run that is asked for takes.
const disconnectDuration = 300 * time.Millisecond

func runResumeAlone(t *Conversation) {
	if !t.StartRun("prompt", t.PromptEvent("slow", "10 15")) {
		return
	}
	t.ReadStream("", 2)
	heard := t.Cursors()
	t.sleep(disconnectDuration)
	if len(heard) > 0 {
		t.ReadStream(heard[len(heard)-1], 0)
	}
	t.ReadStream("", 0)
}

func runTwoReaders(t *Conversation) {
	if !t.StartRun("prompt", t.PromptEvent("slow", "12 15")) {
		return
	}
	t.ReadStream("", 2)
	heard := t.Cursors()
	if len(heard) == 0 {
		return
	}
	whole, rest := t.BuildRequest("listen", spec.Event{}), t.BuildRequest("listen", spec.Event{Cursor: heard[len(heard)-1]})
	var wait sync.WaitGroup
	for _, r := range []spec.Request{whole, rest} {
		wait.Go(func() { t.send(r, wire.StopWhen{}) })
	}
	wait.Wait()
}

// probeTimeout is how long a stream is heard that was asked for at a place that is not in it:
// nobody says that it tells anything, or ends.
const probeTimeout = 250 * time.Millisecond

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
		before[len(before)-1], // of the run before, in the same conversation
		before[0],
		elsewhere[0],      // of another conversation
		laterCursor(last), // nobody handed it out yet
		last + "-0-x",     // nobody ever does
		"0",
		strings.Repeat("9", 400),
	} {
		t.send(t.BuildRequest("listen", spec.Event{Cursor: cursor}), wire.StopWhen{Elapsed: probeTimeout})
	}
	t.ReadStream("", 0)
}

// laterCursor is a cursor of the same form whose first number is larger.
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
