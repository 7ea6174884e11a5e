package suites

import (
	"maps"
	"slices"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// A sequencePlayer plays the actions of a sequence in one conversation. It keeps the threads, runs,
// cursors and files to which later actions refer.
type sequencePlayer struct {
	*Conversation
	threads        [threadCount + 1]string // thread ids; index 0 is not used
	runs           map[int]runRef          // by the number of the action that started the run
	seenCursors    map[int][]string        // by the number of that action: cursors from which the run can be resumed
	pendingReplies map[int]pendingInput    // by the number of that action: reply that the client still has to send
	uploads        map[int]uploadedFile    // by the number of the action that uploaded the file
}

// A runRef identifies a run by its id and the id of its thread.
type runRef struct{ thread, id string }

// A pendingInput is a tool result or an answer to an interrupt that the client still has to send.
// It holds the name of the template and the event with the values for the request.
type pendingInput struct {
	template string
	event    spec.Event
}

// An uploadedFile is a file that the server has stored. It holds the id of the thread in which the
// file was uploaded, and the events with the values for requests that refer to the file.
type uploadedFile struct {
	thread  string
	sign    spec.Event // values for a request that asks for a new signed URL
	message spec.Event // values for a message with the file; its ID is the latest URL of the file
}

// newSequencePlayer returns a player that sends its requests in the conversation t, on new threads.
// The current thread of t becomes the first of these threads.
func newSequencePlayer(t *Conversation) *sequencePlayer {
	a := &sequencePlayer{
		Conversation: t, runs: map[int]runRef{}, seenCursors: map[int][]string{},
		pendingReplies: map[int]pendingInput{}, uploads: map[int]uploadedFile{},
	}
	for i := range threadCount {
		a.threads[i+1] = t.NewID()
	}
	a.Thread = a.threads[1]
	return a
}

// play performs the actions in order. Actions whose type is unknown are skipped.
func (a *sequencePlayer) play(actions []action) {
	for _, s := range actions {
		if i := slices.IndexFunc(actionTypes, func(d actionType) bool { return d.name == s.typeName }); i >= 0 {
			actionTypes[i].perform(a, s)
		}
	}
}

// selectRun changes the current thread and run to those of the run that action n started. It
// returns false, and changes nothing, if action n did not start a run.
func (a *sequencePlayer) selectRun(n int) bool {
	r, ok := a.runs[n]
	if ok {
		a.Thread, a.Run = r.thread, r.id
	}
	return ok
}

// startRun sends the replies that are pending on the thread of action s, and then starts a run on
// that thread. The request is that of the template, with the values in e in place of its
// placeholders. If the server accepts the request, startRun stores the run in a.runs, under the
// number of s, and returns true. Otherwise it returns false.
func (a *sequencePlayer) startRun(s action, template string, e spec.Event) bool {
	a.answerPending(a.threads[s.subject])
	a.Thread = a.threads[s.subject]
	if !a.StartRun(template, e) {
		return false
	}
	a.runs[s.number] = runRef{a.Thread, a.Run}
	return true
}

// answerPending sends the replies that the client still has to send on the thread with the given
// id. It must be called before the client sends another message on that thread. The documents do
// not define what happens to an open tool call or interrupt if another message follows, so a server
// may refuse the message.
func (a *sequencePlayer) answerPending(thread string) {
	for _, n := range slices.Sorted(maps.Keys(a.pendingReplies)) {
		if a.runs[n].thread == thread {
			a.sendPendingReply(action{number: -n, subject: n}) // no action refers to the run of the reply
		}
	}
}

// addPendingReply stores d, the reply to the tool call or interrupt that action s made the server
// send, for a later action. If the last response was not read to its end, addPendingReply stores
// nothing.
func (a *sequencePlayer) addPendingReply(s action, d pendingInput) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if last := len(a.trace.Exchanges) - 1; last >= 0 && isReadToEnd(a.trace.Exchanges[last].Response) {
		a.pendingReplies[s.number] = d
	}
}

// elicitReply returns the perform function of an action that makes the server call a tool or send
// an interrupt. The function also stores the client's reply to that call or interrupt, a request of
// the given template, so that a later action can send it.
func elicitReply(template string) func(*sequencePlayer, action) {
	return func(a *sequencePlayer, s action) {
		eliciting, e := a.elicitingAction(s, template)
		a.startAndReadRun(s, eliciting, e)
		if reply, ok := a.replyAction(s, template, e); ok {
			a.addPendingReply(s, pendingInput{template, reply})
		}
	}
}

// startAndReadRun starts a run on the thread of action s, with the request of the template and the
// values in e in place of its placeholders. It reads the stream of the run and stores its cursors
// for later actions.
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
// events. It leaves out the cursors of terminal events, because nothing follows these events, so
// there is nothing to resume.
func (a *sequencePlayer) resumableCursors(n int) (all []string) {
	for e := range a.Events(n) {
		if e.IsFrame() && e.Cursor != "" && e.Kind != spec.RunEnd && e.Kind != spec.RunError {
			all = append(all, e.Cursor)
		}
	}
	return all
}

// readRun reads the stream of the run to which action s refers, from the given cursor, or from its
// beginning if cursor is "", and stores the cursors for later actions. It closes the connection
// after the given number of events; 0 means to read to the end. If the run was not started, readRun
// does nothing.
func (a *sequencePlayer) readRun(s action, cursor string, events int) {
	if a.selectRun(s.subject) {
		a.ReadStream(cursor, events)
		a.seenCursors[s.subject] = append(a.seenCursors[s.subject], a.resumableCursors(1)...)
	}
}

// slowPromptArgs are the arguments of prompts for a slow run: ten deltas, 10 ms apart. The run is
// long enough for other requests to interfere with it, but too short for timing checks to judge,
// since these would fail on a busy machine.
const slowPromptArgs = "10 10"

// promptVariants lists the test prompts that a sequence may send at any time. The field words holds
// the arguments of a prompt whose arguments are always the same; those of other prompts depend on
// the action (see [sequencePlayer.promptArguments]). The plainest prompt comes first, because
// shrinking a sequence replaces the others with it.
var promptVariants = []struct{ scenario, words string }{
	{"text", ""}, {"messages", ""}, {"tool", ""}, {"reasoning", ""}, {"empty", ""}, {"contents", ""}, {"many", "20"},
	{"error", ""}, {"error-mid", ""},
}

// sendPrompt starts a run on the thread of action s and reads its stream. s.choice selects one of
// the [promptVariants] and one of the forms of request that the document allows. If the target
// lacks the capabilities for all variants, sendPrompt sends nothing.
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

// disconnect starts a run on the thread of action s, with a request whose response is the stream,
// and closes the connection after one to five events.
func (a *sequencePlayer) disconnect(s action) {
	a.answerPending(a.threads[s.subject])
	a.Thread, a.Run = a.threads[s.subject], a.NewID()
	r := a.BuildRequest("prompt", a.PromptEvent("slow", slowPromptArgs))
	if a.send(r, wire.StopWhen{Frames: 1 + int(s.choice%5)}) {
		a.runs[s.number] = runRef{a.Thread, a.Run}
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
// starts another run on the second thread and reads its stream. It stores the first run in a.runs,
// under the number of action s, and the second under its negative, to which no action refers.
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
	a.runs[s.number] = runRef{a.Thread, a.Run}
	if second, ok := begin(2, text); ok {
		a.runs[-s.number] = runRef{a.Thread, a.Run}
		a.DuringStream(first, 1, func() { a.Send(second) })
	}
}

// sendPendingReply sends the tool result or the answer to an interrupt that is pending for the
// earlier action to which s refers, and reads the stream. If that reply is no longer pending, it
// does nothing.
func (a *sequencePlayer) sendPendingReply(s action) {
	reply, owed := a.pendingReplies[s.subject]
	if !owed {
		return
	}
	delete(a.pendingReplies, s.subject)
	thread := slices.Index(a.threads[:], a.runs[s.subject].thread)
	a.startAndReadRun(action{number: s.number, subject: thread}, reply.template, reply.event)
}
