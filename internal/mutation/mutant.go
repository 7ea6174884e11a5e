// Package mutation proves that the checks of the suite can fail. A mutant is a correct server with
// one defect that violates one clause of a protocol document. The suite runs against each mutant,
// and the results are compared with what the defect must cause: a check that judges the violated
// requirement fails at the expected place, and no check fails unless the defect affects it.
package mutation

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A Mutant is a correct server with one defect, which certain checks must find.
type Mutant struct {
	Name string // unique: in kebab case or, if it was generated, REQUIREMENT.DEFECT
	Doc  string // what is wrong with the server, in one sentence

	// KilledBy maps the ids of the checks that must find the defect to the expected locations of
	// their findings. The locations are patterns in the syntax of [path.Match], separated by
	// spaces. A finding of one of the checks at such a location kills the mutant.
	//
	// The location of a finding is the kind of the event that is its evidence, such as "run.end".
	// The pattern "?" matches events that cannot be decoded. If the event violates its schema, the
	// JSON pointer of the wrong member, such as "/delta", is a location of the finding, too.
	KilledBy map[string]string
	// AlsoFails lists the ids of further checks, or globs of ids, that may fail because of the same
	// defect. Where the list is set, a comment states the reason.
	AlsoFails []string
	// Needs lists kinds that a dialect must have, because otherwise it cannot express the defect.
	// The field Without lists kinds that a dialect must not have, because in such a dialect the
	// defect could not occur or would be that of another mutant.
	Needs, Without []spec.Kind
	// OrderOnly is true if the defect is nothing but the order of events. Dialects that leave this
	// order to the server cannot express it.
	OrderOnly bool

	// The defect is expressed by exactly one of these fields or by the field defect.
	Fault      string                        // a fault in the syntax of the --fault flag; "streams=0" means every stream
	Script     string                        // the YAML text of a script that gives the mock other replies
	Configure  func(*reference.Config)       // changes the configuration of the reference
	NewEffect  func(fault.Args) fault.Effect // creates the effect of a fault on a response; called for every response
	Middleware middleware                    // runs in front of the correct server

	// requirement is the id of the only requirement that a generated mutant violates. It is "" for
	// any other mutant. Checks may fail for other requirements, too, but only because of requests
	// and frames that concern this requirement.
	requirement string
	scenarios   []string // globs of the names of the only scenarios that are played; nil for all
	dialects    []string // names of the dialects for which the mutant was generated
	// defect returns the middleware of a generated or hidden mutant, or of one whose defect cannot
	// occur in some of its dialects. The middleware calls occurred whenever a response has the
	// defect.
	defect func(occurred func()) middleware
}

func matchesAny(globs []string, id string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { ok, _ := path.Match(g, id); return ok })
}

// Requirements returns the requirements of dialect d that the mutant violates, or nil if the
// dialect cannot express the defect. Each of them is judged by a check in m.KilledBy, and can be
// violated at one of the locations for that check. A generated mutant violates only the requirement
// from which it was generated. Requirements with the level MAY are left out, because they cannot be
// violated.
func (m *Mutant) Requirements(d *dialect.Dialect) (requirements []spec.Requirement) {
	has := func(k spec.Kind) bool { return slices.Contains(d.Kinds(), k) }
	lacks := func(k spec.Kind) bool { return !has(k) }
	if m.requirement != "" && !slices.Contains(m.dialects, d.Name) ||
		slices.ContainsFunc(m.Needs, lacks) || slices.ContainsFunc(m.Without, has) ||
		m.OrderOnly && slices.ContainsFunc(d.Operations(), (*dialect.Operation).MayReorder) {
		return nil
	}
	for _, r := range d.Requirements {
		isServed := slices.ContainsFunc(r.Checks, func(check string) bool { return m.violates(r, check) })
		if isServed && r.Level != spec.May && (m.requirement == "" || r.ID == m.requirement) {
			requirements = append(requirements, r)
		}
	}
	return requirements
}

// violates reports whether the mutant violates the requirement r in such a way that the check with
// the given id, which judges r, must find it. The result is false if the check is not in
// m.KilledBy, or if r is only about events at other locations than those for the check.
func (m *Mutant) violates(r spec.Requirement, check string) bool {
	places := strings.Fields(m.KilledBy[check])
	isThere := func(k spec.Kind) bool {
		isName := strings.ToUpper(string(k)) == string(k) // a name on the wire and not a kind; matches any location
		return isName || slices.ContainsFunc(places, func(p string) bool { return matchesAny([]string{p}, string(k)) })
	}
	return len(places) > 0 && (len(r.About) == 0 || slices.ContainsFunc(r.About, isThere))
}

// RequirementIDs returns the ids of the requirements that the mutant violates in at least one of
// the given dialects, sorted and without duplicates.
func (m *Mutant) RequirementIDs(dialects []*dialect.Dialect) (ids []string) {
	for _, d := range dialects {
		for _, r := range m.Requirements(d) {
			ids = append(ids, r.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// AppliesTo reports whether the mutant violates at least one requirement of dialect d. Only then is
// it run in the dialect.
func (m *Mutant) AppliesTo(d *dialect.Dialect) bool { return len(m.Requirements(d)) > 0 }

// concerns reports whether e can be evidence of the defect of the generated mutant m, that is,
// whether e names, exercises or violates the requirement m.requirement, or is a request whose form
// or refusal that requirement is about.
func (m *Mutant) concerns(e spec.Event) bool {
	prescribes := func(refusals []spec.RefusalRequirement) bool { return len(refusalsAbout(m.requirement, refusals)) > 0 }
	hasForm := func(f spec.RequestFeature) bool { return f.Requirement == m.requirement }
	return slices.ContainsFunc(formsOf(e), hasForm) || e.Requirement == m.requirement ||
		slices.Contains(e.Exercised, m.requirement) ||
		slices.ContainsFunc(e.Violations, func(v spec.Violation) bool {
			return v.Requirement == m.requirement || prescribes(v.Refusals)
		}) ||
		slices.ContainsFunc(slices.Collect(maps.Values(e.Facts().Denials)), prescribes)
}

// refusalsAbout returns those elements of refusals that belong to the requirement with the given
// id. It does not modify refusals.
func refusalsAbout(requirement string, refusals []spec.RefusalRequirement) []spec.RefusalRequirement {
	isOther := func(r spec.RefusalRequirement) bool { return r.Requirement != requirement }
	return slices.DeleteFunc(slices.Clone(refusals), isOther)
}

// Validate returns all errors in the definition of the mutant, such as a missing field, an invalid
// fault or an unknown check. It returns nil if there are none.
func (m *Mutant) Validate() (problems []error) {
	if m.Doc == "" || len(m.KilledBy) == 0 {
		problems = append(problems, errors.New("one of Doc and KilledBy is not set"))
	}
	ways := 0
	isSet := []bool{
		m.Fault != "", m.Script != "", m.Configure != nil, m.NewEffect != nil, m.Middleware != nil, m.defect != nil,
	}
	for _, way := range isSet {
		if way {
			ways++
		}
	}
	if ways != 1 {
		err := fmt.Errorf("%d of Fault, Script, Configure, NewEffect and Middleware are set: want 1", ways)
		problems = append(problems, err)
	}
	if _, err := m.faultSpecs(); err != nil {
		problems = append(problems, err)
	}
	for id, places := range m.KilledBy {
		if err := validateLocations(places); err != nil {
			problems = append(problems, fmt.Errorf("check %s: %w", id, err))
		}
	}
	for _, id := range append(slices.Sorted(maps.Keys(m.KilledBy)), m.AlsoFails...) {
		if !slices.ContainsFunc(rules.All, func(c *spec.Check) bool { return matchesAny([]string{id}, c.ID) }) {
			problems = append(problems, fmt.Errorf("no check is called %s", id))
		}
	}
	return problems
}

// location matches one pattern in a value of [Mutant.KilledBy]: "*", "?", a glob of event kinds
// such as "run.*", or a JSON pointer.
var location = regexp.MustCompile(`^(\*|\?|[a-z]+|[a-z*]+\.[a-z*-]+|/\S+)$`)

// validateLocations returns an error if list contains a malformed pattern or no pattern at all. The
// argument list has the form of a value of [Mutant.KilledBy].
func validateLocations(list string) error {
	locations := strings.Fields(list)
	if len(locations) == 0 {
		return errors.New("no location of the finding: want kinds of events, JSON pointers, or *")
	}
	for _, p := range locations {
		if _, err := path.Match(p, ""); err != nil || !location.MatchString(p) {
			return fmt.Errorf("location %q is not a pattern of kinds of events or JSON pointers", p)
		}
	}
	return nil
}

// isAtLocation reports whether a location of the finding f matches one of the patterns in places.
// The argument places has the form of a value of [Mutant.KilledBy].
func isAtLocation(f spec.Finding, places string) bool {
	list := strings.Fields(places)
	return matchesAny(list, string(f.Event.Kind)) ||
		slices.ContainsFunc(f.Event.Violations, func(v spec.Violation) bool {
			return v.Pointer != "" && matchesAny(list, v.Pointer)
		})
}
