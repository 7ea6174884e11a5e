package main

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/internal/replay"
	"github.com/streamassay/streamassay/internal/transcript"
	"github.com/streamassay/streamassay/reports"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// A lintOptions holds the flags of the lint command.
type lintOptions struct {
	dialects []string // values of --dialect, at most one: the dialect of all recordings; if empty, each names its own
	claims   []string // values of --claim; only "scripted" is valid
	strict   bool     // also fail if only a SHOULD requirement is violated
	reports  []string // values of --report, each FORMAT or FORMAT=PATH
	maxEvent int      // maximum size of an event in bytes, always above 0
	verbose  bool     // also list checks that found nothing to judge
}

// lintCommand returns the lint command, which judges recorded exchanges.
func lintCommand(sh stdio) *cobra.Command {
	var l lintOptions
	cmd := &cobra.Command{
		Use:   "lint (FILE|DIR|-)...",
		Short: "Judge recorded exchanges with the checks of streamassay run",
		Long: `Judge recorded exchanges (requests and their responses) with the checks of streamassay run.
A FILE is one of:
  .txtar   a transcript, as written by streamassay run --transcripts
  .http    output of curl -i. NAME.request.json, if present, holds the request of NAME.http: an
           object such as {"method": "POST", "path": "/process?q=1", "headers": {"X-A": "b"},
           "body": {…}} (if body is a string, it is the whole body, not JSON) or, without method and
           path, just the JSON body of a request for a run's stream. NAME.1.http, NAME.2.http
           … (and NAME.1.request.json …) are one conversation.
  .sse     an event stream without its HTTP headers
  .har     an HTTP archive, as saved by browsers
A DIR stands for all such files in it and below; - is standard input, whose format is
recognized by the content; only a transcript or an HTTP archive includes the requests.
The exchanges of a file are judged in order; the ids in them tell its threads apart.
Reports count exchanges, events and bytes from 0, and the lines of a body from 1.

Recordings of the same dialect are judged together, as one target. A violation is reported
for any response; a requirement is reported as fulfilled only if one of the responses streams
a whole run (its start, content and end). Only the server is judged, not its client. A
response without its request is judged as if the request had been one for a run's stream;
requirements that depend on the request are not tested.
Exchanges that request none of the dialect's operations, such as images in an HTTP archive, are
not judged. If the recorded paths begin with a base path other than the dialect's own, such as
/api/v1/agent of runs, first remove it with streamassay convert --base. If a file cannot be
read or parsed, nothing is judged (exit code 2). If a recording ends in the middle of a
response, it is judged as if the server had ended the response there, unless a .txtar says that
the client did, or the member "curl_exit" of
NAME.request.json (beside method and path) is an exit code of curl that does, such as 28 (timeout).
` + wrapHelp("In reports, "+redactedCredentials) + `

Exit codes: 0 no MUST requirement is violated and 3 does not apply, 1 a MUST requirement is violated
(with --strict: a MUST or SHOULD requirement), 2 usage or configuration error, 3 nothing
was judged, or the recordings have neither a whole run nor a violation, 5 internal error,
130 interrupted by SIGINT, 143 by SIGTERM.`,
		Example: `  curl -sN -i http://127.0.0.1:8080/process -H 'Accept: text/event-stream' \
    -H 'Content-Type: application/json' --data-binary @answer.request.json > answer.http
  streamassay lint answer.http --dialect agentscope
  streamassay lint recorded --report json=report.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError("lint needs at least one argument: " +
					"a recording (.txtar, .http, .sse, .har), a directory, or - for standard input")
			}
			return checkPaths(args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			exitOnSecondSignal(cmd.Context())
			return l.run(cmd.Context(), sh, args)
		},
	}
	f := cmd.Flags()
	f.Var((*nameList)(&l.dialects), "dialect",
		"`DIALECT` dialect of all files: "+dialectUsage+"; required unless every file is a .txtar that names its dialect, "+
			"which --dialect overrides")
	l.addFlags(f)
	f.Var(sizeValue(&l.maxEvent), "max-event",
		"maximum size of one event; a larger one violates a MUST requirement (in the dialect \"runs\": a SHOULD), and nothing after it is "+
			"judged")
	completeDialects(cmd)
	return cmd
}

// addFlags adds the flags that the lint and proxy commands share to the flag set, and sets l to
// their default values.
func (l *lintOptions) addFlags(f *pflag.FlagSet) {
	l.maxEvent = dialect.MaxEventBytes
	f.Var((*nameList)(&l.claims), "claim",
		"`CAPABILITY` the only value is \"scripted\": the agent replies to test prompts as docs/prompts.md prescribes, so "+
			"the content of its replies is judged too")
	f.BoolVar(&l.strict, "strict", false, "also fail if only a SHOULD requirement is violated")
	f.StringArrayVar(&l.reports, "report", nil, reportUsage())
	f.BoolVarP(&l.verbose, "verbose", "v", false, "also list "+untestedLists+"; show all lists in full")
}

// outputs returns the destinations of the reports. It returns a usage error if --report or --claim
// is invalid.
func (l *lintOptions) outputs() (outs []reportOutput, err error) {
	for _, c := range l.claims {
		if c != "scripted" {
			return nil, usageError("--claim: unknown capability %q (the only one here is \"scripted\")", c)
		}
	}
	if outs, err = parseOutputs("--report", l.reports); err != nil {
		return nil, err
	}
	return outs, resolveOutputs(outs)
}

// run judges the recordings at the paths in files and writes the reports. It prints notes on the
// recordings to standard error. It returns an error with the exit code of the report, or nil if
// that is 0. It also returns an error if a flag is invalid, a recording cannot be read or a report
// cannot be written.
func (l lintOptions) run(ctx context.Context, sh stdio, files []string) error {
	report := &reports.Report{
		Tool: "streamassay", Version: buildVersion(), Started: time.Now().UTC(), Target: strings.Join(files, " "),
	}
	outs, err := l.outputs()
	if err != nil {
		return err
	}
	if err := checkReports(outs, "", "", slices.Concat(files, documentPaths(l.dialects))...); err != nil {
		return err
	}
	// The live heap is mainly one copy of the recordings. With the default GC percentage it
	// could grow to twice their size.
	defer debug.SetGCPercent(debug.SetGCPercent(25))
	list, err := runUntilDone(ctx, func() ([]*transcript.Transcript, error) { return openRecordings(sh, files) })
	if err != nil && ctx.Err() == nil {
		return err
	}
	if err := l.judge(ctx, sh, list, report, nil); err != nil {
		return err
	}
	if err := writeReports(report, outs, sh, textStyle(sh, l.verbose)); err != nil {
		return err
	}
	if i, interrupted := interruptedBy(ctx); interrupted {
		return exitError{i.exitCode(), i.Error()}
	}
	return exitWith(report.Exit)
}

// judge judges the recordings in list and completes the report, without writing it. It prints notes
// on the recordings to standard error. The argument base is the base URL of the recorded server;
// nil means that it is unknown. judge returns an error if the dialect of a recording is unknown.
func (l lintOptions) judge(
	ctx context.Context, sh stdio, list []*transcript.Transcript, report *reports.Report, base *url.URL,
) error {
	for _, t := range list {
		for _, note := range t.Notes {
			fmt.Fprintf(sh.err, "streamassay: %s: %s\n", t.Name, oneLine(note))
		}
	}
	dialects, parts, err := l.evaluate(ctx, list)
	if err != nil {
		return err
	}
	secrets := recordedSecrets(dialects, parts)
	hide := redact.New(secrets...)
	for _, d := range dialects {
		var notes []string
		unjudged := 0 // number of recordings with notes, in which nothing was judged
		for _, p := range parts[d.Name] {
			all := lintNotes(p, hide, base, l.maxEvent)
			for _, note := range all {
				note = p.Scenario.Doc + ": " + note
				fmt.Fprintln(sh.err, "streamassay: "+note)
				notes = append(notes, note)
			}
			unjudged += min(len(all), 1)
		}
		file := func(p suites.ScenarioResult) string { return p.Scenario.Doc }
		never := func(suites.ScenarioResult) string { return "" }
		// A recording may hold any prompts, so the advice about unscripted targets does not apply.
		target := suites.Target{Dialect: d, Base: base, LackedCapabilities: []string{"scripted"}, MaxEventBytes: l.maxEvent}
		b := dialectReportBuilder{target, "$BASE", file, never}
		of := b.dialectReport(parts[d.Name])
		if unjudged == len(parts[d.Name]) && len(of.Causes) == 0 { // a cause says it, too
			of.Notes = firstNotes(notes)
		}
		report.Dialects = append(report.Dialects, of)
	}
	report.DurationMS = time.Since(report.Started).Milliseconds()
	concludeReport(ctx, report, reports.ExitCodeOptions{Strict: l.strict})
	report.Redact(secrets)
	return nil
}

// recordedSecrets returns the credentials in the recordings of the given dialects. The argument
// parts holds the results of the recordings by the name of the dialect. Ids of threads and runs are
// not credentials.
func recordedSecrets(dialects []*dialect.Dialect, parts map[string][]suites.ScenarioResult) (all []string) {
	ids := map[string]bool{}
	for _, d := range dialects {
		for _, p := range parts[d.Name] {
			for _, x := range p.Trace.Exchanges {
				request := d.ParseRequest(x.Request)
				ids[request.Thread], ids[request.Run] = true, true
				for _, s := range replay.ExchangeSecrets(x, request) {
					if !slices.Contains(all, s) {
						all = append(all, s)
					}
				}
			}
		}
	}
	return slices.DeleteFunc(all, func(s string) bool { return ids[s] })
}

// evaluate judges the recordings in list. It returns their dialects, in the order of first use in
// list, and the results of the recordings by the name of the dialect, in the order of list. If ctx
// is done, evaluate leaves out the remaining recordings. It returns a usage error if a dialect is
// unknown, or if a recording does not name its dialect and --dialect is not given.
//
// The recordings of a dialect are judged together: a check can pass only if at least one of them
// contains a complete exchange.
//
// evaluate modifies the recordings: it completes requests of which only the body was recorded, and
// removes base paths from the requests.
func (l lintOptions) evaluate(ctx context.Context, list []*transcript.Transcript) (
	dialects []*dialect.Dialect, parts map[string][]suites.ScenarioResult, err error,
) {
	parts = map[string][]suites.ScenarioResult{}
	given, err := singleDialect(l.dialects)
	if err != nil {
		return nil, nil, err
	}
	dialectOf := map[*transcript.Transcript]*dialect.Dialect{}
	traces := map[*dialect.Dialect][]*spec.Trace{}
	for _, t := range list {
		d, err := recordedDialect(t, given)
		if err != nil {
			return nil, nil, err
		}
		d.CompleteRequests(&t.Trace)
		t.StripBasePath(d.Base)
		dialectOf[t], traces[d] = d, append(traces[d], &t.Trace)
	}
	for d, of := range traces {
		d.UseEndpoint(of...)
	}
	for _, t := range list {
		d := dialectOf[t]
		known := t.Trace.TargetFacts
		known.Scripted = known.Scripted || len(l.claims) > 0
		named := suites.Scenario{Name: strings.TrimSuffix(filepath.Base(t.Name), filepath.Ext(t.Name)), Doc: t.Name}
		p, complete := suites.EvaluateTrace(ctx, named, d, t.Trace, known, l.maxEvent)
		if !complete {
			break
		}
		if parts[d.Name] == nil {
			dialects = append(dialects, d)
		}
		parts[d.Name] = append(parts[d.Name], p)
	}
	for _, results := range parts {
		evaluations := make([]spec.Evaluation, len(results))
		for i := range results {
			evaluations[i] = results[i].Evaluation
		}
		for i, e := range spec.RequireCompleteExchange(evaluations) {
			results[i].Evaluation = e
		}
	}
	return dialects, parts, nil
}
