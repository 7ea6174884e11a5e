// Command streamassay holds servers that stream what an AI agent does to their
// protocol, and is such a server itself. See the README, or streamassay --help.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/streamassay/streamassay/reports"
)

// Exit codes, as the contract has them.
const (
	exitOK           = reports.ExitPassed
	exitFailed       = reports.ExitFailed // a MUST is broken; with --strict a SHOULD
	exitUsage        = 2
	exitInconclusive = reports.ExitInconclusive // nothing measured
	exitInternal     = reports.ExitInternal     // the harness itself failed
)

// A stdio is what a command talks to.
type stdio struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) string
}

func main() {
	ctx, stop := withSignals(context.Background())
	defer stop()
	os.Exit(run(ctx, os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr, os.Getenv}))
}

// run is the whole program: it returns the exit code.
func run(ctx context.Context, args []string, sh stdio) (code int) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(sh.err, "streamassay: internal failure: %v\n", r)
			if sh.env("STREAMASSAY_DEBUG") != "" {
				fmt.Fprintf(sh.err, "%s", debug.Stack())
			}
			code = exitInternal
		}
	}()
	root := rootCommand(sh)
	root.SetArgs(args)
	err := checkCommand(root, args)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	var exit exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		if exit.message != "" {
			fmt.Fprintln(sh.err, "streamassay: "+oneLine(exit.message))
		}
		return exit.code
	}
	fmt.Fprintln(sh.err, "streamassay: "+oneLine(err.Error()))
	return exitUsage
}

// oneLine keeps an error to a line, whatever it quotes.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// An exitError ends the program with a code; why, if there is anything left to say.
type exitError struct {
	code    int
	message string
}

func (e exitError) Error() string { return e.message }

func usageError(format string, args ...any) error {
	return exitError{exitUsage, fmt.Sprintf(format, args...)}
}

// commandConstructors lists every command. To add one: a file, and a line here.
var commandConstructors = []func(stdio) *cobra.Command{
	runCommand, diffCommand, serveCommand, mockCommand, convertCommand, lintCommand, listCommand, explainCommand, specCommand, docsCommand, mutantsCommand,
}

func rootCommand(sh stdio) *cobra.Command {
	root := &cobra.Command{
		Use:   "streamassay",
		Short: "Holds servers that stream what an AI agent does to their protocol",
		Long: `streamassay holds servers that stream what an AI agent does, over HTTP and
server-sent events, to their protocol: clause by clause, with the bytes that prove it.`,
		Example: `  streamassay run                                                    every dialect, against the embedded reference
  streamassay run http://127.0.0.1:8080 --dialect agkit               hold a server to its protocol
  streamassay lint recording.http --dialect agentscope                judge what was recorded
  streamassay serve --dialect runs --addr 127.0.0.1:4010              a reference server
  streamassay explain run.ends-once                                   what a check says, why, and where from`,
		Version:       buildVersion(),
		SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(sh.in)
	root.SetOut(sh.out)
	root.SetErr(sh.err)
	root.SetVersionTemplate("streamassay {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return checkEmptyFlags(cmd) }
	for _, c := range commandConstructors {
		root.AddCommand(c(sh))
	}
	root.SetHelpCommand(helpCommand(root))
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args, c.RunE = cobra.ArbitraryArgs, runCompletion
		}
	}
	return root
}

// buildVersion is the module's, as the build recorded it.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v, revision := info.Main.Version, ""
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			revision = s.Value[:12]
		}
	}
	if v == "" || v == "(devel)" {
		v = "devel"
	}
	if revision != "" && !strings.Contains(v, revision) {
		v += " " + revision
	}
	return v
}
