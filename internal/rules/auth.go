package rules

import (
	"strings"

	"github.com/streamassay/streamassay/spec"
)

var accessChecks = []*spec.Check{
	NeedsCredentials, OwnerOnly, HistoryIsOwn, HidesHistory, RefusesExcessStreams, ReleasesStreams,
}

// eachAccessAttempt returns a newWatcherFunc that calls judge, at the end of a conversation, with
// each exchange x in which the server should have denied access. The function denial returns the
// reason to deny a request, or "" if there is none.
//
// The argument granted reports whether the server accepted a request of [spec.PrimaryUser] for the
// same operation. If the reason is [spec.DeniedOtherUser], that request must also have been for
// the same resource.
//
// Invalid requests are omitted, and so are responses with status 429 or 503, which a busy server
// may return to any request. If the reason is DeniedOtherUser, only requests for resources of
// PrimaryUser are included.
func eachAccessAttempt(
	denial func(spec.Event) spec.DenialReason, judge func(p *spec.Pass, x exchange, granted bool),
) newWatcherFunc {
	return eachExchange(func(p *spec.Pass) func(exchange) {
		type operationResource struct{ operation, resourceKey string }
		// Of the accepted requests of the primary user: the operations, also with their resources.
		operations, granted := map[string]bool{}, map[operationResource]bool{}
		var attempts []exchange // by other principals
		owners := resourceOwners{}
		p.AtEnd(func() {
			for _, x := range attempts {
				sameOperation := denial(x.request) != spec.DeniedOtherUser && operations[x.request.Operation]
				judge(p, x, sameOperation || granted[operationResource{x.request.Operation, resourceKey(x.request)}])
			}
		})
		return func(x exchange) {
			switch reason := denial(x.request); {
			case !x.request.Valid():
			case x.request.Principal == spec.PrimaryUser && x.isAccepted():
				operations[x.request.Operation] = true
				granted[operationResource{x.request.Operation, resourceKey(x.request)}] = true
			case reason == "" || x.status() == 429 || x.status() == 503: // a busy server says nothing about access
			case reason != spec.DeniedOtherUser || owners.isOwnedBy(spec.PrimaryUser, x.request):
				attempts = append(attempts, x)
			}
			owners.record(x)
		}
	})
}

// accessWatch returns a newWatcherFunc that judges whether requests are denied as documented. The
// function denial returns the reason to deny a request, or "" if there is none. A server that
// refuses everything must not pass, so a refusal counts only if the server accepted the same kind
// of request of [spec.PrimaryUser]; see the argument granted of eachAccessAttempt.
func accessWatch(denial func(spec.Event) spec.DenialReason) newWatcherFunc {
	return eachAccessAttempt(denial, func(p *spec.Pass, x exchange, granted bool) {
		for _, refusal := range x.request.Facts().Denials[denial(x.request)] {
			if ok := x.satisfies(refusal); granted || !ok && x.isAccepted() {
				x.request.Requirement = refusal.Requirement
				p.Judge(x.request, ok, "request by %s: %v; expected %s",
					principalNames[x.request.Principal], x, DescribeRefusal(refusal))
			}
		}
	})
}

// principalNames maps each principal except [spec.PrimaryUser] to a description of it for the
// messages of findings.
var principalNames = map[spec.Principal]string{
	spec.OtherUser: "another user", spec.Anonymous: "a client without credentials",
	spec.UnknownUser:        "a client with invalid credentials",
	spec.LongerCredentials:  "a client with the user's credentials and more characters after them",
	spec.ShorterCredentials: "a client with the user's credentials without the last character",
}

// resourceKey returns a map key for the resource that e names. The key is the thread id or, if e
// names no thread, a combination of the fields Name and ID. It is "" if both the thread id and the
// field ID are empty.
func resourceKey(e spec.Event) string {
	if e.Thread != "" {
		return e.Thread
	}
	if e.ID != "" {
		return e.Name + "\x00" + e.ID
	}
	return ""
}

// A resourceOwners maps the key of each known resource to the owner of the resource. For keys, see
// resourceKey.
type resourceOwners map[string]spec.Principal

// record makes the sender of the request in x the owner of the resources that the request and the
// reply name, except those that already have an owner. It does nothing if the request was not
// accepted.
func (o resourceOwners) record(x exchange) {
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

// isOwnedBy reports whether principal is the owner of the resource that e names. It returns false
// if the owner is not known or e names no resource.
func (o resourceOwners) isOwnedBy(principal spec.Principal, e spec.Event) bool {
	owner, known := o[resourceKey(e)]
	return known && owner == principal
}

// NeedsCredentials judges whether requests without valid credentials are refused.
var NeedsCredentials = &spec.Check{
	ID: "auth.needs-credentials", ReadsDocument: true,
	Doc: `a request without valid credentials is refused as documented

Both missing and invalid credentials are judged. Some of the invalid ones are the user's credentials
with characters added or removed at the end. A server that refuses everything would pass by accident,
so a refusal counts only if the server accepted a request of the primary user for the same operation.`,
	AllPrincipals: true,
	Watch: accessWatch(func(request spec.Event) spec.DenialReason {
		switch request.Principal {
		case spec.Anonymous:
			return spec.DeniedAnonymous
		case spec.UnknownUser, spec.LongerCredentials, spec.ShorterCredentials:
			return spec.DeniedUnknownUser
		}
		return ""
	}),
}

// OwnerOnly judges whether requests for another user's resources are refused.
var OwnerOnly = &spec.Check{
	ID: "auth.owner-only", ReadsDocument: true,
	Doc: `a request for another user's resource is refused as documented

The owner of a thread or file is the user whose request for it was accepted first. A refusal
counts only if the server accepted a request of the owner for the same operation and resource.

The suite also sends the thread id with its letters in the other case. It is not specified whether
that id names the same thread, so the server may refuse the request in any way or return a stream
without events. It must not send events of the owner's run.`,
	AllPrincipals: true,
	Watch: func(p *spec.Pass) func(spec.Event) {
		watchExact := accessWatch(func(request spec.Event) spec.DenialReason {
			if request.Principal == spec.OtherUser {
				return spec.DeniedOtherUser
			}
			return ""
		})(p)
		watchOtherCase := otherCaseWatch(p)
		return func(e spec.Event) {
			watchExact(e)
			watchOtherCase(e)
		}
	},
}

// otherCaseWatch records a finding for each stream of a run of [spec.PrimaryUser] that the server
// sends to another user. It applies to requests whose thread id differs from that of the run only
// in the case of its letters.
var otherCaseWatch = eachExchange(func(p *spec.Pass) func(exchange) {
	threads := map[string]string{} // the primary user's thread ids, by the id in lower case
	owners := resourceOwners{}
	return func(x exchange) {
		own, first := threads[strings.ToLower(x.request.Thread)], x.firstBodyEvent
		switch {
		case x.request.Principal == spec.PrimaryUser && x.isAccepted() && x.request.Thread != "":
			threads[strings.ToLower(x.request.Thread)] = x.request.Thread
		case x.request.Principal != spec.OtherUser || !x.isAccepted() || !x.request.Valid() || x.request.Run == "":
		case own != "" && own != x.request.Thread && first.IsFrame() && first.Run == x.request.Run &&
			owners.isOwnedBy(spec.PrimaryUser, spec.Event{Thread: own}) && !owners.isOwnedBy(spec.OtherUser, x.request):
			for _, refusal := range x.request.Facts().Denials[spec.DeniedOtherUser] {
				if !x.satisfies(refusal) {
					first.Requirement = refusal.Requirement
					p.Judge(first, false,
						"another user's request with the thread id in different letter case returned events of the run; expected %s",
						DescribeRefusal(refusal))
				}
			}
		}
		if x.reply.Kind == spec.RunAccepted || x.request.Principal == spec.PrimaryUser {
			owners.record(x)
		}
	}
})

// HistoryIsOwn judges whether a history request that names no thread returns a thread of the user
// who sent the request, and not a thread of another user.
var HistoryIsOwn = &spec.Check{
	ID: "auth.own-history",
	Doc: `a history request that names no thread returns a thread of the user who sent the request

A response with another thread or none passes only if the primary user has a history and can read it.
Otherwise, a server that returns no histories would pass by accident.`,
	Needs:         []spec.Kind{spec.History},
	AllPrincipals: true,
	Watch: eachExchange(func(p *spec.Pass) func(exchange) {
		owners := resourceOwners{}
		userHasHistory := false
		var attempts []exchange
		p.AtEnd(func() {
			for _, x := range attempts {
				leaks := x.isAccepted() && owners.isOwnedBy(spec.PrimaryUser, x.reply)
				if leaks || userHasHistory && x.status()/100 != 5 {
					e := x.request
					if x.reply.Raw != nil {
						e = x.reply
					}
					p.Judge(e, !leaks,
						"another user's request for the latest history returned thread %q of the primary user; expected only threads of the user who sends the request",
						x.reply.Thread)
				}
			}
		})
		return func(x exchange) {
			owners.record(x)
			switch {
			case x.reply.Kind != spec.History && !(x.request.Principal == spec.OtherUser && x.request.Name == "history"):
			case x.request.Principal == spec.PrimaryUser:
				userHasHistory = userHasHistory || x.isAccepted() && x.reply.Thread != ""
			case x.request.Principal == spec.OtherUser && x.request.Thread == "" && x.request.Valid():
				attempts = append(attempts, x)
			}
		}
	}),
}

// HidesHistory judges whether a request of another user for the history of a thread returns none of
// the prompts of its owner.
var HidesHistory = &spec.Check{
	ID: "auth.hides-history",
	Doc: `a request for the history of another user's thread returns none of the owner's prompts

The server may refuse the request in any way, or return a history without these prompts. This passes
only if the server returned a history with one of them to the owner. Otherwise, a server that returns
no histories would pass by accident.`,
	Needs:         []spec.Kind{spec.History, spec.HistoryUser},
	AllPrincipals: true,
	Watch: eachExchange(func(p *spec.Pass) func(exchange) {
		owners := resourceOwners{}
		prompts := map[string]map[spec.Principal]string{} // text of a prompt → sender → thread
		canRead := map[string]bool{}                      // threads whose owner received a history with a prompt
		var attempts []exchange

		// ownersPrompt returns the first prompt in x.reply that only the primary user sent, to the
		// given thread. It returns "" if there is none.
		ownersPrompt := func(x exchange, thread string) string {
			page, _ := x.page()
			for _, m := range page.Parts {
				senders := prompts[WithoutSpace(m.Text)]
				if m.Kind == spec.HistoryUser && m.Text != "" && len(senders) == 1 && senders[spec.PrimaryUser] == thread {
					return m.Text
				}
			}
			return ""
		}
		p.AtEnd(func() {
			for _, x := range attempts {
				switch text := ownersPrompt(x, x.request.Thread); {
				case text != "":
					p.Judge(x.reply, false,
						"another user's request for the history of a thread returned the owner's prompt %q; expected a refusal, or no data of the owner",
						text)
				case canRead[x.request.Thread] && !isRequestIndependentStatus(x.status()):
					x.request.Requirement = "" // this is not the requirement on the operation
					p.Judge(x.request, true, "")
				}
			}
		})
		return func(x exchange) {
			for _, m := range x.request.PartsOf(spec.InputUser) {
				text := WithoutSpace(m.Text)
				if prompts[text] == nil {
					prompts[text] = map[spec.Principal]string{}
				}
				prompts[text][x.request.Principal] = x.request.Thread
			}
			isOwned := owners.isOwnedBy(spec.PrimaryUser, x.request)
			switch {
			case x.request.Thread == "" || !isOwned || !x.request.Valid():
			case x.request.Principal == spec.PrimaryUser:
				canRead[x.request.Thread] = canRead[x.request.Thread] || ownersPrompt(x, x.request.Thread) != ""
			case x.request.Principal == spec.OtherUser && x.request.Name == "history":
				attempts = append(attempts, x)
			}
			owners.record(x)
		}
	}),
}
