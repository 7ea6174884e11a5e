package rules

import (
	"slices"
	"time"

	"github.com/streamassay/streamassay/spec"
)

var acceptedRunChecks = []*spec.Check{
	AcceptedRunInNewThread, AcceptedRunInKnownThread, AcceptedPromptIsStored, AcceptsBeforeEnd,
}

// AcceptedRunInNewThread and AcceptedRunInKnownThread judge whether the response that accepts a run
// correctly states whether the run created its thread. AcceptedRunInNewThread applies to the first
// run of a thread, and AcceptedRunInKnownThread to later runs. If several first runs of a thread
// were started at the same time, AcceptedRunInKnownThread also judges whether only one of the
// responses states that its run created the thread.
var (
	AcceptedRunInNewThread = &spec.Check{
		ID: "accepted.new-thread",
		Doc: `the reply to the first run of a thread reports that the thread is new

A run is known to be the first if the history of the thread was empty or not found just
before, and no other request touched the thread.`,
		Needs: []spec.Kind{spec.RunAccepted, "slot.created", spec.History},
		Watch: atConversationEnd(func(p *spec.Pass, c *runsAndHistories) {
			for _, r := range c.runs {
				if hasCreatedFlag(r) && c.isFirstInThread(r) && c.wasThreadUnknown(r) {
					p.Judge(r.acceptance, r.acceptance.Created == "true",
						"first run of the new thread %q is reported with created %s; expected true",
						r.request.Thread, r.acceptance.Created)
				}
			}
		}),
	}
	AcceptedRunInKnownThread = &spec.Check{
		ID:    "accepted.known-thread",
		Doc:   "the reply to a later run of a thread reports that the thread existed",
		Needs: []spec.Kind{spec.RunAccepted, "slot.created"},
		Watch: atConversationEnd(func(p *spec.Pass, c *runsAndHistories) {
			for _, r := range c.runs {
				switch {
				case !hasCreatedFlag(r):
				case !c.isFirstInThread(r):
					p.Judge(r.acceptance, r.acceptance.Created == "false",
						"later run of thread %q is reported with created %s; expected false",
						r.request.Thread, r.acceptance.Created)
				case c.isThreadCreatedTwice(r):
					p.Judge(r.acceptance, false,
						"two runs of thread %q that were started at the same time are reported with created true; expected one",
						r.request.Thread)
				}
			}
		}),
	}
)

// hasCreatedFlag reports whether the reply that accepted r states whether r created its thread,
// that is, whether the field Created of the reply is "true" or "false".
func hasCreatedFlag(r *acceptedRun) bool {
	return r.acceptance.Created == "true" || r.acceptance.Created == "false"
}

// isFirstInThread reports whether r is the first run of its thread in the conversation, that is,
// whether no other run of the thread was accepted before r was requested.
func (c *runsAndHistories) isFirstInThread(r *acceptedRun) bool {
	return !slices.ContainsFunc(c.runs, func(q *acceptedRun) bool {
		before := q.acceptance.Exchange < r.request.Exchange && q.acceptance.At <= r.request.At
		return q != r && q.request.Thread == r.request.Thread && before
	})
}

// isThreadCreatedTwice reports whether the reply that accepted r and an earlier reply, which
// accepted another run of the thread, both state that their run created the thread. Runs that were
// requested more than once are ignored, because a server may repeat its first reply.
func (c *runsAndHistories) isThreadCreatedTwice(r *acceptedRun) bool {
	creates := func(q *acceptedRun) bool { return q.acceptance.Created == "true" && !q.requestedAgain }
	return creates(r) && slices.ContainsFunc(c.runs, func(q *acceptedRun) bool {
		return q != r && creates(q) && q.request.Thread == r.request.Thread && r.request.Thread != "" &&
			q.acceptance.Exchange < r.acceptance.Exchange
	})
}

// wasThreadUnknown reports whether the server certainly did not know the thread of r before r was
// requested. That is so if the thread had no history and no earlier request can have created it;
// see runsAndHistories.touchedAt.
func (c *runsAndHistories) wasThreadUnknown(r *acceptedRun) bool {
	return c.hadNoHistory(r) && !c.mayBeTouchedBefore(r.request.Thread, r.acceptance.At)
}

// hadNoHistory reports whether the thread of r certainly had no messages before r was requested.
// That is so if the user's last history request for the thread before r returned an empty history
// or status 403, 404 or 410. Status 403 counts because a server may return it for every thread that
// the user does not own.
func (c *runsAndHistories) hadNoHistory(r *acceptedRun) bool {
	unknown := false
	for _, x := range c.historyExchanges {
		before := x.request.Exchange <= r.request.Exchange && x.bodyEnd.At <= r.request.At
		if x.request.Thread != r.request.Thread || !before || credentialKey(x.request) != credentialKey(r.request) {
			continue
		}
		page, ok := x.page()
		empty := ok && x.request.Day == "" && page.HasMore != "true" && len(page.Parts) == 0
		unknown = empty || x.isThreadUnknown() || x.status() == 403
	}
	return unknown
}

// AcceptedPromptIsStored judges whether the history contains the prompt of a run as soon as the run
// is accepted.
var AcceptedPromptIsStored = &spec.Check{
	ID: "accepted.keeps-prompt",
	Doc: `the prompt of a run is in the history as soon as the run is accepted

A history is judged if it was requested after the run was accepted and before the run finished; other
checks judge later ones. A run that fails does not finish, so its prompt must stay in the history.`,
	Needs: []spec.Kind{spec.RunAccepted, spec.History},
	Watch: atConversationEnd(func(p *spec.Pass, c *runsAndHistories) {
		for _, r := range c.runs {
			if r.requestedAgain || r.request.Text == "" {
				continue
			}
			for _, x := range c.historyExchanges {
				early := x.request.Exchange < r.request.Exchange || x.request.At < r.acceptance.At
				over := r.end.Kind == spec.RunEnd && r.end.At <= x.request.At
				if early || over || x.request.Day != "" || credentialKey(x.request) != credentialKey(r.request) {
					continue
				}
				page, ok := x.latestPage(r.request.Thread)
				switch {
				case ok && countUserTexts(page, r.request) > 0:
					p.Judge(page, true, "")
				case ok && page.HasMore != "true" ||
					x.request.Thread == r.request.Thread && x.isThreadUnknown() && c.hasServedHistory():
					p.Judge(x.reply, false,
						"history lacks the prompt %q of an accepted run; expected it as soon as the run is accepted",
						r.request.Text)
				}
			}
		}
	}),
}

// minAcceptedRun is the minimum time from a request to the end of a run. If the run ends sooner,
// AcceptsBeforeEnd does not judge whether the reply to the request comes before that end, because
// the reply may be late only because the machine is busy.
const minAcceptedRun = time.Second

// AcceptsBeforeEnd judges whether the response that accepts a run comes before the run can have
// ended. If another run of the thread is active, the response must also come before that run can
// have ended.
var AcceptsBeforeEnd = &spec.Check{
	ID: "accepted.before-end",
	Doc: `a run is accepted before it ends, and while other runs of its thread go on

This is judged only with runs whose prompt sets a duration of at least a second: such a run must be
accepted before the duration is over. A second run that is requested while the first one has at
least a second left must be accepted before the first one ends. The second reply may come later if the
first one took at least a quarter as long, since the machine may then be busy. A run that was canceled
does not count as the first run.`,
	Needs: []spec.Kind{spec.RunAccepted},
	Watch: atConversationEnd(func(p *spec.Pass, c *runsAndHistories) {
		type timedRun struct {
			*acceptedRun
			end time.Duration // the earliest time of its end
		}
		timed := map[string][]timedRun{} // the runs with a known duration, by thread
		for _, r := range c.runs {
			duration, ok := scriptedDuration(r.request)
			if !ok || duration < minAcceptedRun || r.requestedAgain {
				continue
			}
			took := r.acceptance.At - r.request.At
			p.Judge(r.acceptance, took < duration,
				"run whose prompt asks for a duration of %v is accepted after %v; expected the reply before the run ends",
				duration, took.Round(time.Millisecond))
			if !r.canceled {
				timed[r.request.Thread] = append(timed[r.request.Thread], timedRun{r, r.request.At + duration})
			}
		}
		for _, r := range c.runs {
			took := r.acceptance.At - r.request.At
			for _, q := range timed[r.request.Thread] {
				isActive := q.acceptance.At <= r.request.At && q.end-r.request.At >= minAcceptedRun
				if q.acceptedRun == r || !isActive || r.requestedAgain {
					continue
				}
				isSlow := q.acceptance.At-q.request.At >= took/4
				p.Judge(r.acceptance, r.acceptance.At < q.end || isSlow,
					"request was answered after %v, when the earlier run %q of the thread may have ended; expected the server not to wait for its end",
					took.Round(time.Millisecond), q.request.Run)
			}
		}
	}),
}
