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
	requirement = cmp.Or(form.Requirement, accepted.unusualRequirement(x.request), x.request.Requirement)
	if x.mayBeBusy(requirement) {
		requirement = ""
	}
	return what, requirement
}

// An acceptedForms maps each operation to what its accepted requests have shown.
type acceptedForms map[string]*acceptedRequests

// An acceptedRequests holds what the accepted requests for one operation have shown.
type acceptedRequests struct {
	count     int
	forms     map[string]bool // the names of the forms that at least one request has
	exercised map[string]int  // the number of requests that exercised a requirement, by its id
}

// newAcceptedForms returns what the requests in the given exchanges, which were accepted, have
// shown.
func newAcceptedForms(accepted []exchange) acceptedForms {
	all := acceptedForms{}
	for _, x := range accepted {
		known := all[x.request.Operation]
		if known == nil {
			known = &acceptedRequests{forms: map[string]bool{}, exercised: map[string]int{}}
			all[x.request.Operation] = known
		}
		known.count++
		for _, form := range formsOf(x.request) {
			known.forms[form.Name] = true
		}
		for _, requirement := range x.request.Exercised {
			known.exercised[requirement]++
		}
	}
	return all
}

// unusualRequirement returns the id of the only requirement that a request exercises and that not
// all accepted requests for the same operation exercise. It returns "" if there is no such
// requirement or more than one, or if no request for the operation was accepted.
func (a acceptedForms) unusualRequirement(request spec.Event) (requirement string) {
	known, anyAccepted := a[request.Operation]
	isUsual := func(id string) bool { return id == request.Requirement || known.exercised[id] == known.count }
	if !anyAccepted {
		return ""
	}
	if unusual := slices.DeleteFunc(slices.Clone(request.Exercised), isUsual); len(unusual) == 1 {
		return unusual[0]
	}
	return ""
}

// newForm returns the only form of a request that no accepted request for the same operation has.
// It returns the zero value if there is no such form or more than one, or if no request for the
// operation was accepted.
func (a acceptedForms) newForm(request spec.Event) spec.RequestForm {
	known, anyAccepted := a[request.Operation]
	if !anyAccepted {
		return spec.RequestForm{}
	}
	isKnown := func(form spec.RequestForm) bool { return known.forms[form.Name] }
	if forms := slices.DeleteFunc(formsOf(request), isKnown); len(forms) == 1 {
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
