// Package mutant proves that the checks can fail: each mutant is a right server with
// one small fault, which breaks one clause of a document. What the suite says of it is
// compared with what the clause demands: the requirement must turn red, by the check
// that serves it, for the reason expected, and nothing else may.
package mutant

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/spec/rules"
)

// A Mutant is a server with one fault.
type Mutant struct {
	Name string // "end-untold": kebab-case, unique
	Doc  string // what it does wrong, in a sentence

	// Breaks are the ids of the requirements that it breaks, or globs of them: "*.health".
	// It is played in every dialect whose catalogue has one of them with checks.
	Violates []string
	// Kills says which checks have to fail, and where: check → patterns of places, separated by
	// spaces, as [path.Match] takes them. The place of a finding is the kind of event that is its
	// evidence, "run.end", and where that violates its schema the JSON pointer of the member,
	// "/delta". The mutant is killed by a finding of a check named here, at such a place, that
	// is about a requirement of Breaks.
	KilledBy map[string]string
	// Also are the checks that rightly turn red besides, or globs of them; a comment says why.
	AlsoFails []string
	// Not are dialects, or globs of them, in which the fault is none; a comment says why.
	ExceptIn []string

	// Exactly one of these says how.
	Fault      string                               // a fault of package fault, as --fault takes it; "streams=0" where it should strike all
	Script     string                               // other answers than were asked for: rules, as the mock takes them
	Configure  func(*reference.Config)              // another configuration of the reference
	NewEffect  func(fault.Args) fault.Effect        // a fault that has no name: it changes the events of every run, in the words of no dialect
	Middleware func(next http.Handler) http.Handler // in front of the server
}

// violates says whether the mutant breaks a requirement.
func (m *Mutant) violates(id string) bool { return matchesAny(m.Violates, id) }

func matchesAny(globs []string, id string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { ok, _ := path.Match(g, id); return ok })
}

// Requirements are the requirements of a dialect that the mutant breaks and that have checks.
// Those that only permit cannot be broken.
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

// AppliesTo says whether the mutant is played in a dialect.
func (m *Mutant) AppliesTo(d *dialect.Dialect) bool { return len(m.Requirements(d)) > 0 }

// Validate finds what is wrong with what a mutant says of itself.
func (m *Mutant) Validate() (problems []error) {
	if m.Doc == "" || len(m.Violates) == 0 || len(m.KilledBy) == 0 {
		problems = append(problems, errors.New("it needs a sentence, what it breaks, and what kills it"))
	}
	ways := 0
	for _, way := range []bool{m.Fault != "", m.Script != "", m.Configure != nil, m.NewEffect != nil, m.Middleware != nil} {
		if way {
			ways++
		}
	}
	if ways != 1 {
		problems = append(problems, fmt.Errorf("it says in %d ways how it is made: one is wanted", ways))
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

// validateLocations returns an error if a list of patterns of places is empty or malformed.
func validateLocations(places string) error {
	list := strings.Fields(places)
	if len(list) == 0 {
		return errors.New("no place of the finding is given: the kinds of event that may be its evidence, or *")
	}
	for _, p := range list {
		if _, err := path.Match(p, ""); err != nil {
			return fmt.Errorf("place %q: %w", p, err)
		}
	}
	return nil
}

// isAtLocation reports whether the evidence of a finding is at one of some places; see [Mutant.Kills].
func isAtLocation(f spec.Finding, places string) bool {
	list := strings.Fields(places)
	return matchesAny(list, string(f.Event.Kind)) ||
		slices.ContainsFunc(f.Event.Violations, func(b spec.Violation) bool { return b.Pointer != "" && matchesAny(list, b.Pointer) })
}
