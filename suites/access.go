package suites

import (
	"cmp"
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
// files, and the limit on the number of streams that one user may have open.
var accessScenarios = []Scenario{
	{
		Name: "credentials", Doc: "every operation without credentials, with unknown ones, and with the user's (needs --header)",
		Required: true, Denial: spec.DeniedAnonymous, Templates: promptTemplates,
		ExpectedChecks: []string{"auth.needs-credentials"},
		Run:            func(t *Conversation) { t.requestAsOthers(spec.Anonymous, spec.UnknownUser) },
	}, {
		Name: "credentials-reused", Doc: "requests without credentials and with unknown ones, on connections that the user used before (needs --header)",
		Capability: "credentials", Denial: spec.DeniedAnonymous, Templates: promptTemplates,
		Run: func(t *Conversation) {
			t.keepAlive()
			t.requestAsOthers(spec.Anonymous, spec.UnknownUser)
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

// requestAsOthers sends prompts, stream requests and requests for stored data, both as the primary
// user and as each principal in others. While the primary user reads the stream of a run, the
// principals in others request that stream and try to cancel the run. They try to cancel it again
// when it is over. Some of their stream and cancel requests name a run that does not exist. Then
// the primary user cancels another run, and the principals in others request the stream of that
// run. Checks verify that the server refuses all requests of the principals in others, and that
// their cancel requests do not end the stream of the primary user. Requests that the dialect or the
// target does not support are left out.
func (t *Conversation) requestAsOthers(others ...spec.Principal) {
	t.SendAndRead("prompt", t.PromptEvent("text", "one"))
	run, cursors := t.Run, t.Cursors()
	t.sendAsEach(others, "prompt", t.PromptEvent("text", "two"))
	if t.Run = run; t.HasTemplate("listen") {
		t.sendAsEach(others, "listen", spec.Event{})
		if len(cursors) > 0 {
			t.sendAsEach(others, "listen", spec.Event{Cursor: cursors[0]})
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

// runSecondUserFirst plays the second-user-first scenario. Another user starts a run in a thread.
// Then the primary user starts a run with the same id in another thread, reads its stream, and
// requests what belongs to the thread of the other user, which the server should refuse. Finally,
// the primary user requests the history without a thread id, and starts another run. Checks judge
// the runs and histories of the primary user, which the other user must not have changed.
// runSecondUserFirst sends nothing unless [Target.Deep] is set, because it may leave a thread of
// the other user on the server. Later test runs can then no longer test what the history of a user
// without threads is.
func runSecondUserFirst(t *Conversation) {
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

// templateCapabilities maps the name of a template to the name of the capability that the target
// needs for requests of that template. This is the capability to perform the operation, or to
// provide what the request refers to, such as the tool call to which a tool result belongs.
// Templates that are not in the map need no capability, except those for other forms of a reply,
// such as "tool-result-parts": they need the capability of the plain form (see
// [plainReplyTemplate]).
var templateCapabilities = map[string]string{
	"history": "history", "cancel": "cancel", "health": "health", "transcribe": "transcribe",
	"attach": "attachments", "sign": "attachments", "uploaded": "attachments",
	"tool-result": "client-tool", "tool-results": "client-tool", "resume": "interrupt", "resume-cancelled": "interrupt",
}

// canSend reports whether the dialect has the template and the target is not declared to lack the
// capability that the template needs (see [templateCapabilities]).
func (t *Conversation) canSend(template string) bool {
	capability := templateCapabilities[cmp.Or(plainReplyTemplate(template), template)]
	return t.HasTemplate(template) && !t.target.lacksCapability(capability)
}

// sendAsEach sends the request of the template, with the values in e in place of its placeholders,
// once as each principal in others, in order. If the template starts a run, each request gets a new
// run id, and the last of these ids becomes the current run of the conversation.
func (t *Conversation) sendAsEach(others []spec.Principal, template string, e spec.Event) {
	for _, who := range others {
		if o, _ := t.dialect.TemplateOperation(template); o.StartsRun {
			t.Run = t.NewID()
		}
		t.sendAs(who, t.BuildRequest(template, e))
	}
}

// sendAs sends request r as the given principal and reports whether the status of the response is a
// success (2xx). If a successful response is an event stream, sendAs closes the connection as soon
// as the head of the response has arrived, because only the status matters.
func (t *Conversation) sendAs(who spec.Principal, r spec.Request) bool {
	r.Principal = who
	return t.send(r, wire.StopWhen{Until: func(r spec.Response) bool {
		return r.Status/100 == 2 && r.Header.MediaType() == spec.EventStream
	}})
}

// requestStoredAsOthers requests the history, uploads a file, requests a signed URL for that file
// and requests a transcription. Each request is sent first as the primary user and then as each
// principal in others. If others contains [spec.OtherUser], the other user also requests the
// history without a thread id, which stands for that user's own latest thread. Requests that the
// dialect or the target does not support are left out.
func (t *Conversation) requestStoredAsOthers(others []spec.Principal) {
	var stored spec.Event
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
		if byDay := (spec.Event{Day: remoteDays[len(remoteDays)-1]}); template == "history" && t.isValid(template, byDay) {
			t.SendTemplate(template, byDay)
			t.sendAsEach(others, template, byDay)
		}
	}
	if t.canSend("history") && slices.Contains(others, spec.OtherUser) {
		thread := t.Thread
		t.Thread = "" // means the latest thread of the other user
		t.sendAsEach([]spec.Principal{spec.OtherUser}, "history", spec.Event{})
		t.Thread = thread
	}
}

// MaxStreamLimit is the largest valid [Target.StreamLimit]. It bounds the number of streams that
// the stream-limit scenario opens at once.
const MaxStreamLimit = 256

// disconnectTimeout is how long a server may take to notice that a client closed its streams.
// During that time, the server may still refuse new streams to the client.
const disconnectTimeout = 6 * time.Second

// runStreamLimit plays the stream-limit scenario. It opens as many streams as the target allows,
// and then requests one more, from the beginning and from a cursor, which the server must refuse.
// After it has closed all these streams, it requests a stream again, repeatedly if the server still
// refuses it. Finally, it cancels the run. All streams belong to one run, so the limit is reached
// whether the server counts streams by user, by thread or by run.
func runStreamLimit(t *Conversation) {
	if !t.StartRun("prompt", t.PromptEvent("slow", fmt.Sprint(300+4*t.target.StreamLimit, " 100"))) {
		return
	}
	cursor := t.readFirstCursor()
	h := openStreams{conversation: t, request: t.BuildRequest("listen", spec.Event{})}
	for held := 0; held < t.target.StreamLimit && h.retryWhileFull(h.open); held++ {
	}
	h.conversation.Sleep(settleDelay)
	h.tryOpen()
	if cursor != "" {
		resumed := openStreams{conversation: t, request: t.BuildRequest("listen", spec.Event{Cursor: cursor})}
		resumed.tryOpen()
	}
	h.closeAt.Store(time.Now().Add(settleDelay).UnixNano())
	h.group.Wait()
	h.retryWhileFull(h.tryOpen)
	if t.canSend("cancel") {
		t.SendTemplate("cancel", spec.Event{})
	}
}

// openStreams is a set of streams that all belong to the same run. The client keeps them open until
// the time in the field closeAt, so that the stream limit is reached.
type openStreams struct {
	conversation *Conversation
	request      spec.Request   // for the stream of the run
	closeAt      atomic.Int64   // when to close the streams, in Unix nanoseconds; 0: not yet known
	group        sync.WaitGroup // of the goroutines that read the open streams
}

// settleDelay is how long the client waits before and after it requests the stream that exceeds the
// limit. This makes sure that all other streams are open during that request.
const settleDelay = 50 * time.Millisecond

// tryOpen sends h.request and closes the connection after the first event of the response. It
// returns the status code of the response, or 0 if there is no response.
func (h *openStreams) tryOpen() (status int) {
	h.conversation.send(h.request, wire.StopWhen{Frames: 1, Until: func(r spec.Response) bool {
		status = r.Status
		return false
	}})
	return status
}

// open sends h.request, waits for the beginning of the response and returns its status code. If the
// status is 200, it waits for the first bytes of the body, too. It returns 0 if there is no
// response, or if the status is 200 and the body is empty. A goroutine of h.group reads the rest of
// the stream. After h.closeAt, it reads one more piece of the stream, which the server may have
// sent before that time, and closes the connection when the next piece arrives.
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

// retryWhileFull calls the function open repeatedly, with pauses of a twelfth of
// [disconnectTimeout] between the calls. open must request a stream and return the status code of
// the response. retryWhileFull stops when the status is neither 429 nor 503 (see isBusyStatus) or
// when [disconnectTimeout] has passed, and then reports whether the last status was 200. If the
// context of the conversation ends first, it returns false.
func (h *openStreams) retryWhileFull(open func() int) bool {
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
