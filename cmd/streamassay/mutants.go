package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/streamassay/streamassay/internal/mutation"
	"github.com/streamassay/streamassay/spec/dialect"
)

// mutantsFile is the name of the generated document that lists the mutants and the checks that find
// them.
const mutantsFile = "mutants.md"

// mutantsCommand returns the hidden mutants command, which tests the checks. The command runs the
// suite against mutants, which are servers with one defect each, and reports the mutants that none
// of the expected checks finds.
func mutantsCommand(sh stdio) *cobra.Command {
	var names []string
	var plan mutation.RunOptions
	var to, check string
	serve, endpoint := false, listenFlags{}
	cmd := &cobra.Command{
		Use: "mutants", Hidden: true, Args: rejectArguments,
		Short: "Test the checks: run the suite against mutants, servers with one defect each",
		Long: `Test the checks: run the suite against mutants, servers with one defect each, and compare
which checks fail with those that should (streamassay list mutants --json names them). This
command is for developers of streamassay. A mutant survives if none of the checks that should
fail does. In each dialect a correct server, which must pass, and the canary, a server that
adds a word to every text and must fail, are run too.

Exit codes:
  0     no mutant survived, and no check failed that should not; with --check instead: no more
        mutants survived, and no more such checks failed, than the table states and, if all
        mutants were run, the table is up to date; with --write: the table was written, whichever
        mutants survived; with --serve: ended by SIGINT or SIGTERM
  1     without --write: the condition for 0 is not met
  2     usage error
  5     internal error, or a correct server failed or a canary survived: nothing is proven, and
        no table is written
  130   interrupted by SIGINT (143: by SIGTERM)`,
		Example: `  streamassay mutants --only 'text-*' --dialect agkit
  streamassay mutants --each 1 --sample 10
  streamassay mutants --write docs
  streamassay mutants --only text-deltas-held --write docs    # the rows of one mutant`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			sampled := plan.MaxDialects != 0 || plan.SampleEvery != 0
			if f := firstChangedFlag(cmd, "write", "check"); serve && f != "" {
				return usageError("--serve runs no suite: it cannot be combined with %s", f)
			}
			switch {
			case to != "" && check != "":
				return usageError("give --write or --check, not both")
			case to != "" && (sampled || len(names) > 0):
				return usageError("--write needs every mutant in all its dialects: give it without --dialect, --each and --sample")
			case check != "" && (len(plan.NamePatterns) > 0 || len(names) > 0):
				return usageError("--check needs all mutants: give it without --only and --dialect")
			}
			var err error
			if plan.Dialects, err = dialectsNamed("--dialect", names); err != nil {
				return err
			}
			if f := firstChangedFlag(cmd, "addr", "ready-file", "tls-cert", "tls-key"); f != "" && !serve {
				return usageError("%s is only for --serve", f)
			}
			if serve {
				return serveMutants(cmd.Context(), sh, &endpoint, plan.Dialects)
			}
			if err := checkMutantsFile(to, check); err != nil {
				return err
			}
			if err := plan.Validate(); err != nil {
				return usageError("--only: %v", err)
			}
			if isTerminal(sh.err) {
				plan.Progress = func(_ mutation.Outcome, played, of int) { fmt.Fprintf(sh.err, "\r%d of %d ", played, of) }
			}
			exitOnSecondSignal(cmd.Context())
			report, err := mutation.Run(cmd.Context(), plan)
			i, interrupted := interruptedBy(cmd.Context())
			if err != nil && !interrupted {
				return exitError{exitInternal, err.Error()}
			}
			if plan.Progress != nil {
				fmt.Fprintln(sh.err)
			}
			for _, o := range report.Outcomes {
				printOutcome(sh, o)
			}
			if interrupted {
				fmt.Fprintf(sh.out, "incomplete: %v\n%s\n", i, report.Summary())
				return exitError{i.exitCode(), i.Error()}
			}
			return concludeMutants(sh, report, to, check)
		},
	}
	addFlagGroups(cmd, []flagGroup{
		{"Selection", func(f *pflag.FlagSet) {
			addDialectFlag(cmd, &names, "dialect to test")
			f.Var((*nameList)(&plan.NamePatterns), "only",
				"`GLOB` run only mutants whose name matches GLOB (repeatable); with --write, the results of the others stay "+
					"as they are")
			f.Var(countValue(&plan.MaxDialects), "each",
				"`N` run each mutant in at most N of its dialects, different ones for different mutants (default: all)")
			f.Var(countValue(&plan.SampleEvery), "sample", "`N` run only every Nth mutant (default: all)")
		}},
		{"Table of results", func(f *pflag.FlagSet) {
			f.StringVar(&to, "write", "", "`DIR` directory to write the results to, as the table "+mutantsFile+
				"; without --dialect, --each, --sample and --check")
			f.StringVar(&check, "check", "", "`DIR` directory with the table "+mutantsFile+" to compare the results with")
		}},
		{"Serving the mutants, instead of testing (--serve and exactly one --dialect are required)", func(f *pflag.FlagSet) {
			f.BoolVar(&serve, "serve", false,
				"run no suite, but serve all mutants of the dialect, each below /MUTANT/, to two users, with the headers "+
					"'Authorization: "+mutation.PrimaryUser+"' and 'Authorization: "+mutation.OtherUser+"'")
			endpoint.addFlags(f)
		}},
	})
	return cmd
}

// checkMutantsFile returns a usage error if [mutantsFile] cannot be written to the directory
// writeDir, or does not exist in the directory checkDir. An empty writeDir or checkDir is ignored.
func checkMutantsFile(writeDir, checkDir string) error {
	if writeDir != "" {
		if _, err := writableDestination("--write "+writeDir, filepath.Join(writeDir, mutantsFile)); err != nil {
			return err
		}
	}
	if checkDir != "" {
		if _, err := os.Stat(filepath.Join(checkDir, mutantsFile)); err != nil {
			return usageError("--check %s: %s: %v", checkDir, mutantsFile, withoutPath(err))
		}
	}
	return nil
}

// printOutcome prints to standard output the problems in o, the result of one mutant in one
// dialect. If no expected check found the mutant, it prints a description of o and all failed
// checks. It also prints the unexpected failures of checks.
func printOutcome(sh stdio, o mutation.Outcome) {
	if !o.IsKilled() {
		fmt.Fprintf(sh.out, "%s in %s %s\n", o.Mutant, o.Dialect, o.Description())
		for _, id := range slices.Sorted(maps.Keys(o.FailedChecks)) {
			fmt.Fprintf(sh.out, "    %s failed: %s\n", id, oneLine(o.FailedChecks[id]))
		}
	}
	for _, over := range o.OverKills {
		id, _, _ := strings.Cut(over, " ")
		fmt.Fprintf(sh.out, "%s in %s: %s failed too: %s\n", o.Mutant, o.Dialect, over, oneLine(o.FailedChecks[id]))
	}
}

// concludeMutants prints the summary of r, which states the number of survivors: mutants that no
// expected check found. At least one of the directories writeDir and checkDir must be "". After
// printing the summary, concludeMutants does one of the following:
//   - If writeDir is set, it writes [mutantsFile] to that directory. The results of mutants that
//     were not run are taken from the existing file.
//   - If checkDir is set, it returns an error if there are more survivors, or more unexpected
//     failures, than the file in that directory states. If all mutants were run, it also returns
//     an error if the file is not up to date.
//   - Otherwise, it returns an error if there are any survivors or unexpected failures.
//
// If r.InvalidReasons is not empty, it prints nothing and returns an error with the exit code of an
// internal error.
func concludeMutants(sh stdio, r *mutation.Report, writeDir, checkDir string) error {
	if len(r.InvalidReasons) > 0 {
		return exitError{exitInternal, "invalid results: " + strings.Join(r.InvalidReasons, "; ")}
	}
	fmt.Fprintf(sh.out, "%s\n%d runs, %d of them repeated\n", r.Summary(), len(r.Outcomes), r.Retried)
	survivors, over := 0, 0
	switch {
	case writeDir != "":
		file := filepath.Join(writeDir, mutantsFile)
		if text, err := os.ReadFile(file); !r.IsComplete && err != nil {
			return usageError("--only adds to the results of all mutants: %v", err)
		} else if !r.IsComplete {
			if err := r.Merge(text); err != nil {
				return usageError("%s: %v", file, err)
			}
		}
		if err := os.WriteFile(file, r.Markdown(), 0o644); err != nil {
			return usageError("%v", err)
		}
		return nil
	case checkDir != "":
		file := filepath.Join(checkDir, mutantsFile)
		text, err := os.ReadFile(file)
		if err != nil {
			return usageError("%v", err)
		}
		if survivors, over, err = mutation.ParseSummary(text); err != nil {
			return usageError("%s: %v", file, err)
		}
		if !r.IsWorse(survivors, over) && r.IsComplete && !bytes.Equal(text, r.Markdown()) {
			return exitError{exitFailed, file + " is not up to date: run streamassay mutants --write " + checkDir}
		}
	}
	if r.IsWorse(survivors, over) {
		return exitError{exitFailed, fmt.Sprintf("want at most %d survivors and %d unexpected failures", survivors, over)}
	}
	return nil
}

// listMutants is the [listFunc] for mutants. The list holds the mutants that apply to at least one
// of the given dialects.
func listMutants(dialects []*dialect.Dialect) (rows [][]string, all any) {
	type entry struct {
		Name     string            `json:"name"`
		Doc      string            `json:"doc"`
		Breaks   []string          `json:"breaks"`
		Kills    map[string]string `json:"kills"`
		Also     []string          `json:"also,omitempty"`
		Dialects []string          `json:"dialects"`
	}
	list := []entry{}
	for _, m := range mutation.All(dialects) {
		e := entry{Name: m.Name, Doc: m.Doc, Breaks: m.RequirementIDs(dialects), Kills: m.KilledBy, Also: m.AlsoFails}
		e.Dialects = namesWhere(dialects, m.AppliesTo)
		list = append(list, e)
		rows = append(rows, []string{e.Name, e.Doc, strings.Join(e.Dialects, " ")})
	}
	return rows, list
}
