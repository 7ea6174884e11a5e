package rules

import (
	"cmp"
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// mayBeBusy reports whether the refusal in x may only mean that the server is busy, so that it
// proves nothing about the requirement with the given id. That is so if the refusal is an event of
// a stream and the requirement is the one on the operation.
func (x exchange) mayBeBusy(requirement string) bool {
	return x.refusedInBand && requirement == x.request.Requirement
}

// refusedForm finds out what to blame for the refusal in x. The request of x must be valid, and
// accepted holds the forms of the accepted requests. If the request has exactly one form that no
// accepted request for the same operation has, the refusal is blamed on that form.
//
// The result what describes the request and names that form, as in "valid request with null for
// /seed". The result requirement is the id of the requirement on that form or, if there is none, of
// the requirement on the operation. It is "" if the refusal proves nothing about the requirement;
// see mayBeBusy.
func (x exchange) refusedForm(accepted acceptedForms) (what, requirement string) {
	form := accepted.newForm(x.request)
	if what = "valid request"; form.Name != "" {
		what += " " + form.Name
	}
	if requirement = cmp.Or(form.Requirement, x.request.Requirement); x.mayBeBusy(requirement) {
		requirement = ""
	}
	return what, requirement
}

// An acceptedForms holds the names of the forms that accepted requests had. The outer key is the
// operation, and the inner key is the name of a form.
type acceptedForms map[string]map[string]bool

// newAcceptedForms returns the forms of the requests in accepted. All of these requests must have
// been accepted.
func newAcceptedForms(accepted []exchange) acceptedForms {
	all := acceptedForms{}
	for _, x := range accepted {
		known := all[x.request.Operation]
		if known == nil {
			known = map[string]bool{}
			all[x.request.Operation] = known
		}
		for _, form := range formsOf(x.request) {
			known[form.Name] = true
		}
	}
	return all
}

// newForm returns the form of request that no accepted request for the same operation has. It
// returns the zero value if there is no such form, if there are several, or if no request for the
// operation was accepted.
func (a acceptedForms) newForm(request spec.Event) spec.RequestForm {
	known, anyAccepted := a[request.Operation]
	isKnown := func(form spec.RequestForm) bool { return known[form.Name] }
	if forms := slices.DeleteFunc(formsOf(request), isKnown); anyAccepted && len(forms) == 1 {
		return forms[0]
	}
	return spec.RequestForm{}
}

// formsOf returns the forms that distinguish a request from other requests for the same operation,
// such as null for an optional member. It returns nil if there are none.
func formsOf(request spec.Event) []spec.RequestForm {
	if forms := request.Facts().Forms; forms != nil {
		return forms()
	}
	return nil
}
