package suites

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// accessScenarios are the scenarios that test credentials, the ownership of threads, runs and
// files, and the limit on the number of streams that one user may have open.
var accessScenarios = []Scenario{
	{
		Name: "credentials", Doc: "every operation without credentials, with unknown ones, and with the user's; a run with the user's, changed at the end (needs --header)",
		Required: true, Denial: spec.DeniedAnonymous, Templates: promptTemplates,
		ExpectedChecks: []string{"auth.needs-credentials"},
		Run: func(t *Conversation) {
			t.requestAsOthers(spec.Anonymous, spec.UnknownUser)
			t.sendAsEach(t.derivedPrincipals(), "prompt", t.PromptEvent("text", "three"))
		},
	}, {
		Name: "credentials-reused", Doc: "requests without credentials and with unknown ones, on connections that the user used before and uses afterwards (needs --header)",
		Capability: "credentials", Denial: spec.DeniedAnonymous, Templates: promptTemplates,
		Run: func(t *Conversation) {
			t.keepAlive()
			t.requestAsOthers(spec.Anonymous, spec.UnknownUser)
			t.sendAsEach([]spec.Principal{spec.Anonymous}, "prompt", t.PromptEvent("text", "two"))
			t.SendAndRead("prompt", t.PromptEvent("text", "after a refusal"))
		},
	}, {
		Name: "second-user", Doc: "the user's threads, runs and files, requested by another user (needs --other-header)",
		Required: true, Denial: spec.DeniedOtherUser, Exclusive: true, Templates: promptTemplates,
		ExpectedChecks: []string{"auth.owner-only"},
		Run:            func(t *Conversation) { t.requestAsOthers(spec.OtherUser) },
	}, {
		Name: "second-user-first", Doc: "a thread of another user, and then one of the user, with runs of the same id (needs --other-header and --deep)",
		Capability: "second-user", Denial: spec.DeniedOtherUser, Exclusive: true, Templates: []string{"prompt", "listen"}, Run: runSecondUserFirst,
	}, {
		Name: "stream-limit", Doc: "as many streams as are allowed, one more, and one after they have ended (needs --stream-limit)", Required: true,
		Denial: spec.DeniedStreamLimit, Exclusive: true, Templates: []string{"prompt", "listen"},
		ExpectedChecks: []string{"limit.refuses-streams"}, Run: runStreamLimit,
	},
}

// requestAsOthers sends requests of all kinds as [spec.PrimaryUser], and requests for the same
// threads, runs and files as each principal in others. These principals also request the stream of
// a run, and cancel the run, while the primary user reads that stream. Checks verify that the
// server refuses the requests of the principals in others, that it does not recall their prompts,
// and that the stream of the primary user continues. requestAsOthers omits requests that the
// dialect or the target does not support.
func (t *Conversation) requestAsOthers(others ...spec.Principal) {
	t.noteNewThread()
	t.SendAndRead("prompt", t.PromptEvent("text", "one"))
	run, cursors := t.Run, t.Cursors()
	t.sendAsEach(others, "prompt", t.PromptEvent("text", "two"))
	if !t.target.lacksCapability("recall") {
		t.SendAndRead("prompt", t.PromptEvent("recall", ""))
	}
	if t.Run = run; t.HasTemplate("listen") {
		t.sendAsEach(others, "listen", spec.Event{})
		if len(cursors) > 0 {
			t.sendAsEach(others, "listen", spec.Event{Cursor: cursors[0]})
		}
		if slices.Contains(others, spec.OtherUser) {
			t.listenInOtherCase()
		}
		t.Run = t.NewID()
		t.sendAsEach(others, "listen", spec.Event{})
		t.Run = run
	}
	t.requestStoredAsOthers(others)
	if t.canSend("cancel") && t.HasTemplate("listen") &&
		t.StartRun("prompt", t.PromptEvent("slow", "10 40")) {
		t.DuringStream(t.BuildRequest("listen", spec.Event{}), 3, func() {
			t.sendAsEach(others, "listen", spec.Event{})
			t.sendAsEach(others, "cancel", spec.Event{})
		})
		t.sendAsEach(others, "cancel", spec.Event{})
		t.Run = t.NewID()
		t.sendAsEach(others, "cancel", spec.Event{})
		if t.StartRun("prompt", t.PromptEvent("slow", "60 50")) {
			t.cancelDuringStream(3)
			t.sendAsEach(others, "listen", spec.Event{})
		}
	}
}

// listenInOtherCase requests the stream of the current run as [spec.OtherUser], but with the thread
// id in capital letters. It reads at most one event. The server may treat that id as a different
// thread without events. Therefore, the request asks the server to end the stream after one poll
// that finds no event.
func (t *Conversation) listenInOtherCase() {
	r := t.BuildRequest("listen", spec.Event{Thread: strings.ToUpper(t.Thread), PollLimit: "1"})
	if len(t.dialect.ValidateRequest(r)) == 0 {
		r.Principal = spec.OtherUser
		t.send(r, wire.StopWhen{Frames: 1})
	}
}

// runSecondUserFirst plays the second-user-first scenario. [spec.OtherUser] starts a run, and
// [spec.PrimaryUser] then starts a run with the same id in another thread. The primary user also
// requests data of the thread of the other user. Checks verify that the run of the other user does
// not change the runs and histories of the primary user. The scenario is played only if
// [Target.Deep] is set.
func runSecondUserFirst(t *Conversation) {
	// The scenario leaves a thread of the other user on the server. Later test runs can then no
	// longer test the history of a user without threads.
	if !t.target.Deep {
		return
	}
	theirs := t.Thread
	t.Run = t.NewID()
	if !t.sendAs(spec.OtherUser, t.BuildRequest("prompt", t.PromptEvent("text", "of another user"))) {
		return
	}
	t.sendAs(spec.OtherUser, t.BuildRequest("listen", spec.Event{}))
	t.Thread = t.NewID()
	if !t.SendTemplate("prompt", t.PromptEvent("text", "of the user")) {
		return
	}
	t.ReadStream("", 0)
	hasHistory := t.completeHistory().Kind != ""
	mine := t.Thread
	t.Thread = theirs
	for _, template := range []string{"history", "attach", "listen", "cancel"} {
		if t.canSend(template) { // refusals are judged in the second-user scenario, where the roles are exchanged
			t.forgetIfRefused(func() { t.sendAs(spec.PrimaryUser, t.BuildRequest(template, spec.Event{})) })
		}
	}
	if t.Thread = mine; hasHistory {
		t.fetchLatest(false)
	}
	t.SendAndRead("prompt", t.PromptEvent("text", "of the user again"))
	if !t.target.lacksCapability("recall") {
		t.SendAndRead("prompt", t.PromptEvent("recall", ""))
	}
}

// templateCapabilities maps the name of a template to the capability that the target needs to serve
// requests of that template. A template such as "tool-result-parts", which is another form of
// "tool-result", is not in the map, but needs the same capability; see [plainReplyTemplate]. All
// other templates that are not in the map need no capability.
var templateCapabilities = map[string]string{
	"history": "history", "cancel": "cancel", "health": "health", "transcribe": "transcribe",
	"attach": "attachments", "sign": "attachments", "uploaded": "attachments",
	"tool-result": "client-tool", "tool-results": "client-tool", "resume": "interrupt", "resume-cancelled": "interrupt",
}

// canSend reports whether the dialect has the template with the given name, and the target does not
// lack the capability that its requests need; see [templateCapabilities].
func (t *Conversation) canSend(template string) bool {
	capability := templateCapabilities[cmp.Or(plainReplyTemplate(template), template)]
	return t.HasTemplate(template) && !t.target.lacksCapability(capability)
}

// sendAsEach sends one request as each principal in others. It builds each of them from the
// template with the given name and the values in e, which replace the placeholders. If the template
// starts runs, each request has a new run id, and t.Run is then the last of these ids.
func (t *Conversation) sendAsEach(others []spec.Principal, template string, e spec.Event) {
	for _, who := range others {
		if o, _ := t.dialect.TemplateOperation(template); o.StartsRun {
			t.Run = t.NewID()
		}
		t.sendAs(who, t.BuildRequest(template, e))
	}
}

// sendAs sends r as the given principal and reports whether the response is successful (status
// 2xx). It does not read the body of a successful response that is an event stream.
func (t *Conversation) sendAs(who spec.Principal, r spec.Request) bool {
	r.Principal = who
	return t.send(r, wire.StopWhen{Until: func(r spec.Response) bool {
		return r.Status/100 == 2 && r.Header.MediaType() == spec.EventStream
	}})
}

// requestStoredAsOthers sends requests about stored data (history, uploads, signed URLs,
// transcriptions), first as [spec.PrimaryUser] and then as each principal in others. If others
// contains [spec.OtherUser], it also requests, as that user, the history of the user's latest
// thread. It omits requests that the dialect or the target does not support.
func (t *Conversation) requestStoredAsOthers(others []spec.Principal) {
	var stored spec.Event
	latestDay := spec.Event{Day: remoteDays[len(remoteDays)-1]} // a day after all messages
	for _, template := range []string{"history", "attach", "sign", "transcribe"} {
		e := spec.Event{Name: stored.Name, ID: stored.ID}
		if !t.canSend(template) || !t.isValid(template, e) {
			continue
		}
		t.SendTemplate(template, e)
		if e := t.LastEvent(spec.AttachmentStored); e.ID != "" {
			stored = e
		}
		t.sendAsEach(others, template, e)
		if template == "history" && t.isValid(template, latestDay) {
			t.SendTemplate(template, latestDay)
			t.sendAsEach(others, template, latestDay)
		}
	}
	if t.canSend("history") && slices.Contains(others, spec.OtherUser) {
		thread := t.Thread
		t.Thread = "" // means the latest thread of the other user
		t.sendAsEach([]spec.Principal{spec.OtherUser}, "history", spec.Event{})
		if t.isValid("history", latestDay) {
			t.sendAsEach([]spec.Principal{spec.OtherUser}, "history", latestDay)
		}
		t.Thread = thread
	}
}

// MaxStreamLimit is the largest valid value of [Target.StreamLimit]. The stream-limit scenario
// opens that number of streams at the same time.
const MaxStreamLimit = 256

// disconnectTimeout is the time that a server has to detect that a client has closed its streams.
// Until then, the server may still count these streams and refuse new ones.
const disconnectTimeout = 6 * time.Second

// runStreamLimit plays the stream-limit scenario. It opens [Target.StreamLimit] streams of one run
// and keeps them open. Then it requests a further stream, first from the beginning and then, if
// possible, from a cursor. Checks verify that the server refuses both requests. The scenario then
// closes all streams and requests a stream again, until the server accepts it or
// [disconnectTimeout] has passed.
func runStreamLimit(t *Conversation) {
	// All streams belong to one run, so that the limit is reached whether it is per user, thread or
	// run.
	if !t.StartRun("prompt", t.PromptEvent("slow", fmt.Sprint(300+4*t.target.StreamLimit, " 100"))) {
		return
	}
	cursor := t.readFirstCursor()
	t.testsLimit = true
	h := heldStreams{conversation: t, request: t.BuildRequest("listen", spec.Event{})}
	for held := 0; held < t.target.StreamLimit && h.retryWhileFull(h.open); held++ {
	}
	h.conversation.Sleep(settleDelay)
	h.tryOpen()
	if cursor != "" {
		resumed := heldStreams{conversation: t, request: t.BuildRequest("listen", spec.Event{Cursor: cursor})}
		resumed.tryOpen()
	}
	h.closeAt.Store(time.Now().Add(settleDelay).UnixNano())
	h.group.Wait()
	h.retryWhileFull(h.tryOpen)
	if t.canSend("cancel") {
		t.SendTemplate("cancel", spec.Event{})
	}
}

// heldStreams is a set of streams of one run, which the client keeps open until the time in the
// field closeAt.
type heldStreams struct {
	conversation *Conversation
	request      spec.Request   // requests a stream of the run
	closeAt      atomic.Int64   // the time at which to close the streams, in Unix nanoseconds; 0: not set yet
	group        sync.WaitGroup // waits for the goroutines that read the streams
}

// settleDelay is the time that the client waits before and after it requests one stream more than
// the limit allows. The delay ensures that all other streams are open during that request.
const settleDelay = 50 * time.Millisecond

// tryOpen requests a stream and closes the connection after the first event. It returns the status
// code of the response, or 0 if there is no response.
func (h *heldStreams) tryOpen() (status int) {
	h.conversation.send(h.request, wire.StopWhen{Frames: 1, Until: func(r spec.Response) bool {
		status = r.Status
		return false
	}})
	return status
}

// open requests a stream and waits for the first bytes of its body. It returns the status code of
// the response, or 0 if there is no response, or if the status is 200 but the body is empty. A
// goroutine of h.group reads the rest of the stream and closes the connection after h.closeAt.
func (h *heldStreams) open() int {
	status := make(chan int, 1)
	h.group.Go(func() {
		responded, late := false, false
		h.conversation.send(h.request, wire.StopWhen{Until: func(r spec.Response) bool {
			if !responded && (r.Status != 200 || len(r.Body) > 0) {
				responded = true
				status <- r.Status
			}
			closeAt := h.closeAt.Load()
			leave := late // the first bytes after closeAt may have arrived before it; wait for the next ones
			late = closeAt > 0 && time.Now().UnixNano() > closeAt
			return leave
		}})
		if !responded {
			status <- 0
		}
	})
	return <-status
}

// retryWhileFull calls open repeatedly, until it returns a status other than 429 and 503. The
// function open must request a stream and return the status code of the response, or 0 if there is
// none. retryWhileFull gives up after [disconnectTimeout] or when the context of the conversation
// is done. It reports whether the last status was 200.
func (h *heldStreams) retryWhileFull(open func() int) bool {
	for began := time.Now(); ; {
		status := open()
		if !isBusyStatus(status) || time.Since(began) > disconnectTimeout {
			return status == http.StatusOK
		}
		if !h.conversation.Sleep(disconnectTimeout / 12) {
			return false
		}
	}
}
