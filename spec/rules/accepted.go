package rules

import "github.com/streamassay/streamassay/spec"

var acceptances = []*spec.Check{NewThread, KnownThread, KeepsPrompt}

// NewThread and KnownThread judge whether a run that is accepted says rightly that its
// conversation is new.
var (
	NewThread = &spec.Check{
		ID: "accepted.new-thread",
		Doc: `the first run of a conversation says that it has made it

That it is the first is known where the server had just said that there is no such
conversation, or that nothing was said in it, and nothing else was done to it.`,
		Needs: []spec.Kind{spec.RunAccepted, "slot.created", spec.History},
		Watch: histories(func(p *spec.Pass, c *chronicle) {
			for _, r := range c.runs {
				if says(r) && c.first(r) && c.wasUnknown(r) {
					p.Judge(r.accepted, r.accepted.Created == "true", "nothing was known of thread %q, and the first run on it says that it was there before", r.ask.Thread)
				}
			}
		}),
	}
	KnownThread = &spec.Check{
		ID:    "accepted.known-thread",
		Doc:   "a later run of a conversation does not say that it has made it",
		Needs: []spec.Kind{spec.RunAccepted, "slot.created"},
		Watch: histories(func(p *spec.Pass, c *chronicle) {
			for _, r := range c.runs {
				if says(r) && !c.first(r) {
					p.Judge(r.accepted, r.accepted.Created == "false", "the second run on thread %q says that it has made it", r.ask.Thread)
				}
			}
		}),
	}
)

// says is whether the answer that accepted a run tells if its thread is new. One of a
// run that was asked for again may repeat what it said at first.
func says(r *record) bool { return r.accepted.Created == "true" || r.accepted.Created == "false" }

// first says that no run of r's thread was accepted before r was asked for.
func (c *chronicle) first(r *record) bool {
	for _, q := range c.runs {
		if q != r && q.ask.Thread == r.ask.Thread && q.accepted.Exchange < r.ask.Exchange && q.accepted.At <= r.ask.At {
			return false
		}
	}
	return true
}

// wasUnknown says that the history of r's thread was asked for before r was, and
// there was none. Whose thread it is not, to them it is not known either. A thread that
// something else was done to is not known to be new.
func (c *chronicle) wasUnknown(r *record) bool {
	unknown := false
	for _, x := range c.reads {
		if x.ask.Thread != r.ask.Thread || x.ask.Exchange > r.ask.Exchange || x.closed.At > r.ask.At || who(x.ask) != who(r.ask) {
			continue
		}
		page, ok := x.page()
		empty := ok && x.ask.Day == "" && page.HasMore != "true" && len(page.Parts) == 0
		unknown = empty || x.unknown() || x.answer.StatusCode == 403
	}
	return unknown && !c.touched[r.ask.Thread] && !c.touched[""]
}

// KeepsPrompt judges whether what the user said is kept before the run begins.
var KeepsPrompt = &spec.Check{
	ID: "accepted.keeps-prompt",
	Doc: `what the user said is in the history as soon as the run is accepted

Judged where the history was asked for after that, and before the end of the run was
heard: what it must hold afterwards is another rule's business.`,
	Needs: []spec.Kind{spec.RunAccepted, spec.History},
	Watch: histories(func(p *spec.Pass, c *chronicle) {
		for _, r := range c.runs {
			if r.again || r.ask.Text == "" {
				continue
			}
			for _, x := range c.reads {
				early := x.ask.Exchange < r.ask.Exchange || x.ask.At < r.accepted.At
				over := r.end.Kind != "" && r.end.At <= x.ask.At
				if early || over || x.ask.Day != "" || who(x.ask) != who(r.ask) {
					continue
				}
				page, ok := x.latest(r.ask.Thread)
				switch {
				case ok && holds(page, r.ask.Text):
					p.Judge(page, true, "")
				case ok && page.HasMore != "true" || x.ask.Thread == r.ask.Thread && x.unknown() && c.served():
					p.Judge(x.body, false, "the run was accepted, and the history does not tell that the user said %q", r.ask.Text)
				}
			}
		}
	}),
}
