package spec_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/streamassay/streamassay/spec"
)

// TestShared checks that a value is updated once per event, before the checks see the event, that
// checks with AllPrincipals have a value of their own, and in which order functions given to AtEnd
// are called.
func TestShared(t *testing.T) {
	var log []string
	check := func(id string, allPrincipals bool) spec.PlannedCheck {
		return spec.PlannedCheck{Check: &spec.Check{ID: id, AllPrincipals: allPrincipals, Watch: func(p *spec.Pass) func(spec.Event) {
			count := spec.Shared(p, "count", func() (*int, func(spec.Event)) {
				n := new(int)
				p.AtEnd(func() { log = append(log, fmt.Sprintf("counted %d", *n)) })
				return n, func(spec.Event) { *n++ }
			})
			p.AtEnd(func() { log = append(log, id+" ends") })
			return func(spec.Event) { log = append(log, fmt.Sprintf("%s sees %d", id, *count)) }
		}}}
	}
	plan := spec.Plan{PlannedChecks: []spec.PlannedCheck{check("a", false), check("b", false), check("c", true)}}
	spec.Run(plan, slices.Values([]spec.Event{
		{Kind: spec.RunStart}, {Kind: spec.RunStart, Principal: spec.OtherUser}, {Kind: spec.RunEnd},
	}), nil)
	want := []string{
		"a sees 1", "b sees 1", "c sees 1", "c sees 2", "a sees 2", "b sees 2", "c sees 3",
		"counted 2", "a ends", "b ends", "counted 3", "c ends",
	}
	if !slices.Equal(log, want) {
		t.Errorf("got  %q\nwant %q", log, want)
	}
}
