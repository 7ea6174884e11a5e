package main

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/streamassay/streamassay/internal/transcript"
	"github.com/streamassay/streamassay/reports"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// A lintOptions is what lint was asked.
type lintOptions struct {
	dialect  string
	claims   []string
	strict   bool
	reports  []string
	maxEvent byteSize
	verbose  bool
}

func lintCommand(sh stdio) *cobra.Command {
	var l lintOptions
	cmd := &cobra.Command{
		Use:   "lint FILE|DIR|-…",
		Short: "Judge recorded exchanges, with the checks of run",
		Long: `Judge recorded exchanges: transcripts (.txtar), the output of curl -i (.http, with the
request in NAME.request.json beside it if there is one: its JSON body alone, or an object
with method, path, headers and body; NAME.1.http, NAME.2.http … are one conversation), bare
streams (.sse) and HTTP archives (.har). Of a DIR, such as run --transcripts writes, all such
files are read; - is standard input. They are taken for recordings of one target.

Exit codes: 0 every MUST that was judged holds, 1 a MUST is broken (with --strict also
a SHOULD), 2 usage, 3 nothing measured, 5 the harness itself failed.`,
		Example: `  curl -sN -i http://127.0.0.1:8080/process -d @request.json > answer.http
  streamassay lint answer.http --dialect agentscope
  curl -sN -i http://127.0.0.1:8080/process -d @request.json | streamassay lint - --dialect agentscope`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError("lint what? name one or more files (.txtar, .http, .sse, .har) or folders, or - for standard input")
			}
			return checkPaths(args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			exitOnSecondSignal(cmd.Context())
			return l.run(cmd.Context(), sh, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&l.dialect, "dialect", "", "the dialect, where a file does not say it: NAME or NAME@VERSION")
	f.Var((*nameList)(&l.claims), "claim", "scripted: the target understood the prompts of docs/prompts.md")
	f.BoolVar(&l.strict, "strict", false, "a broken SHOULD fails too")
	f.StringArrayVar(&l.reports, "report", nil, "`FORMAT[=PATH]`: write a report (repeatable)")
	f.BoolVarP(&l.verbose, "verbose", "v", false, "name what was silent, skipped or excluded too")
	l.maxEvent = dialect.MaxEventBytes
	f.Var(&l.maxEvent, "max-event", "the most bytes that one event may have")
	_ = cmd.RegisterFlagCompletionFunc("dialect", cobra.FixedCompletions(dialect.Names(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (l lintOptions) run(ctx context.Context, sh stdio, files []string) error {
	started := time.Now()
	outs, err := parseOutputs("--report", l.reports)
	if err != nil {
		return err
	}
	if err := resolveOutputs(outs); err != nil {
		return err
	}
	for _, c := range l.claims {
		if c != "scripted" {
			return usageError("--claim %s: of a recording only scripted can be claimed", c)
		}
	}
	// A recording is held in memory once; a collector that waits for it to double
	// would need twice that.
	defer debug.SetGCPercent(debug.SetGCPercent(25))
	list, err := runUntilDone(ctx, func() ([]*transcript.Transcript, error) { return openRecordings(sh, files) })
	if err != nil && ctx.Err() == nil {
		return err
	}
	for _, t := range list {
		for _, note := range t.Notes {
			fmt.Fprintf(sh.err, "streamassay: %s: %s\n", t.Name, oneLine(note))
		}
	}
	dialects, parts, err := l.evaluate(ctx, list)
	if err != nil {
		return err
	}
	for _, d := range dialects {
		for _, p := range parts[d.Name] {
			for _, note := range lintNotes(p) {
				fmt.Fprintf(sh.err, "streamassay: %s: %s\n", p.Scenario.Doc, note)
			}
		}
	}
	report := &reports.Report{Tool: "streamassay", Version: buildVersion(), Started: started.UTC(), Target: strings.Join(files, " ")}
	for _, d := range dialects {
		file := func(p suites.ScenarioResult) string { return p.Scenario.Doc }
		never := func(suites.ScenarioResult) string { return "" }
		read := suites.Target{Dialect: d, LackedCapabilities: []string{"scripted"}} // what nobody asked is nobody's refusal to follow
		report.Dialects = append(report.Dialects, reportBuilder{read, "$BASE", file, never}.dialectReport(parts[d.Name]))
	}
	report.DurationMS = time.Since(started).Milliseconds()
	concludeReport(ctx, report, reports.ConcludeOptions{Strict: l.strict})
	if err := writeReports(report, outs, sh, textStyle(sh, l.verbose)); err != nil {
		return err
	}
	if i, yes := interruptedBy(ctx); yes {
		return exitError{i.exitCode(), i.Error()}
	}
	if report.Exit != exitOK {
		return exitError{code: report.Exit}
	}
	return nil
}

// evaluate judges each recording, and then what all of them together prove, by
// dialect.
func (l lintOptions) evaluate(ctx context.Context, list []*transcript.Transcript) (dialects []*dialect.Dialect, parts map[string][]suites.ScenarioResult, err error) {
	parts = map[string][]suites.ScenarioResult{}
	for _, t := range list {
		name := t.Dialect
		if l.dialect != "" {
			name = l.dialect
		}
		if name == "" {
			return nil, nil, usageError("%s does not say its dialect: add --dialect, one of %s", t.Name, strings.Join(dialect.Names(), ", "))
		}
		d, err := dialect.Open(name)
		if err != nil {
			return nil, nil, usageError("%s: %v", t.Name, err)
		}
		d.CompleteRequests(&t.Trace)
		t.StripBasePath(d.Base)
		known := dialect.TargetInfo{Scripted: t.Trace.Scripted || len(l.claims) > 0, StreamLimit: t.Trace.StreamLimit}
		named := suites.Scenario{Name: strings.TrimSuffix(filepath.Base(t.Name), filepath.Ext(t.Name)), Doc: t.Name}
		p, whole := suites.EvaluateTrace(ctx, named, d, t.Trace, known, int(l.maxEvent))
		if !whole {
			break
		}
		if parts[d.Name] == nil {
			dialects = append(dialects, d)
		}
		parts[d.Name] = append(parts[d.Name], p)
	}
	for _, of := range parts {
		hearings := make([]spec.Evaluation, len(of))
		for i := range of {
			hearings[i] = of[i].Evaluation
		}
		for i, h := range spec.RequireCompleteExchange(hearings) {
			of[i].Evaluation = h
		}
	}
	return dialects, parts, nil
}
