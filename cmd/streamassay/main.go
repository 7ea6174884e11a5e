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
	exitOK       = reports.ExitHolds
	exitBroken   = reports.ExitBroken // a MUST is broken; with --strict a SHOULD
	exitUsage    = 2
	exitNothing  = reports.ExitNothing // nothing measured
	exitInternal = reports.ExitHarness // the harness itself failed
)

// A shell is what a command talks to.
type shell struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) string
}

func main() {
	ctx, stop := withSignals(context.Background())
	defer stop()
	os.Exit(run(ctx, os.Args[1:], shell{os.Stdin, os.Stdout, os.Stderr, os.Getenv}))
}

// run is the whole program: it returns the exit code.
func run(ctx context.Context, args []string, sh shell) (code int) {
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
		if exit.why != "" {
			fmt.Fprintln(sh.err, "streamassay: "+oneLine(exit.why))
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
	code int
	why  string
}

func (e exitError) Error() string { return e.why }

func usage(format string, args ...any) error {
	return exitError{exitUsage, fmt.Sprintf(format, args...)}
}

// commands lists every command. To add one: a file, and a line here.
var commands = []func(shell) *cobra.Command{
	runCommand, diffCommand, serveCommand, mockCommand, convertCommand, lintCommand, listCommand, explainCommand, specCommand, docsCommand, mutantsCommand,
}

func rootCommand(sh shell) *cobra.Command {
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
		Version:       version(),
		SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(sh.in)
	root.SetOut(sh.out)
	root.SetErr(sh.err)
	root.SetVersionTemplate("streamassay {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return checkEmptyFlags(cmd) }
	for _, c := range commands {
		root.AddCommand(c(sh))
	}
	root.SetHelpCommand(helpCommand(root))
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args, c.RunE = cobra.ArbitraryArgs, completeNothing
		}
	}
	return root
}

// version is the module's, as the build recorded it.
func version() string {
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
