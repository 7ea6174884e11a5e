package main

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/reports"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// incompleteNotes returns one note for each distinct reason why scenarios in parts were not played,
// or not to their end, a note if streams were not judged because the server does not replay events,
// and a note if no request to target s was attempted. It also marks the report as incomplete if one
// of the reasons makes the test inconclusive (see [suites.IsInconclusive]).
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
	noReplay := func(p suites.ScenarioResult) bool { return p.Trace.NoReplay }
	if slices.ContainsFunc(parts, noReplay) {
		all = append(all, "the server does not send a run's earlier events to a client that requests its stream late or "+
			"again, which the document allows; such streams were not judged")
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
// --lacks or --prompts natural excludes them, a flag that they need is missing, the target cannot be
// connected to, or it lacks a capability.
func unplayedReason(ctx context.Context, s suites.Target, parts []suites.ScenarioResult) string {
	var lacked, missing []string
	for _, p := range parts {
		if why := s.MissingSetup(p.Scenario); why != "" && !slices.Contains(missing, why) {
			missing = append(missing, why)
		}
		if name := s.LackedCapability(p.Scenario); name != "" && !slices.Contains(lacked, name) {
			lacked = append(lacked, name)
		}
	}
	if len(lacked) > 0 {
		return "--lacks excludes " + strings.Join(lacked, ", ")
	}
	if len(missing) > 0 {
		return strings.Join(missing, "; ")
	}
	if err := suites.Reach(ctx, s); err != nil && ctx.Err() == nil {
		return err.Error()
	}
	if s.PromptStyle == suites.NaturalPrompts {
		return "what is selected sends test prompts, which --prompts natural excludes"
	}
	return "what is selected needs " + lackedByTarget
}

// lackedByTarget is the end of the reason why a scenario was not played against a target that
// replied to other requests.
const lackedByTarget = `a capability that the target lacks, such as "scripted"`

// adviseAboutProxy adds that proxies are not used to the advice of each cause that means that the
// target at base is unreachable. It does so only if base is not a loopback address and env, which
// is like [os.Getenv], has a proxy for its scheme.
func adviseAboutProxy(env func(string) string, base *url.URL, causes []reports.Cause) {
	variable := strings.ToUpper(base.Scheme) + "_PROXY"
	if env(variable) == "" {
		variable = strings.ToLower(variable)
	}
	if env(variable) == "" || isLoopback(base.Hostname()) {
		return
	}
	for i := range causes {
		if c := &causes[i]; c.Kind == "unreachable" && c.Fatal {
			c.Advice = strings.TrimPrefix(c.Advice+"; "+variable+" is set, but streamassay does not use proxies", "; ")
		}
	}
}

// claimNotes returns a note for each capability that j claims although none of its dialects has it.
func (j targetRun) claimNotes() (notes []string) {
	var dialects []*dialect.Dialect
	for _, s := range j.suiteTargets {
		dialects = append(dialects, s.Dialect)
	}
	for _, name := range j.suite.ClaimedCapabilities {
		hasIt := func(d *dialect.Dialect) bool { return suites.HasCapability(d, name) }
		if slices.ContainsFunc(dialects, hasIt) {
			continue
		}
		note := fmt.Sprintf("%s %s has no effect: no such capability in %s",
			j.source.settingName("claim"), name, dialectNames(dialects))
		if j.source.file != "" {
			note = j.source.locationPrefix(note) + note
		}
		notes = append(notes, note)
	}
	return notes
}
