package rules

import "github.com/streamassay/streamassay/spec"

var acceptedRunChecks = []*spec.Check{AcceptedRunInNewThread, AcceptedRunInKnownThread, AcceptedPromptIsStored}

// AcceptedRunInNewThread and AcceptedRunInKnownThread judge whether a run that is accepted says rightly that its
// conversation is new.
var (
	AcceptedRunInNewThread = &spec.Check{
		ID: "accepted.new-thread",
		Doc: `the first run of a conversation says that it has made it

That it is the first is known where the server had just said that there is no such
conversation, or that nothing was said in it, and nothing else was done to it.`,
		Needs: []spec.Kind{spec.RunAccepted, "slot.created", spec.History},
		Watch: atConversationEnd(func(p *spec.Pass, c *conversation) {
			for _, r := range c.runs {
				if hasCreatedFlag(r) && c.isFirstInThread(r) && c.wasThreadUnknown(r) {
					p.Judge(r.acceptance, r.acceptance.Created == "true", "nothing was known of thread %q, and the first run on it says that it was there before", r.request.Thread)
				}
			}
		}),
	}
	AcceptedRunInKnownThread = &spec.Check{
		ID:    "accepted.known-thread",
		Doc:   "a later run of a conversation does not say that it has made it",
		Needs: []spec.Kind{spec.RunAccepted, "slot.created"},
		Watch: atConversationEnd(func(p *spec.Pass, c *conversation) {
			for _, r := range c.runs {
				if hasCreatedFlag(r) && !c.isFirstInThread(r) {
					p.Judge(r.acceptance, r.acceptance.Created == "false", "the second run on thread %q says that it has made it", r.request.Thread)
				}
			}
		}),
	}
)

// hasCreatedFlag is whether the answer that accepted a run tells if its thread is new. One of a
// run that was asked for again may repeat what it said at first.
func hasCreatedFlag(r *acceptedRun) bool {
	return r.acceptance.Created == "true" || r.acceptance.Created == "false"
}

// isFirstInThread says that no run of r's thread was accepted before r was asked for.
func (c *conversation) isFirstInThread(r *acceptedRun) bool {
	for _, q := range c.runs {
		if q != r && q.request.Thread == r.request.Thread && q.acceptance.Exchange < r.request.Exchange && q.acceptance.At <= r.request.At {
			return false
		}
	}
	return true
}

// wasThreadUnknown says that the history of r's thread was asked for before r was, and
// there was none. Whose thread it is not, to them it is not known either. A thread that
// something else was done to is not known to be new.
func (c *conversation) wasThreadUnknown(r *acceptedRun) bool {
	unknown := false
	for _, x := range c.historyExchanges {
		if x.request.Thread != r.request.Thread || x.request.Exchange > r.request.Exchange || x.bodyEnd.At > r.request.At || credentialKey(x.request) != credentialKey(r.request) {
			continue
		}
		page, ok := x.page()
		empty := ok && x.request.Day == "" && page.HasMore != "true" && len(page.Parts) == 0
		unknown = empty || x.isThreadUnknown() || x.response.StatusCode == 403
	}
	return unknown && !c.touchedThreads[r.request.Thread] && !c.touchedThreads[""]
}

// AcceptedPromptIsStored judges whether what the user said is kept before the run begins.
var AcceptedPromptIsStored = &spec.Check{
	ID: "accepted.keeps-prompt",
	Doc: `what the user said is in the history as soon as the run is accepted

Judged where the history was asked for after that, and before the end of the run was
heard: what it must hold afterwards is another rule's business.`,
	Needs: []spec.Kind{spec.RunAccepted, spec.History},
	Watch: atConversationEnd(func(p *spec.Pass, c *conversation) {
		for _, r := range c.runs {
			if r.requestedAgain || r.request.Text == "" {
				continue
			}
			for _, x := range c.historyExchanges {
				early := x.request.Exchange < r.request.Exchange || x.request.At < r.acceptance.At
				over := r.end.Kind != "" && r.end.At <= x.request.At
				if early || over || x.request.Day != "" || credentialKey(x.request) != credentialKey(r.request) {
					continue
				}
				page, ok := x.latestPage(r.request.Thread)
				switch {
				case ok && hasUserText(page, r.request.Text):
					p.Judge(page, true, "")
				case ok && page.HasMore != "true" || x.request.Thread == r.request.Thread && x.isThreadUnknown() && c.hasServedHistory():
					p.Judge(x.body, false, "the run was accepted, and the history does not tell that the user said %q", r.request.Text)
				}
			}
		}
	}),
}
