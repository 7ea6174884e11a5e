package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/streamassay/streamassay/internal/diff"
	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// referenceName is how a command line calls the embedded reference.
const referenceName = "reference"

// takesPerTarget is how often each target is asked everything: what differs between two of its
// own answers is volatile.
const takesPerTarget = 2

// A diffOptions is what diff was asked.
type diffOptions struct {
	targetOptions
	json             bool
	headerA, headerB []string
}

func diffCommand(sh stdio) *cobra.Command {
	d := diffOptions{targetOptions: targetOptions{Prompts: string(suites.ConformancePrompts), Parallel: 16, Repeat: 1}}
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Say in what the answers of two targets, or two recordings, differ",
		Long: `Say in what the answers of two targets differ: two base URLs, or one and "reference", the
embedded one. Or in what two recordings differ: files, or folders such as run --transcripts
writes; a folder that run --repeat wrote has several takes of each conversation.

Both are asked the same, twice: what differs between two answers of one target (times,
random words) is volatile and left out. Ids may be others, if each always stands for the
same one of the other side, and a text may come in other pieces. Nothing is judged: which of
the two is right, run says.

Exit codes: 0 no difference, 1 differences, 2 usage, 3 nothing compared.`,
		Example: `  streamassay diff http://127.0.0.1:8080 http://127.0.0.1:8081 --dialect agkit
  streamassay diff reference http://127.0.0.1:8080 --dialect runs --header 'Authorization: Bearer T'
  streamassay diff before after --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageError("diff takes two things to compare: base URLs, %q, or files or folders of recordings", referenceName)
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
			setMemoryLimit(sh.env)
			return d.run(cmd.Context(), sh, args[0], args[1])
		},
	}
	f := cmd.Flags()
	f.Var((*nameList)(&d.Dialects), "dialect", "the dialects they speak, NAME or NAME@VERSION")
	f.StringArrayVar(&d.Headers, "header", nil, "`'Name: value'` sent with every request to both (repeatable); never shown anywhere")
	f.StringArrayVar(&d.headerA, "header-a", nil, "likewise, to A alone")
	f.StringArrayVar(&d.headerB, "header-b", nil, "likewise, to B alone")
	f.StringArrayVar(&d.OtherHeaders, "other-header", nil, "`'Name: value'` of a second user (repeatable); never shown anywhere")
	f.StringVar(&d.Prompts, "prompts", d.Prompts, "`conformance|natural`: ask in the prompts of docs/prompts.md, or in plain words")
	f.Var((*nameList)(&d.Lacks), "lacks", "a `capability` that one of them does not have (repeatable)")
	f.StringArrayVar(&d.Only, "only", nil, "`glob` of scenarios to compare (repeatable)")
	f.StringArrayVar(&d.Skip, "skip", nil, "`glob` of scenarios to leave out (repeatable)")
	d.addLimitFlags(f)
	f.IntVar(&d.Parallel, "parallel", d.Parallel, "how many scenarios are played at once")
	f.Uint64Var(&d.Seed, "seed", 0, "`NUMBER` that fixes all random choices (0: another one each time)")
	f.Uint64Var(&d.Salt, "salt", 0, "`NUMBER` that fixes the names of state, such as ids of conversations (0: another one each time)")

	f.StringVar(&d.CA, "ca", "", "`FILE` of PEM certificates to trust")
	f.BoolVar(&d.Insecure, "insecure", false, "trust any certificate")
	f.BoolVar(&d.json, "json", false, "as JSON, for programs")
	_ = cmd.RegisterFlagCompletionFunc("dialect", cobra.FixedCompletions(dialect.Names(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("lacks", cobra.FixedCompletions(suites.Capabilities(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// A heard side is what one target said, or one set of recordings holds: by dialect, and
// in the order in which it was found.
type diffSide struct {
	dialects      []string
	conversations map[string][]diff.Conversation
}

func (h *diffSide) addTake(dialect, name string, events []spec.Event) {
	if h.conversations == nil {
		h.conversations = map[string][]diff.Conversation{}
	}
	if !slices.Contains(h.dialects, dialect) {
		h.dialects = append(h.dialects, dialect)
	}
	list := h.conversations[dialect]
	i := slices.IndexFunc(list, func(t diff.Conversation) bool { return t.Name == name })
	if i < 0 {
		i, list = len(list), append(list, diff.Conversation{Name: name})
	}
	if events != nil {
		list[i].Takes = append(list[i].Takes, events)
	}
	h.conversations[dialect] = list
}

func (d diffOptions) run(ctx context.Context, sh stdio, a, b string) error {
	report := &diff.Report{Tool: "streamassay", Version: buildVersion(), A: a, B: b}
	var left, right diffSide
	var err error
	recordedA, recordedB := isRecordingPath(a), isRecordingPath(b)
	switch {
	case recordedA != recordedB:
		return usageError("%s is a recording and %s is none: compare two targets, or two recordings", chooseString(recordedA, a, b), chooseString(recordedA, b, a))
	case recordedA:
		left, right, err = d.readRecordings(ctx, a, b)
	default:
		left, right, err = d.runTargets(ctx, sh, report)
	}
	if _, broken := interruptedBy(ctx); err != nil && !broken {
		return err
	}
	soon, stop := withSignalGrace(ctx)
	defer stop()
	compared, late := runUntilDone(soon, func() (c comparedSides, err error) {
		c.dialects, c.only = compareSides(left, right)
		return c, nil
	})
	if report.Dialects, report.Only = compared.dialects, compared.only; late != nil {
		report.Dialects = []diff.DialectDiff{}
	}
	report.Conclude()
	if signal, broken := interruptedBy(ctx); broken {
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
	if report.Exit != exitOK {
		return exitError{code: report.Exit}
	}
	return nil
}

// A comparedSides is what came of two sides.
type comparedSides struct {
	dialects []diff.DialectDiff
	only     []string
}

// readRecordings reads two recordings.
func (d diffOptions) readRecordings(ctx context.Context, a, b string) (left, right diffSide, err error) {
	sides, err := runUntilDone(ctx, func() (both [2]diffSide, err error) {
		for i, root := range []string{a, b} {
			if both[i], err = d.readSide(root); err != nil {
				return both, err
			}
		}
		both[0].pairUp(&both[1])
		return both, nil
	})
	return sides[0], sides[1], err
}

// isRecordingPath says that a word of the command line names recordings.
func isRecordingPath(word string) bool {
	_, err := os.Stat(word)
	return word != referenceName && err == nil
}

// checkSide returns what is wrong with a word that is neither a URL, nor the embedded reference,
// nor a recording.
func checkSide(word string) error {
	if word == "" {
		return usageError("one of the things to compare is empty: it is a base URL, %q, or a file or folder of recordings", referenceName)
	}
	if word == referenceName || strings.Contains(word, "://") {
		return nil
	}
	if _, err := os.Stat(word); err != nil {
		return usageError("%s: %v (a base URL begins with http:// or https://)", word, withoutPath(err))
	}
	return nil
}

func chooseString(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}

// compareSides compares what both sides have.
func compareSides(a, b diffSide) (all []diff.DialectDiff, only []string) {
	all = []diff.DialectDiff{}
	for _, name := range a.dialects {
		of := diff.DialectDiff{Dialect: name, Conversations: []diff.ConversationDiff{}}
		for _, left := range a.conversations[name] {
			i := slices.IndexFunc(b.conversations[name], func(t diff.Conversation) bool { return t.Name == left.Name })
			if i < 0 {
				only = append(only, fmt.Sprintf("%s %s: only A has it", name, left.Name))
				continue
			}
			of.Conversations = append(of.Conversations, diff.Compare(left, b.conversations[name][i]))
		}
		all = append(all, of)
	}
	for _, name := range b.dialects {
		for _, right := range b.conversations[name] {
			if !slices.ContainsFunc(a.conversations[name], func(t diff.Conversation) bool { return t.Name == right.Name }) {
				only = append(only, fmt.Sprintf("%s %s: only B has it", name, right.Name))
			}
		}
	}
	return all, only
}

// redactReport takes the secrets of the command line out of what is shown.
func (d diffOptions) redactReport(r *diff.Report) {
	t := d.targetOptions
	t.Headers = slices.Concat(t.Headers, d.headerA, d.headerB)
	hide := redact.New(t.secretValues()...).String
	for _, of := range r.Dialects {
		for _, c := range of.Conversations {
			for i := range c.Differences {
				difference := &c.Differences[i]
				difference.Request = hide(difference.Request)
				for _, s := range []*diff.DifferenceSide{difference.A, difference.B} {
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
