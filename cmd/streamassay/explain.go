package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/streamassay/streamassay/internal/near"
	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/reports"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// seeLists is the part of error messages that names the commands that list the valid ids.
const seeLists = "(see streamassay list checks|requirements|scenarios)"

// explainCommand returns the explain command, which describes a check, requirement or scenario.
func explainCommand(sh stdio) *cobra.Command {
	var names []string
	cmd := &cobra.Command{
		Use:   "explain ID",
		Short: "Describe a check, requirement or scenario",
		Long: `Describe a check, requirement or scenario: for a check what it judges and why, the scenarios
that exercise it and the requirements it judges; for a requirement its text, source and checks;
for a scenario its requests. streamassay list checks|requirements|scenarios lists the ids; if
several have the same id, such as a requirement of two dialects, all are described.
Exit codes: 0 success, 2 usage error (e.g. nothing has the ID), 5 internal error.`,
		Example: `  streamassay explain run.ends-once
  streamassay explain runs.create.thread-uuid
  streamassay explain client-tool`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError("explain needs one id of a check, requirement or scenario " + seeLists)
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
			isNamed := func(r spec.Requirement) bool { return r.ID == args[0] }
			if others := dialectsWith(isNamed); len(others) > 0 {
				return usageError("%s is a requirement of %s, not of %s", args[0], dialectNames(others), dialectNames(dialects))
			}
			suggestion := " " + seeLists
			if similar := near.Similar(args[0], explainedIDs(dialects)); similar != "" {
				suggestion = "; did you mean " + similar + "?"
			}
			return usageError("no check, requirement or scenario has the id %q%s", args[0], suggestion)
		},
	}
	addDialectFlag(cmd, &names, "leave out the requirements of other dialects")
	return cmd
}

// explain prints to w a description of every check, requirement and scenario with the given id. Of
// the requirements, it describes only those of the given dialects. If nothing has the id, it prints
// nothing and returns false.
func explain(w io.Writer, id string, dialects []*dialect.Dialect) bool {
	found := false
	if c, ok := rules.ByID(id); ok {
		found = true
		explainCheck(w, c, dialects)
	}
	for _, d := range dialects {
		for _, r := range d.Catalogue() {
			if r.ID == id {
				found = true
				explainRequirement(w, d, r)
			}
		}
	}
	for _, s := range suites.Scenarios() {
		if s.Name == id {
			found = true
			fmt.Fprintf(w, "%s (scenario)\n  %s\n  requests: %s\n", s.Name, s.Doc, strings.Join(s.Templates, ", "))
			if len(s.ExpectedChecks) > 0 {
				fmt.Fprintf(w, "  checks that must be exercised if the target claims it: %s\n",
					strings.Join(s.ExpectedChecks, ", "))
			}
		}
	}
	return found
}

// explainedIDs returns the ids that explain knows: those of all checks and scenarios, and of the
// requirements of the given dialects.
func explainedIDs(dialects []*dialect.Dialect) (all []string) {
	for _, c := range rules.All {
		all = append(all, c.ID)
	}
	for _, s := range suites.Scenarios() {
		all = append(all, s.Name)
	}
	for _, d := range dialects {
		for _, r := range d.Catalogue() {
			all = append(all, r.ID)
		}
	}
	return all
}

// dialectsWith returns the embedded dialects that have a requirement for which has returns true.
func dialectsWith(has func(spec.Requirement) bool) (list []*dialect.Dialect) {
	all, err := dialect.All()
	if err != nil {
		return nil // only a hint is lost
	}
	for _, d := range all {
		if slices.ContainsFunc(d.Catalogue(), has) {
			list = append(list, d)
		}
	}
	return list
}

// maxNamedScenarios is the maximum number of scenarios that explainCheck names for one check.
const maxNamedScenarios = 8

// explainCheck prints to w a description of the check c, the scenarios that exercise it, and the
// requirements of the given dialects that it judges, or else the dialects that have such
// requirements.
func explainCheck(w io.Writer, c *spec.Check, dialects []*dialect.Dialect) {
	fmt.Fprintf(w, "%s (check)\n\n", c.ID)
	for line := range strings.Lines(c.Doc) {
		fmt.Fprint(w, "  ", line)
	}
	fmt.Fprintln(w)
	switch provoked := suites.ScenariosFor(c.ID); {
	case c.Of == spec.Client:
		fmt.Fprintf(w, "\n  about clients: the mock judges the requests that it receives\n")
	case len(provoked) > maxNamedScenarios:
		fmt.Fprintf(w, "\n  exercised by the scenarios: %s, and %d more\n",
			strings.Join(provoked[:maxNamedScenarios], ", "), len(provoked)-maxNamedScenarios)
	case len(provoked) > 0:
		fmt.Fprintf(w, "\n  exercised by the scenarios: %s\n", strings.Join(provoked, ", "))
	default:
		fmt.Fprintf(w, "\n  exercised by no scenario in particular: judged whenever a conversation exercises it\n")
	}
	judged := func(r spec.Requirement) bool { return slices.Contains(r.Checks, c.ID) }
	requires := func(d *dialect.Dialect) bool { return slices.ContainsFunc(d.Catalogue(), judged) }
	if !slices.ContainsFunc(dialects, requires) {
		var others []string
		for _, d := range dialectsWith(judged) {
			others = append(others, d.Name)
		}
		fmt.Fprintf(w, "\n  no requirement of %s needs it; it is required by %s\n\n",
			dialectNames(dialects), strings.Join(others, ", "))
		return
	}
	fmt.Fprintf(w, "\n  required by:\n")
	for _, d := range dialects {
		for _, r := range d.Catalogue() {
			if judged(r) {
				fmt.Fprintf(w, "    %-7s %s  %s\n            %s (%s)\n",
					r.Level, d.Name, r.ID, requirementText(r), r.Source)
			}
		}
	}
	fmt.Fprintln(w)
}

// requirementText returns the text of the requirement r: the quotation from the protocol document,
// in quotation marks, or the summary in the catalogue if nothing is quoted. An English translation
// of the quotation follows if there is one.
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

// explainRequirement prints the requirement r of dialect d to w, with its source and the checks
// that judge it.
func explainRequirement(w io.Writer, d *dialect.Dialect, r spec.Requirement) {
	fmt.Fprintf(w, "%s (requirement of %s)\n\n  %s  %s\n  source: %s\n",
		r.ID, d.Name, r.Level, requirementText(r), r.Source)
	if r.Excluded != nil {
		fmt.Fprintf(w, "  not judged by any check: %s (%s)\n\n", r.Excluded.Reason, r.Excluded.Kind)
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

// sampleEvent holds the values from which the explain command builds sample requests. The requests
// are shown but never sent. The thread is a UUID because some dialects require one.
var sampleEvent = spec.Event{
	Thread: "550e8400-e29b-41d4-a716-446655440000", Run: "run-1", Message: "message-1", Call: "call-1",
	ID: "id-1", Name: "paint", Text: "Hello.",
}

// maxShownRequests is the maximum number of invalid requests that explainRefusal names for one
// requirement.
const maxShownRequests = 8

// explainRefusal prints to w the names of invalid requests that a server must refuse because of
// the requirement of d with the given id. For the first invalid request, it also prints the
// accepted responses, a curl command, and a curl command of the corresponding valid request. If
// there are no invalid requests, it prints nothing.
func explainRefusal(w io.Writer, d *dialect.Dialect, id string) {
	op, faults := invalidRequests(d, id)
	if len(faults) == 0 {
		return
	}
	fmt.Fprintf(w, "  exercised by the scenario refusals, with requests for %s in which:\n", op)
	for _, m := range faults[:min(len(faults), maxShownRequests)] {
		fmt.Fprintf(w, "    %s\n", m.Name)
	}
	if more := len(faults) - maxShownRequests; more > 0 {
		fmt.Fprintf(w, "    and %d more\n", more)
	}
	fmt.Fprintf(w, "  by hand, with the base URL of the target in BASE; accepted refusals:\n")
	for _, refusal := range expectedRefusals(d, faults[0], id) {
		fmt.Fprintf(w, "    %s\n", refusal)
	}
	fmt.Fprintf(w, "    %s\n  and the same request without the fault, which must be accepted:\n    %s\n",
		reports.Curl("$BASE", d.AtEndpoint(faults[0].Request)), reports.Curl("$BASE", d.AtEndpoint(faults[0].Valid)))
}

// invalidRequests returns invalid requests that a server must refuse because of the requirement
// with the given id. All of them are requests for one operation: the first operation of d that has
// such requests. The result op is the name of that operation, or "" if there is none.
func invalidRequests(d *dialect.Dialect, id string) (op string, invalid []dialect.InvalidRequest) {
	for _, o := range d.Operations() {
		known := &dialect.DerivedInvalidRequests{}
		for _, template := range o.TemplatesBySimplicity() {
			r, err := d.BuildRequest(template, sampleEvent)
			if err != nil {
				continue
			}
			for _, m := range d.UnseenInvalidRequests(r, known) {
				if len(expectedRefusals(d, m, id)) > 0 {
					invalid = append(invalid, m)
				}
			}
		}
		if len(invalid) > 0 {
			return o.Name, invalid
		}
	}
	return "", nil
}

// expectedRefusals returns descriptions of the responses that the requirement with the given id
// accepts as refusals of the invalid request m. It returns nil if m does not violate exactly one
// constraint of its schema, or if the requirement does not apply to that constraint.
func expectedRefusals(d *dialect.Dialect, m dialect.InvalidRequest, id string) (all []string) {
	violations := d.ValidateRequest(m.Request)
	if len(violations) != 1 {
		return nil
	}
	for _, refusal := range violations[0].Refusals {
		if refusal.Requirement == id {
			all = append(all, rules.DescribeRefusal(refusal))
		}
	}
	return all
}
