package rules

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// AcceptsAsDocumented judges whether valid requests are accepted.
var AcceptsAsDocumented = &spec.Check{
	ID: "accept.as-documented", ReadsDocument: true,
	Doc: `a valid request is accepted

A request exercises the requirements to which the document assigns its members. If one of them says
that the server only should accept a result of a client tool or an answer to an interrupt, the
refusal of such a request counts against it. Any other refusal counts against those of them that no
accepted request exercised. If there are none, it counts against the requirement on the single form
that distinguishes the request from the accepted ones, such as null for a member or its value, or on
the single requirement that does so. If there is no such difference, it counts against the
requirement on the operation.

A truncated response fails the check, too, if the dialect has no terminal event and the prompt does
not ask for a failure.

A request is not judged while another run of its thread may be active or waits for input, except a
request to cancel a run that must be active because its prompt sets a duration. Nor is a request
with a link that the server did not issue in this conversation, a request for a file that was not
uploaded in it, or a request with an Expect field that is refused with status 417. An event that
refuses the run may mean that the thread is busy. It counts against the requirement on the operation
only if the thread had been idle for 200 ms.`,
	Watch: func(p *spec.Pass) func(spec.Event) {
		requests := validRequestsOf(p)
		p.AtEnd(func() {
			for _, x := range requests.refused {
				what, blamed := requests.blame(p, x)
				for _, requirement := range blamed {
					x.request.Requirement = requirement
					p.Judge(x.request, false, "%s: %v; expected a success", what, x)
				}
			}
		})
		return eachExchange(func(p *spec.Pass) func(exchange) {
			return func(x exchange) {
				switch {
				case !x.mustBeAccepted():
				case x.isComplete():
					for _, requirement := range x.request.Exercised {
						x.request.Requirement = requirement
						p.Judge(x.request, true, "")
					}
				case x.isCutOff() && x.requiresCompleteBody():
					x.bodyEnd.Requirement = x.request.Requirement
					p.Judge(x.bodyEnd, false, "the response to a valid request is truncated (%v); expected a complete response",
						x.bodyEnd.Err)
				}
			}
		})(p)
	},
}

// mustBeAccepted reports whether the request of x is valid and the server accepted it or had to
// accept it. A server may refuse a request that only the server can validate, a request in a thread
// that may be busy, and a request with an Expect field (with status 417). Statuses that excuse a
// refusal for other reasons are not considered; see isExcused.
func (x exchange) mustBeAccepted() bool {
	if !x.request.Valid() || x.request.Operation == "" || x.request.Header == nil {
		return false
	}
	refusesExpectation := x.status() == 417 && x.request.Header.Has("Expect")      // RFC 9110 section 15.5.18
	isBusy := x.threadBusy && !(x.isCancel() && (x.acceptedBefore || x.runActive)) // an active run can be canceled
	return x.isComplete() || !x.unverifiable && !isBusy && !refusesExpectation
}

// A validRequests holds the exchanges of a conversation for which mustBeAccepted returned true.
type validRequests struct {
	accepted  []exchange      // those whose request was accepted
	refused   []exchange      // those whose request was refused; isExcused returns false for them
	exercised map[string]bool // by requirement id: whether an accepted request exercised the requirement
	byPrompts map[string]bool // the same, but only for requests that are not replies; see [exchange.isReply]
	// stats returns, for each operation, statistics about the requests in accepted. It must not be
	// called before the end of the conversation.
	stats func() requestStatsByOperation
}

// validRequestsOf returns the validRequests of the conversation. All checks share the value, so
// they must not modify it. It is updated as the conversation goes on.
func validRequestsOf(p *spec.Pass) *validRequests {
	return spec.Shared(p, "valid requests", func() (*validRequests, func(spec.Event)) {
		v := &validRequests{exercised: map[string]bool{}, byPrompts: map[string]bool{}}
		v.stats = sync.OnceValue(func() requestStatsByOperation { return newAcceptedRequestStats(v.accepted) })
		return v, eachExchange(func(*spec.Pass) func(exchange) { return v.observe })(p)
	})
}

// observe adds x, the next exchange of the conversation, to v.accepted or v.refused. It ignores an
// exchange that belongs in neither of them: one for which mustBeAccepted returns false, an excused
// refusal, or a failure of the server, such as status 500.
func (v *validRequests) observe(x exchange) {
	switch {
	case !x.mustBeAccepted():
	case x.isComplete():
		v.accepted = append(v.accepted, x)
		for _, requirement := range x.request.Exercised {
			v.exercised[requirement] = true
			v.byPrompts[requirement] = v.byPrompts[requirement] || !x.isReply()
		}
	case x.isCutOff() && x.requiresCompleteBody(): // judged as truncated
	case x.refusedInBand || x.status()/100 == 4 && !x.isExcused(): // a 5xx is not a refusal
		v.refused = append(v.refused, x)
	}
}

// isReply reports whether the request of x has the result of a client tool, or the answer to an
// interrupt.
func (x exchange) isReply() bool {
	return len(x.request.PartsOf(spec.InputToolResult))+len(x.request.PartsOf(spec.InputResume)) > 0
}

// replyRequirement returns the id of the requirement on the reply in x, if it is not a MUST:
// whatever the reason for a refusal is, the server need not accept such a reply. It returns "" if
// the request is not a reply, or if the server must accept it.
func (v *validRequests) replyRequirement(p *spec.Pass, x exchange) string {
	if !x.isReply() {
		return ""
	}
	i := slices.IndexFunc(x.request.Exercised, func(requirement string) bool {
		return p.Judges(requirement) && p.Level(requirement) != spec.Must && !v.byPrompts[requirement]
	})
	if i < 0 {
		return ""
	}
	return x.request.Exercised[i]
}

// blame returns the ids of the requirements that the refusal in x counts against. There are none
// if the refusal proves nothing; see [exchange.mayBeBusy]. The result what describes the request
// in the message of a finding, such as "valid request". The pass p is that of the check
// AcceptsAsDocumented, or of one that only counts the requirements.
//
// The exchange x must be one of v.refused. The method must not be called before the end of the
// conversation.
func (v *validRequests) blame(p *spec.Pass, x exchange) (what string, requirements []string) {
	if requirement := v.replyRequirement(p, x); requirement != "" {
		return "valid request", []string{requirement}
	}
	requirements = slices.DeleteFunc(slices.Clone(x.request.Exercised), func(requirement string) bool {
		return v.exercised[requirement] || x.mayBeBusy(requirement)
	})
	if len(requirements) > 0 {
		return "valid request", requirements
	}
	what, requirement := x.refusedFeature(v.stats())
	if requirement != "" {
		requirements = []string{requirement}
	}
	if x.refusedInBand && requirement == x.request.Requirement {
		what += fmt.Sprintf(" in a thread without an active run of the user, idle for %v", x.idle.Round(100*time.Millisecond))
	}
	return what, requirements
}
