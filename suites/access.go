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

// accessScenarios are the scenarios that test credentials, the ownership of threads, runs and
// files, and the limit of streams that one user may have open.
var accessScenarios = []Scenario{
	{
		Name: "credentials", Doc: "every operation without credentials, with unknown ones, and with the user's (needs --header)",
		Required: true, Denial: spec.DeniedAnonymous, Templates: promptTemplates,
		ExpectedChecks: []string{"auth.needs-credentials"},
		Run:            func(t *Conversation) { t.requestAsOthers(spec.Anonymous, spec.UnknownUser) },
	}, {
		Name: "second-user", Doc: "the user's threads, runs and files, requested by another user (needs --other-header)",
		Required: true, Denial: spec.DeniedOtherUser, Exclusive: true, Templates: promptTemplates,
		ExpectedChecks: []string{"auth.owner-only"},
		Run:            func(t *Conversation) { t.requestAsOthers(spec.OtherUser) },
	}, {
		Name: "stream-limit", Doc: "as many streams as are allowed, one more, and one after they have ended (needs --stream-limit)", Required: true,
		Denial: spec.DeniedStreamLimit, Exclusive: true, Templates: []string{"prompt", "listen"},
		ExpectedChecks: []string{"limit.refuses-streams"}, Run: runStreamLimit,
	},
}

// requestAsOthers sends prompts, stream requests, requests for stored data and cancel requests as
// the user, and as each of the others, whom the server must refuse. It sends cancel requests during
// the stream of a run, so that there is a run to cancel.
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
	if t.hasTemplate("cancel") && t.hasTemplate("listen") && !t.target.lacksCapability("cancel") &&
		t.StartRun("prompt", t.PromptEvent("slow", "60 50")) {
		t.DuringStream(t.BuildRequest("listen", spec.Event{}), 3, func() {
			t.sendAsEach(others, "cancel", spec.Event{})
			t.send(t.BuildRequest("cancel", spec.Event{}), wire.StopWhen{})
		})
	}
}

// templateCapabilities maps a template to the capability that a server needs for it. The requests
// of a template are not sent to a server that lacks the capability.
var templateCapabilities = map[string]string{
	"history": "history", "attach": "attachments", "sign": "attachments", "transcribe": "transcribe",
}

// hasTemplate reports whether the dialect has a template.
func (t *Conversation) hasTemplate(template string) bool {
	_, ok := t.dialect.TemplateOperation(template)
	return ok
}

// sendAsEach sends the request of a template about the user's thread, once as each of the other
// principals. Each request that starts a run gets a new run id.
func (t *Conversation) sendAsEach(others []spec.Principal, template string, e spec.Event) {
	for _, who := range others {
		if o, _ := t.dialect.TemplateOperation(template); o.StartsRun {
			t.Run = t.newID()
		}
		t.sendAs(who, t.BuildRequest(template, e))
	}
}

// sendAs sends a request as a principal and reports whether the response is a success (2xx). It
// closes the connection of a successful stream once the head has arrived: only the status matters.
func (t *Conversation) sendAs(who spec.Principal, r spec.Request) bool {
	r.Principal = who
	return t.send(r, wire.StopWhen{Until: func(r spec.Response) bool {
		return r.Status/100 == 2 && r.Header.MediaType() == spec.EventStream
	}})
}

// requestStoredAsOthers requests the history, uploads a file, has its URL signed and requests a
// transcription, each as the user and then as each of the others. If one of the others is the other
// user, that user also requests the history of the latest thread.
func (t *Conversation) requestStoredAsOthers(others []spec.Principal) {
	var stored spec.Event
	for _, template := range []string{"history", "attach", "sign", "transcribe"} {
		e := spec.Event{Name: stored.Name, ID: stored.ID}
		if !t.hasTemplate(template) || t.target.lacksCapability(templateCapabilities[template]) || !t.isValid(template, e) {
			continue
		}
		t.send(t.BuildRequest(template, e), wire.StopWhen{})
		if e := t.LastEvent(spec.AttachmentStored); e.ID != "" {
			stored = e
		}
		t.sendAsEach(others, template, e)
	}
	if t.hasTemplate("history") && !t.target.lacksCapability("history") && slices.Contains(others, spec.OtherUser) {
		thread := t.Thread
		t.Thread = "" // the latest thread of the other user
		t.sendAsEach([]spec.Principal{spec.OtherUser}, "history", spec.Event{})
		t.Thread = thread
	}
}

// MaxStreamLimit is the largest valid [Target.StreamLimit]: the stream-limit scenario opens that
// many streams at once.
const MaxStreamLimit = 256

// disconnectTimeout is how long a server may take to notice that a client closed its streams. Until
// then the server may still refuse new ones.
const disconnectTimeout = 6 * time.Second

// runStreamLimit plays the stream-limit scenario: it opens as many streams as are allowed, requests
// one more, which the server must refuse, and one after the others were closed. All streams are of
// one run, so the limit is reached whether the server counts by user, thread or run.
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

// openStreams is a set of streams of one run that the client keeps open until closeAt, in order to
// reach the stream limit.
type openStreams struct {
	conversation *Conversation
	request      spec.Request
	closeAt      atomic.Int64 // when to leave them, in Unix nanoseconds; 0: not yet
	group        sync.WaitGroup
}

// settleDelay is how long the client waits before and after it requests the stream that exceeds the
// limit, so that the others are certainly open meanwhile.
const settleDelay = 50 * time.Millisecond

// tryOpen requests a stream, closes the connection after its first event and returns the status
// code, 0 if there is no response.
func (h *openStreams) tryOpen() (status int) {
	h.conversation.send(h.request, wire.StopWhen{Frames: 1, Until: func(r spec.Response) bool {
		status = r.Status
		return false
	}})
	return status
}

// open requests a stream and returns its status code as soon as it is known, 0 if there is no
// response. It reads the stream in the background and closes the connection when the next bytes
// arrive after closeAt.
func (h *openStreams) open() int {
	status := make(chan int, 1)
	h.group.Go(func() {
		responded, late := false, false
		h.conversation.send(h.request, wire.StopWhen{Until: func(r spec.Response) bool {
			if !responded && (r.Status != 200 || len(r.Body) > 0) {
				responded = true
				status <- r.Status
			}
			closeAt := h.closeAt.Load()
			leave := late // these bytes may have arrived before closeAt: wait for the next ones
			late = closeAt > 0 && time.Now().UnixNano() > closeAt
			return leave
		}})
		if !responded {
			status <- 0
		}
	})
	return <-status
}

// retryWhileFull calls open again while it returns the status 429 (too many streams), for at most
// [disconnectTimeout]. It reports whether the last status was 200.
func (h *openStreams) retryWhileFull(open func() int) bool {
	for began := time.Now(); ; {
		status := open()
		if status != http.StatusTooManyRequests || time.Since(began) > disconnectTimeout {
			return status == http.StatusOK
		}
		if !h.sleep(disconnectTimeout / 12) {
			return false
		}
	}
}

// sleep waits for d. It returns false, at once, if the context of the conversation ends before.
func (h *openStreams) sleep(d time.Duration) bool {
	select {
	case <-h.conversation.ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
