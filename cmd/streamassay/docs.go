package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// docsCommand returns the hidden docs command. The command generates the documents that list the
// checks, the requirements and the faults, or checks that existing documents are up to date.
func docsCommand(sh stdio) *cobra.Command {
	var to, check string
	cmd := &cobra.Command{
		Use: "docs", Hidden: true, Short: "For developers of streamassay: write or check its generated documents", Args: rejectArguments,
		Long: `Write the documents of streamassay that list its checks, requirements and faults (checks.md,
requirements.md and faults.md), or check that they are up to date. Exactly one of --write and
--check is required. This command is for developers of streamassay.

Exit codes: 0 success, 1 a document in --check DIR is missing or not up to date, 2 usage error,
5 internal error.`,
		RunE: func(*cobra.Command, []string) error {
			if (to == "") == (check == "") {
				return usageError("docs needs either --write DIR or --check DIR")
			}
			flag, dir := "--write", to
			if check != "" {
				flag, dir = "--check", check
			}
			if _, err := newDestination(filepath.Join(dir, "checks.md")); err != nil {
				return usageError("%s %s: %v", flag, dir, err)
			}
			dialects, err := dialectsNamed("", nil)
			if err != nil {
				return err
			}
			texts := generateDocuments(dialects)
			for _, name := range slices.Sorted(maps.Keys(texts)) {
				path := filepath.Join(dir, name)
				if to != "" {
					if err := os.WriteFile(path, texts[name], 0o644); err != nil {
						return usageError("%v", err)
					}
					continue
				}
				switch old, err := os.ReadFile(path); {
				case errors.Is(err, fs.ErrNotExist):
					return exitError{exitFailed, path + " is missing: write it with streamassay docs --write " + dir}
				case err != nil:
					return usageError("%s: %v", path, withoutPath(err))
				case !bytes.Equal(old, texts[name]):
					return exitError{exitFailed, path + " is not up to date: write it with streamassay docs --write " + dir}
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&to, "write", "", "`DIR` directory to write the documents to; existing files are overwritten")
	cmd.Flags().StringVar(&check, "check", "",
		"`DIR` directory with the documents to check; nothing is written")
	return cmd
}

// generateDocuments returns the text of each generated document, by file name.
func generateDocuments(dialects []*dialect.Dialect) map[string][]byte {
	return map[string][]byte{
		"checks.md": checksDocument(dialects), "requirements.md": requirementsDocument(dialects),
		"faults.md": faultsDocument(dialects),
	}
}

// checksDocument returns the text of docs/checks.md, which lists all checks. For each check, it
// names the given dialects that require the check.
func checksDocument(dialects []*dialect.Dialect) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Checks\n\nGenerated from the code by `make docs`. %d checks of servers and %d of clients; each is written once for all dialects.\n",
		len(rules.About(spec.Server)), len(rules.About(spec.Client)))
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
		required := namesWhere(dialects, func(d *dialect.Dialect) bool { return requiresCheck(d, c) })
		fmt.Fprintf(&b, "\nRequired by: %s.\n", strings.Join(required, ", "))
	}
	return b.Bytes()
}

// requirementsDocument returns the text of docs/requirements.md, which lists the requirements of
// the given dialects.
func requirementsDocument(dialects []*dialect.Dialect) []byte {
	var b bytes.Buffer
	fmt.Fprint(&b, `# Requirements

Generated from the catalogues by `+"`make docs`"+`. A source names the protocol document and its lines. Text in
quotation marks is quoted from it, with an English translation if it is in another language; other text is a summary by
this project.
`)
	for _, d := range dialects {
		fmt.Fprintf(&b, "\n## %s\n\n%s. %d requirements.\n\n", d.Name, d.Title, len(d.Catalogue()))
		fmt.Fprint(&b, "| level | requirement | text | source | judged by |\n|---|---|---|---|---|\n")
		for _, r := range d.Catalogue() {
			judged := strings.Join(r.Checks, ", ")
			if r.Excluded != nil {
				judged = "none (" + r.Excluded.Kind + "): " + r.Excluded.Reason
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n",
				r.Level, r.ID, tableCell(requirementText(r)), tableCell(r.Source), tableCell(judged))
		}
	}
	return b.Bytes()
}

// tableCell returns s on one line, escaped for a cell of a Markdown table.
func tableCell(s string) string { return strings.ReplaceAll(oneLine(s), "|", "\\|") }

// faultsDocument returns the text of docs/faults.md, which lists all faults. If a fault applies to
// only some of the given dialects, the text names these dialects.
func faultsDocument(dialects []*dialect.Dialect) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `# Faults

Generated from the code by `+"`make docs`"+`. %d faults; [mock.md](mock.md) describes how to use them. Tests prove for
each fault that at least one of the checks that detect it fails in every dialect that requires the check, live and in a
recording.
`, len(fault.All))
	category := fault.Category("")
	for _, f := range fault.All {
		if f.Category != category {
			category = f.Category
			fmt.Fprintf(&b, "\n## %s\n\n%s.\n", category, categoryTitles[category])
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s.\n", f.Name, strings.ToUpper(f.Doc[:1])+f.Doc[1:])
		possible := namesWhere(dialects, func(d *dialect.Dialect) bool { return supportsFault(d, f) })
		switch {
		case len(possible) == len(dialects):
		case len(possible) == 0:
			fmt.Fprint(&b, "\nApplicable to no dialect.\n")
		default:
			fmt.Fprintf(&b, "\nApplicable to: %s.\n", strings.Join(possible, ", "))
		}
		fmt.Fprint(&b, "\nDetected by: ")
		if len(f.Checks) == 0 {
			fmt.Fprint(&b, "no check")
		}
		fmt.Fprintf(&b, "%s.\n", strings.Join(f.Checks, ", "))
		common := func(p fault.Param) bool { return p.Name == "chance" || p.Name == "streams" }
		for _, p := range slices.DeleteFunc(f.AllParams(), common) {
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

// categoryTitles maps each category of faults to its title in docs/faults.md.
var categoryTitles = map[fault.Category]string{
	fault.CategoryResponse: "Faults of the response: a refusal instead of a stream, a wrong status, header or delay",
	fault.CategoryProtocol: "Faults in the events of a run; every stream of the run has them",
	fault.CategoryResume:   "Faults when a stream is resumed",
	fault.CategoryWire:     "Faults in how the bytes of a stream are sent, and in how the body ends",
}
