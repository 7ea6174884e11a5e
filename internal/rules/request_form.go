package rules

import (
	"cmp"
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// mayBeBusy reports whether the refusal of x may only mean that the server is busy, and so says
// nothing about the given requirement. That is so if the refusal is an event of a stream and the
// requirement is that of the operation.
func (x exchange) mayBeBusy(requirement string) bool {
	return x.refusedInBand && requirement == x.request.Requirement
}

// refusedForm compares x, a refused valid request, with the accepted ones. The result what
// describes x, for example as "valid request with null for /seed", which names the only form that
// no accepted request for the same operation has. The result requirement is that of this form or,
// if it has none, that of the operation; it is "" if the refusal says nothing about it.
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

// acceptedForms holds the names of the forms that accepted requests have, by operation.
type acceptedForms map[string]map[string]bool

// newAcceptedForms returns the forms of the requests of accepted.
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

// newForm returns the only form of a request that no accepted request for the same operation has.
// It returns the zero value if there are none or several, or if no request was accepted.
func (a acceptedForms) newForm(request spec.Event) spec.RequestForm {
	known, anyAccepted := a[request.Operation]
	isKnown := func(form spec.RequestForm) bool { return known[form.Name] }
	if forms := slices.DeleteFunc(formsOf(request), isKnown); anyAccepted && len(forms) == 1 {
		return forms[0]
	}
	return spec.RequestForm{}
}

// formsOf returns the forms that request has and other requests for the same operation have not,
// such as null for an optional member. It returns nil if there are none.
func formsOf(request spec.Event) []spec.RequestForm {
	if forms := request.Facts().Forms; forms != nil {
		return forms()
	}
	return nil
}
