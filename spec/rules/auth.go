package rules

import "github.com/streamassay/streamassay/spec"

var accessChecks = []*spec.Check{NeedsCredentials, OwnerOnly, HistoryIsOwn, RefusesExcessStreams, ReleasesStreams}

// A accessLog is how one operation deals with those who may ask and those who may not.
type accessLog struct {
	granted  map[string]bool // what the user asked about and was answered
	attempts []exchange      // by others
}

// eachAccessAttempt lets a rule see, at the end of a conversation, what others than the user asked
// for, and what was the user's before that.
func eachAccessAttempt(denial func(spec.Event) spec.DenialReason, judge func(p *spec.Pass, x exchange, granted bool)) watchFunc {
	return eachExchange(func(p *spec.Pass) (func(exchange), func()) {
		logs := map[string]*accessLog{}
		var order []*accessLog
		owners := ownership{}
		onExchange := func(x exchange) {
			log := logs[x.request.Operation]
			if log == nil {
				log = &accessLog{granted: map[string]bool{}}
				logs[x.request.Operation], order = log, append(order, log)
			}
			switch reason := denial(x.request); {
			case !x.request.Valid():
			case x.request.Principal == spec.PrimaryUser && x.isAccepted():
				log.granted[resourceKey(x.request)] = true
			case reason == "" || x.status == 429 || x.status == 503: // that is about how busy the server is
			case reason != spec.DeniedOtherUser || owners.isOwnedBy(spec.PrimaryUser, x.request):
				log.attempts = append(log.attempts, x)
			}
			owners.record(x)
		}
		onEnd := func() {
			for _, log := range order {
				for _, x := range log.attempts {
					judge(p, x, log.granted[resourceKey(x.request)] || denial(x.request) != spec.DeniedOtherUser && len(log.granted) > 0)
				}
			}
		}
		return onExchange, onEnd
	})
}

// accessWatch judges whether somebody who may not ask is refused as the document says. A
// refusal counts only where the user was not refused.
func accessWatch(denial func(spec.Event) spec.DenialReason) watchFunc {
	return eachAccessAttempt(denial, func(p *spec.Pass, x exchange, granted bool) {
		for _, refusal := range x.request.Denials[denial(x.request)] {
			if ok := x.satisfies(refusal); granted || !ok && x.isAccepted() {
				e := x.request
				e.Requirement = refusal.Requirement
				p.Judge(e, ok, "asked by %s: %v; expected %s", principalNames[x.request.Principal], x, DescribeRefusal(refusal))
			}
		}
	})
}

// principalNames says in words who asked.
var principalNames = map[spec.Principal]string{
	spec.OtherUser: "another user", spec.Anonymous: "somebody without credentials",
	spec.UnknownUser: "somebody with credentials that nobody handed out",
}

// resourceKey is what a request is about: a conversation, or else what has an id.
func resourceKey(e spec.Event) string {
	if e.Thread != "" {
		return e.Thread
	}
	if e.ID != "" {
		return e.Name + "\x00" + e.ID
	}
	return ""
}

// ownership says whose things are.
type ownership map[string]spec.Principal

// record notes that things which nobody had are somebody's now.
func (o ownership) record(x exchange) {
	if !x.isAccepted() {
		return
	}
	for _, e := range []spec.Event{x.request, x.reply} {
		if key := resourceKey(e); key != "" {
			if _, known := o[key]; !known {
				o[key] = x.request.Principal
			}
		}
	}
}

// isOwnedBy says that what e is about is somebody's.
func (o ownership) isOwnedBy(principal spec.Principal, e spec.Event) bool {
	owner, known := o[resourceKey(e)]
	return known && owner == principal
}

// NeedsCredentials judges what is said to somebody who does not say who asks.
var NeedsCredentials = &spec.Check{
	ID: "auth.needs-credentials",
	Doc: `a request without credentials is refused as the document says; the user's is not

So is one with credentials that nobody handed out. A server that refuses everybody
refuses correctly by accident: until the user's request was accepted by the same
operation, no refusal counts for it.`,
	AllPrincipals: true,
	Watch: accessWatch(func(request spec.Event) spec.DenialReason {
		switch request.Principal {
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
	Watch: accessWatch(func(request spec.Event) spec.DenialReason {
		if request.Principal == spec.OtherUser {
			return spec.DeniedOtherUser
		}
		return ""
	}),
}

// HistoryIsOwn judges whose history comes where no conversation is named.
var HistoryIsOwn = &spec.Check{
	ID: "auth.own-history",
	Doc: `who asks for a history and names no conversation is not told one of somebody else's

Judged where the user has one, and is told of it.`,
	Needs:         []spec.Kind{spec.History},
	AllPrincipals: true,
	Watch: eachExchange(func(p *spec.Pass) (func(exchange), func()) {
		owners := ownership{}
		userHasHistory := false
		var attempts []exchange
		onExchange := func(x exchange) {
			named := x.request.Thread != ""
			owners.record(x)
			switch {
			case x.reply.Kind != spec.History && !(x.request.Principal == spec.OtherUser && x.request.Name == "history"):
			case x.request.Principal == spec.PrimaryUser:
				userHasHistory = userHasHistory || x.isAccepted() && x.reply.Thread != ""
			case x.request.Principal == spec.OtherUser && !named && x.request.Valid():
				attempts = append(attempts, x)
			}
		}
		onEnd := func() {
			for _, x := range attempts {
				leaks := x.isAccepted() && owners.isOwnedBy(spec.PrimaryUser, x.reply)
				if leaks || userHasHistory && x.status/100 != 5 {
					e := x.request
					if x.reply.Raw != nil {
						e = x.reply
					}
					p.Judge(e, !leaks, "another user asked for the latest conversation of its own, and is told of %q", x.reply.Thread)
				}
			}
		}
		return onExchange, onEnd
	}),
}
