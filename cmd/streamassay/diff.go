package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/streamassay/streamassay/internal/diff"
	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/suites"
)

// referenceName is the argument of the run and diff commands that stands for the embedded reference
// server.
const referenceName = "reference"

// takesPerTarget is the number of times that diff plays each scenario against each target. Each
// recording of a scenario is called a take. What differs between two takes of the same target is
// volatile and is not compared.
const takesPerTarget = 2

// A diffOptions holds the flags of the diff command.
type diffOptions struct {
	targetOptions             // options for both sides
	json             bool     // print the report as JSON
	headerA, headerB []string // headers for one side only, as 'Name: value'
}

// diffCommand returns the diff command, which compares two servers or two sets of recordings.
func diffCommand(sh stdio) *cobra.Command {
	d := diffOptions{targetOptions: newTargetOptions()}
	d.suite.Sequences = 0 // diff compares scenarios
	scenarioCapabilities := slices.DeleteFunc(suites.Capabilities(), func(name string) bool {
		return name == "scripted" || name == "stream-limit" // diff does not have --stream-limit
	})
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare two servers or two recordings",
		Long: `Compare two servers or two sets of recordings, and print the differences. A and B are base
URLs (as TARGET in streamassay run --help), or "reference" for the embedded reference server;
or both are files or directories of recordings (.txtar, as streamassay run --transcripts writes
them, .http, .sse or .har). Record both with streamassay run, with the same --seed (otherwise
the requests differ; --salt may differ, because renamed ids are ignored) and with --repeat 2
or more (otherwise random values are reported as differences). Recordings with the same id are
compared: the id is that of the scenario or, if the recording names none, the file name
without extension. A single recording in A and a single one in B are compared whatever their
ids. Only the flags --dialect, --json, --only and --skip apply to recordings; a note says which
others are ignored.

Both servers get the same requests, each of them twice (in two rounds). These are the requests
of the scenarios (streamassay list scenarios) and, if the first prompt shows that both agents
reply to test prompts as docs/prompts.md prescribes, of the first 16 combinations (ids
combination-N, see --deep in streamassay run --help). What differs between two responses of one
server to the same request (such as random text) is volatile and ignored. Also ignored are
times, consistent renamings of ids, and differences in how the same text is split into
deltas. Whether a response is correct is not judged; streamassay run does that. If a response
exceeds a limit (--timeout, --idle-timeout, --max-bytes, --max-events or --max-event), what
arrived before the limit is compared.
` + totalLimits("a server", "not compared; that alone does not change the exit code") + `
` + wrapHelp(hiddenValues) + `

` + capabilitiesText("--lacks", scenarioCapabilities) + `

Exit codes: 0 no difference, 1 differences, 2 usage or configuration error, 3 nothing was
compared (e.g. one side is unreachable, or both refuse every request), or --max-time was
reached and there was no difference, 5 internal error, 130 interrupted by SIGINT, 143 by
SIGTERM. A conversation that only one side has, or that ended early for a reason other than
--max-time, is listed; that alone does not change the exit code.`,
		Example: `  streamassay diff http://127.0.0.1:8080 http://127.0.0.1:8081 --dialect agkit
  streamassay diff reference http://127.0.0.1:8080 --dialect runs --header 'Authorization: Bearer T'
  streamassay diff before after --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageError("diff needs two arguments, each a base URL, %q, or a file or directory of recordings",
					referenceName)
			}
			for _, word := range args {
				if err := checkSide(word); err != nil {
					return err
				}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			exitOnSecondSignal(cmd.Context())
			tuneRunMemory(sh.env, 1)
			if isRecordingPath(args[0]) && isRecordingPath(args[1]) {
				noteIgnoredFlags(sh.err, cmd.Flags())
			}
			return d.run(cmd.Context(), sh, args[0], args[1])
		},
	}
	f := cmd.Flags()
	d.addFlags(cmd, true)
	f.StringArrayVar(&d.headerA, "header-a", nil,
		"`'Name: value'` header to send to A only, in addition to those of --header (repeatable)")
	f.StringArrayVar(&d.headerB, "header-b", nil,
		"`'Name: value'` header to send to B only, in addition to those of --header (repeatable)")
	f.BoolVar(&d.json, "json", false, "print JSON")
	return cmd
}

// noteIgnoredFlags prints to w which of the flags given in f have no effect when diff compares
// recordings. It prints nothing if there are none.
func noteIgnoredFlags(w io.Writer, f *pflag.FlagSet) {
	var ignored []string
	f.Visit(func(given *pflag.Flag) {
		if !slices.Contains([]string{"dialect", "json", "only", "skip"}, given.Name) {
			ignored = append(ignored, "--"+given.Name)
		}
	})
	if len(ignored) > 0 {
		fmt.Fprintf(w, "streamassay: note: no effect on recordings: %s\n", strings.Join(ignored, ", "))
	}
}

// A diffSide holds the conversations of one side of a comparison, A or B.
type diffSide struct {
	dialects      []string                               // names, in the order in which they were added
	conversations map[string][]diff.RepeatedConversation // by the name of the dialect
	timedOut      bool                                   // --max-time ended the scenarios early; false for recordings
	names         []string                               // names of all recordings, also of those that are not selected
}

// conversation returns a pointer to the conversation with the given dialect and name. If h has no
// such conversation, conversation adds an empty one to h. The pointer is valid until a call of
// conversation adds another one.
func (h *diffSide) conversation(dialect, name string) *diff.RepeatedConversation {
	if h.conversations == nil {
		h.conversations = map[string][]diff.RepeatedConversation{}
	}
	if !slices.Contains(h.dialects, dialect) {
		h.dialects = append(h.dialects, dialect)
	}
	list := h.conversations[dialect]
	i := slices.IndexFunc(list, func(t diff.RepeatedConversation) bool { return t.Name == name })
	if i < 0 {
		i, list = len(list), append(list, diff.RepeatedConversation{Name: name})
		h.conversations[dialect] = list
	}
	return &list[i]
}

// run compares the targets or recordings that the arguments a and b name, and prints the report to
// standard output. It returns nil if the exit code of the report is 0, and an error with that exit
// code otherwise. If there is nothing to compare, because a target or recording cannot be used, run
// returns an error without printing a report.
func (d diffOptions) run(ctx context.Context, sh stdio, a, b string) error {
	report := &diff.Report{Tool: "streamassay", Version: buildVersion(), A: a, B: b}
	var left, right diffSide
	var err error
	recordedA, recordedB := isRecordingPath(a), isRecordingPath(b)
	switch {
	case recordedA != recordedB:
		if recordedB {
			a, b = b, a
		}
		return usageError("%s is a recording and %s is not: compare two targets or two recordings", a, b)
	case recordedA:
		left, right, err = d.readRecordings(ctx, sh, a, b)
	default:
		left, right, err = d.runTargets(ctx, sh, report)
	}
	if _, interrupted := interruptedBy(ctx); err != nil && !interrupted {
		return err
	}
	soon, stop := withSignalGrace(ctx)
	defer stop()
	compared, late := runUntilDone(soon, func() (diffResult, error) { return compareSides(left, right), nil })
	if report.Dialects, report.Only = compared.dialects, compared.only; late != nil {
		report.Dialects = []diff.DialectDiff{}
	}
	if left.timedOut || right.timedOut {
		report.Incomplete = fmt.Sprintf("stopped after %s (--max-time)", formatDuration(d.suite.Limits.RunTimeout))
	}
	report.Conclude()
	if signal, interrupted := interruptedBy(ctx); interrupted {
		report.Incomplete, report.Exit = signal.Error(), signal.exitCode()
	}
	d.redactReport(report)
	write := report.WriteText
	if d.json {
		write = report.WriteJSON
	}
	if err := write(sh.out); err != nil {
		return exitError{exitInternal, err.Error()}
	}
	return exitWith(report.Exit)
}

// A diffResult is the result of comparing the two sides of diff.
type diffResult struct {
	dialects []diff.DialectDiff // differences between conversations of the same dialect and name
	only     []string           // conversations that only one side has, such as "runs@2026-04 cancel: only in A"
}

// readRecordings reads the recordings at a and at b, each the path of a file or directory, as the
// sides left and right. It pairs them up (see [diffSide.pairUp]). It returns an error if a
// recording cannot be read, if a glob of --only or --skip matches none of them, or if ctx is done
// before all recordings are read. It prints notes on the recordings to standard error.
func (d diffOptions) readRecordings(ctx context.Context, sh stdio, a, b string) (left, right diffSide, err error) {
	sides, err := runUntilDone(ctx, func() (both [2]diffSide, err error) {
		for i, root := range []string{a, b} {
			if both[i], err = d.readSide(sh, root); err != nil {
				return both, err
			}
		}
		names := slices.Concat(both[0].names, both[1].names)
		if err := d.checkGlobsMatch(names, fmt.Sprintf("recording of A and B, such as %s", names[0])); err != nil {
			return both, err
		}
		both[0].pairUp(&both[1])
		return both, nil
	})
	return sides[0], sides[1], err
}

// isRecordingPath reports whether word, an argument of diff, is the path of an existing file or
// directory, and therefore names recordings and not a server. The result is false for
// [referenceName].
func isRecordingPath(word string) bool {
	_, err := os.Stat(word)
	return word != referenceName && err == nil
}

// checkSide returns a usage error unless word, an argument of diff, contains "://", is
// [referenceName], or is the path of an existing file or directory.
func checkSide(word string) error {
	if word == "" {
		return usageError("an argument is empty: want a base URL, %q, or a file or directory of recordings", referenceName)
	}
	if word == referenceName || strings.Contains(word, "://") {
		return nil
	}
	if _, err := os.Stat(word); err != nil {
		return usageError("%s: %v (a base URL must begin with http:// or https://; the embedded server is called %q)",
			word, withoutPath(err), referenceName)
	}
	return nil
}

// compareSides compares each conversation of side a with the one of side b that has the same
// dialect and name. It also lists the conversations that only one side has.
func compareSides(a, b diffSide) diffResult {
	c := diffResult{dialects: []diff.DialectDiff{}}
	for _, name := range a.dialects {
		of := diff.DialectDiff{Dialect: name, Conversations: []diff.ConversationDiff{}}
		for _, left := range a.conversations[name] {
			i := slices.IndexFunc(b.conversations[name], func(t diff.RepeatedConversation) bool { return t.Name == left.Name })
			if i < 0 {
				c.only = append(c.only, fmt.Sprintf("%s %s: only in A", name, left.Name))
				continue
			}
			of.Conversations = append(of.Conversations, diff.Compare(left, b.conversations[name][i]))
		}
		c.dialects = append(c.dialects, of)
	}
	for _, name := range b.dialects {
		for _, right := range b.conversations[name] {
			isSame := func(t diff.RepeatedConversation) bool { return t.Name == right.Name }
			if !slices.ContainsFunc(a.conversations[name], isSame) {
				c.only = append(c.only, fmt.Sprintf("%s %s: only in B", name, right.Name))
			}
		}
	}
	return c
}

// redactReport replaces the secrets that were given on the command line, such as header values,
// with a placeholder in all differences and notes of r. It modifies r.
func (d diffOptions) redactReport(r *diff.Report) {
	t := d.targetOptions
	t.Headers = slices.Concat(t.Headers, d.headerA, d.headerB)
	hide := redact.New(t.secretValues()...).String
	for _, of := range r.Dialects {
		for _, c := range of.Conversations {
			for i, note := range c.Notes {
				c.Notes[i] = hide(note)
			}
			for i := range c.Differences {
				difference := &c.Differences[i]
				difference.Request = hide(difference.Request)
				for _, s := range []*diff.EventSummary{difference.A, difference.B} {
					if s != nil {
						s.Facts = hide(s.Facts)
					}
				}
				for k, f := range difference.Fields {
					difference.Fields[k] = diff.FieldDiff{Name: f.Name, A: hide(f.A), B: hide(f.B)}
				}
			}
		}
	}
}
