package rules

import (
	"maps"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// eachScriptedRun lets a rule about content judge each answer of a scripted target, when
// the conversation is over. The run may be asked for and told by different
// requests; one that was canceled owes nobody an answer, nor does a request that was
// refused, nor one that comes in place of what the conversation waits for, nor one that
// was turned down while the conversation may have been busy.
func eachScriptedRun(judge func(p *spec.Pass, a *assembledRun)) watchFunc {
	return func(p *spec.Pass) func(spec.Event) {
		t, observe := spec.SharedState(p, "answers", func() (*threadTracker, func(spec.Event)) {
			t := newThreadTracker(keeper(p))
			return t, t.observe
		})
		return func(e spec.Event) {
			if observe(e); e.Kind != "" {
				return
			}
			for _, a := range t.finishedRuns {
				if a.request.Principal == spec.PrimaryUser && !a.skipsPendingInput && !a.failedWhileBusy() && !a.wasCutOff() && (!a.refused || a.isToFail()) && !t.isCanceled(a) {
					judge(p, a)
				}
			}
		}
	}
}

// failedWhileBusy says that a request came while its conversation may have been busy with a run
// whose end nobody had heard, and got a failure and not a word: nothing follows from that.
func (a *assembledRun) failedWhileBusy() bool {
	return a.threadBusy && a.failure.Kind != "" && a.text() == ""
}

// wasCutOff reports whether an answer was cut off that was not to fail: what it lacks then has
// one cause, which other checks find.
func (a *assembledRun) wasCutOff() bool { return isBrokenTransfer(a.bodyEnd) && !a.isToFail() }

// isToFail says that a run was asked to fail.
func (a *assembledRun) isToFail() bool {
	prompt, _ := a.request.Prompt()
	return isFailurePrompt(prompt)
}

// isFailurePrompt reports whether a prompt asks for a failure.
func isFailurePrompt(prompt string) bool {
	name, _, _ := strings.Cut(prompt, " ")
	return name == "conformance:error" || name == "conformance:error-mid"
}

// threadTracker follow what is asked and answered in all conversations.
type threadTracker struct {
	threads          map[threadKey]*threadState // those whose thread has a name
	possiblePrompts  map[string][]string        // thread → what may have been said there, and may be recalled
	startsRuns       map[string]bool            // operation → whether it asks for runs, as far as was seen
	runCount         int                        // all of them, by the requests that were taken
	hasRunEnd        bool                       // the end of a run is an event
	hasUnknownThread bool                       // a request was taken, and nobody knows for which of them
	startedRuns      map[string]*assembledRun   // run → what it was asked
	finishedRuns     []*assembledRun
	cancels          []spec.Event
	keep             func(spec.Event) *spec.Event

	request      spec.Event    // the exchange that is being told
	requestedRun *assembledRun // what it asks, if it asks anything
	streamedRun  *assembledRun // what it tells
	accepted     bool
	startedRun   bool   // it was answered as if it had opened a run
	threadID     string // where it belongs, as far as is known
}

// An threadKey tells conversations apart: what one user said in a thread is not what another
// said in a thread of the same name, whether the request names the user or its credentials do.
type threadKey struct {
	thread, user string
	principal    spec.Principal
}

// A threadState is one conversation, as far as its requests were taken.
type threadState struct {
	prompts     []userPrompt  // by the user
	lastRun     *assembledRun // to the last request
	lastPrompt  string        // the last request's prompt; "" if it was none
	pendingKind spec.Kind     // what it waits for: a resume, or the result of a tool of the client
}

// An userPrompt is what the user said, and in which request.
type userPrompt struct {
	text string
	run  *assembledRun
}

func newThreadTracker(keep func(spec.Event) *spec.Event) *threadTracker {
	return &threadTracker{keep: keep, threads: map[threadKey]*threadState{}, possiblePrompts: map[string][]string{}, startsRuns: map[string]bool{}, startedRuns: map[string]*assembledRun{}}
}

func (t *threadTracker) currentKey() threadKey {
	return threadKey{t.threadID, t.request.User, t.request.Principal}
}

// discardPrompts forgets what was said where a request with a fault was taken: who knows what was
// understood, and, if that cannot be read, in which conversation.
func (t *threadTracker) discardPrompts() {
	if t.hasUnknownThread = t.hasUnknownThread || t.threadID == ""; t.threadID != "" && t.threads[t.currentKey()] == nil {
		t.threads[t.currentKey()] = &threadState{}
	}
	for key, state := range t.threads {
		if key.thread == t.threadID || t.threadID == "" {
			state.prompts, state.lastPrompt = nil, ""
		}
	}
}

func (t *threadTracker) observe(e spec.Event) {
	switch {
	case e.Kind == spec.HTTPRequest:
		t.request, t.requestedRun, t.streamedRun, t.accepted, t.startedRun, t.threadID = e, nil, nil, false, false, e.Thread
		if e.Scripted && e.Valid() {
			if t.startsRuns[e.Operation] = t.startsRuns[e.Operation] || len(e.Parts) > 0; len(e.Parts) > 0 {
				t.requestedRun = t.newRun(e)
			}
		}
	case e.Kind == spec.HTTPResponse:
		t.observeResponse(e)
	case e.Kind == spec.CancelAccepted:
		t.cancels = append(t.cancels, t.request)
	case e.Kind == spec.RunAccepted:
		t.startedRun = true
	case e.IsFrame():
		t.observeFrame(e)
	case e.Kind == spec.BodyEnd:
		t.observeBodyEnd(e)
	}
}

func (t *threadTracker) observeFrame(e spec.Event) {
	if t.threadID == "" { // the server has made one
		t.threadID = e.Thread
	}
	if t.streamedRun != nil {
		t.streamedRun.observe(e)
	}
	if t.hasRunEnd = t.hasRunEnd || e.Kind == spec.RunEnd; isTerminal(e) {
		t.startedRuns[runKey(t.request)].markEnded(e)
	}
	t.accepted = t.accepted && (e.Kind != spec.RunRefused || e.Frame > 0)
}

// markEnded notes that the end of a run was heard.
func (a *assembledRun) markEnded(e spec.Event) {
	if a != nil && !a.ended {
		a.ended, a.succeeded, a.endedAt = true, e.Kind == spec.RunEnd || e.Kind == spec.BodyEnd, e.At
	}
}

// newRun is what a request asks, and what was asked before it.
func (t *threadTracker) newRun(request spec.Event) *assembledRun {
	before := t.threads[t.currentKey()]
	known := slices.ContainsFunc(slices.Collect(maps.Keys(t.threads)), func(key threadKey) bool { return key.thread == request.Thread })
	if before == nil || request.Thread == "" { // what has no name is new
		before = &threadState{}
	}
	_, givesPending := request.Last(before.pendingKind)
	a := &assembledRun{request: request, keep: t.keep, skipsPendingInput: before.pendingKind != "" && !givesPending, threadBusy: t.isBusy(request.Thread)}
	earlier, asked := t.certainPrompts(before, request), before.lastPrompt
	a.hasOtherThreads = t.runCount > 0 && !known && len(t.possiblePrompts[request.Thread]) == 0 && !t.hasUnknownThread
	if before.lastRun != nil && !before.lastRun.succeeded { // nobody knows what came of it
		asked = ""
	}
	priorCount := len(earlier)
	for _, part := range request.Parts {
		if part.Kind == spec.InputUser {
			earlier, asked = append(earlier, part.Text), part.Text
		}
	}
	if _, ok := request.Prompt(); !ok {
		a.continuedPrompt = asked
	} else if n := len(earlier); n > 1 {
		if a.previousPrompt, a.hasPreviousPrompt = earlier[n-2], true; n-2 < priorCount { // else the request itself brings it
			a.possiblePrompts = slices.Clone(t.possiblePrompts[request.Thread])
		}
	}
	return a
}

// isBusy reports whether a run may be going on in a thread: the end of the last one that a
// user asked for there was not heard.
func (t *threadTracker) isBusy(thread string) bool {
	for key, state := range t.threads {
		if key.thread == thread && thread != "" && state.lastRun != nil && !state.lastRun.ended {
			return true
		}
	}
	return false
}

// certainPrompts returns what the user is certain to have said in a conversation before a request.
// A message is in doubt if the good end of its run had not been heard by then, if the run
// was canceled, or if it came in place of what the conversation waited for: the server may
// have kept it, may keep it later, or not at all. So is what another user said in a thread
// of the same name.
func (t *threadTracker) certainPrompts(state *threadState, request spec.Event) (certain []string) {
	state.prompts = slices.DeleteFunc(state.prompts, func(s userPrompt) bool {
		uncertain := !s.run.succeeded || s.run.endedAt > request.At || s.run.skipsPendingInput || t.isCanceled(s.run)
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

// addPossiblePrompt notes what may have been said in a thread.
func (t *threadTracker) addPossiblePrompt(thread, text string) {
	if !slices.Contains(t.possiblePrompts[thread], text) {
		t.possiblePrompts[thread] = append(t.possiblePrompts[thread], text)
	}
}

// observeResponse finds out whose answer comes.
func (t *threadTracker) observeResponse(e spec.Event) {
	t.accepted = e.StatusCode/100 == 2
	streams := e.StatusCode == 200 && e.IsStream()
	t.startedRun = streams
	before := t.startedRuns[runKey(t.request)]
	switch {
	case !t.accepted:
		if user, ok := t.request.Last(spec.InputUser); ok && t.requestedRun != nil && (e.StatusCode == 0 || e.StatusCode/100 == 5) {
			t.addPossiblePrompt(t.threadID, user.Text) // it failed, and nobody knows how far it came
		}
		t.requestedRun = nil
	case t.requestedRun != nil && streams:
		t.streamedRun = t.requestedRun
		t.startedRuns[runKey(t.request)] = t.requestedRun
	case t.requestedRun != nil && t.request.Run != "" && before != nil: // the same run, asked for again
		t.requestedRun = nil
	case t.requestedRun != nil:
		t.startedRuns[runKey(t.request)] = t.requestedRun
	case before != nil && streams && t.request.IsStream() && t.request.Valid() && t.request.Cursor == "":
		a := *before
		t.streamedRun = &a
	}
	if t.streamedRun != nil {
		t.streamedRun.streamedBy = t.request
	}
}

// observeBodyEnd notes an answer, and what the conversation has come to.
func (t *threadTracker) observeBodyEnd(e spec.Event) {
	if t.streamedRun != nil && (isCleanEnd(e) || isBrokenTransfer(e)) && t.request.PollLimit == "" {
		t.streamedRun.bodyEnd = e
		t.finishedRuns = append(t.finishedRuns, t.streamedRun)
	}
	a := t.requestedRun
	if starts, seen := t.startsRuns[t.request.Operation]; a == nil && t.accepted && !t.request.Valid() && (starts || !seen && t.startedRun) {
		t.discardPrompts()
	}
	if a == nil || a.refused {
		return
	}
	if a == t.streamedRun && !t.hasRunEnd && isCleanEnd(e) { // where the end of the body is that of the run
		a.markEnded(e)
	}
	t.runCount++
	if t.threadID == "" {
		return
	}
	if t.threads[t.currentKey()] == nil {
		t.threads[t.currentKey()] = &threadState{}
	}
	state := t.threads[t.currentKey()]
	state.lastRun = a
	state.lastPrompt, _ = a.request.Prompt()
	if user, ok := a.request.Last(spec.InputUser); ok { // whatever stands after it
		state.prompts = append(state.prompts, userPrompt{user.Text, a})
	}
	switch {
	case len(a.interrupts) > 0:
		state.pendingKind = spec.InputResume
	case a.hasOpenClientCall():
		state.pendingKind = spec.InputToolResult
	case !a.skipsPendingInput:
		state.pendingKind = ""
	}
}

// hasOpenClientCall says that an answer calls a tool that the request offers, and leaves the result
// to the client.
func (a *assembledRun) hasOpenClientCall() bool {
	return slices.ContainsFunc(a.toolCalls, func(u *toolCall) bool {
		return !u.hasResult && slices.ContainsFunc(a.request.Parts, func(p spec.Event) bool { return p.Kind == spec.InputTool && p.Name == u.name })
	})
}

// isCanceled says that somebody has stopped the run of an answer.
func (t *threadTracker) isCanceled(a *assembledRun) bool {
	for _, cancel := range t.cancels {
		if (completedStream{request: a.streamedBy, bodyEnd: a.bodyEnd}).isCanceledBy(cancel) {
			return true
		}
	}
	return false
}
