package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/streamassay/streamassay/reports"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/spec/rules"
	"github.com/streamassay/streamassay/suites"
)

func explainCommand(sh stdio) *cobra.Command {
	var names []string
	cmd := &cobra.Command{
		Use:     "explain ID",
		Short:   "Say what a check, requirement or scenario is about, why, and where from",
		Example: "  streamassay explain run.ends-once\n  streamassay explain runs.create.thread-uuid",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError("explain takes one id: streamassay list checks, requirements and scenarios name them")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			dialects, err := dialectsNamed("--dialect", names)
			if err != nil {
				return err
			}
			if explain(sh.out, args[0], dialects) {
				return nil
			}
			return usageError("no check, requirement or scenario has the id %q: streamassay list checks, requirements and scenarios name them", args[0])
		},
	}
	addDialectFlag(cmd, &names)
	return cmd
}

// explain prints everything that has the id.
func explain(w io.Writer, id string, dialects []*dialect.Dialect) bool {
	found := false
	if c, ok := rules.ByID(id); ok {
		found = true
		explainCheck(w, c, dialects)
	}
	for _, d := range dialects {
		for _, r := range d.Requirements {
			if r.ID == id {
				found = true
				explainRequirement(w, d, r)
			}
		}
	}
	for _, s := range suites.Scenarios {
		if s.Name == id {
			found = true
			fmt.Fprintf(w, "%s (scenario)\n  %s\n  phrases: %s\n", s.Name, s.Doc, strings.Join(s.Templates, ", "))
			if len(s.ExpectedChecks) > 0 {
				fmt.Fprintf(w, "  a target that promises it is held to: %s\n", strings.Join(s.ExpectedChecks, ", "))
			}
		}
	}
	return found
}

// maxNamedScenarios is how many scenarios are named that provoke a check.
const maxNamedScenarios = 8

func explainCheck(w io.Writer, c *spec.Check, dialects []*dialect.Dialect) {
	fmt.Fprintf(w, "%s (check)\n\n", c.ID)
	for line := range strings.Lines(c.Doc) {
		fmt.Fprint(w, "  ", line)
	}
	fmt.Fprintln(w)
	switch provoked := suites.ScenariosFor(c.ID); {
	case len(provoked) > maxNamedScenarios:
		fmt.Fprintf(w, "\n  provoked by the scenarios: %s, and %d more\n", strings.Join(provoked[:maxNamedScenarios], ", "), len(provoked)-maxNamedScenarios)
	case len(provoked) > 0:
		fmt.Fprintf(w, "\n  provoked by the scenarios: %s\n", strings.Join(provoked, ", "))
	default:
		fmt.Fprintf(w, "\n  provoked by no scenario: it is judged where it happens\n")
	}
	fmt.Fprintf(w, "\n  demanded by:\n")
	for _, d := range dialects {
		for _, r := range d.Requirements {
			if slices.Contains(r.Checks, c.ID) {
				fmt.Fprintf(w, "    %-7s %s  %s\n            %s (%s)\n", r.Level, d.Name, r.ID, requirementText(r), r.Source)
			}
		}
	}
	fmt.Fprintln(w)
}

// requirementText returns what a requirement demands: the words of the protocol document in
// quotation marks, in English where there is a rendering of them, or the sentence of this
// project.
func requirementText(r spec.Requirement) string {
	if !r.Quoted() {
		return oneLine(r.Quote)
	}
	text := "“" + oneLine(r.Quote) + "”"
	if r.English != "" {
		text += " (in English: “" + oneLine(r.English) + "”)"
	}
	return text
}

func explainRequirement(w io.Writer, d *dialect.Dialect, r spec.Requirement) {
	fmt.Fprintf(w, "%s (requirement of %s)\n\n  %s  %s\n  source: %s\n", r.ID, d.Name, r.Level, requirementText(r), r.Source)
	if r.Excluded != nil {
		fmt.Fprintf(w, "  no check judges it: %s (%s)\n\n", r.Excluded.Reason, r.Excluded.Kind)
		return
	}
	fmt.Fprintln(w, "  judged by:")
	for _, id := range r.Checks {
		if c, ok := rules.ByID(id); ok {
			fmt.Fprintf(w, "    %s: %s\n", id, c.Title())
		}
	}
	if slices.Contains(r.Checks, rules.RefusesAsDocumented.ID) {
		explainRefusal(w, d, r.ID)
	}
	fmt.Fprintln(w)
}

// sampleEvent fills every slot of a request that nobody sends: the thread is a uuid.
var sampleEvent = spec.Event{
	Thread: "550e8400-e29b-41d4-a716-446655440000", Run: "run-1", Message: "message-1", Call: "call-1",
	ID: "id-1", Name: "paint", Text: "Hello.",
}

// maxShownRequests bounds how many requests are named that one requirement is tried with.
const maxShownRequests = 8

// explainRefusal shows the requests that have to be refused for a requirement, and one
// of them as a command, with the one beside it that has to be accepted.
func explainRefusal(w io.Writer, d *dialect.Dialect, id string) {
	op, faults := invalidRequests(d, id)
	if len(faults) == 0 {
		return
	}
	fmt.Fprintf(w, "  provoked by the scenario refusals, with requests for %s in which:\n", op)
	for _, m := range faults[:min(len(faults), maxShownRequests)] {
		fmt.Fprintf(w, "    %s\n", m.Name)
	}
	if more := len(faults) - maxShownRequests; more > 0 {
		fmt.Fprintf(w, "    and %d more\n", more)
	}
	fmt.Fprintf(w, "  by hand, BASE being the target; what is right for it:\n")
	for _, demand := range expectedRefusals(d, faults[0], id) {
		fmt.Fprintf(w, "    %s\n", demand)
	}
	fmt.Fprintf(w, "    %s\n  and its twin, which has to be accepted:\n    %s\n", reports.Curl("$BASE", faults[0].Request), reports.Curl("$BASE", faults[0].Valid))
}

// invalidRequests are the requests with one fault that have to be refused for a requirement,
// of the first operation that has any.
func invalidRequests(d *dialect.Dialect, id string) (op string, faults []dialect.InvalidRequest) {
	for _, o := range d.Operations() {
		known := &dialect.SeenInvalidRequests{}
		for _, phrase := range o.TemplatesBySimplicity() {
			r, err := d.BuildRequest(phrase, sampleEvent)
			if err != nil {
				continue
			}
			for _, m := range d.UnseenInvalidRequests(r, known) {
				if len(expectedRefusals(d, m, id)) > 0 {
					faults = append(faults, m)
				}
			}
		}
		if len(faults) > 0 {
			return o.Name, faults
		}
	}
	return "", nil
}

// expectedRefusals says how a request has to be refused for a requirement, if that is all that
// it breaks.
func expectedRefusals(d *dialect.Dialect, m dialect.InvalidRequest, id string) (all []string) {
	broken := d.ValidateRequest(m.Request)
	if len(broken) != 1 {
		return nil
	}
	for _, demand := range broken[0].Refusals {
		if demand.Requirement == id {
			all = append(all, rules.DescribeRefusal(demand))
		}
	}
	return all
}
