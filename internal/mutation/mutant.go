// Package mutation proves that the checks can fail. A mutant is a correct server with one defect that
// violates one clause of a protocol document. The suite runs against it, and its results are
// compared with what the clause requires: the requirement must fail by a check that serves it, at
// the expected place, and nothing else may fail.
package mutation

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/spec/rules"
)

// A Mutant is a correct server with one defect, which named checks must find.
type Mutant struct {
	Name string // in kebab case, unique
	Doc  string // what is wrong with the server, in one sentence

	// Violates are the ids of the requirements that the mutant violates, or globs of them
	// ("*.health"). It is played in every dialect whose catalogue has one of them with checks.
	Violates []string
	// KilledBy says which checks must fail, and where: check → patterns of locations, separated
	// by spaces, in the syntax of [path.Match]. The location of a finding is the kind of the event
	// that is its evidence, such as "run.end", or if the event violates its schema the JSON
	// pointer of the member, such as "/delta". A finding at such a location about a requirement in
	// Violates kills the mutant.
	KilledBy map[string]string
	// AlsoFails are checks, or globs of them, that rightly fail as well; a comment says why.
	AlsoFails []string
	// ExceptIn are dialects, or globs of them, that permit the behavior; a comment says why.
	ExceptIn []string

	// Exactly one of these is set.
	Fault      string                        // a fault of package fault, as --fault takes it; "streams=0" is every stream
	Script     string                        // a script of the mock with other replies
	Configure  func(*reference.Config)       // another configuration of the reference
	NewEffect  func(fault.Args) fault.Effect // an unnamed fault that edits the events of every run
	Middleware middleware                    // in front of the server
}

// violates reports whether the mutant violates the requirement with the given id.
func (m *Mutant) violates(id string) bool { return matchesAny(m.Violates, id) }

func matchesAny(globs []string, id string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { ok, _ := path.Match(g, id); return ok })
}

// Requirements returns the requirements of dialect d that the mutant violates and that checks
// serve. It leaves out requirements of level MAY, since these cannot be violated. If the dialect is
// one of m.ExceptIn, it returns nil.
func (m *Mutant) Requirements(d *dialect.Dialect) (requirements []spec.Requirement) {
	if matchesAny(m.ExceptIn, d.Name) {
		return nil
	}
	for _, r := range d.Requirements {
		if m.violates(r.ID) && len(r.Checks) > 0 && r.Level != spec.May {
			requirements = append(requirements, r)
		}
	}
	return requirements
}

// AppliesTo reports whether the mutant is run in dialect d: whether it violates at least one
// requirement of the dialect that checks serve.
func (m *Mutant) AppliesTo(d *dialect.Dialect) bool { return len(m.Requirements(d)) > 0 }

// Validate returns all errors in the definition of the mutant, such as a missing field or the name
// of an unknown check. It returns nil if the definition is valid.
func (m *Mutant) Validate() (problems []error) {
	if m.Doc == "" || len(m.Violates) == 0 || len(m.KilledBy) == 0 {
		problems = append(problems, errors.New("one of Doc, Violates and KilledBy is not set"))
	}
	ways := 0
	isSet := []bool{m.Fault != "", m.Script != "", m.Configure != nil, m.NewEffect != nil, m.Middleware != nil}
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
