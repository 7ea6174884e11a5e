package suites

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// admission are the scenarios about who may ask, and how much.
var admission = []Scenario{
	{
		Name: "credentials", Doc: "every operation, asked without credentials, with some that nobody handed out, and with the user's, which have to be given",
		Expected: true, Denied: spec.DeniedAnonymous, Says: prompts,
		Proves: []string{"auth.needs-credentials"},
		Lead:   func(t *Talk) { t.denied(spec.Anonymous, spec.UnknownUser) },
	}, {
		Name: "second-user", Doc: "what is the user's, asked for by another, whose credentials have to be given too", Expected: true, Denied: spec.DeniedOtherUser, Alone: true, Says: prompts,
		Proves: []string{"auth.owner-only"},
		Lead:   func(t *Talk) { t.denied(spec.OtherUser) },
	}, {
		Name: "stream-limit", Doc: "as many streams as are allowed, which has to be said, one more, and one after they have ended", Expected: true,
		Denied: spec.DeniedStreamLimit, Alone: true, Says: []string{"prompt", "listen"},
		Proves: []string{"limit.refuses-streams"}, Lead: leadStreamLimit,
	},
}

// denied asks for everything as the user, and as others who should not get it. A run is
// canceled while it is told, so that there is something to be canceled.
func (t *Talk) denied(others ...spec.Principal) {
	t.Say("prompt", t.Prompt("text", "one"))
	run, cursors := t.Run, t.Cursors()
	t.ask(others, "prompt", t.Prompt("text", "two"))
	if t.Run = run; t.says("listen") {
		t.ask(others, "listen", spec.Event{})
		if len(cursors) > 0 {
			t.ask(others, "listen", spec.Event{Cursor: cursors[0]})
		}
	}
	t.kept(others)
	if t.says("cancel") && t.says("listen") && !t.target.lacks("cancel") && t.Open("prompt", t.Prompt("slow", "60 50")) {
		t.While(t.Request("listen", spec.Event{}), 3, func() {
			t.ask(others, "cancel", spec.Event{})
			t.send(t.Request("cancel", spec.Event{}), wire.Limit{})
		})
	}
}

// capabilities are those of which phrases are, where they may be lacking.
var capabilities = map[string]string{"history": "history", "attach": "attachments", "sign": "attachments", "transcribe": "transcribe"}

// says whether the dialect has a phrase.
func (t *Talk) says(phrase string) bool {
	_, ok := t.dialect.Phrase(phrase)
	return ok
}

// ask says a phrase as others, in the user's conversation, each with a run of its own if
// it opens one. Who gets a stream hangs up.
func (t *Talk) ask(others []spec.Principal, phrase string, e spec.Event) {
	for _, who := range others {
		if o, _ := t.dialect.Phrase(phrase); o.Asks {
			t.Run = t.id()
		}
		t.as(who, t.Request(phrase, e))
	}
}

func (t *Talk) as(who spec.Principal, r spec.Request) bool {
	r.Principal = who
	return t.send(r, wire.Limit{Until: func(heard spec.Response) bool {
		return heard.Status/100 == 2 && heard.Header.MediaType() == spec.EventStream
	}})
}

// kept asks for what is kept of a conversation, and for what can be done beside it.
func (t *Talk) kept(others []spec.Principal) {
	var stored spec.Event
	for _, phrase := range []string{"history", "attach", "sign", "transcribe"} {
		e := spec.Event{Name: stored.Name, ID: stored.ID}
		if !t.says(phrase) || t.target.lacks(capabilities[phrase]) || !t.whole(phrase, e) {
			continue
		}
		t.send(t.Request(phrase, e), wire.Limit{})
		if e := t.Heard(spec.AttachmentStored); e.ID != "" {
			stored = e
		}
		t.ask(others, phrase, e)
	}
	if t.says("history") && !t.target.lacks("history") && slices.Contains(others, spec.OtherUser) {
		thread := t.Thread
		t.Thread = "" // whichever is its own latest
		t.ask([]spec.Principal{spec.OtherUser}, "history", spec.Event{})
		t.Thread = thread
	}
}

// mostStreams bounds how many streams are held open at once.
const mostStreams = 256

// patient is how long a server may take to see that a client has left, and a little more.
const patient = 6 * time.Second

// leadStreamLimit opens as many streams of one run as are allowed, so that it does not
// matter whose count it is: the user's, the conversation's, the run's or the server's.
func leadStreamLimit(t *Talk) {
	if !t.Open("prompt", t.Prompt("slow", fmt.Sprint(300+4*t.target.Streams, " 100"))) {
		return
	}
	h := holder{talk: t, listen: t.Request("listen", spec.Event{})}
	for held := 0; held < t.target.Streams && h.patiently(h.hold); held++ {
	}
	h.pause(sure)
	h.try()
	h.over.Store(time.Now().Add(sure).UnixNano())
	h.wait.Wait()
	h.patiently(h.try)
	if t.says("cancel") && !t.target.lacks("cancel") {
		t.send(t.Request("cancel", spec.Event{}), wire.Limit{})
	}
}

// A holder holds streams open.
type holder struct {
	talk   *Talk
	listen spec.Request
	over   atomic.Int64 // when they may be left; 0: not yet
	wait   sync.WaitGroup
}

// sure is how long a stream is held before and after another is asked for, so that
// nobody can doubt that it was open meanwhile.
const sure = 50 * time.Millisecond

// try asks for a stream and leaves it at its first event. It is the status of the answer.
func (h *holder) try() (status int) {
	h.talk.send(h.listen, wire.Limit{Frames: 1, Until: func(heard spec.Response) bool {
		status = heard.Status
		return false
	}})
	return status
}

// hold asks for a stream, and leaves it when that is over and more comes. The status
// is there when the stream has given a sign of itself, or is none.
func (h *holder) hold() int {
	status := make(chan int, 1)
	h.wait.Go(func() {
		told, late := false, false
		h.talk.send(h.listen, wire.Limit{Until: func(heard spec.Response) bool {
			if !told && (heard.Status != 200 || len(heard.Body) > 0) {
				told = true
				status <- heard.Status
			}
			over := h.over.Load()
			was := late // what came before it was noticed may have come long before
			late = over > 0 && time.Now().UnixNano() > over
			return was
		}})
		if !told {
			status <- 0
		}
	})
	return <-status
}

// patiently asks again and again while there are too many streams, as long as a server
// may take to see that others have left. It says whether there is one more now.
func (h *holder) patiently(ask func() int) bool {
	for began := time.Now(); ; {
		status := ask()
		if status != http.StatusTooManyRequests || time.Since(began) > patient {
			return status == http.StatusOK
		}
		if !h.pause(patient / 12) {
			return false
		}
	}
}

// pause waits, and says whether nobody has called it off.
func (h *holder) pause(d time.Duration) bool {
	select {
	case <-h.talk.ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
