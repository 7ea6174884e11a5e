package suites

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/spec"
)

// historyScenarios are the scenarios that test the history of threads.
var historyScenarios = []Scenario{
	{
		Name: "history", Doc: "the history of a thread before, during and after runs", Required: true, Templates: []string{"prompt", "listen", "history"},
		ExpectedChecks: []string{
			"reply.as-promised", "accepted.keeps-prompt", "history.tells-the-user", "history.tells-the-answer",
			"history.thread-as-asked", "history.before-is-earlier", "history.before-is-nearest",
		},
		Run: runHistory,
	}, {
		Name: "latest", Doc: "the history without a thread id, after two threads", Capability: "history", Exclusive: true,
		Templates: []string{"prompt", "listen", "history"}, Run: runLatest,
	},
}

// runHistory plays the history scenario. It requests the history of a thread before its first run,
// during a run, after several runs, and for single days. It also requests the stream of a run that
// does not exist, and the history of another thread. Finally, it starts a run in a new thread, and
// requests the history of that thread before and after the stream of the run. Checks compare the
// histories with the runs.
func runHistory(t *Conversation) {
	t.SendAndRead("prompt", t.PromptEvent("text", "in another conversation"))
	other := t.Thread
	t.Thread = t.NewID()
	t.fetchHistory(spec.Event{}) // before the first run of the thread
	t.Run = t.NewID()
	t.listenIfTaken()
	if !t.StartRun("prompt", t.PromptEvent("slow", "6 58")) {
		return
	}
	t.fetchHistory(spec.Event{})
	slow := t.Run
	if t.startIfTaken("", t.PromptEvent("text", "beside another run")) {
		t.fetchHistory(spec.Event{})
		t.ReadStream("", 0)
	}
	t.Run = slow
	t.ReadStream("", 0)
	if t.HasTemplate("blocks") && t.StartRun("blocks", t.PromptEvent("slow", "3 40")) {
		t.fetchHistory(spec.Event{})
		t.ReadStream("", 0)
	}
	t.SendAndRead("prompt", t.PromptEvent("tool", `{"city":"Paris"}`))
	t.SendAndRead("prompt", t.PromptEvent("text", "one two three"))
	page := t.completeHistory()
	t.forgetIfRefused(func() { // it may be, since the history is not an event stream
		t.Send(withField(t.BuildRequest("history", spec.Event{}), "Accept", func(string) string { return spec.EventStream }))
	})
	if day, err := time.Parse(time.DateOnly, page.Day); err == nil {
		t.fetchHistory(spec.Event{Day: page.Day})
		t.fetchHistory(spec.Event{Day: day.AddDate(0, 0, 1).Format(time.DateOnly)})
	}
	t.Thread = other
	t.fetchHistory(spec.Event{})
	t.SendAndRead("prompt", t.PromptEvent("tools", ""))
	if page := t.completeHistory(); page.Kind != "" { // otherwise, waiting for another history would be in vain
		t.awaitUnreadRun()
	}
}

// awaitUnreadRun tests whether the history contains the answer of a run whose stream no client has
// requested. It starts a short run in a new thread and requests the history until it contains an
// answer, but for no longer than about twice [historyTimeout]. It then requests the stream and the
// history. It sends nothing if the target does not support the test prompt slow, which sets the
// duration of the run.
func (t *Conversation) awaitUnreadRun() {
	t.Thread = t.NewID()
	if t.target.lacksCapability("slow") || !t.StartRun("prompt", t.PromptEvent("slow", "3 30")) {
		return
	}
	isAnswered := func(page spec.Event) bool { return len(page.PartsOf(spec.HistoryAssistant)) > 0 }
	page := t.pollHistory(isAnswered)
	if page.Kind != "" && !isAnswered(page) && t.target.isScripted && t.Sleep(historyTimeout/20) {
		t.pollHistory(isAnswered) // the run may take as long as the history
	}
	t.ReadStream("", 0)
	t.completeHistory()
}

// runLatest plays the latest scenario. It starts runs in several threads, one after the other, and
// requests the history without a thread id after each of them. Some of these runs fail or are
// cancelled, and some requests are invalid. Checks verify that the history is that of the thread
// with the latest run.
func runLatest(t *Conversation) {
	t.SendAndRead("prompt", t.PromptEvent("text", "one"))
	first := t.Thread
	t.Thread = t.NewID()
	if !t.StartRun("prompt", t.PromptEvent("text", "two")) {
		return
	}
	t.ReadStream("", 0)
	if t.completeHistory().Kind == "" {
		return
	}
	t.fetchLatest(false)
	t.Thread = first
	t.SendAndRead("prompt", t.PromptEvent("text", "three"))
	t.fetchLatest(true)
	if !t.target.lacksCapability("error") {
		t.Thread = t.NewID()
		t.SendAndRead("prompt", t.PromptEvent("error", "scripted failure"))
		t.fetchLatest(false)
	}
	if t.Thread = t.NewID(); t.HasTemplate("automation") {
		t.SendAndRead("automation", t.PromptEvent("text", "four"))
	} else {
		t.SendAndRead("prompt", t.PromptEvent("text", "four"))
	}
	t.fetchLatest(false)
	last := t.Thread
	t.Thread, t.Run = first, t.NewID()
	t.sendShortAndLongForms(t.BuildRequest("prompt", t.PromptEvent("text", "refused")))
	t.Thread = last
	t.fetchLatest(false)
	t.Thread = t.NewID()
	if t.canSend("cancel") && t.StartRun("prompt", t.PromptEvent("slow", "60 50")) {
		t.cancelDuringStream(3)
		t.fetchLatest(false)
	}
}

// fetchLatest requests the history without a thread id until the response is the history of the
// current thread; see [Conversation.pollHistory]. If before is true and the last history states its
// day, fetchLatest then requests a history of a day before the next day, again without a thread id.
func (t *Conversation) fetchLatest(before bool) {
	mine := t.Thread
	t.Thread = ""
	page := t.pollHistory(func(page spec.Event) bool { return page.Thread == mine })
	if day, err := time.Parse(time.DateOnly, page.Day); before && err == nil {
		t.fetchHistory(spec.Event{Day: day.AddDate(0, 0, 1).Format(time.DateOnly)})
	}
	t.Thread = mine
}

// fetchHistory sends one request that it builds from the template "history" and e. It returns the
// history in the response, or the zero event if there is none.
func (t *Conversation) fetchHistory(e spec.Event) (page spec.Event) {
	t.SendTemplate("history", e)
	return t.LastEvent(spec.History)
}

// historyTimeout is the time, after the end of a run, within which a server must add all messages
// of the run to the history.
const historyTimeout = 5 * time.Second

// pollHistory requests the history of the current thread repeatedly, until isComplete returns true
// for the history or [historyTimeout] has passed. It returns the history in the last response, or
// the zero event if there is none. It stops early if a response contains no history and its status
// is not 404 (Not Found), or if the conversation ends. If an earlier call in the test run received
// no history within that time, pollHistory sends only one request.
func (t *Conversation) pollHistory(isComplete func(page spec.Event) bool) (page spec.Event) {
	var first time.Time // when the first response was complete, so that the requests span historyTimeout
	for {
		late := t.isHistoryLate(first)
		if page = t.fetchHistory(spec.Event{}); page.Kind == "" && t.LastEvent(spec.HTTPResponse).StatusCode != 404 {
			return page
		}
		if first.IsZero() {
			first = time.Now()
		}
		if late && page.Kind == "" {
			t.target.resources.historyMissing.Store(true) // so that other conversations do not wait
		}
		if page.Kind != "" && isComplete(page) || late || !t.Sleep(historyTimeout/20) {
			return page
		}
	}
}

// isHistoryLate reports whether to stop waiting for a history. The argument first is the time at
// which the first response ended, or the zero time if there was none yet. The result is true if
// [historyTimeout] has passed since first, or if another wait in the test run has ended without a
// history.
func (t *Conversation) isHistoryLate(first time.Time) bool {
	return !first.IsZero() && time.Since(first) >= historyTimeout || t.target.resources.historyMissing.Load()
}

// noteNewThread requests the history of the current thread, if the target has histories. It is
// called before the first run of a thread. The response tells checks that the server does not know
// the thread yet, so that the history of the thread can contain only messages of the conversation.
func (t *Conversation) noteNewThread() {
	if t.canSend("history") {
		t.SendTemplate("history", spec.Event{})
	}
}

// completeHistory requests the history of the current thread repeatedly, until it contains the
// messages of all runs or [historyTimeout] has passed. It does not repeat the request if the
// history has further pages. It returns the last history. If the dialect or the target does not
// support histories, it sends nothing and returns the zero event.
func (t *Conversation) completeHistory() spec.Event {
	if !t.canSend("history") {
		return spec.Event{}
	}
	return t.pollHistory(func(page spec.Event) bool { return page.HasMore == "true" || t.isHistoryComplete(page) })
}

// completeHistories requests the histories of the given threads repeatedly, until each of them
// contains the messages of all runs or has further pages. It stops after [historyTimeout]. If the
// dialect or the target does not support histories, it sends nothing.
func (t *Conversation) completeHistories(threads []string) {
	if !t.canSend("history") {
		return
	}
	var first time.Time // when the first histories were complete, as in pollHistory
	for {
		late := t.isHistoryLate(first)
		var incomplete []string
		for _, t.Thread = range threads {
			if page := t.fetchHistory(spec.Event{}); page.HasMore != "true" && !t.isHistoryComplete(page) {
				incomplete = append(incomplete, t.Thread)
			}
		}
		if first.IsZero() {
			first = time.Now()
		}
		if threads = incomplete; len(threads) == 0 || late || !t.Sleep(historyTimeout/10) {
			return
		}
	}
}

// isHistoryComplete reports whether page, the history of a thread, seems to contain the messages of
// all runs of the thread, so that it need not be requested again. It does not verify that the
// history is correct; checks do.
func (t *Conversation) isHistoryComplete(page spec.Event) bool {
	held := map[spec.Kind]*strings.Builder{spec.HistoryUser: {}, spec.HistoryAssistant: {}, spec.HistoryTool: {}}
	images := 0
	for _, m := range page.Parts {
		if all := held[m.Kind]; all != nil {
			all.WriteString(m.Text)
		}
		if m.Kind == spec.HistoryUser {
			images += len(m.Parts)
		}
	}
	var request spec.Event
	var answer strings.Builder
	messages := 0 // number of messages in the answer
	runs, prompts := map[string]bool{}, map[string]int{}
	results := map[string]bool{} // of all runs, by run and call
	// holds reports whether the messages of kind k in the history contain text. If isJoined is
	// true, white space is ignored, because a server may join several texts in its own way.
	holds := func(k spec.Kind, text string, isJoined bool) bool {
		all := held[k].String()
		return strings.Contains(all, text) || isJoined && strings.Contains(rules.WithoutSpace(all), rules.WithoutSpace(text))
	}
	for e := range t.Events(math.MaxInt) {
		switch {
		case e.Kind == spec.HTTPRequest:
			request = e
			answer.Reset()
			messages = 0
		case request.Thread != page.Thread:
		case e.Kind == spec.RunAccepted:
			user, _ := request.Last(spec.InputUser)
			sent := t.countExpectedImages(user)
			if !runs[request.Run] { // the first request for this run
				runs[request.Run] = true
				prompts[request.Text]++
			}
			all := held[spec.HistoryUser].String()
			if n := prompts[request.Text]; n > 1 && strings.Count(all, request.Text) < n && rules.IsOneString(request) {
				return false
			}
			if !holds(spec.HistoryUser, request.Text, !rules.IsOneString(request)) || images < sent {
				return false
			}
		case e.Kind == spec.ToolResult:
			results[request.Run+"\x00"+e.Call] = true
			if len(results) > len(page.PartsOf(spec.HistoryTool)) {
				return false
			}
		case e.Kind == spec.MessageStart:
			messages++
		case e.Kind == spec.MessageDelta:
			answer.WriteString(e.Text)
		case e.Kind == spec.RunEnd && !holds(spec.HistoryAssistant, answer.String(), messages > 1):
			return false
		}
	}
	return true
}

// countExpectedImages returns the number of images that the history must contain for user, a
// message in a request. If the dialect has a requirement with the check
// [rules.HistoryHasAllImages], this is the number of different images in the message. Otherwise, it
// is at most 1.
func (t *Conversation) countExpectedImages(user spec.Event) int {
	n := rules.CountImages(user)
	hasAll := slices.ContainsFunc(t.dialect.Requirements, func(r spec.Requirement) bool {
		return slices.Contains(r.Checks, rules.HistoryHasAllImages.ID)
	})
	if hasAll {
		return n
	}
	return min(1, n)
}
