package rules

import "github.com/streamassay/streamassay/spec"

var admission = []*spec.Check{NeedsCredentials, OwnerOnly, OwnHistory, LimitsStreams, FreesStreams}

// A gate is how one operation deals with those who may ask and those who may not.
type gate struct {
	opens map[string]bool // what the user asked about and was answered
	tried []dealing       // by others
}

// gates lets a rule see, at the end of a conversation, what others than the user asked
// for, and what was the user's before that.
func gates(denial func(spec.Event) spec.DenialReason, judge func(p *spec.Pass, x dealing, opens bool)) watch {
	return dealings(func(p *spec.Pass) (func(dealing), func()) {
		doors := map[string]*gate{}
		var order []*gate
		owns := property{}
		deal := func(x dealing) {
			door := doors[x.ask.Operation]
			if door == nil {
				door = &gate{opens: map[string]bool{}}
				doors[x.ask.Operation], order = door, append(order, door)
			}
			switch why := denial(x.ask); {
			case !x.ask.Valid():
			case x.ask.Principal == spec.PrimaryUser && x.accepted():
				door.opens[thing(x.ask)] = true
			case why == "" || x.status == 429 || x.status == 503: // that is about how busy the server is
			case why != spec.DeniedOtherUser || owns.by(spec.PrimaryUser, x.ask):
				door.tried = append(door.tried, x)
			}
			owns.note(x)
		}
		over := func() {
			for _, door := range order {
				for _, x := range door.tried {
					judge(p, x, door.opens[thing(x.ask)] || denial(x.ask) != spec.DeniedOtherUser && len(door.opens) > 0)
				}
			}
		}
		return deal, over
	})
}

// denied judges whether somebody who may not ask is refused as the document says. A
// refusal counts only where the user was not refused.
func denied(denial func(spec.Event) spec.DenialReason) watch {
	return gates(denial, func(p *spec.Pass, x dealing, opens bool) {
		for _, demand := range x.ask.Denials[denial(x.ask)] {
			if ok := x.meets(demand); opens || !ok && x.accepted() {
				e := x.ask
				e.Requirement = demand.Requirement
				p.Judge(e, ok, "asked by %s: %v; expected %s", whose[x.ask.Principal], x, Wanted(demand))
			}
		}
	})
}

// whose says in words who asked.
var whose = map[spec.Principal]string{
	spec.OtherUser: "another user", spec.Anonymous: "somebody without credentials",
	spec.UnknownUser: "somebody with credentials that nobody handed out",
}

// thing is what a request is about: a conversation, or else what has an id.
func thing(e spec.Event) string {
	if e.Thread != "" {
		return e.Thread
	}
	if e.ID != "" {
		return e.Name + "\x00" + e.ID
	}
	return ""
}

// property says whose things are.
type property map[string]spec.Principal

// note notes that things which nobody had are somebody's now.
func (o property) note(x dealing) {
	if !x.accepted() {
		return
	}
	for _, e := range []spec.Event{x.ask, x.reply} {
		if name := thing(e); name != "" {
			if _, had := o[name]; !had {
				o[name] = x.ask.Principal
			}
		}
	}
}

// by says that what e is about is somebody's.
func (o property) by(who spec.Principal, e spec.Event) bool {
	owner, had := o[thing(e)]
	return had && owner == who
}

// NeedsCredentials judges what is said to somebody who does not say who asks.
var NeedsCredentials = &spec.Check{
	ID: "auth.needs-credentials",
	Doc: `a request without credentials is refused as the document says; the user's is not

So is one with credentials that nobody handed out. A server that refuses everybody
refuses correctly by accident: until the user's request was accepted by the same
operation, no refusal counts for it.`,
	AllPrincipals: true,
	Watch: denied(func(ask spec.Event) spec.DenialReason {
		switch ask.Principal {
		case spec.Anonymous:
			return spec.DeniedAnonymous
		case spec.UnknownUser:
			return spec.DeniedUnknownUser
		}
		return ""
	}),
}

// OwnerOnly judges what is said to somebody about what is another's.
var OwnerOnly = &spec.Check{
	ID: "auth.owner-only",
	Doc: `what is one user's is refused to another as the document says

A conversation is the user's whose request about it was accepted first. A refusal
counts only where the user was not refused the same.`,
	AllPrincipals: true,
	Watch: denied(func(ask spec.Event) spec.DenialReason {
		if ask.Principal == spec.OtherUser {
			return spec.DeniedOtherUser
		}
		return ""
	}),
}

// OwnHistory judges whose history comes where no conversation is named.
var OwnHistory = &spec.Check{
	ID: "auth.own-history",
	Doc: `who asks for a history and names no conversation is not told one of somebody else's

Judged where the user has one, and is told of it.`,
	Needs:         []spec.Kind{spec.History},
	AllPrincipals: true,
	Watch: dealings(func(p *spec.Pass) (func(dealing), func()) {
		owns := property{}
		theirs := false
		var tried []dealing
		deal := func(x dealing) {
			named := x.ask.Thread != ""
			owns.note(x)
			switch {
			case x.reply.Kind != spec.History && !(x.ask.Principal == spec.OtherUser && x.ask.Name == "history"):
			case x.ask.Principal == spec.PrimaryUser:
				theirs = theirs || x.accepted() && x.reply.Thread != ""
			case x.ask.Principal == spec.OtherUser && !named && x.ask.Valid():
				tried = append(tried, x)
			}
		}
		over := func() {
			for _, x := range tried {
				leaks := x.accepted() && owns.by(spec.PrimaryUser, x.reply)
				if leaks || theirs && x.status/100 != 5 {
					e := x.ask
					if x.reply.Raw != nil {
						e = x.reply
					}
					p.Judge(e, !leaks, "another user asked for the latest conversation of its own, and is told of %q", x.reply.Thread)
				}
			}
		}
		return deal, over
	}),
}
