package suites

import (
	"maps"
	"slices"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// A sequencePlayer plays the actions of a sequence in one conversation. It records the threads,
// runs, cursors and files to which later actions refer. The keys of its maps are the numbers of the
// actions that started the runs or uploaded the files.
type sequencePlayer struct {
	*Conversation
	threads        [threadCount + 1]string // thread ids; index 0 is not used
	runs           map[int]runIdentity
	seenCursors    map[int][]string     // cursors from which the run can be resumed
	pendingReplies map[int]pendingReply // reply to the tool call or interrupt of the run, if not sent yet
	uploads        map[int]uploadedFile
}

// A runIdentity identifies a run by its id and the id of its thread.
type runIdentity struct{ thread, id string }

// A pendingReply is a tool result, or an answer to an interrupt, that the client has not sent yet.
// The request is built from the template with the name in the field template and from the event.
type pendingReply struct {
	template string
	event    spec.Event
}

// An uploadedFile is a file that the server has stored. Requests about the file are built from its
// events.
type uploadedFile struct {
	thread  string     // id of the thread in which the file was uploaded
	sign    spec.Event // event for a request for a new signed URL
	message spec.Event // event for a message with the file; its ID is the latest URL of the file
}

// newSequencePlayer returns a player that sends its requests in the conversation t, in new threads.
// It sets t.Thread to the first of these threads.
func newSequencePlayer(t *Conversation) *sequencePlayer {
	a := &sequencePlayer{
		Conversation: t, runs: map[int]runIdentity{}, seenCursors: map[int][]string{},
		pendingReplies: map[int]pendingReply{}, uploads: map[int]uploadedFile{},
	}
	for i := range threadCount {
		a.threads[i+1] = t.NewID()
	}
	a.Thread = a.threads[1]
	return a
}

// play performs the actions one after the other. It ignores actions of unknown types.
func (a *sequencePlayer) play(actions []action) {
	for _, s := range actions {
		if i := slices.IndexFunc(actionTypes, func(d actionType) bool { return d.name == s.typeName }); i >= 0 {
			actionTypes[i].perform(a, s)
		}
	}
}

// selectRun makes the run that action n started, and the thread of that run, the current ones. It
// returns false if action n did not start a run.
func (a *sequencePlayer) selectRun(n int) bool {
	r, ok := a.runs[n]
	if ok {
		a.Thread, a.Run = r.thread, r.id
	}
	return ok
}

// startRun starts a run on the thread of action s in the same way as [Conversation.StartRun].
// Before that, it sends the replies that tool calls and interrupts on the thread have not received
// yet. If the server accepts the request, startRun records the run in a.runs and returns true.
func (a *sequencePlayer) startRun(s action, template string, e spec.Event) bool {
	a.answerPending(a.threads[s.subject])
	a.Thread = a.threads[s.subject]
	if !a.StartRun(template, e) {
		return false
	}
	a.runs[s.number] = runIdentity{a.Thread, a.Run}
	return true
}

// answerPending sends the replies that tool calls and interrupts on the thread with the given id
// have not received yet. It must be called before the client sends another message on that thread,
// because a server may refuse a message while a tool call or interrupt has no reply.
func (a *sequencePlayer) answerPending(thread string) {
	for _, n := range slices.Sorted(maps.Keys(a.pendingReplies)) {
		if a.runs[n].thread == thread {
			a.sendPendingReply(action{number: -n, subject: n}) // no action refers to the run of the reply
		}
	}
}

// addPendingReply records d as the pending reply to the tool call or interrupt that action s
// elicited. It does nothing if the last response was not read to its end.
func (a *sequencePlayer) addPendingReply(s action, d pendingReply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if last := len(a.trace.Exchanges) - 1; last >= 0 && isReadToEnd(a.trace.Exchanges[last].Response) {
		a.pendingReplies[s.number] = d
	}
}

// elicitReply returns the perform function of an action that elicits a tool call or an interrupt.
// The function does not send the reply, but records it in the field pendingReplies. The argument
// template is the name of the template for the reply.
func elicitReply(template string) func(*sequencePlayer, action) {
	return func(a *sequencePlayer, s action) {
		eliciting, e := a.elicitingAction(s, template)
		a.startAndReadRun(s, eliciting, e)
		if reply, ok := a.replyAction(s, template, e); ok {
			a.addPendingReply(s, pendingReply{template, reply})
		}
	}
}

// startAndReadRun starts a run in the same way as startRun, reads the stream of the run, and
// records its cursors.
func (a *sequencePlayer) startAndReadRun(s action, template string, e spec.Event) {
	if !a.startRun(s, template, e) {
		return
	}
	if !a.respondsWithStream(template) {
		a.ReadStream("", 0)
	}
	a.seenCursors[s.number] = append(a.seenCursors[s.number], a.resumableCursors(1)...)
}

// resumableCursors returns the cursors of the events in the last n exchanges, in the order of the
// events. It omits terminal events, because no events follow them.
func (a *sequencePlayer) resumableCursors(n int) (all []string) {
	for e := range a.Events(n) {
		if e.IsFrame() && e.Cursor != "" && e.Kind != spec.RunEnd && e.Kind != spec.RunError {
			all = append(all, e.Cursor)
		}
	}
	return all
}

// readRun reads the stream of the run that is the subject of s, in the same way as
// [Conversation.ReadStream], and records its cursors. If the run was not started, readRun does
// nothing.
func (a *sequencePlayer) readRun(s action, cursor string, events int) {
	if a.selectRun(s.subject) {
		a.ReadStream(cursor, events)
		a.seenCursors[s.subject] = append(a.seenCursors[s.subject], a.resumableCursors(1)...)
	}
}

// slowPromptArgs are the arguments of the test prompt "slow" for a run of ten deltas, 10 ms apart.
// Other requests can arrive during such a run. Timing checks do not judge it, because it is too
// short; on a busy machine they would fail.
const slowPromptArgs = "10 10"

// promptVariants lists the test prompts (docs/prompts.md) of the action "say", the simplest one
// first. The field words contains the arguments of a prompt, unless
// [sequencePlayer.promptArguments] determines them.
var promptVariants = []struct{ scenario, words string }{
	{"text", ""}, {"messages", ""}, {"tool", ""}, {"reasoning", ""}, {"empty", ""}, {"contents", ""}, {"many", "20"},
	{"error", ""}, {"error-mid", ""},
}

// sendPrompt starts a run on the thread of action s and reads its stream. s.choice selects one of
// the [promptVariants] that the target supports, and one of the dialect's templates for prompts. If
// the target supports no variant, sendPrompt sends nothing.
func (a *sequencePlayer) sendPrompt(s action) {
	variants := slices.Clone(promptVariants)
	variants = slices.DeleteFunc(variants, func(v struct{ scenario, words string }) bool {
		return a.target.lacksCapability(v.scenario)
	})
	templates := []string{"prompt"}
	o, _ := a.dialect.TemplateOperation("prompt")
	for _, template := range o.Templates() {
		if template != "prompt" && !isReplyTemplate(template) {
			templates = append(templates, template)
		}
	}
	if len(variants) == 0 {
		return
	}
	prompt := variants[s.choice%uint64(len(variants))]
	e := a.PromptEvent(prompt.scenario, a.promptArguments(s, prompt.scenario, prompt.words))
	e.Name = clientTools[s.choice>>12%uint64(len(clientTools))]
	a.startAndReadRun(s, templates[s.choice>>8%uint64(len(templates))], e)
}

// disconnect starts a run on the thread of action s and closes the connection after one to five
// events of the response. It is only for dialects in which the response is the stream of the run.
func (a *sequencePlayer) disconnect(s action) {
	a.answerPending(a.threads[s.subject])
	a.Thread, a.Run = a.threads[s.subject], a.NewID()
	r := a.BuildRequest("prompt", a.PromptEvent("slow", slowPromptArgs))
	if a.send(r, wire.StopWhen{Frames: 1 + int(s.choice%5)}) {
		a.runs[s.number] = runIdentity{a.Thread, a.Run}
	}
}

// hasRun reports whether a run was started on the thread with the given id.
func (a *sequencePlayer) hasRun(thread string) bool {
	for _, r := range a.runs {
		if r.thread == thread {
			return true
		}
	}
	return false
}

// runConcurrently starts a slow run on the first thread. While the stream of that run is open, it
// starts another run on the second thread and reads its stream. It records the first run in a.runs
// as the run of action s.
func (a *sequencePlayer) runConcurrently(s action) {
	slow, text := a.PromptEvent("slow", slowPromptArgs), a.PromptEvent("text", a.text(s))
	template := "listen"
	if a.respondsWithStream("prompt") {
		template = "prompt"
	}
	// begin returns the request for the stream of a run on thread i. It starts the run first,
	// unless the stream request itself does.
	begin := func(i int, e spec.Event) (stream spec.Request, ok bool) {
		a.answerPending(a.threads[i])
		if a.Thread = a.threads[i]; template == "prompt" {
			a.Run = a.NewID()
			return a.BuildRequest(template, e), true
		}
		ok = a.StartRun("prompt", e)
		return a.BuildRequest(template, spec.Event{}), ok
	}
	first, ok := begin(1, slow)
	if !ok {
		return
	}
	a.runs[s.number] = runIdentity{a.Thread, a.Run}
	if second, ok := begin(2, text); ok {
		a.runs[-s.number] = runIdentity{a.Thread, a.Run} // no action refers to this run
		a.DuringStream(first, 1, func() { a.Send(second) })
	}
}

// sendPendingReply sends the pending reply to the tool call or interrupt that action s.subject
// elicited, and reads the stream of the run. It does nothing if that action has no pending reply.
func (a *sequencePlayer) sendPendingReply(s action) {
	reply, owed := a.pendingReplies[s.subject]
	if !owed {
		return
	}
	delete(a.pendingReplies, s.subject)
	thread := slices.Index(a.threads[:], a.runs[s.subject].thread)
	a.startAndReadRun(action{number: s.number, subject: thread}, reply.template, reply.event)
}
