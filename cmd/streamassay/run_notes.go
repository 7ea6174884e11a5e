package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/reports"
	"github.com/streamassay/streamassay/suites"
)

// incompleteNotes returns one note for each distinct reason why scenarios in parts were not played,
// or not to their end, and a note if no request to target s was attempted. It also marks the report as
// incomplete if one of the reasons makes the test inconclusive (see [suites.IsInconclusive]).
func incompleteNotes(
	ctx context.Context, s suites.Target, parts []suites.ScenarioResult, report *reports.Report,
) (all []string) {
	names := map[string][]string{}
	var order []string
	for _, p := range parts {
		if p.IncompleteReason == nil {
			continue
		}
		if suites.IsRunTimeout(p.IncompleteReason) || report.Incomplete == "" && suites.IsInconclusive(p.IncompleteReason) {
			report.Incomplete = p.IncompleteReason.Error()
		}
		why := p.IncompleteReason.Error()
		if names[why] == nil {
			order = append(order, why)
		}
		names[why] = append(names[why], p.Scenario.Name)
	}
	for _, why := range order {
		all = append(all, fmt.Sprintf("not run, or not to the end: %s (%s)", strings.Join(names[why], ", "), why))
	}
	wasPlayed := func(p suites.ScenarioResult) bool {
		return len(p.Trace.Exchanges) > 0 || p.IncompleteReason != nil || p.Err != nil
	}
	if !slices.ContainsFunc(parts, wasPlayed) {
		all = append(all, "no request was sent: "+unplayedReason(ctx, s, parts))
	}
	return all
}

// unplayedReason returns the reason why none of the scenarios in parts was played against target s:
// --lacks excludes them, the target cannot be connected to, or it lacks a capability.
func unplayedReason(ctx context.Context, s suites.Target, parts []suites.ScenarioResult) string {
	var lacked []string
	for _, p := range parts {
		if name := s.LackedCapability(p.Scenario); name != "" && !slices.Contains(lacked, name) {
			lacked = append(lacked, name)
		}
	}
	if len(lacked) > 0 {
		return "--lacks excludes " + strings.Join(lacked, ", ")
	}
	if err := suites.Reach(ctx, s); err != nil && ctx.Err() == nil {
		return err.Error()
	}
	return `what is selected needs a capability that the target lacks, such as "scripted"`
}
