package rules

import (
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// answers lets a rule about content judge each answer of a scripted target, when
// the conversation is over. The run may be asked for and told by different
// requests; one that was canceled owes nobody an answer, nor does a request that was
// refused, nor one that comes in place of the resume that the conversation waits for.
func answers(judge func(p *spec.Pass, a *answer)) watch {
	return func(p *spec.Pass) func(spec.Event) {
		t := talks{threads: map[string]*talk{}, asks: map[string]bool{}, opened: map[string]*answer{}}
		return func(e spec.Event) {
			if t.hear(e); e.Kind != "" {
				return
			}
			for _, a := range t.given {
				if !a.waiting && (!a.refused || a.toFail()) && !t.canceled(a) {
					judge(p, a)
				}
			}
		}
	}
}

// toFail says that a run was asked to fail.
func (a *answer) toFail() bool {
	prompt, _ := a.ask.Prompt()
	name, _, _ := strings.Cut(prompt, " ")
	return name == "conformance:error" || name == "conformance:error-mid"
}

// talks follow what is asked and answered in all conversations.
type talks struct {
	threads map[string]*talk   // those that have a name
	asks    map[string]bool    // the operations that ask for runs, as far as was seen
	led     int                // all of them, by the requests that were taken
	lost    bool               // a request was taken, and nobody knows for which of them
	opened  map[string]*answer // run → what it was asked
	given   []*answer
	cancels []spec.Event

	ask    spec.Event // the exchange that is being told
	asking *answer    // what it asks, if it asks anything
	now    *answer    // what it tells
	taken  bool
	thread string // where it belongs, as far as is known
}

// A talk is one conversation, as far as its requests were taken.
type talk struct {
	said    []string // by the user
	asked   string   // the last request's prompt; "" if it was none
	waiting bool     // for a resume
}

// lose forgets what was said where a request with a fault was taken: who knows what was
// understood, and, if that cannot be read, in which conversation.
func (t *talks) lose() {
	if t.lost = t.lost || t.thread == ""; t.thread != "" && t.threads[t.thread] == nil {
		t.threads[t.thread] = &talk{}
	}
	for name, k := range t.threads {
		if name == t.thread || t.thread == "" {
			k.said, k.asked = nil, ""
		}
	}
}

func (t *talks) hear(e spec.Event) {
	switch {
	case e.Kind == spec.Asked:
		t.ask, t.asking, t.now, t.taken, t.thread = e, nil, nil, false, e.Thread
		if e.Scripted && e.Whole() && len(e.Parts) > 0 {
			t.asking, t.asks[e.Op] = t.open(e), true
		}
	case e.Kind == spec.Answered:
		t.answered(e)
	case e.Kind == spec.CancelAccepted:
		t.cancels = append(t.cancels, t.ask)
	case e.Frame():
		if t.thread == "" { // the server has made one
			t.thread = e.Thread
		}
		if t.now != nil {
			t.now.hear(e)
		}
		t.taken = t.taken && (e.Kind != spec.RunRefused || e.Nth > 0)
	case e.Kind == spec.Closed:
		t.close(e)
	}
}

// open is what a request asks, and what was asked before it.
func (t *talks) open(ask spec.Event) *answer {
	before := t.threads[ask.Thread]
	a := &answer{ask: ask, others: t.led > 0 && before == nil && !t.lost}
	if before == nil || ask.Thread == "" { // what has no name is new
		before = &talk{}
	}
	_, resumes := ask.Last(spec.AskResume)
	a.waiting = before.waiting && !resumes
	earlier, asked := before.said, before.asked
	for _, part := range ask.Parts {
		if part.Kind == spec.AskUser {
			earlier, asked = append(earlier[:len(earlier):len(earlier)], part.Text), part.Text
		}
	}
	if _, ok := ask.Prompt(); !ok {
		a.answers = asked
	} else if n := len(earlier); n > 1 {
		a.before, a.preceded = earlier[n-2], true
	}
	return a
}

// answered finds out whose answer comes.
func (t *talks) answered(e spec.Event) {
	t.taken = e.HTTP/100 == 2
	streams := e.HTTP == 200 && e.Streams()
	before := t.opened[run(t.ask)]
	switch {
	case !t.taken:
		t.asking = nil
	case t.asking != nil && streams:
		t.now = t.asking
		t.opened[run(t.ask)] = t.asking
	case t.asking != nil && t.ask.Run != "" && before != nil: // the same run, asked for again
		t.asking = nil
	case t.asking != nil:
		t.opened[run(t.ask)] = t.asking
	case before != nil && streams && t.ask.Streams() && t.ask.Whole() && t.ask.Cursor == "":
		a := *before
		t.now = &a
	}
	if t.now != nil {
		t.now.told = t.ask
	}
}

// close notes an answer, and what the conversation has come to.
func (t *talks) close(e spec.Event) {
	if t.now != nil && (whole(e) || broke(e)) && t.ask.Limit == "" {
		t.now.closed = e
		t.given = append(t.given, t.now)
	}
	a := t.asking
	if a == nil && t.taken && !t.ask.Whole() && t.asks[t.ask.Op] {
		t.lose()
	}
	if a == nil || a.refused {
		return
	}
	t.led++
	if t.thread == "" {
		return
	}
	if t.threads[t.thread] == nil {
		t.threads[t.thread] = &talk{}
	}
	here := t.threads[t.thread]
	here.asked, _ = a.ask.Prompt()
	if user, ok := a.ask.Last(spec.AskUser); ok { // whatever stands after it
		here.said = append(here.said, user.Text)
	}
	here.waiting = len(a.interrupt) > 0 || here.waiting && a.waiting
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
