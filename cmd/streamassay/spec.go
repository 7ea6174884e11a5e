package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/streamassay/streamassay/spec/dialect"
)

// specCommand returns the spec command, which prints the OpenAPI document of a dialect.
func specCommand(sh stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "spec DIALECT",
		Short: "Print a dialect's OpenAPI document as YAML",
		Long: wrapHelp("Print a dialect's OpenAPI document as YAML. DIALECT is " + dialectUsage +
			". Exit codes: 0 success, 2 usage error, 5 internal error."),
		Example:           "  streamassay spec agkit > agkit.yaml",
		ValidArgsFunction: cobra.FixedCompletions(dialect.Names(), cobra.ShellCompDirectiveNoFileComp),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError("spec takes one dialect, got %q too", args[1])
			}
			if len(args) == 0 {
				return usageError("spec needs a dialect (one of %s, or the path of a document)",
					strings.Join(dialect.Names(), ", "))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			d, err := openDialect(args[0])
			if err != nil {
				return usageError("%v", err)
			}
			text, err := d.Document()
			if err == nil {
				_, err = sh.out.Write(text)
			}
			return err
		},
	}
}
