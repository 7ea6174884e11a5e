package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/coverage"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/spec/rules"
)

// docsCommand makes the documents that are lists of what the code has: nobody
// writes them by hand.
func docsCommand(sh stdio) *cobra.Command {
	var to, check string
	cmd := &cobra.Command{
		Use: "docs", Hidden: true, Short: "Write, or check, the documents that are made from the code", Args: rejectArguments,
		RunE: func(*cobra.Command, []string) error {
			if (to == "") == (check == "") {
				return usageError("docs takes --write DIR or --check DIR")
			}
			dialects, err := dialectsNamed("", nil)
			if err != nil {
				return err
			}
			texts, err := generateDocuments(dialects)
			if err != nil {
				return err
			}
			for name, text := range texts {
				if to != "" {
					if err := os.WriteFile(filepath.Join(to, name), text, 0o644); err != nil {
						return usageError("%v", err)
					}
					continue
				}
				old, err := os.ReadFile(filepath.Join(check, name))
				if err != nil || !bytes.Equal(old, text) {
					return exitError{exitFailed, filepath.Join(check, name) + " is not what the code says: make docs"}
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&to, "write", "", "`DIR` to write them to")
	cmd.Flags().StringVar(&check, "check", "", "`DIR` where they stand")
	return cmd
}

func generateDocuments(dialects []*dialect.Dialect) (map[string][]byte, error) {
	clauses, err := coverage.Load()
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		"checks.md": checksDocument(dialects), "requirements.md": requirementsDocument(dialects), "faults.md": faultsDocument(dialects),
		"coverage.md": coverage.Render(clauses, dialects),
	}, nil
}

func checksDocument(dialects []*dialect.Dialect) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Checks\n\nMade from the code by `make docs`. %d checks; each is written once for all dialects.\n", len(rules.All))
	area := ""
	for _, c := range rules.All {
		if of, _, _ := strings.Cut(c.ID, "."); of != area {
			area = of
			fmt.Fprintf(&b, "\n## %s\n", area)
		}
		title, reason, _ := strings.Cut(c.Doc, "\n")
		fmt.Fprintf(&b, "\n### %s\n\n%s.\n", c.ID, strings.ToUpper(title[:1])+title[1:])
		if reason = strings.TrimSpace(reason); reason != "" {
			fmt.Fprintf(&b, "\n%s\n", reason)
		}
		fmt.Fprintf(&b, "\nDemanded by: %s.\n", strings.Join(dialectsRequiring(c, dialects), ", "))
	}
	return b.Bytes()
}

func dialectsRequiring(c *spec.Check, dialects []*dialect.Dialect) (all []string) {
	for _, d := range dialects {
		if slices.ContainsFunc(d.Requirements, func(r spec.Requirement) bool { return slices.Contains(r.Checks, c.ID) }) {
			all = append(all, d.Name)
		}
	}
	return all
}

func requirementsDocument(dialects []*dialect.Dialect) []byte {
	var b bytes.Buffer
	fmt.Fprint(&b, "# Requirements\n\nMade from the catalogues by `make docs`. Sources name the protocol document and its lines.\nWhat stands in quotation marks is quoted from it, with a rendering in English where it is in another language;\nwhat does not is a sentence of this project.\n")
	for _, d := range dialects {
		fmt.Fprintf(&b, "\n## %s\n\n%s. %d requirements.\n\n| level | requirement | demand | source | judged by |\n|---|---|---|---|---|\n", d.Name, d.Title, len(d.Requirements))
		for _, r := range d.Requirements {
			judged := strings.Join(r.Checks, ", ")
			if r.Excluded != nil {
				judged = "none (" + r.Excluded.Kind + "): " + r.Excluded.Reason
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.Level, r.ID, tableCell(requirementText(r)), tableCell(r.Source), tableCell(judged))
		}
	}
	return b.Bytes()
}

// tableCell keeps a text within a table.
func tableCell(s string) string { return strings.ReplaceAll(oneLine(s), "|", "\\|") }

func faultsDocument(dialects []*dialect.Dialect) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Faults\n\nMade from the code by `make docs`. %d faults; [mock.md](mock.md) says how they are used, and the tests prove that of the\nchecks that see a fault one at least turns red in every dialect that demands it, live and in a recording.\n", len(fault.All))
	family := fault.Category("")
	for _, f := range fault.All {
		if f.Category != family {
			family = f.Category
			fmt.Fprintf(&b, "\n## %s\n\n%s.\n", family, familyTitles[family])
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s.\n", f.Name, strings.ToUpper(f.Doc[:1])+f.Doc[1:])
		possible := supportingDialects(f, dialects)
		switch {
		case len(possible) == len(dialects):
		case len(possible) == 0:
			fmt.Fprint(&b, "\nNo dialect has words for it.\n")
		default:
			fmt.Fprintf(&b, "\nIn: %s.\n", strings.Join(possible, ", "))
		}
		fmt.Fprint(&b, "\nSeen by: ")
		if len(f.Checks) == 0 {
			fmt.Fprint(&b, "no check")
		}
		fmt.Fprintf(&b, "%s.\n", strings.Join(f.Checks, ", "))
		for _, p := range slices.DeleteFunc(f.AllParams(), func(p fault.Param) bool { return p.Name == "chance" || p.Name == "streams" }) {
			fmt.Fprintf(&b, "\n* `%s`: %s", p.Name, p.Doc)
			if p.Default != "" {
				fmt.Fprintf(&b, " (default %s)", p.Default)
			}
		}
		if len(f.AllParams()) > 2 {
			fmt.Fprintln(&b)
		}
	}
	return b.Bytes()
}

// familyTitles say what the families of faults have in common.
var familyTitles = map[fault.Category]string{
	fault.CategoryResponse: "Instead of the stream, or before it",
	fault.CategoryProtocol: "What the events of a run say, whoever listens to it",
	fault.CategoryResume:   "Where a stream is taken up again",
	fault.CategoryWire:     "How the bytes of a stream travel, and end",
}

// supportingDialects are the dialects that have the words for a fault.
func supportingDialects(f *fault.Fault, dialects []*dialect.Dialect) (names []string) {
	for _, d := range dialects {
		if kinds := d.Kinds(); !slices.ContainsFunc(f.RequiredKinds, func(k spec.Kind) bool { return !slices.Contains(kinds, k) }) {
			names = append(names, d.Name)
		}
	}
	return names
}
