package suites

import (
	"fmt"
	"maps"
	"slices"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// An offered says whether a target can be asked for a deed.
type offered func(t *Target) bool

// says: the dialect has the phrases.
func says(phrases ...string) offered {
	return func(t *Target) bool {
		known := t.Dialect.Phrases()
		return !slices.ContainsFunc(phrases, func(p string) bool { return !slices.Contains(known, p) })
	}
}

// streams: what is said with the phrase is answered by a stream.
func streams(phrase string) offered {
	return func(t *Target) bool {
		o, ok := t.Dialect.Phrase(phrase)
		return ok && o.Streams
	}
}

// asksFor: the phrase opens no run, but is answered by the kind.
func asksFor(phrase string, k spec.Kind) offered {
	return func(t *Target) bool {
		o, ok := t.Dialect.Phrase(phrase)
		return ok && !o.Asks && slices.Contains(t.Dialect.Kinds(), k)
	}
}

// two: o, where a user may have two streams open at once.
func two(o offered) offered {
	return func(t *Target) bool { return o(t) && t.Streams != 1 }
}

// knows: the dialect has the word, too.
func (o offered) knows(k spec.Kind) offered {
	return func(t *Target) bool { return o(t) && slices.Contains(t.Dialect.Kinds(), k) }
}

// unless: the target does not lack it.
func (o offered) unless(capability string) offered {
	return func(t *Target) bool { return o(t) && !t.lacks(capability) }
}

// denies: the document says how somebody is refused, and it is known who that is.
func (o offered) denies(why spec.DenialReason) offered {
	return func(t *Target) bool {
		s := Scenario{Denied: why}
		return o(t) && t.Dialect.Denies(why) && t.told(s) == "" && !slices.ContainsFunc(admission, func(s Scenario) bool { return s.Denied == why && t.lacks(s.capability()) })
	}
}

// An actor plays a sequence: it remembers what came of each step.
type actor struct {
	*Talk
	talks  [conversations + 1]string // their ids, from 1
	runs   map[int]ran               // by the step that opened it
	heard  map[int][]string          // cursors that a run can be taken up at
	owed   map[int]debt              // by the step that made the server ask
	stored map[int]upload
}

// A ran is a run that was opened.
type ran struct{ talk, id string }

// A debt is what the client owes to a server that asked.
type debt struct {
	phrase string
	answer spec.Event
}

// An upload is what was uploaded.
type upload struct {
	talk string
	spec.Event
}

func newActor(t *Talk) *actor {
	a := &actor{Talk: t, runs: map[int]ran{}, heard: map[int][]string{}, owed: map[int]debt{}, stored: map[int]upload{}}
	for i := range conversations {
		a.talks[i+1] = t.id()
	}
	a.Thread = a.talks[1]
	return a
}

// play does one step after the other.
func (a *actor) play(steps []step) {
	for _, s := range steps {
		if i := slices.IndexFunc(deeds, func(d deed) bool { return d.name == s.does }); i >= 0 {
			deeds[i].do(a, s)
		}
	}
}

// to goes on with the run of a step, if it was opened.
func (a *actor) to(n int) bool {
	r, ok := a.runs[n]
	if ok {
		a.Thread, a.Run = r.talk, r.id
	}
	return ok
}

// ask says a phrase of no more than itself.
func (a *actor) ask(phrase string) bool { return a.send(a.Request(phrase, spec.Event{}), wire.Limit{}) }

// open opens a run in the conversation of a step.
func (a *actor) open(s step, phrase string, e spec.Event) bool {
	a.Thread = a.talks[s.on]
	a.moveOn(a.Thread)
	if !a.Open(phrase, e) {
		return false
	}
	a.runs[s.n] = ran{a.Thread, a.Run}
	return true
}

// moveOn forgets what the client owes in a conversation: once it says something else there,
// no document says what becomes of a call that waits for its result, or of an interrupt.
func (a *actor) moveOn(talk string) {
	maps.DeleteFunc(a.owed, func(n int, _ debt) bool { return a.runs[n].talk == talk })
}

// owe notes what the client owes after a step, if the answer that says so came whole.
func (a *actor) owe(s step, d debt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if last := len(a.trace.Exchanges) - 1; last >= 0 && a.trace.Exchanges[last].Response.End == nil {
		a.owed[s.n] = d
	}
}

// speak is open, and hears the answer.
func (a *actor) speak(s step, phrase string, e spec.Event) {
	if !a.open(s, phrase, e) {
		return
	}
	if !a.streams(phrase) {
		a.Listen("", 0)
	}
	a.heard[s.n] = append(a.heard[s.n], a.cursors(1)...)
}

// cursors are those of the last n exchanges that a run can be taken up at.
func (a *actor) cursors(n int) (all []string) {
	for e := range a.events(n) {
		if e.IsFrame() && e.Cursor != "" && e.Kind != spec.RunEnd && e.Kind != spec.RunError {
			all = append(all, e.Cursor)
		}
	}
	return all
}

// follow hears a run from a cursor on.
func (a *actor) follow(s step, cursor string, events int) {
	if a.to(s.on) {
		a.Listen(cursor, events)
		a.heard[s.on] = append(a.heard[s.on], a.cursors(1)...)
	}
}

// slowly is how a run is told that others get in the way of: long enough for that, and too
// short for anybody to judge when its deltas come. Many sequences keep the machine busy.
const slowly = "10 10"

// sayings are what can be said at any time; the first is the plainest.
var sayings = []struct{ scenario, words string }{
	{"text", "one"}, {"messages", ""}, {"tool", `{"city":"Paris"}`}, {"reasoning", "an answer"}, {"empty", ""},
	{"contents", ""}, {"many", "20"}, {"error", "scripted failure"}, {"error-mid", "scripted failure"},
}

// say says anything in any form of request that the document allows.
func (a *actor) say(s step) {
	can := slices.Clone(sayings)
	can = slices.DeleteFunc(can, func(w struct{ scenario, words string }) bool { return a.target.lacks(w.scenario) })
	phrases := []string{"prompt"}
	o, _ := a.dialect.Phrase("prompt")
	for _, phrase := range o.Phrases() {
		if phrase != "prompt" && !slices.Contains(answering, phrase) {
			phrases = append(phrases, phrase)
		}
	}
	if len(can) == 0 {
		return
	}
	what := can[s.luck%uint64(len(can))]
	if what.scenario == "text" {
		what.words = fmt.Sprint("words of step ", s.n)
	}
	e := a.Prompt(what.scenario, what.words)
	e.Name = "paint"
	a.speak(s, phrases[s.luck>>8%uint64(len(phrases))], e)
}

// hangUp leaves an answer.
func (a *actor) hangUp(s step) {
	a.Thread, a.Run = a.talks[s.on], a.id()
	a.moveOn(a.Thread)
	if a.send(a.Request("prompt", a.Prompt("slow", slowly)), wire.Limit{Frames: 1 + int(s.luck%5)}) {
		a.runs[s.n] = ran{a.Thread, a.Run}
	}
}

// opened says whether a run was opened in a conversation.
func (a *actor) opened(talk string) bool {
	for _, r := range a.runs {
		if r.talk == talk {
			return true
		}
	}
	return false
}

// together hears two runs at once.
func (a *actor) together(s step) {
	slow, text := a.Prompt("slow", slowly), a.Prompt("text", "meanwhile")
	phrase := "listen"
	if a.streams("prompt") {
		phrase = "prompt"
	}
	// begin makes the request for the stream of a run in a conversation.
	begin := func(talk int, e spec.Event) (stream spec.Request, ok bool) {
		a.moveOn(a.talks[talk])
		if a.Thread = a.talks[talk]; phrase == "prompt" {
			a.Run = a.id()
			return a.Request(phrase, e), true
		}
		ok = a.Open("prompt", e)
		return a.Request(phrase, spec.Event{}), ok
	}
	first, ok := begin(1, slow)
	if !ok {
		return
	}
	a.runs[s.n] = ran{a.Thread, a.Run}
	if second, ok := begin(2, text); ok {
		a.While(first, 1, func() { a.send(second, wire.Limit{}) })
	}
}

// answer gives what the server asked for.
func (a *actor) answer(s step) {
	d, owed := a.owed[s.on]
	if !owed {
		return
	}
	delete(a.owed, s.on)
	a.speak(step{n: s.n, on: slices.Index(a.talks[:], a.runs[s.on].talk)}, d.phrase, d.answer)
}

// called is the last tool call of the answer that was heard last.
func (a *actor) called() string {
	if id := a.Heard(spec.ToolStart).Call; id != "" {
		return id
	}
	return a.Heard(spec.ToolCall).Call
}
