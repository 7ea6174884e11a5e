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

// accessScenarios are the scenarios about who may ask, and how much.
var accessScenarios = []Scenario{
	{
		Name: "credentials", Doc: "every operation, asked without credentials, with some that nobody handed out, and with the user's, which have to be given",
		Required: true, Denial: spec.DeniedAnonymous, Templates: promptTemplates,
		ExpectedChecks: []string{"auth.needs-credentials"},
		Run:            func(t *Conversation) { t.requestAsOthers(spec.Anonymous, spec.UnknownUser) },
	}, {
		Name: "second-user", Doc: "what is the user's, asked for by another, whose credentials have to be given too", Required: true, Denial: spec.DeniedOtherUser, Exclusive: true, Templates: promptTemplates,
		ExpectedChecks: []string{"auth.owner-only"},
		Run:            func(t *Conversation) { t.requestAsOthers(spec.OtherUser) },
	}, {
		Name: "stream-limit", Doc: "as many streams as are allowed, which has to be said, one more, and one after they have ended", Required: true,
		Denial: spec.DeniedStreamLimit, Exclusive: true, Templates: []string{"prompt", "listen"},
		ExpectedChecks: []string{"limit.refuses-streams"}, Run: runStreamLimit,
	},
}

// requestAsOthers asks for everything as the user, and as others who should not get it. A run is
// canceled while it is told, so that there is something to be canceled.
func (t *Conversation) requestAsOthers(others ...spec.Principal) {
	t.SendAndRead("prompt", t.PromptEvent("text", "one"))
	run, cursors := t.Run, t.Cursors()
	t.sendAsEach(others, "prompt", t.PromptEvent("text", "two"))
	if t.Run = run; t.hasTemplate("listen") {
		t.sendAsEach(others, "listen", spec.Event{})
		if len(cursors) > 0 {
			t.sendAsEach(others, "listen", spec.Event{Cursor: cursors[0]})
		}
	}
	t.requestStoredAsOthers(others)
	if t.hasTemplate("cancel") && t.hasTemplate("listen") && !t.target.lacksCapability("cancel") && t.StartRun("prompt", t.PromptEvent("slow", "60 50")) {
		t.DuringStream(t.BuildRequest("listen", spec.Event{}), 3, func() {
			t.sendAsEach(others, "cancel", spec.Event{})
			t.send(t.BuildRequest("cancel", spec.Event{}), wire.StopWhen{})
		})
	}
}

// templateCapabilities are those of which phrases are, where they may be lacking.
var templateCapabilities = map[string]string{"history": "history", "attach": "attachments", "sign": "attachments", "transcribe": "transcribe"}

// hasTemplate whether the dialect has a phrase.
func (t *Conversation) hasTemplate(phrase string) bool {
	_, ok := t.dialect.TemplateOperation(phrase)
	return ok
}

// sendAsEach says a phrase as others, in the user's conversation, each with a run of its own if
// it opens one. Who gets a stream hangs up.
func (t *Conversation) sendAsEach(others []spec.Principal, phrase string, e spec.Event) {
	for _, who := range others {
		if o, _ := t.dialect.TemplateOperation(phrase); o.StartsRun {
			t.Run = t.newID()
		}
		t.sendAs(who, t.BuildRequest(phrase, e))
	}
}

func (t *Conversation) sendAs(who spec.Principal, r spec.Request) bool {
	r.Principal = who
	return t.send(r, wire.StopWhen{Until: func(heard spec.Response) bool {
		return heard.Status/100 == 2 && heard.Header.MediaType() == spec.EventStream
	}})
}

// requestStoredAsOthers asks for what is kept of a conversation, and for what can be done beside it.
func (t *Conversation) requestStoredAsOthers(others []spec.Principal) {
	var stored spec.Event
	for _, phrase := range []string{"history", "attach", "sign", "transcribe"} {
		e := spec.Event{Name: stored.Name, ID: stored.ID}
		if !t.hasTemplate(phrase) || t.target.lacksCapability(templateCapabilities[phrase]) || !t.isValid(phrase, e) {
			continue
		}
		t.send(t.BuildRequest(phrase, e), wire.StopWhen{})
		if e := t.LastEvent(spec.AttachmentStored); e.ID != "" {
			stored = e
		}
		t.sendAsEach(others, phrase, e)
	}
	if t.hasTemplate("history") && !t.target.lacksCapability("history") && slices.Contains(others, spec.OtherUser) {
		thread := t.Thread
		t.Thread = "" // whichever is its own latest
		t.sendAsEach([]spec.Principal{spec.OtherUser}, "history", spec.Event{})
		t.Thread = thread
	}
}

// maxStreams bounds how many streams are held open at once.
const maxStreams = 256

// disconnectTimeout is how long a server may take to see that a client has left, and a little more.
const disconnectTimeout = 6 * time.Second

// runStreamLimit opens as many streams of one run as are allowed, so that it does not
// matter whose count it is: the user's, the conversation's, the run's or the server's.
func runStreamLimit(t *Conversation) {
	if !t.StartRun("prompt", t.PromptEvent("slow", fmt.Sprint(300+4*t.target.StreamLimit, " 100"))) {
		return
	}
	h := openStreams{conversation: t, request: t.BuildRequest("listen", spec.Event{})}
	for held := 0; held < t.target.StreamLimit && h.retryWhileFull(h.open); held++ {
	}
	h.sleep(settleDelay)
	h.tryOpen()
	h.closeAt.Store(time.Now().Add(settleDelay).UnixNano())
	h.group.Wait()
	h.retryWhileFull(h.tryOpen)
	if t.hasTemplate("cancel") && !t.target.lacksCapability("cancel") {
		t.send(t.BuildRequest("cancel", spec.Event{}), wire.StopWhen{})
	}
}

// A openStreams holds streams open.
type openStreams struct {
	conversation *Conversation
	request      spec.Request
	closeAt      atomic.Int64 // when they may be left; 0: not yet
	group        sync.WaitGroup
}

// settleDelay is how long a stream is held before and after another is asked for, so that
// nobody can doubt that it was open meanwhile.
const settleDelay = 50 * time.Millisecond

// tryOpen asks for a stream and leaves it at its first event. It is the status of the answer.
func (h *openStreams) tryOpen() (status int) {
	h.conversation.send(h.request, wire.StopWhen{Frames: 1, Until: func(heard spec.Response) bool {
		status = heard.Status
		return false
	}})
	return status
}

// open asks for a stream, and leaves it when that is over and more comes. The status
// is there when the stream has given a sign of itself, or is none.
func (h *openStreams) open() int {
	status := make(chan int, 1)
	h.group.Go(func() {
		answered, late := false, false
		h.conversation.send(h.request, wire.StopWhen{Until: func(heard spec.Response) bool {
			if !answered && (heard.Status != 200 || len(heard.Body) > 0) {
				answered = true
				status <- heard.Status
			}
			over := h.closeAt.Load()
			was := late // what came before it was noticed may have come long before
			late = over > 0 && time.Now().UnixNano() > over
			return was
		}})
		if !answered {
			status <- 0
		}
	})
	return <-status
}

// retryWhileFull asks again and again while there are too many streams, as long as a server
// may take to see that others have left. It says whether there is one more now.
func (h *openStreams) retryWhileFull(ask func() int) bool {
	for began := time.Now(); ; {
		status := ask()
		if status != http.StatusTooManyRequests || time.Since(began) > disconnectTimeout {
			return status == http.StatusOK
		}
		if !h.sleep(disconnectTimeout / 12) {
			return false
		}
	}
}

// sleep waits, and says whether nobody has called it off.
func (h *openStreams) sleep(d time.Duration) bool {
	select {
	case <-h.conversation.ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
