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

	"github.com/streamassay/streamassay/mockserver/mutant"
	"github.com/streamassay/streamassay/spec/dialect"
)

// mutantsFile is the document that is made of what was found.
const mutantsFile = "mutants.md"

// mutantsCommand proves that the checks can fail: it plays servers that are wrong in one
// place each.
func mutantsCommand(sh stdio) *cobra.Command {
	var names []string
	var plan mutant.RunOptions
	var to, check string
	cmd := &cobra.Command{
		Use: "mutants", Hidden: true, Short: "Play servers that are wrong in one place each, and see whether the checks find out", Args: rejectArguments,
		Long: `mutants plays the suite against servers that are wrong in one place each, and compares what it
says with what it should. It ends with 1 if a mutant survives, or something else turns red,
and with 5 if a right server is red, or the canary lives: then nothing was proven.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (to != "" || check != "") && (plan.NamePattern != "" || len(names) > 0) || to != "" && (check != "" || plan.MaxDialects != 0 || plan.SampleEvery != 0) {
				return usageError("--write or --check is for all mutants: without --only and --dialect, one of the two, and only --check with --each or --sample")
			}
			var err error
			if plan.Dialects, err = dialectsNamed("--dialect", names); err != nil {
				return err
			}
			if err := plan.Validate(); err != nil {
				return usageError("--only: %v", err)
			}
			if err := checkMutantsFile(to, check); err != nil {
				return err
			}
			if isTerminal(sh.err) {
				plan.Progress = func(_ mutant.Outcome, played, of int) { fmt.Fprintf(sh.err, "\r%d of %d ", played, of) }
			}
			exitOnSecondSignal(cmd.Context())
			report, err := mutant.Run(cmd.Context(), plan)
			i, broken := interruptedBy(cmd.Context())
			if err != nil && !broken {
				return exitError{exitInternal, err.Error()}
			}
			if plan.Progress != nil {
				fmt.Fprintln(sh.err)
			}
			for _, o := range report.Outcomes {
				printOutcome(sh, o)
			}
			if broken {
				fmt.Fprintf(sh.out, "incomplete: %v\n%s\n", i, report.Summary())
				return exitError{i.exitCode(), i.Error()}
			}
			return concludeMutants(sh, report, to, check)
		},
	}
	addDialectFlag(cmd, &names)
	cmd.Flags().StringVar(&plan.NamePattern, "only", "", "a `GLOB` of names of mutants")
	cmd.Flags().Var((*positiveInt)(&plan.MaxDialects), "each", "in how many dialects each mutant is played at most, which take turns (default: all)")
	cmd.Flags().Var((*positiveInt)(&plan.SampleEvery), "sample", "play only every `N`-th mutant (default: every one)")
	cmd.Flags().StringVar(&to, "write", "", "`DIR` to write "+mutantsFile+" to")
	cmd.Flags().StringVar(&check, "check", "", "`DIR` where "+mutantsFile+" stands")
	return cmd
}

// checkMutantsFile returns why the document cannot be written to a folder, or read from one.
func checkMutantsFile(to, check string) error {
	if to != "" {
		d, err := newDestination(filepath.Join(to, mutantsFile))
		if err == nil {
			err = d.checkWritable()
		}
		if err != nil {
			return usageError("--write %s: %v", to, err)
		}
	}
	if check != "" {
		if _, err := os.Stat(filepath.Join(check, mutantsFile)); err != nil {
			return usageError("--check %s: %s: %v", check, mutantsFile, withoutPath(err))
		}
	}
	return nil
}

// printOutcome says what is not as it should be.
func printOutcome(sh stdio, o mutant.Outcome) {
	if !o.IsKilled() {
		fmt.Fprintf(sh.out, "%s in %s %s\n", o.Mutant, o.Dialect, o.Description())
		for _, id := range slices.Sorted(maps.Keys(o.FailedChecks)) {
			fmt.Fprintf(sh.out, "    %s: %s\n", id, oneLine(o.FailedChecks[id]))
		}
	}
	for _, over := range o.OverKills {
		id, _, _ := strings.Cut(over, " ")
		fmt.Fprintf(sh.out, "%s in %s turns %s red: %s\n", o.Mutant, o.Dialect, over, oneLine(o.FailedChecks[id]))
	}
}

// concludeMutants says what was found, and writes it down or compares it.
func concludeMutants(sh stdio, r *mutant.Report, to, check string) error {
	if len(r.InvalidReasons) > 0 {
		return exitError{exitInternal, "VOID: " + strings.Join(r.InvalidReasons, "; ")}
	}
	fmt.Fprintf(sh.out, "%s\n%d plays, %d of them twice\n", r.Summary(), len(r.Outcomes), r.Retried)
	survivors, over := 0, 0
	switch {
	case to != "":
		if err := os.WriteFile(filepath.Join(to, mutantsFile), r.Markdown(), 0o644); err != nil {
			return usageError("%v", err)
		}
		return nil
	case check != "":
		file := filepath.Join(check, mutantsFile)
		text, err := os.ReadFile(file)
		if err != nil {
			return usageError("%v", err)
		}
		if survivors, over, err = mutant.ParseSummary(text); err != nil {
			return usageError("%s: %v", file, err)
		}
		if !r.IsWorse(survivors, over) && r.IsComplete && !bytes.Equal(text, r.Markdown()) {
			return exitError{exitFailed, file + " is not what was found: streamassay mutants --write " + check}
		}
	}
	if r.IsWorse(survivors, over) {
		return exitError{exitFailed, fmt.Sprintf("more than %d mutants survive, or more than %d turn something else red", survivors, over)}
	}
	return nil
}

// listMutants lists the mutants that are played in some dialects.
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
	for _, m := range mutant.All {
		e := entry{Name: m.Name, Doc: m.Doc, Breaks: m.Violates, Kills: m.KilledBy, Also: m.AlsoFails}
		for _, d := range dialects {
			if m.AppliesTo(d) {
				e.Dialects = append(e.Dialects, d.Name)
			}
		}
		if len(e.Dialects) > 0 {
			list = append(list, e)
			rows = append(rows, []string{e.Name, e.Doc, strings.Join(e.Dialects, " ")})
		}
	}
	return rows, list
}
