package rules

import (
	"cmp"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// mayBeBusy reports whether the refusal in x proves nothing about the requirement with the given
// id, because the server may have refused the request only because the thread was busy. That is so
// for the requirement on the operation, x.request.Requirement, if the refusal is an event of a
// stream (run.refused) and the thread had not been idle for conflictSettleTime.
//
// The caller must make sure that no run is known to be active in the thread; see
// [openRuns.mayRefuse].
func (x exchange) mayBeBusy(requirement string) bool {
	return x.refusedInBand && requirement == x.request.Requirement && x.idle < conflictSettleTime
}

// refusedFeature determines which requirement the refusal in x counts against. The request of x
// must be valid.
//
// The result description describes the request for a finding, as in "valid request with null for
// /seed". The result requirement is the id of the first of these that exists:
//   - the requirement on the feature that newFeature returns
//   - the requirement that unusualRequirement returns
//   - the requirement on the operation
//
// If there is none, or if the refusal proves nothing about this requirement (see mayBeBusy), the id
// is "".
func (x exchange) refusedFeature(accepted requestStatsByOperation) (description, requirement string) {
	feature := accepted.newFeature(x.request)
	if description = "valid request"; feature.Name != "" {
		description += " " + feature.Name
	}
	requirement = cmp.Or(feature.Requirement, accepted.unusualRequirement(x.request), x.request.Requirement)
	if x.mayBeBusy(requirement) {
		requirement = ""
	}
	return description, requirement
}

// A requestStatsByOperation maps the name of each operation to statistics about its accepted
// requests.
type requestStatsByOperation map[string]*acceptedRequestStats

// An acceptedRequestStats holds statistics about the accepted requests for one operation.
type acceptedRequestStats struct {
	count       int             // the number of accepted requests
	features    map[string]bool // the names of the features (see [spec.RequestFeature]) of at least one request
	featureSets map[string]bool // the results of featureSet for the features of each request
	exercised   map[string]int  // by requirement id: the number of requests that exercised the requirement
	sets        map[string]bool // the results of exercisedSet for the accepted requests
}

// exercisedSet returns the ids of the requirements that the given request exercises (see
// [spec.Event.Exercised]), sorted and joined by spaces.
func exercisedSet(request spec.Event) string {
	return strings.Join(slices.Sorted(slices.Values(request.Exercised)), " ")
}

// newAcceptedRequestStats returns statistics about the requests of the given exchanges. All of
// these requests must have been accepted.
func newAcceptedRequestStats(accepted []exchange) requestStatsByOperation {
	all := requestStatsByOperation{}
	for _, x := range accepted {
		known := all[x.request.Operation]
		if known == nil {
			known = &acceptedRequestStats{
				features: map[string]bool{}, featureSets: map[string]bool{}, exercised: map[string]int{}, sets: map[string]bool{},
			}
			all[x.request.Operation] = known
		}
		known.count++
		known.sets[exercisedSet(x.request)] = true
		features := featuresOf(x.request)
		for _, feature := range features {
			known.features[feature.Name] = true
		}
		known.featureSets[featureSet(features)] = true
		for _, requirement := range x.request.Exercised {
			known.exercised[requirement]++
		}
	}
	return all
}

// unusualRequirement returns the id of the requirement that distinguishes request from the
// accepted requests for the same operation: the only one that request exercises and that at least
// one accepted request does not exercise. The requirement on the operation is ignored.
//
// The result is "" if there are several such requirements or none, if an accepted request
// exercises exactly the same requirements, or if no request for the operation was accepted.
func (a requestStatsByOperation) unusualRequirement(request spec.Event) (requirement string) {
	known, anyAccepted := a[request.Operation]
	isUsual := func(id string) bool { return id == request.Requirement || known.exercised[id] == known.count }
	if !anyAccepted || known.sets[exercisedSet(request)] {
		return ""
	}
	if unusual := slices.DeleteFunc(slices.Clone(request.Exercised), isUsual); len(unusual) == 1 {
		return unusual[0]
	}
	return ""
}

// newFeature returns the feature of request (see [spec.RequestFeature]) that distinguishes request
// from the accepted requests for the same operation. This feature may be the reason for a refusal.
// It is the only feature that no accepted request has; usual features (see IsUsual) are considered
// only if there are no others.
//
// If each feature of request occurs in an accepted request, the result is the only feature without
// which request would have the same features as an accepted request. In this case, only features
// that state what request has, such as a member, are considered, and not what it lacks. If there
// are none either, the result is the only feature with IsValue that no accepted request has.
//
// The result is the zero value if there is no such feature, if there are several, or if no request
// for the operation was accepted.
func (a requestStatsByOperation) newFeature(request spec.Event) spec.RequestFeature {
	known, anyAccepted := a[request.Operation]
	if !anyAccepted {
		return spec.RequestFeature{}
	}
	var unusual, usual, added, values []spec.RequestFeature
	features := featuresOf(request)
	for i, feature := range features {
		switch {
		case feature.IsValue && !known.features[feature.Name]:
			values = append(values, feature)
		case feature.IsValue:
		case known.features[feature.Name]:
			without := slices.Concat(features[:i], features[i+1:])
			if strings.HasPrefix(feature.Name, "with ") && known.featureSets[featureSet(without)] {
				added = append(added, feature)
			}
		case feature.IsUsual:
			usual = append(usual, feature)
		default:
			unusual = append(unusual, feature)
		}
	}
	for _, candidates := range [][]spec.RequestFeature{unusual, usual, added, values} {
		if len(candidates) == 1 {
			return candidates[0]
		}
		if len(candidates) > 1 {
			break
		}
	}
	return spec.RequestFeature{}
}

// featureSet returns the names of the features, except those with IsValue, sorted and joined by
// newlines, for use as a map key.
func featureSet(features []spec.RequestFeature) string {
	names := make([]string, 0, len(features))
	for _, feature := range features {
		if !feature.IsValue {
			names = append(names, feature.Name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, "\n")
}

// featuresOf returns the features that distinguish a request from other requests for the same
// operation, such as null for an optional member. It returns nil if there are none.
func featuresOf(request spec.Event) []spec.RequestFeature {
	if features := request.Facts().Features; features != nil {
		return features()
	}
	return nil
}
