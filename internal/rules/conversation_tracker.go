package rules

import (
	"errors"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// eachScriptedRun returns a newWatcherFunc that calls judge, at the end of a conversation, for each
// run of [spec.PrimaryUser] on a scripted target, that is, a server that understands the test
// prompts (see [spec.Trace.Scripted]). The stream of the run may be the response to a later request
// than the one that started the run.
//
// Runs whose outcome proves nothing about the target are left out:
//   - runs whose prompt the target does not follow (see [spec.TargetFacts])
//   - runs that were canceled
//   - runs that were refused or cut off, unless the prompt asked for a failure
//   - runs whose request did not contain the input for which the thread was waiting, except those
//     in which the target takes the prompt for the result of a tool
//   - runs that failed without any text while another run of the thread may have been active,
//     unless they ended as canceled
func eachScriptedRun(judge func(p *spec.Pass, a *assembledRun)) newWatcherFunc {
	return judgeAtEnd(func(p *spec.Pass) *storedPromptTracker {
		exchanges := exchangesOf(p)
		return spec.Shared(p, "scripted runs", func() (*storedPromptTracker, func(spec.Event)) {
			t := &storedPromptTracker{
				exchanges: exchanges, keep: keeper(p), threads: map[userThreadKey]*threadState{},
				possiblePrompts: map[string][]string{}, startsRuns: map[string]bool{}, startedRuns: map[string]*assembledRun{},
			}
			return t, t.observe
		})
	}, func(p *spec.Pass, t *storedPromptTracker) {
		for _, a := range t.finishedRuns {
			failedWhileBusy := a.threadBusy && a.failure.Kind != "" && a.failure.Status != "canceled" && a.text() == ""
			wasCutOff := isBrokenTransfer(a.bodyEnd) // other checks report that
			inconclusive := failedWhileBusy || (wasCutOff || a.refused) && !a.isToFail() ||
				a.skipsPendingInput && !a.mistakesPrompt()
			inconclusive = inconclusive || a.request.Facts().Lacked
			if a.request.Principal == spec.PrimaryUser && !inconclusive && !t.isCanceled(a) {
				judge(p, a)
			}
		}
	})
}

// followsPrompt reports whether the target understands the test prompts and follows that of the
// request, if it has one; see [spec.TargetFacts].
func followsPrompt(request spec.Event) bool {
	return request.Facts().Scripted && !request.Facts().Lacked
}

// mistakesPrompt reports whether the target repeats the prompt of the run as if it were the result
// of a client tool. Other results that the request does not contain may come from a framework,
// which adds one to each call that was left open.
func (a *assembledRun) mistakesPrompt() bool {
	prompt, ok := a.request.Prompt()
	return ok && a.text() == "tool said: "+prompt
}

// isToFail reports whether the prompt of the run asks for a failure.
func (a *assembledRun) isToFail() bool {
	prompt, _ := a.request.Prompt()
	return IsFailurePrompt(prompt)
}

// IsFailurePrompt reports whether prompt is one of the test prompts that ask for a failure.
func IsFailurePrompt(prompt string) bool {
	name, _, _ := strings.Cut(prompt, " ")
	return name == "conformance:error" || name == "conformance:error-mid"
}

// A storedPromptTracker assembles the runs of a conversation. It also tracks, for each thread,
// which prompts the server has certainly stored, and which it may or may not have stored.
type storedPromptTracker struct {
	threads          map[userThreadKey]*threadState // the threads whose ids are known
	possiblePrompts  map[string][]string            // by thread id: prompts that the server may or may not have stored
	startsRuns       map[string]bool                // by operation: whether its valid requests start runs (have input)
	runCount         int                            // number of runs that were accepted
	states           []string                       // the states that these runs began and ended with, as JSON text
	hasRunEnd        bool                           // whether any run.end event was seen; not all dialects have them
	hasUnknownThread bool                           // whether the thread of some accepted request is unknown
	startedRuns      map[string]*assembledRun       // by runKey: the latest run that was accepted
	finishedRuns     []*assembledRun                // the runs whose stream has ended
	exchanges        *exchangeTracker
	keep             func(spec.Event) *spec.Event // copies an event that is retained; see keeper

	// The current exchange.
	request      spec.Event
	requestedRun *assembledRun // the run for which the request asks; nil if it asks for none
	streamedRun  *assembledRun // the run that the response streams, or whose failure it reports; nil if there is none
	accepted     bool          // whether the request was accepted
	startedRun   bool          // whether the response is a stream or accepts a run
	threadID     string        // of the request or, if the request has none, of the response
}

// A userThreadKey identifies a thread by its id and its user, because threads of different users
// may have the same id. The field user is the user id in the request, or "" if the request has
// none. In that case, only principal identifies the user.
type userThreadKey struct {
	thread, user string
	principal    spec.Principal
}

// A threadState is the state of one thread that results from the requests that the server
// accepted.
type threadState struct {
	prompts     []promptedRun // in order
	lastRun     *assembledRun // the run of the last request; nil if there was none
	lastPrompt  string        // the prompt of the last request; "" if it had none
	pendingKind spec.Kind     // what the thread waits for: InputResume, InputToolResult, or "" for nothing
	unknownLast bool          // whether the last request was accepted although it was invalid
}

// A promptedRun is a prompt together with the run that it started.
type promptedRun struct {
	text string // the prompt
	run  *assembledRun
}

// currentKey returns the key that the thread of the current exchange has in t.threads.
func (t *storedPromptTracker) currentKey() userThreadKey {
	return userThreadKey{t.threadID, t.request.User, t.request.Principal}
}

// discardPrompts forgets the prompts of the current thread or, if the id of that thread is unknown,
// of all threads. It is called after the server has accepted an invalid request, because it is
// unknown how the server understood that request.
func (t *storedPromptTracker) discardPrompts() {
	if t.hasUnknownThread = t.hasUnknownThread || t.threadID == ""; t.threadID != "" && t.threads[t.currentKey()] == nil {
		t.threads[t.currentKey()] = &threadState{}
	}
	for key, state := range t.threads {
		if key.thread == t.threadID || t.threadID == "" {
			state.prompts, state.lastPrompt, state.unknownLast = nil, "", true
		}
	}
}

// observe updates the tracker with e, the next event of the conversation.
func (t *storedPromptTracker) observe(e spec.Event) {
	switch {
	case e.Kind == spec.HTTPRequest:
		t.request, t.requestedRun, t.streamedRun = e, nil, nil
		t.accepted, t.startedRun, t.threadID = false, false, e.Thread
		if e.Facts().Scripted && e.Valid() {
			if t.startsRuns[e.Operation] = t.startsRuns[e.Operation] || len(e.Parts) > 0; len(e.Parts) > 0 {
				t.requestedRun = t.newRun(e)
			}
		}
	case e.Kind == spec.HTTPResponse:
		t.observeResponse(e)
	case e.Kind == spec.RunAccepted:
		t.startedRun = true
	case e.IsFrame():
		t.observeFrame(e)
	case e.Kind == spec.BodyEnd:
		t.observeBodyEnd(e)
	}
}

// observeFrame updates the tracker, and the run that is being streamed, with the frame e.
func (t *storedPromptTracker) observeFrame(e spec.Event) {
	if t.threadID == "" && e.Thread != "" { // the server assigned one
		t.threadID = e.Thread
		if t.streamedRun != nil {
			t.streamedRun.madeThread = !t.knowsThread(e.Thread)
		}
	}
	if t.streamedRun != nil {
		t.streamedRun.observe(e)
	}
	if t.hasRunEnd = t.hasRunEnd || e.Kind == spec.RunEnd; isTerminal(e) {
		t.startedRuns[runKey(t.request)].markEnded(e)
	}
	t.accepted = t.accepted && (e.Kind != spec.RunRefused || e.Frame > 0)
}

// markEnded records that e ended the run, unless the run has already ended. If a is nil, markEnded
// does nothing.
func (a *assembledRun) markEnded(e spec.Event) {
	if a != nil && !a.ended {
		a.ended, a.succeeded, a.endedAt = true, e.Kind == spec.RunEnd || e.Kind == spec.BodyEnd, e.At
	}
}

// newRun returns a new run for a request, together with what is known about the earlier prompts of
// the thread. It does not add the run to the tracker. It may, however, move some of these prompts
// to t.possiblePrompts; see certainPrompts.
func (t *storedPromptTracker) newRun(request spec.Event) *assembledRun {
	before := t.threads[t.currentKey()]
	known := t.knowsThread(request.Thread)
	if before == nil || request.Thread == "" { // a request without a thread starts a new one
		before = &threadState{}
	}
	givesPending := givesNew(request, before.pendingKind)
	a := &assembledRun{
		request: request, keep: t.keep, threadBusy: t.isBusy(request.Thread),
		skipsPendingInput: before.pendingKind != "" && !givesPending,
	}
	earlier, asked := t.certainPrompts(before, request), before.lastPrompt
	noPrompts := !known && len(t.possiblePrompts[request.Thread]) == 0
	if a.hasOtherThreads = t.runCount > 0 && noPrompts && !t.hasUnknownThread; a.hasOtherThreads {
		a.otherStates = t.states
	}
	if before.lastRun != nil && !before.lastRun.succeeded { // the server may not wait for its continuation
		asked = ""
	}
	priorCount := len(earlier)
	var last []string // the texts of the last message of the user
	for _, part := range request.Parts {
		if part.Kind == spec.InputUser {
			earlier, asked = append(earlier, part.Text), part.Text
			a.previousTexts, last = last, part.Texts
		}
	}
	if _, ok := request.Prompt(); !ok {
		a.continuedPrompt = asked
	} else if n := len(earlier); n > 1 {
		// The server may have read a prompt of an invalid request that this request does not
		// repeat, and need not answer with an empty text.
		a.previousPrompt = earlier[n-2]
		a.hasPreviousPrompt = a.previousPrompt != "" && (n-2 < priorCount || !before.unknownLast)
		a.possiblePrompts = t.otherPrompts(request.Thread, earlier[:n-1], priorCount)
	}
	return a
}

// knowsThread reports whether an earlier run, of any user, was in the thread with the given id.
func (t *storedPromptTracker) knowsThread(id string) bool {
	for key := range t.threads {
		if key.thread == id {
			return true
		}
	}
	return false
}

// givesNew reports whether a request has a part of kind k that does not merely repeat a part of an
// earlier request. A part counts as repeated if a message of the assistant comes after it in
// request.
func givesNew(request spec.Event, k spec.Kind) (gives bool) {
	for _, part := range request.Parts {
		gives = part.Kind == k || gives && part.Kind != spec.InputAssistant
	}
	return gives
}

// otherPrompts returns the prompts, apart from the last element of earlier, that the server may
// take for the previous prompt of a request. The element "nothing" means that the server may know
// no previous prompt: a server that understands the test prompts then answers "nothing" when it is
// asked for that prompt.
//
// The slice earlier lists the prompts before that of the request, oldest first, and must not be
// empty. The server has certainly stored its first priorCount elements; the others are only
// repeated in the request. The argument thread is the id of the thread that the request names.
func (t *storedPromptTracker) otherPrompts(thread string, earlier []string, priorCount int) []string {
	last, possible := earlier[len(earlier)-1], t.possiblePrompts[thread]
	switch {
	case len(earlier) <= priorCount:
		return slices.Clone(possible)
	case slices.Contains(possible, last) && priorCount > 0:
		return append(slices.Clone(possible), earlier[priorCount-1])
	case slices.Contains(possible, last):
		return append(slices.Clone(possible), "nothing")
	case slices.Contains(earlier[:priorCount], last): // repeated
		return slices.Clone(possible)
	}
	return nil
}

// isBusy reports whether a run may be active in the thread with the given id. That is so if, for at
// least one user, the end of the last run in that thread was not seen. It returns false if thread
// is "".
func (t *storedPromptTracker) isBusy(thread string) bool {
	for key, state := range t.threads {
		if key.thread == thread && thread != "" && state.lastRun != nil && !state.lastRun.ended {
			return true
		}
	}
	return false
}

// certainPrompts returns, in order, the prompts that the server had certainly stored in a thread
// before it received request. The argument state is the state of the thread that request names.
//
// It moves the other prompts from state to t.possiblePrompts. These are the prompts of runs that
// were canceled, that had not succeeded before request was sent, or whose field skipsPendingInput
// is true. It also adds the prompts of other users in a thread with the same id to
// t.possiblePrompts.
func (t *storedPromptTracker) certainPrompts(state *threadState, request spec.Event) (certain []string) {
	state.prompts = slices.DeleteFunc(state.prompts, func(s promptedRun) bool {
		late := s.run.endedAt > request.At
		uncertain := !s.run.succeeded || late || s.run.skipsPendingInput || t.isCanceled(s.run)
		if uncertain {
			t.addPossiblePrompt(request.Thread, s.text)
		}
		return uncertain
	})
	for _, s := range state.prompts {
		certain = append(certain, s.text)
	}
	for key, other := range t.threads {
		if key.thread == request.Thread && other != state {
			for _, s := range other.prompts {
				t.addPossiblePrompt(request.Thread, s.text)
			}
		}
	}
	return certain
}

// addPossiblePrompt records that the server may have stored text as a prompt in the thread with the
// given id.
func (t *storedPromptTracker) addPossiblePrompt(thread, text string) {
	if !slices.Contains(t.possiblePrompts[thread], text) {
		t.possiblePrompts[thread] = append(t.possiblePrompts[thread], text)
	}
}

// observeResponse updates the tracker with e, the head of a response. The head shows whether the
// request was accepted, and which run the response streams, if any.
func (t *storedPromptTracker) observeResponse(e spec.Event) {
	t.accepted = e.StatusCode/100 == 2
	streams := e.StatusCode == 200 && e.IsStream()
	t.startedRun = streams
	before := t.startedRuns[runKey(t.request)]
	switch {
	case !t.accepted:
		failed := e.StatusCode == 0 || e.StatusCode/100 == 5
		if user, ok := t.request.Last(spec.InputUser); ok && t.requestedRun != nil && failed {
			t.addPossiblePrompt(t.threadID, user.Text) // the server may have stored it before it failed
		}
		if t.requestedRun != nil && failsBeforeStream(t.request, e) {
			t.streamedRun, t.requestedRun.failedEarly = t.requestedRun, true
		}
		t.requestedRun = nil
	case t.requestedRun != nil && streams:
		t.streamedRun = t.requestedRun
		t.startedRuns[runKey(t.request)] = t.requestedRun
	case t.requestedRun != nil && t.request.Run != "" && before != nil: // the same run again
		t.requestedRun = nil
	case t.requestedRun != nil:
		t.startedRuns[runKey(t.request)] = t.requestedRun
	case t.startsRuns[t.request.Operation]: // a run without a message
	case before != nil && streams && t.request.IsStream() && t.request.Valid() && t.request.Cursor == "":
		a := *before
		t.streamedRun = &a
	}
	if t.streamedRun != nil {
		t.streamedRun.streamedBy = t.request
	}
}

// observeBodyEnd updates the tracker with e, the event for the end of a body. It adds the streamed
// run to the finished runs, unless the client stopped reading before the end of the run or the
// request limits how long the stream may be idle.
func (t *storedPromptTracker) observeBodyEnd(e spec.Event) {
	if s := t.streamedRun; s != nil && t.request.PollLimit == "" {
		failed := s.failure.Kind != "" && errors.Is(e.Err, spec.ErrIdleTimeout)
		if isCleanEnd(e) || isBrokenTransfer(e) || failed {
			s.bodyEnd = e
			s.adoptSubagents()
			t.finishedRuns = append(t.finishedRuns, s)
		}
	}
	a := t.requestedRun
	starts, seen := t.startsRuns[t.request.Operation]
	mayStartRun := starts || !seen && t.startedRun
	if a == nil && t.accepted && !t.request.Valid() && mayStartRun {
		t.discardPrompts()
	}
	if a == nil && t.startedRun && len(t.request.Raw) > 0 && len(t.request.Parts) == 0 {
		t.addPossiblePrompt(t.threadID, "") // a run without a message; the server may have stored an empty one
	}
	if a == nil || a.refused {
		return
	}
	if a == t.streamedRun && !t.hasRunEnd && isCleanEnd(e) { // the end of the body is that of the run
		a.markEnded(e)
	}
	t.runCount++
	if a.request.State != "" {
		t.states = append(t.states, a.request.State)
	}
	if prompt, ok := a.request.Prompt(); ok {
		if patches, ok := strings.CutPrefix(prompt, "conformance:state "); ok {
			if state, _, ok := expectedState(a.request.State, patches); ok {
				t.states = append(t.states, state)
			}
		}
	}
	if t.threadID == "" {
		return
	}
	if t.threads[t.currentKey()] == nil {
		t.threads[t.currentKey()] = &threadState{}
	}
	state := t.threads[t.currentKey()]
	state.lastRun = a
	state.lastPrompt, _ = a.request.Prompt()
	if user, ok := a.request.Last(spec.InputUser); ok { // even if other input follows it
		state.prompts, state.unknownLast = append(state.prompts, promptedRun{user.Text, a}), false
	}
	isOpen := func(u *assembledCall) bool { return !u.hasResult && offersTool(a.request, u.name) }
	switch {
	case len(a.interrupts) > 0:
		state.pendingKind = spec.InputResume
	case slices.ContainsFunc(a.toolCalls, isOpen): // a call of a client tool
		state.pendingKind = spec.InputToolResult
	case !a.skipsPendingInput:
		state.pendingKind = ""
	}
}

// isCanceled reports whether an accepted cancel request of the conversation applies to the run a.
func (t *storedPromptTracker) isCanceled(a *assembledRun) bool {
	return t.exchanges.isCanceled(completedStream{request: a.streamedBy, bodyEnd: a.bodyEnd})
}
