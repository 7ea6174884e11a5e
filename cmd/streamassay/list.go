package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/reports"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// A listFunc lists all things of one kind, such as checks, that the given dialects have. It returns
// the list in two forms: rows for a text table without a header row, and all for encoding as JSON.
type listFunc func(dialects []*dialect.Dialect) (rows [][]string, all any)

// listFuncs maps each argument of the list command to its function. A new argument must also be
// added to [listCommand].
var listFuncs = map[string]listFunc{
	"dialects": listDialects, "requirements": listRequirements, "checks": listChecks, "scenarios": listScenarios,
	"faults": listFaults, "mutants": listMutants,
}

// listCommand returns the list command, which lists the dialects, requirements, checks, scenarios,
// faults or mutants.
func listCommand(sh stdio) *cobra.Command {
	var names []string
	var asJSON bool
	kinds := []string{"dialects", "requirements", "checks", "scenarios", "faults", "mutants"}
	cmd := &cobra.Command{
		Use:   "list " + strings.Join(kinds, "|"),
		Short: "List dialects, requirements, checks, scenarios, faults or mutants (servers with one defect)",
		Long: `List one kind of thing that streamassay knows:
  dialects       versions of protocols; the default version of each is marked
  requirements   clauses of a protocol, with level (MUST, SHOULD …) and source, and the checks that judge them
  checks         the rules that streamassay tests; one check can serve several dialects
  scenarios      sequences of requests that streamassay run sends to exercise checks
  faults         defects that the mock server can inject into responses
  mutants        servers with one defect each, which test the checks themselves
Exit codes: 0 success, 2 usage error, 5 internal error.`,
		Example: `  streamassay list dialects
  streamassay list requirements --dialect runs --json`,
		ValidArgs: kinds,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError("list needs one argument (one of %s)", strings.Join(kinds, ", "))
			}
			if listFuncs[args[0]] == nil {
				return usageError("unknown kind %q (want one of %s)", args[0], strings.Join(kinds, ", "))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			dialects, err := dialectsNamed("--dialect", names)
			if err != nil {
				return err
			}
			rows, all := listFuncs[args[0]](dialects)
			if asJSON {
				enc := json.NewEncoder(sh.out)
				enc.SetIndent("", " ")
				enc.SetEscapeHTML(false)
				return enc.Encode(all)
			}
			w := tabwriter.NewWriter(sh.out, 0, 4, 2, ' ', 0)
			for _, row := range rows {
				fmt.Fprintln(w, strings.Join(row, "\t"))
			}
			return w.Flush()
		},
	}
	addDialectFlag(cmd, &names, "list only what applies to this dialect")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// completeFlag makes shells offer the given values as completions for the named flag of cmd.
func completeFlag(cmd *cobra.Command, flag string, values []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// listDialects is the [listFunc] for dialects. The list holds the given dialects, each with the
// number of its requirements.
func listDialects(dialects []*dialect.Dialect) (rows [][]string, all any) {
	type entry struct {
		Dialect      string `json:"dialect"`
		Title        string `json:"title"`
		Default      bool   `json:"default"`
		Base         string `json:"base"`
		Requirements int    `json:"requirements"`
	}
	list := []entry{}
	for _, d := range dialects {
		e := entry{d.Name, d.Title, dialect.IsDefault(d.Name), d.Base, len(d.Catalogue())}
		list = append(list, e)
		mark := ""
		if e.Default {
			mark = "default"
		}
		rows = append(rows, []string{e.Dialect, mark, fmt.Sprint(e.Requirements, " requirements"), e.Title})
	}
	return rows, list
}

// listRequirements is the [listFunc] for requirements. The list holds the requirements of the given
// dialects, each with the checks that judge it.
func listRequirements(dialects []*dialect.Dialect) (rows [][]string, all any) {
	list := []reports.RequirementResult{}
	for _, d := range dialects {
		for _, r := range reports.RequirementResults(d.Catalogue(), nil) {
			r.Dialect = d.Name
			list = append(list, r)
			judged := strings.Join(r.Checks, " ")
			if r.Excluded != nil {
				judged = "excluded: " + r.Excluded.Kind
			}
			rows = append(rows, []string{d.Name, string(r.Level), r.ID, judged})
		}
	}
	return rows, list
}

// listChecks is the [listFunc] for checks. The list holds the checks that judge a requirement of at
// least one of the given dialects.
func listChecks(dialects []*dialect.Dialect) (rows [][]string, all any) {
	type entry struct {
		ID       string     `json:"id"`
		Title    string     `json:"title"`
		Doc      string     `json:"doc"`
		Of       spec.Party `json:"of,omitempty"` // "client" if the check judges clients of a mock
		Dialects []string   `json:"dialects"`
	}
	list := []entry{}
	for _, c := range rules.All {
		names := namesWhere(dialects, func(d *dialect.Dialect) bool { return requiresCheck(d, c) })
		e := entry{c.ID, c.Title(), c.Doc, c.Of, names}
		if len(e.Dialects) > 0 {
			list = append(list, e)
			rows = append(rows, []string{e.ID, e.Title})
		}
	}
	return rows, list
}

// listScenarios is the [listFunc] for scenarios. The list holds the scenarios that apply to at
// least one of the given dialects.
func listScenarios(dialects []*dialect.Dialect) (rows [][]string, all any) {
	type entry struct {
		Name     string   `json:"name"`
		Doc      string   `json:"doc"`
		Proves   []string `json:"proves"`
		Dialects []string `json:"dialects"`
	}
	list := []entry{}
	for _, s := range suites.Scenarios() {
		e := entry{Name: s.Name, Doc: s.Doc, Proves: s.ExpectedChecks, Dialects: namesWhere(dialects, s.AppliesTo)}
		if len(e.Dialects) > 0 {
			list = append(list, e)
			rows = append(rows, []string{e.Name, e.Doc})
		}
	}
	return rows, list
}

// listFaults is the [listFunc] for faults. The list holds the faults that the mock can inject into
// responses of at least one of the given dialects, each with its parameters.
func listFaults(dialects []*dialect.Dialect) (rows [][]string, all any) {
	type param struct {
		Name    string   `json:"name"`
		Doc     string   `json:"doc"`
		Type    string   `json:"type"`
		Default string   `json:"default,omitempty"`
		Min     string   `json:"min,omitempty"`
		Max     string   `json:"max,omitempty"`
		One     []string `json:"one_of,omitempty"`
	}
	type entry struct {
		Name     string   `json:"name"`
		Family   string   `json:"family"`
		Doc      string   `json:"doc"`
		Checks   []string `json:"checks"`
		Dialects []string `json:"dialects"`
		Params   []param  `json:"params"`
	}
	list := []entry{}
	for _, f := range fault.All {
		e := entry{
			Name: f.Name, Family: string(f.Category), Doc: f.Doc,
			Checks:   slices.Concat([]string{}, f.Checks),
			Dialects: namesWhere(dialects, func(d *dialect.Dialect) bool { return supportsFault(d, f) }),
		}
		if len(e.Dialects) == 0 {
			continue
		}
		params := []string{}
		for _, p := range f.AllParams() {
			e.Params = append(e.Params, param{p.Name, p.Doc, p.Type, p.Default, p.Min, p.Max, p.Enum})
			params = append(params, p.Name)
		}
		list = append(list, e)
		rows = append(rows, []string{e.Name, e.Family, f.Doc, strings.Join(params, " ")})
	}
	return rows, list
}

// namesWhere returns the names of those elements of dialects for which fits returns true, in the
// order of dialects. If there are none, the result is nil.
func namesWhere(dialects []*dialect.Dialect, fits func(*dialect.Dialect) bool) (names []string) {
	for _, d := range dialects {
		if fits(d) {
			names = append(names, d.Name)
		}
	}
	return names
}

// requiresCheck reports whether the check c judges a requirement of the dialect d.
func requiresCheck(d *dialect.Dialect, c *spec.Check) bool {
	return slices.ContainsFunc(d.Catalogue(), func(r spec.Requirement) bool { return slices.Contains(r.Checks, c.ID) })
}

// supportsFault reports whether the fault f can be injected into responses of the dialect d. That
// is the case if d has all kinds of events that f requires.
func supportsFault(d *dialect.Dialect, f *fault.Fault) bool {
	return f.MissingKind(d.Kinds()) == ""
}
