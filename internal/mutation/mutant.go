// Package mutation proves that the checks can fail. A mutant is a correct server with one defect
// that violates one clause of a protocol document. The suite runs against it, and its results are
// compared with what the clause requires: a check that judges the requirement must fail, at the
// expected place, and nothing else may.
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

// A Mutant is a correct server with one defect, which named checks must find.
type Mutant struct {
	Name string // unique: in kebab case or, if it was generated, REQUIREMENT.DEFECT
	Doc  string // what is wrong with the server, in one sentence

	// KilledBy says which checks must fail, and where: check → patterns of locations, separated by
	// spaces, in the syntax of [path.Match]. The location of a finding is the kind of the event
	// that is its evidence, such as "run.end", or if the event violates its schema the JSON pointer
	// of the member, such as "/delta". A finding at such a location kills the mutant. The mutant is
	// played in every dialect in which one of the checks judges a requirement.
	KilledBy map[string]string
	// AlsoFails lists ids of further checks, or globs of ids, that may fail because of the same
	// defect; a comment says why.
	AlsoFails []string
	// Needs are the kinds that a dialect must have so that the defect can be expressed in it.
	// Without are kinds that it must not have, since the defect would then be that of another
	// mutant, which a comment names.
	Needs, Without []spec.Kind

	// Exactly one of these is set.
	Fault      string                        // a fault of package fault, as --fault takes it; "streams=0" is every stream
	Script     string                        // a script of the mock with other replies
	Configure  func(*reference.Config)       // another configuration of the reference
	NewEffect  func(fault.Args) fault.Effect // an unnamed fault that edits the events of every run
	Middleware middleware                    // in front of the server

	// A generated mutant violates one requirement, which must fail; other requirements of the
	// checks may fail only about the same requests and frames. Its defect is a middleware that
	// calls occurred whenever a response has the defect.
	requirement string
	scenarios   []string // globs of the only scenarios that can find the mutant; nil: all are played
	dialects    []string // the dialects whose documents say what the defect is
	defect      func(occurred func()) middleware
}

func matchesAny(globs []string, id string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { ok, _ := path.Match(g, id); return ok })
}

// Requirements returns the requirements of dialect d that the mutant violates: those that are
// judged by a check that must fail. It leaves out requirements of level MAY, since these cannot be
// violated. It returns nil if the defect cannot be expressed in the dialect.
func (m *Mutant) Requirements(d *dialect.Dialect) (requirements []spec.Requirement) {
	has := func(k spec.Kind) bool { return slices.Contains(d.Kinds(), k) }
	lacks := func(k spec.Kind) bool { return !has(k) }
	if m.requirement != "" && !slices.Contains(m.dialects, d.Name) ||
		slices.ContainsFunc(m.Needs, lacks) || slices.ContainsFunc(m.Without, has) {
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

// violates reports whether the named check must fail about requirement r, which it judges: whether the
// finding may be at an event that r is about.
func (m *Mutant) violates(r spec.Requirement, check string) bool {
	places := strings.Fields(m.KilledBy[check])
	isThere := func(k spec.Kind) bool {
		isName := strings.ToUpper(string(k)) == string(k) // not a kind
		return isName || slices.ContainsFunc(places, func(p string) bool { return matchesAny([]string{p}, string(k)) })
	}
	return len(places) > 0 && (len(r.About) == 0 || slices.ContainsFunc(r.About, isThere))
}

// RequirementIDs returns the ids of the requirements that the mutant violates in any of the given
// dialects, sorted.
func (m *Mutant) RequirementIDs(dialects []*dialect.Dialect) (ids []string) {
	for _, d := range dialects {
		for _, r := range m.Requirements(d) {
			ids = append(ids, r.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// AppliesTo reports whether the mutant is run in dialect d: whether it violates at least one
// requirement of the dialect.
func (m *Mutant) AppliesTo(d *dialect.Dialect) bool { return len(m.Requirements(d)) > 0 }

// concerns reports whether event e is evidence of the defect of a generated mutant: whether e is
// about the requirement, or is a request or frame that exercises or violates it, or is a request
// whose refusal the requirement prescribes.
func (m *Mutant) concerns(e spec.Event) bool {
	prescribes := func(refusals []spec.RefusalRequirement) bool { return len(refusalsAbout(m.requirement, refusals)) > 0 }
	hasForm := func(f spec.RequestForm) bool { return f.Requirement == m.requirement }
	if forms := e.Facts().Forms; forms != nil && slices.ContainsFunc(forms(), hasForm) {
		return true
	}
	return e.Requirement == m.requirement || slices.Contains(e.Exercised, m.requirement) ||
		slices.ContainsFunc(e.Violations, func(v spec.Violation) bool {
			return v.Requirement == m.requirement || prescribes(v.Refusals)
		}) ||
		slices.ContainsFunc(slices.Collect(maps.Values(e.Facts().Denials)), prescribes)
}

// refusalsAbout returns those of the refusals that the requirement with the given id prescribes.
func refusalsAbout(requirement string, refusals []spec.RefusalRequirement) []spec.RefusalRequirement {
	isOther := func(r spec.RefusalRequirement) bool { return r.Requirement != requirement }
	return slices.DeleteFunc(slices.Clone(refusals), isOther)
}

// Validate returns all errors in the definition of the mutant, such as a missing field or the name
// of an unknown check. It returns nil if the definition is valid.
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

// location matches one location pattern: "*", "?", a pattern of event kinds such as "run.*", or a
// JSON pointer.
var location = regexp.MustCompile(`^(\*|\?|[a-z]+|[a-z*]+\.[a-z*-]+|/\S+)$`)

// validateLocations returns an error if list is empty or contains a malformed pattern. list holds
// location patterns, separated by spaces, as in [Mutant.KilledBy].
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

// isAtLocation reports whether the location of finding f matches one of the patterns in places,
// which are separated by spaces as in [Mutant.KilledBy].
func isAtLocation(f spec.Finding, places string) bool {
	list := strings.Fields(places)
	return matchesAny(list, string(f.Event.Kind)) ||
		slices.ContainsFunc(f.Event.Violations, func(v spec.Violation) bool {
			return v.Pointer != "" && matchesAny(list, v.Pointer)
		})
}
