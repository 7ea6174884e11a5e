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

// resumed are the checks that a stream which is taken up again exercises.
var resumed = []string{
	"resume.starts-after-cursor", "resume.excludes-cursor", "resume.loses-nothing", "resume.tells-the-same", "resume.ends",
}

// cursors are what a dialect needs for a stream to be taken up again.
var cursors = []spec.Kind{spec.SlotCursor}

// resuming are the scenarios of a client that loses its connection.
var resuming = []Scenario{
	{
		Name: "resume", Doc: "the connection is lost after every event in turn, and taken up again; then one run is taken up at each of its events", Expected: true,
		Says: []string{"prompt", "listen"}, Words: cursors, Proves: resumed, Lead: leadResume,
	}, {
		Name: "resume-inside", Doc: "the connection is lost in the middle of an event, and taken up at the one before", Capability: "resume", Expected: true,
		Says: []string{"prompt", "listen"}, Words: cursors, Lead: leadResumeInside,
	}, {
		Name: "resume-twice", Doc: "the connection is lost again and again while the run goes on, also in silence", Capability: "resume", Expected: true,
		Says: []string{"prompt", "listen"}, Words: cursors, Proves: resumed, Lead: leadResumeTwice,
	}, {
		Name: "resume-alone", Doc: "a run that goes on while nobody listens", Capability: "resume", Expected: true,
		Says: []string{"prompt", "listen"}, Words: cursors, Proves: resumed, Lead: leadResumeAlone,
	}, {
		Name: "two-readers", Doc: "two clients that hear the same run at once, one of them from its middle on", Capability: "resume", Expected: true,
		Says: []string{"prompt", "listen"}, Words: cursors, Proves: resumed, Lead: leadTwoReaders,
	}, {
		Name: "foreign-cursors", Doc: "cursors of another run, of another conversation, and such as nobody handed out", Capability: "resume", Expected: true,
		Says: []string{"prompt", "listen"}, Words: cursors, Proves: []string{"resume.takes-thread-cursor"}, Lead: leadForeignCursors,
	},
}

// mostCuts bounds how often the resume scenario loses the connection: how long the
// run is, is the target's word.
const mostCuts = 32

// settled is how long a client waits for what may not come.
const settled = 2 * time.Second

func leadResume(t *Talk) {
	for k, n := 1, 2; k < min(n, mostCuts); k++ {
		if !t.Open("prompt", t.Prompt("text", "resume after event "+strconv.Itoa(k))) {
			return
		}
		t.Listen("", k)
		t.again(0)
		t.Listen("", 0)
		n = len(t.Cursors())
	}
	all := t.Cursors()
	for i, cursor := range all[:min(len(all), mostCuts)] {
		limit := wire.Limit{}
		if i == len(all)-1 { // that of the end: nothing comes any more, and some servers wait for it
			limit.For = settled
		}
		t.send(t.Request("listen", spec.Event{Cursor: cursor}), limit)
	}
	t.Listen("", 0)
}

// again takes the stream up where the last exchange left it, and hangs up after so many
// events; 0 is never. It says whether there was a place to go on from.
func (t *Talk) again(events int) bool {
	heard := t.Cursors()
	if len(heard) == 0 {
		return false
	}
	t.Listen(heard[len(heard)-1], events)
	return true
}

// inside is how many bytes of an unfinished event a client has seen that loses it.
const inside = 512

// maxInside is how much is heard, in bytes, before the client is lost in any case.
const maxInside = 1 << 20

func leadResumeInside(t *Talk) {
	if !t.Open("prompt", t.Prompt("large", "100000")) {
		return
	}
	t.send(t.Request("listen", spec.Event{}), wire.Limit{Until: func(r spec.Response) bool {
		if len(r.Body) > maxInside {
			return true
		}
		text := bytes.ReplaceAll(r.Body, []byte("\r"), nil)
		last := bytes.LastIndex(text, []byte("\n\n"))
		return last >= 0 && len(text)-last > inside
	}})
	t.again(0)
	t.Listen("", 0)
}

func leadResumeTwice(t *Talk) {
	if !t.Open("prompt", t.Prompt("slow", "12 15")) {
		return
	}
	t.Listen("", 2)
	for range 3 {
		t.again(2)
	}
	t.again(0)
	t.Listen("", 0)
	if !t.Open("prompt", t.Prompt("idle", "300")) {
		return
	}
	t.Listen("", 1)
	t.again(0) // in the silence
	t.Listen("", 0)
}

// unheard is how long nobody listens: longer than the run that is asked for takes.
const unheard = 300 * time.Millisecond

func leadResumeAlone(t *Talk) {
	if !t.Open("prompt", t.Prompt("slow", "10 15")) {
		return
	}
	t.Listen("", 2)
	heard := t.Cursors()
	t.pause(unheard)
	if len(heard) > 0 {
		t.Listen(heard[len(heard)-1], 0)
	}
	t.Listen("", 0)
}

func leadTwoReaders(t *Talk) {
	if !t.Open("prompt", t.Prompt("slow", "12 15")) {
		return
	}
	t.Listen("", 2)
	heard := t.Cursors()
	if len(heard) == 0 {
		return
	}
	whole, rest := t.Request("listen", spec.Event{}), t.Request("listen", spec.Event{Cursor: heard[len(heard)-1]})
	var wait sync.WaitGroup
	for _, r := range []spec.Request{whole, rest} {
		wait.Go(func() { t.send(r, wire.Limit{}) })
	}
	wait.Wait()
}

// doubtful is how long a stream is heard that was asked for at a place that is not in it:
// nobody says that it tells anything, or ends.
const doubtful = 250 * time.Millisecond

func leadForeignCursors(t *Talk) {
	t.Say("prompt", t.Prompt("text", "one"))
	before := t.Cursors()
	thread := t.Thread
	t.Thread = t.id()
	t.Say("prompt", t.Prompt("text", "elsewhere"))
	elsewhere := t.Cursors()
	t.Thread = thread
	t.Say("prompt", t.Prompt("text", "two"))
	own := t.Cursors()
	if len(before) == 0 || len(elsewhere) == 0 || len(own) == 0 {
		return
	}
	last := own[len(own)-1]
	for _, cursor := range []string{
		before[len(before)-1], // of the run before, in the same conversation
		before[0],
		elsewhere[0],  // of another conversation
		later(last),   // nobody handed it out yet
		last + "-0-x", // nobody ever does
		"0",
		strings.Repeat("9", 400),
	} {
		t.send(t.Request("listen", spec.Event{Cursor: cursor}), wire.Limit{For: doubtful})
	}
	t.Listen("", 0)
}

// later is a cursor of the same form whose first number is larger.
func later(cursor string) string {
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
