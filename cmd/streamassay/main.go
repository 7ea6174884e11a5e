// Command streamassay runs conformance tests against servers that stream AI-agent
// output over HTTP and server-sent events (SSE). It also contains a reference server
// and a mock server of each protocol. See the README, or streamassay --help.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/streamassay/streamassay/internal/exitcode"
	"github.com/streamassay/streamassay/spec/dialect"
)

// Exit codes of the program (README, "Exit codes").
const (
	exitOK           = exitcode.Passed
	exitFailed       = exitcode.Failed
	exitUsage        = exitcode.Usage
	exitInconclusive = exitcode.Inconclusive
	exitInternal     = exitcode.Internal
)

// A stdio holds the standard streams and the environment of a command, so that tests can replace
// them.
type stdio struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) string // like [os.Getenv]
}

func main() {
	ctx, stop := withSignals(context.Background())
	defer stop()
	os.Exit(run(ctx, os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr, os.Getenv}))
}

// run executes the program with args, the command-line arguments without the name of the program,
// and returns the exit code. A panic is reported on standard error and results in the exit code of
// an internal error.
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
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flagError(cmd, err, args) })
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
	if failed, ok := errors.AsType[*fs.PathError](err); ok && failed.Op == "write" { // e.g. a full disk
		return exitInternal
	}
	return exitUsage
}

// oneLine returns s on one line: each sequence of white space is replaced by one space, and white
// space at either end is removed.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// An exitError is an error that ends the program with an exit code, after its message has been
// printed to standard error.
type exitError struct {
	code    int    // exit code, not 0
	message string // "" means that nothing is printed
}

func (e exitError) Error() string { return e.message }

// usageError returns an error that ends the program with exit code 2, which means that the usage or
// the configuration is invalid. The message is formatted as by [fmt.Sprintf].
func usageError(format string, args ...any) error {
	return exitError{exitUsage, fmt.Sprintf(format, args...)}
}

// exitWith returns an error that ends the program with the given exit code, or nil if code is 0. No
// message is printed.
func exitWith(code int) error {
	if code == exitOK {
		return nil
	}
	return exitError{code: code}
}

// commandConstructors lists the constructors of all commands. A new command needs a file with its
// constructor, and an entry in this list.
var commandConstructors = []func(stdio) *cobra.Command{
	runCommand, diffCommand, serveCommand, mockCommand, proxyCommand, convertCommand, lintCommand,
	listCommand, explainCommand, specCommand, docsCommand, mutantsCommand,
}

// rootCommand returns the streamassay command with all its subcommands.
func rootCommand(sh stdio) *cobra.Command {
	root := &cobra.Command{
		Use:   "streamassay",
		Short: "Conformance tests for servers that stream AI-agent output over SSE",
		Long: `Conformance tests for servers that stream AI-agent output over HTTP and server-sent
events (SSE). Every failure cites the violated clause and shows the offending bytes.
For developers of clients, streamassay includes a reference server and a mock server.

` + wrapHelp("A dialect is one version of a protocol, such as "+strings.Join(dialect.Names(), ", ")+
			" (see streamassay list dialects).") + `

A run is one answer of the agent; its events arrive as a stream. A thread is the sequence of
runs of one user about one subject. An interrupt is a question that stops a run; the client's
answer resumes it. A tool call is executed by the server or, if the tool is a client
tool, by the client.`,
		Example: `  streamassay run                                          # test the embedded reference, all dialects
  streamassay run http://127.0.0.1:8080 --dialect agkit    # test a server
  streamassay lint recording.http --dialect agentscope     # check a recording
  streamassay serve --dialect runs --addr 127.0.0.1:4010   # start the reference server
  streamassay mock --dialect runs --addr 127.0.0.1:4010    # start the mock server
  streamassay explain run.ends-once                        # describe a check and its sources`,
		Version:       buildVersion(),
		SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(sh.in)
	root.SetOut(sh.out)
	root.SetErr(sh.err)
	root.SetVersionTemplate("streamassay {{.Version}}\n")
	flagUsages := strings.NewReplacer(
		".LocalFlags.FlagUsages", "describeFlags .LocalFlags", ".InheritedFlags.FlagUsages", "describeFlags .InheritedFlags",
	)
	root.SetUsageTemplate(flagUsages.Replace(root.UsageTemplate()) + "{{helpNotes .}}")
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

// buildVersion returns the version of the module, or "devel" if it has none. The first 12 digits of
// the VCS revision follow, as in "devel 0123456789ab", unless the build recorded no revision or the
// version already contains them. Without build information, the result is "unknown".
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
