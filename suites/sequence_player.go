package suites

import (
	"fmt"
	"maps"
	"slices"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// An precondition says whether a target can be asked for a deed.
type precondition func(t *Target) bool

// hasTemplates: the dialect has the phrases.
func hasTemplates(phrases ...string) precondition {
	return func(t *Target) bool {
		known := t.Dialect.Templates()
		return !slices.ContainsFunc(phrases, func(p string) bool { return !slices.Contains(known, p) })
	}
}

// respondsWithStream: what is said with the phrase is answered by a stream.
func respondsWithStream(phrase string) precondition {
	return func(t *Target) bool {
		o, ok := t.Dialect.TemplateOperation(phrase)
		return ok && o.IsStream
	}
}

// hasReplyOfKind: the phrase opens no run, but is answered by the kind.
func hasReplyOfKind(phrase string, k spec.Kind) precondition {
	return func(t *Target) bool {
		o, ok := t.Dialect.TemplateOperation(phrase)
		return ok && !o.StartsRun && slices.Contains(t.Dialect.Kinds(), k)
	}
}

// needsTwoStreams: o, where a user may have two streams open at once.
func needsTwoStreams(o precondition) precondition {
	return func(t *Target) bool { return o(t) && t.StreamLimit != 1 }
}

// andKind: the dialect has the word, too.
func (o precondition) andKind(k spec.Kind) precondition {
	return func(t *Target) bool { return o(t) && slices.Contains(t.Dialect.Kinds(), k) }
}

// unlessLacking: the target does not lack it.
func (o precondition) unlessLacking(capability string) precondition {
	return func(t *Target) bool { return o(t) && !t.lacksCapability(capability) }
}

// andDenies: the document says how somebody is refused, and it is known who that is.
func (o precondition) andDenies(why spec.DenialReason) precondition {
	return func(t *Target) bool {
		s := Scenario{Denial: why}
		return o(t) && t.Dialect.HasDenial(why) && t.missingSetup(s) == "" && !slices.ContainsFunc(accessScenarios, func(s Scenario) bool { return s.Denial == why && t.lacksCapability(s.capabilityName()) })
	}
}

// An sequencePlayer plays a sequence: it remembers what came of each step.
type sequencePlayer struct {
	*Conversation
	threads        [conversationCount + 1]string // their ids, from 1
	runs           map[int]runRef                // by the step that opened it
	seenCursors    map[int][]string              // cursors that a run can be taken up at
	pendingReplies map[int]pendingReply          // by the step that made the server ask
	uploads        map[int]uploadedFile
}

// A runRef is a run that was opened.
type runRef struct{ thread, id string }

// A pendingReply is what the client owes to a server that asked.
type pendingReply struct {
	template string
	event    spec.Event
}

// An uploadedFile is what was uploaded.
type uploadedFile struct {
	thread string
	spec.Event
}

func newSequencePlayer(t *Conversation) *sequencePlayer {
	a := &sequencePlayer{Conversation: t, runs: map[int]runRef{}, seenCursors: map[int][]string{}, pendingReplies: map[int]pendingReply{}, uploads: map[int]uploadedFile{}}
	for i := range conversationCount {
		a.threads[i+1] = t.newID()
	}
	a.Thread = a.threads[1]
	return a
}

// play does one step after the other.
func (a *sequencePlayer) play(steps []action) {
	for _, s := range steps {
		if i := slices.IndexFunc(actionTypes, func(d actionType) bool { return d.name == s.typeName }); i >= 0 {
			actionTypes[i].perform(a, s)
		}
	}
}

// selectRun goes on with the run of a step, if it was opened.
func (a *sequencePlayer) selectRun(n int) bool {
	r, ok := a.runs[n]
	if ok {
		a.Thread, a.Run = r.thread, r.id
	}
	return ok
}

// sendTemplate says a phrase of no more than itself.
func (a *sequencePlayer) sendTemplate(phrase string) bool {
	return a.send(a.BuildRequest(phrase, spec.Event{}), wire.StopWhen{})
}

// startRun opens a run in the conversation of a step.
func (a *sequencePlayer) startRun(s action, phrase string, e spec.Event) bool {
	a.Thread = a.threads[s.subject]
	a.dropPendingReplies(a.Thread)
	if !a.StartRun(phrase, e) {
		return false
	}
	a.runs[s.number] = runRef{a.Thread, a.Run}
	return true
}

// dropPendingReplies forgets what the client owes in a conversation: once it says something else there,
// no document says what becomes of a call that waits for its result, or of an interrupt.
func (a *sequencePlayer) dropPendingReplies(talk string) {
	maps.DeleteFunc(a.pendingReplies, func(n int, _ pendingReply) bool { return a.runs[n].thread == talk })
}

// addPendingReply notes what the client owes after a step, if the answer that says so came whole.
func (a *sequencePlayer) addPendingReply(s action, d pendingReply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if last := len(a.trace.Exchanges) - 1; last >= 0 && a.trace.Exchanges[last].Response.End == nil {
		a.pendingReplies[s.number] = d
	}
}

// startAndReadRun is open, and hears the answer.
func (a *sequencePlayer) startAndReadRun(s action, phrase string, e spec.Event) {
	if !a.startRun(s, phrase, e) {
		return
	}
	if !a.respondsWithStream(phrase) {
		a.ReadStream("", 0)
	}
	a.seenCursors[s.number] = append(a.seenCursors[s.number], a.resumableCursors(1)...)
}

// resumableCursors are those of the last n exchanges that a run can be taken up at.
func (a *sequencePlayer) resumableCursors(n int) (all []string) {
	for e := range a.recentEvents(n) {
		if e.IsFrame() && e.Cursor != "" && e.Kind != spec.RunEnd && e.Kind != spec.RunError {
			all = append(all, e.Cursor)
		}
	}
	return all
}

// readRun hears a run from a cursor on.
func (a *sequencePlayer) readRun(s action, cursor string, events int) {
	if a.selectRun(s.subject) {
		a.ReadStream(cursor, events)
		a.seenCursors[s.subject] = append(a.seenCursors[s.subject], a.resumableCursors(1)...)
	}
}

// slowPromptArgs is how a run is told that others get in the way of: long enough for that, and too
// short for anybody to judge when its deltas come. Many sequences keep the machine busy.
const slowPromptArgs = "10 10"

// promptVariants are what can be said at any time; the first is the plainest.
var promptVariants = []struct{ scenario, words string }{
	{"text", "one"}, {"messages", ""}, {"tool", `{"city":"Paris"}`}, {"reasoning", "an answer"}, {"empty", ""},
	{"contents", ""}, {"many", "20"}, {"error", "scripted failure"}, {"error-mid", "scripted failure"},
}

// sendPrompt says anything in any form of request that the document allows.
func (a *sequencePlayer) sendPrompt(s action) {
	can := slices.Clone(promptVariants)
	can = slices.DeleteFunc(can, func(w struct{ scenario, words string }) bool { return a.target.lacksCapability(w.scenario) })
	phrases := []string{"prompt"}
	o, _ := a.dialect.TemplateOperation("prompt")
	for _, phrase := range o.Templates() {
		if phrase != "prompt" && !slices.Contains(replyTemplates, phrase) {
			phrases = append(phrases, phrase)
		}
	}
	if len(can) == 0 {
		return
	}
	what := can[s.choice%uint64(len(can))]
	if what.scenario == "text" {
		what.words = fmt.Sprint("words of step ", s.number)
	}
	e := a.PromptEvent(what.scenario, what.words)
	e.Name = "paint"
	a.startAndReadRun(s, phrases[s.choice>>8%uint64(len(phrases))], e)
}

// disconnect leaves an answer.
func (a *sequencePlayer) disconnect(s action) {
	a.Thread, a.Run = a.threads[s.subject], a.newID()
	a.dropPendingReplies(a.Thread)
	if a.send(a.BuildRequest("prompt", a.PromptEvent("slow", slowPromptArgs)), wire.StopWhen{Frames: 1 + int(s.choice%5)}) {
		a.runs[s.number] = runRef{a.Thread, a.Run}
	}
}

// hasRun says whether a run was opened in a conversation.
func (a *sequencePlayer) hasRun(talk string) bool {
	for _, r := range a.runs {
		if r.thread == talk {
			return true
		}
	}
	return false
}

// runConcurrently hears two runs at once.
func (a *sequencePlayer) runConcurrently(s action) {
	slow, text := a.PromptEvent("slow", slowPromptArgs), a.PromptEvent("text", "meanwhile")
	phrase := "listen"
	if a.respondsWithStream("prompt") {
		phrase = "prompt"
	}
	// begin makes the request for the stream of a run in a conversation.
	begin := func(talk int, e spec.Event) (stream spec.Request, ok bool) {
		a.dropPendingReplies(a.threads[talk])
		if a.Thread = a.threads[talk]; phrase == "prompt" {
			a.Run = a.newID()
			return a.BuildRequest(phrase, e), true
		}
		ok = a.StartRun("prompt", e)
		return a.BuildRequest(phrase, spec.Event{}), ok
	}
	first, ok := begin(1, slow)
	if !ok {
		return
	}
	a.runs[s.number] = runRef{a.Thread, a.Run}
	if second, ok := begin(2, text); ok {
		a.DuringStream(first, 1, func() { a.send(second, wire.StopWhen{}) })
	}
}

// sendPendingReply gives what the server asked for.
func (a *sequencePlayer) sendPendingReply(s action) {
	d, owed := a.pendingReplies[s.subject]
	if !owed {
		return
	}
	delete(a.pendingReplies, s.subject)
	a.startAndReadRun(action{number: s.number, subject: slices.Index(a.threads[:], a.runs[s.subject].thread)}, d.template, d.event)
}

// lastToolCall is the last tool call of the answer that was heard last.
func (a *sequencePlayer) lastToolCall() string {
	if id := a.LastEvent(spec.ToolStart).Call; id != "" {
		return id
	}
	return a.LastEvent(spec.ToolCall).Call
}
