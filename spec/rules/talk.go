package rules

import (
	"maps"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// answers lets a rule about content judge each answer of a scripted target, when
// the conversation is over. The run may be asked for and told by different
// requests; one that was canceled owes nobody an answer, nor does a request that was
// refused, nor one that comes in place of what the conversation waits for, nor one that
// was turned down while the conversation may have been busy.
func answers(judge func(p *spec.Pass, a *answer)) watch {
	return func(p *spec.Pass) func(spec.Event) {
		t, hear := spec.SharedState(p, "answers", func() (*talks, func(spec.Event)) {
			t := newTalks(keeper(p))
			return t, t.hear
		})
		return func(e spec.Event) {
			if hear(e); e.Kind != "" {
				return
			}
			for _, a := range t.given {
				if a.ask.Principal == spec.PrimaryUser && !a.waiting && !a.turnedDown() && !a.brokeOff() && (!a.refused || a.toFail()) && !t.canceled(a) {
					judge(p, a)
				}
			}
		}
	}
}

// turnedDown says that a request came while its conversation may have been busy with a run
// whose end nobody had heard, and got a failure and not a word: nothing follows from that.
func (a *answer) turnedDown() bool { return a.busy && a.failure.Kind != "" && a.text() == "" }

// brokeOff reports whether an answer was cut off that was not to fail: what it lacks then has
// one cause, which other checks find.
func (a *answer) brokeOff() bool { return broke(a.closed) && !a.toFail() }

// toFail says that a run was asked to fail.
func (a *answer) toFail() bool {
	prompt, _ := a.ask.Prompt()
	return failing(prompt)
}

// failing reports whether a prompt asks for a failure.
func failing(prompt string) bool {
	name, _, _ := strings.Cut(prompt, " ")
	return name == "conformance:error" || name == "conformance:error-mid"
}

// talks follow what is asked and answered in all conversations.
type talks struct {
	talks   map[owner]*talk     // those whose thread has a name
	perhaps map[string][]string // thread → what may have been said there, and may be recalled
	asks    map[string]bool     // operation → whether it asks for runs, as far as was seen
	led     int                 // all of them, by the requests that were taken
	ends    bool                // the end of a run is an event
	lost    bool                // a request was taken, and nobody knows for which of them
	opened  map[string]*answer  // run → what it was asked
	given   []*answer
	cancels []spec.Event
	keep    func(spec.Event) *spec.Event

	ask    spec.Event // the exchange that is being told
	asking *answer    // what it asks, if it asks anything
	now    *answer    // what it tells
	taken  bool
	opens  bool   // it was answered as if it had opened a run
	thread string // where it belongs, as far as is known
}

// An owner tells conversations apart: what one user said in a thread is not what another
// said in a thread of the same name, whether the request names the user or its credentials do.
type owner struct {
	thread, user string
	who          spec.Principal
}

// A talk is one conversation, as far as its requests were taken.
type talk struct {
	said    []utterance // by the user
	last    *answer     // to the last request
	asked   string      // the last request's prompt; "" if it was none
	waiting spec.Kind   // what it waits for: a resume, or the result of a tool of the client
}

// An utterance is what the user said, and in which request.
type utterance struct {
	text string
	in   *answer
}

func newTalks(keep func(spec.Event) *spec.Event) *talks {
	return &talks{keep: keep, talks: map[owner]*talk{}, perhaps: map[string][]string{}, asks: map[string]bool{}, opened: map[string]*answer{}}
}

func (t *talks) owner() owner { return owner{t.thread, t.ask.User, t.ask.Principal} }

// lose forgets what was said where a request with a fault was taken: who knows what was
// understood, and, if that cannot be read, in which conversation.
func (t *talks) lose() {
	if t.lost = t.lost || t.thread == ""; t.thread != "" && t.talks[t.owner()] == nil {
		t.talks[t.owner()] = &talk{}
	}
	for of, k := range t.talks {
		if of.thread == t.thread || t.thread == "" {
			k.said, k.asked = nil, ""
		}
	}
}

func (t *talks) hear(e spec.Event) {
	switch {
	case e.Kind == spec.HTTPRequest:
		t.ask, t.asking, t.now, t.taken, t.opens, t.thread = e, nil, nil, false, false, e.Thread
		if e.Scripted && e.Valid() {
			if t.asks[e.Operation] = t.asks[e.Operation] || len(e.Parts) > 0; len(e.Parts) > 0 {
				t.asking = t.open(e)
			}
		}
	case e.Kind == spec.HTTPResponse:
		t.answered(e)
	case e.Kind == spec.CancelAccepted:
		t.cancels = append(t.cancels, t.ask)
	case e.Kind == spec.RunAccepted:
		t.opens = true
	case e.IsFrame():
		t.frame(e)
	case e.Kind == spec.BodyEnd:
		t.close(e)
	}
}

func (t *talks) frame(e spec.Event) {
	if t.thread == "" { // the server has made one
		t.thread = e.Thread
	}
	if t.now != nil {
		t.now.hear(e)
	}
	if t.ends = t.ends || e.Kind == spec.RunEnd; terminal(e) {
		t.opened[run(t.ask)].finish(e)
	}
	t.taken = t.taken && (e.Kind != spec.RunRefused || e.Frame > 0)
}

// finish notes that the end of a run was heard.
func (a *answer) finish(e spec.Event) {
	if a != nil && !a.ended {
		a.ended, a.delivered, a.over = true, e.Kind == spec.RunEnd || e.Kind == spec.BodyEnd, e.At
	}
}

// open is what a request asks, and what was asked before it.
func (t *talks) open(ask spec.Event) *answer {
	before := t.talks[t.owner()]
	known := slices.ContainsFunc(slices.Collect(maps.Keys(t.talks)), func(of owner) bool { return of.thread == ask.Thread })
	if before == nil || ask.Thread == "" { // what has no name is new
		before = &talk{}
	}
	_, gives := ask.Last(before.waiting)
	a := &answer{ask: ask, keep: t.keep, waiting: before.waiting != "" && !gives, busy: t.busy(ask.Thread)}
	earlier, asked := t.settle(before, ask), before.asked
	a.others = t.led > 0 && !known && len(t.perhaps[ask.Thread]) == 0 && !t.lost
	if before.last != nil && !before.last.delivered { // nobody knows what came of it
		asked = ""
	}
	kept := len(earlier)
	for _, part := range ask.Parts {
		if part.Kind == spec.InputUser {
			earlier, asked = append(earlier, part.Text), part.Text
		}
	}
	if _, ok := ask.Prompt(); !ok {
		a.answers = asked
	} else if n := len(earlier); n > 1 {
		if a.before, a.preceded = earlier[n-2], true; n-2 < kept { // else the request itself brings it
			a.perhaps = slices.Clone(t.perhaps[ask.Thread])
		}
	}
	return a
}

// busy reports whether a run may be going on in a thread: the end of the last one that a
// user asked for there was not heard.
func (t *talks) busy(thread string) bool {
	for of, k := range t.talks {
		if of.thread == thread && thread != "" && k.last != nil && !k.last.ended {
			return true
		}
	}
	return false
}

// settle returns what the user is certain to have said in a conversation before a request.
// A message is in doubt if the good end of its run had not been heard by then, if the run
// was canceled, or if it came in place of what the conversation waited for: the server may
// have kept it, may keep it later, or not at all. So is what another user said in a thread
// of the same name.
func (t *talks) settle(k *talk, ask spec.Event) (certain []string) {
	k.said = slices.DeleteFunc(k.said, func(s utterance) bool {
		doubtful := !s.in.delivered || s.in.over > ask.At || s.in.waiting || t.canceled(s.in)
		if doubtful {
			t.doubt(ask.Thread, s.text)
		}
		return doubtful
	})
	for _, s := range k.said {
		certain = append(certain, s.text)
	}
	for of, other := range t.talks {
		if of.thread == ask.Thread && other != k {
			for _, s := range other.said {
				t.doubt(ask.Thread, s.text)
			}
		}
	}
	return certain
}

// doubt notes what may have been said in a thread.
func (t *talks) doubt(thread, text string) {
	if !slices.Contains(t.perhaps[thread], text) {
		t.perhaps[thread] = append(t.perhaps[thread], text)
	}
}

// answered finds out whose answer comes.
func (t *talks) answered(e spec.Event) {
	t.taken = e.StatusCode/100 == 2
	streams := e.StatusCode == 200 && e.IsStream()
	t.opens = streams
	before := t.opened[run(t.ask)]
	switch {
	case !t.taken:
		if user, ok := t.ask.Last(spec.InputUser); ok && t.asking != nil && (e.StatusCode == 0 || e.StatusCode/100 == 5) {
			t.doubt(t.thread, user.Text) // it failed, and nobody knows how far it came
		}
		t.asking = nil
	case t.asking != nil && streams:
		t.now = t.asking
		t.opened[run(t.ask)] = t.asking
	case t.asking != nil && t.ask.Run != "" && before != nil: // the same run, asked for again
		t.asking = nil
	case t.asking != nil:
		t.opened[run(t.ask)] = t.asking
	case before != nil && streams && t.ask.IsStream() && t.ask.Valid() && t.ask.Cursor == "":
		a := *before
		t.now = &a
	}
	if t.now != nil {
		t.now.told = t.ask
	}
}

// close notes an answer, and what the conversation has come to.
func (t *talks) close(e spec.Event) {
	if t.now != nil && (whole(e) || broke(e)) && t.ask.PollLimit == "" {
		t.now.closed = e
		t.given = append(t.given, t.now)
	}
	a := t.asking
	if asks, seen := t.asks[t.ask.Operation]; a == nil && t.taken && !t.ask.Valid() && (asks || !seen && t.opens) {
		t.lose()
	}
	if a == nil || a.refused {
		return
	}
	if a == t.now && !t.ends && whole(e) { // where the end of the body is that of the run
		a.finish(e)
	}
	t.led++
	if t.thread == "" {
		return
	}
	if t.talks[t.owner()] == nil {
		t.talks[t.owner()] = &talk{}
	}
	here := t.talks[t.owner()]
	here.last = a
	here.asked, _ = a.ask.Prompt()
	if user, ok := a.ask.Last(spec.InputUser); ok { // whatever stands after it
		here.said = append(here.said, utterance{user.Text, a})
	}
	switch {
	case len(a.interrupt) > 0:
		here.waiting = spec.InputResume
	case a.leavesCall():
		here.waiting = spec.InputToolResult
	case !a.waiting:
		here.waiting = ""
	}
}

// leavesCall says that an answer calls a tool that the request offers, and leaves the result
// to the client.
func (a *answer) leavesCall() bool {
	return slices.ContainsFunc(a.calls, func(u *toolUse) bool {
		return !u.answered && slices.ContainsFunc(a.ask.Parts, func(p spec.Event) bool { return p.Kind == spec.InputTool && p.Name == u.name })
	})
}

// canceled says that somebody has stopped the run of an answer.
func (t *talks) canceled(a *answer) bool {
	for _, cancel := range t.cancels {
		if (lived{ask: a.told, closed: a.closed}).concerns(cancel) {
			return true
		}
	}
	return false
}
