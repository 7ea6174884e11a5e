package main

import (
	"context"
	crand "crypto/rand"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/streamassay/streamassay/internal/identity"
	"github.com/streamassay/streamassay/internal/near"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/reports"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// runCommand returns the run command, which tests one or more targets.
func runCommand(sh stdio) *cobra.Command {
	t, config := newTargetOptions(), ""
	cmd := &cobra.Command{
		Use:   "run [TARGET]",
		Short: "Test a server against its protocol (without TARGET: the embedded reference)",
		Long: `Test a server against its protocol. TARGET is the base URL of a running server; it
requires --dialect.
` + wrapHelp(baseURLHelp) + `
With neither TARGET nor --config, or if TARGET is "reference", the embedded reference server
is tested in every dialect, or in those given with --dialect. Proxies
(HTTP_PROXY, HTTPS_PROXY) are not used.

The report on standard output lists each violated requirement with its clause, what was seen,
and the bytes that show it. An exchange is a request and its response. A scenario is a
predefined sequence of requests. A conversation is the sequence of exchanges of one scenario,
or of one generated sequence (--sequences) or combination (--deep).

A response that exceeds a limit (--timeout, --idle-timeout, --max-bytes, --max-events or
--max-event) violates a MUST requirement of every built-in dialect (except --max-event in the
dialect "runs", where it violates a SHOULD requirement). What arrived before the limit is judged. A
response that the server breaks off is judged, too: that is a violation and no network error.
` + totalLimits("a target", "listed in the report, and the test is incomplete") + `

` + capabilitiesText("--claim and --lacks", suites.Capabilities()) + `

` + wrapHelp("These headers count as credentials: Authorization, Cookie, X-API-Key, Api-Key, X-Auth-Token, "+
			"X-Access-Token, X-Amz-Security-Token, X-Goog-Api-Key, and every header whose name is given "+
			"with both --header and --other-header. "+hiddenValues) + `
These flags make more requirements testable:
  --header         with credentials: if the dialect requires authentication, requests with missing or
                   invalid credentials must be rejected
  --other-header   one user must have no access to the threads and files of the other
  --stream-limit   a stream above the limit must be refused
Without one of these flags, its requirement is not tested, even with --claim. Without
credentials, requests of a dialect that requires authentication carry
'Authorization: Bearer streamassay'.

Exit codes: 0 something was tested and no MUST requirement is violated, 1 a MUST requirement
is violated (with --strict: a MUST or SHOULD requirement), 2 usage or configuration error,
3 nothing was tested in any dialect (the target is unreachable or does not speak HTTP, or no
check judged anything), or the code would be 0 but the test is incomplete (a connection could
not be opened, the server kept refusing valid requests with 429 or 503, scenarios were cut
short by limits, or --max-time was reached), 5 internal error, 130 interrupted by SIGINT, 143
by SIGTERM. A server that refuses every request, as with a wrong path or token, violates its
protocol: code 1, not 3. With several targets, or with --repeat, the exit code is the worst
one; from the worst: 5, 143, 130, 1, 3, 0.`,
		Example: `  streamassay run
  streamassay run http://127.0.0.1:8080 --dialect agkit
  streamassay run http://127.0.0.1:8080 --dialect agkit --prompts natural    # an agent that uses a model
  streamassay run http://127.0.0.1:8080 --dialect agkit --only client-tool
  streamassay run http://127.0.0.1:8080 --dialect runs --header 'Authorization: Bearer T' --report junit=r.xml
  streamassay run --config targets.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				hint := ""
				if slices.Contains(args, "Bearer") {
					hint = ": a header with a space needs quotes, as in --header 'Authorization: Bearer T'"
				}
				return usageError("run takes at most one TARGET, got %q too%s%s", args[1], hint, dialectHint(args[1]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if t.URL = args[0]; t.URL == "" {
					return usageError("TARGET is empty: want a base URL (e.g. http://127.0.0.1:8080) or %q, the embedded server",
						referenceName)
				}
				if t.URL != referenceName && near.Similar(t.URL, []string{referenceName}) != "" {
					return usageError("TARGET %q is not a base URL; did you mean %s?", t.URL, referenceName)
				}
			}
			bar := newProgress(sh, 0)
			bar.show("loading dialects")
			exitOnSecondSignal(cmd.Context())
			// The file may be a FIFO without a writer.
			jobs, err := runUntilDone(cmd.Context(), func() ([]targetRun, error) { return newTargetRuns(t, config) })
			bar.clear()
			if err != nil {
				return err
			}
			most := 0
			for _, j := range jobs {
				most = max(most, len(j.suiteTargets))
			}
			tuneRunMemory(sh.env, most)
			return runAll(cmd.Context(), sh, jobs)
		},
	}
	t.addFlags(cmd, false)
	cmd.Flags().BoolVarP(&t.verbose, "verbose", "v", false,
		"also list "+untestedLists+", and checks that were skipped (--lacks); show all lists in full")
	cmd.Flags().Var(&singleValue{value: &config}, "config",
		"`FILE` YAML file instead of TARGET: a list \"targets:\" of items with url, dialects and fields named like the "+
			"other flags; a field overrides its flag (see docs/targets.yaml)")
	return cmd
}

// A targetRun is a run of the test suite against one target, a server under test. Its options have
// been checked.
type targetRun struct {
	targetOptions
	displayName  string          // the target in reports; see [targetRun.nameInReports]
	outputs      []reportOutput  // where the reports are written
	suiteTargets []suites.Target // the target in each dialect
	embedded     bool            // the target is the embedded reference server
	started      time.Time       // when the first round began
	saveErrors   *firstSaveError // stores the first error of [targetRun.saveBeforeTrim]; nil until the run begins

	// reparse returns the trace that rejudge judges again; nil means [reparseTranscript].
	reparse func(suites.ScenarioResult) (spec.Trace, error)
}

// newTargetRuns returns one run for each target in the file config, the value of --config, in the
// order of the file. Options that a target does not set are taken from flags. If config is empty,
// newTargetRuns returns one run, for the target that the flags describe. It returns a usage error
// if an option is invalid. It neither sends requests nor writes reports.
func newTargetRuns(flags targetOptions, config string) ([]targetRun, error) {
	targets := []targetOptions{flags}
	if config != "" {
		if flags.URL != "" {
			return nil, usageError("TARGET and --config given together: use one of them")
		}
		var err error
		if targets, err = readConfig(config, flags); err != nil {
			return nil, err
		}
	}
	var jobs []targetRun
	var reported [][]reportOutput
	for _, t := range targets {
		if t.URL == referenceName {
			t.URL = ""
		}
		j, err := newTargetRun(t)
		if err != nil {
			return nil, t.source.locate(err)
		}
		if slices.ContainsFunc(jobs, func(other targetRun) bool { return j.overwritesTranscripts(other) }) {
			j.Transcripts = withNumber(j.Transcripts, len(jobs))
		}
		jobs, reported = append(jobs, j), append(reported, j.outputs)
	}
	if err := resolveOutputs(reported...); err != nil {
		return nil, err
	}
	for _, j := range jobs {
		inputs := append(documentPaths(j.Dialects), config, j.CA)
		flag := j.source.settingName("transcripts")
		if err := checkReports(j.outputs, flag, j.Transcripts, inputs...); err != nil {
			return nil, err
		}
	}
	return jobs, nil
}

// overwritesTranscripts reports whether j and other would write transcripts to the same files.
func (j targetRun) overwritesTranscripts(other targetRun) bool {
	return j.Transcripts != "" && filepath.Clean(j.Transcripts) == filepath.Clean(other.Transcripts) &&
		slices.ContainsFunc(j.suiteTargets, func(s suites.Target) bool {
			sameName := func(o suites.Target) bool { return o.Dialect.Name == s.Dialect.Name }
			return slices.ContainsFunc(other.suiteTargets, sameName)
		})
}

// newTargetRun returns the run for the target that t describes. If t has no seed or no salt, it
// chooses one at random. If an option is invalid, it returns a usage error that names the option.
func newTargetRun(t targetOptions) (j targetRun, err error) {
	if t.suite.Seed == 0 {
		t.suite.Seed = rand.Uint64()>>1 | 1
	}
	if t.suite.Salt == 0 { // a target would append to threads whose ids it knows
		t.suite.Salt = suites.NewSalt()
	}
	j = targetRun{targetOptions: t, embedded: t.URL == ""}
	name := t.source.settingName
	if !j.embedded && len(t.Dialects) == 0 {
		if _, err := parseBase(name("url"), t.URL); err != nil {
			return j, err
		}
		known := strings.Join(dialect.Names(), ", ")
		if t.source.file != "" {
			return j, usageError("dialects is missing (want a list of one or more of %s)", known)
		}
		return j, usageError("--dialect is required for a base URL (one of %s)", known)
	}
	dialects, err := dialectsNamed(name("dialect"), t.Dialects)
	if err != nil {
		return j, err
	}
	for i, d := range dialects {
		if dialects[i], err = d.WithSettings(t.Settings); err != nil {
			return j, usageError("%s: %v", name("set"), err)
		}
	}
	report := name("report")
	if t.source.fieldLines["reports"] > 0 {
		report = t.source.locationPrefix("reports") + "reports"
	}
	if j.outputs, err = parseOutputs(report, t.Reports); err != nil {
		return j, err
	}
	if err := t.checkGlobs(dialects); err != nil {
		return j, err
	}
	if err := checkDir(t.Transcripts); t.Transcripts != "" && err != nil {
		return j, usageError("%s %s: %v", name("transcripts"), t.Transcripts, err)
	}
	for _, d := range dialects {
		s, err := t.suiteTarget(d)
		if err != nil {
			return j, err
		}
		j.suiteTargets = append(j.suiteTargets, s)
	}
	j.displayName = j.nameInReports()
	if !slices.ContainsFunc(j.suiteTargets, func(s suites.Target) bool { return s.HasPlannedChecks() }) {
		if err := t.checkOnlyApplies(dialects); err != nil {
			return j, err
		}
		return j, usageError("nothing is left to judge after %s", t.selectionText())
	}
	return j, nil
}

// nameInReports returns the name of the target in reports: "the embedded reference" or the base URL
// of the target. If the base URL differs between dialects, the name is the URL that the user gave.
func (j targetRun) nameInReports() string {
	if j.embedded {
		return "the embedded reference"
	}
	name := j.suiteTargets[0].Base.String()
	for _, s := range j.suiteTargets[1:] {
		if s.Base.String() != name {
			return j.URL
		}
	}
	return name
}

// runAll executes the runs in jobs one after the other and writes their reports. If a run cannot be
// executed, runAll stops and returns the error of that run. Otherwise, it stops after the last run
// or a signal, and returns an error with the exit code of the program, or nil if that is 0. Each
// error also names the reports that could not be written (see [withUnwritten]). The exit code is
// the first of these that applies:
//   - the one for the signal, if there was a signal
//   - the one for internal errors, if a report cannot be written, or if the verdicts of the Ginkgo
//     suite differ from those of the reports (see [suites.RunGinkgo])
//   - the worst exit code of the runs
func runAll(ctx context.Context, sh stdio, jobs []targetRun) error {
	var all targetExitCodes
	var results []suites.ScenarioResult
	var unwritten []string
	for _, j := range jobs {
		for _, note := range j.claimNotes() {
			fmt.Fprintln(sh.err, "streamassay: "+note)
		}
		report, parts, err := j.run(ctx, sh)
		if err != nil {
			return withUnwritten(err, unwritten)
		}
		if err := writeReports(report, j.outputs, sh, textStyle(sh, j.verbose)); err != nil {
			unwritten = append(unwritten, err.Error())
		}
		all = append(all, report.Exit)
		results = append(results, parts...)
		if _, interrupted := interruptedBy(ctx); interrupted {
			break
		}
	}
	agrees := ctx.Err() != nil || suites.RunGinkgo(results)
	if i, interrupted := interruptedBy(ctx); interrupted {
		return withUnwritten(exitError{i.exitCode(), i.Error()}, unwritten)
	}
	if !agrees {
		differ := exitError{exitInternal, "the verdicts of the Ginkgo suite differ from those of the report"}
		return withUnwritten(differ, unwritten)
	}
	if len(jobs) > 1 && !slices.ContainsFunc(jobs, func(j targetRun) bool { return usesStdout(j.outputs) }) {
		fmt.Fprintln(sh.out, all.summaryLine(len(unwritten) > 0))
	}
	return withUnwritten(exitWith(all.worst()), unwritten)
}

// run runs the suite against the target, in as many rounds as --repeat states. It returns the
// report and the results from which the report is made. If there are several rounds, the results
// are those of the round with the worst exit code. It returns an error if it cannot start the
// embedded reference server, and the errors of [targetRun.runRound] and [targetRun.runRounds].
func (j targetRun) run(ctx context.Context, sh stdio) (*reports.Report, []suites.ScenarioResult, error) {
	j.started, j.saveErrors = time.Now(), &firstSaveError{}
	if j.embedded {
		stop, err := j.startReference()
		if err != nil {
			return nil, nil, err
		}
		defer stop()
	}
	if j.Repeat > 1 {
		return j.runRounds(ctx, sh)
	}
	return j.runRound(ctx, sh)
}

// runRound plays every selected scenario of every dialect once. It returns the report on this round
// and the results from which the report is made. It returns an error only if the target is invalid
// or a transcript cannot be written; the report contains the failures of the server and the
// network.
func (j targetRun) runRound(ctx context.Context, sh stdio) (*reports.Report, []suites.ScenarioResult, error) {
	started := time.Now()
	report := &reports.Report{
		Tool: "streamassay", Version: buildVersion(), Started: started.UTC(), Target: j.displayName, Seed: j.suite.Seed, Salt: j.suite.Salt,
	}
	bar := newProgress(sh, len(j.suiteTargets))
	var all []suites.ScenarioResult
	parts, errs := make([][]suites.ScenarioResult, len(j.suiteTargets)), make([]error, len(j.suiteTargets))
	var running sync.WaitGroup
	for i, s := range j.suiteTargets {
		runSuite := func() {
			s.Limits.RunElapsed = time.Since(j.started)
			s.BeforeTrim = j.saveBeforeTrim
			parts[i], errs[i] = suites.Run(ctx, s, bar.callback(i, s.Dialect.Name))
		}
		if j.embedded {
			running.Go(runSuite)
		} else { // one dialect after the other
			runSuite()
		}
	}
	running.Wait()
	bar.clear()
	for i, s := range j.suiteTargets {
		if errs[i] != nil {
			return nil, nil, usageError("%v", errs[i])
		}
		if err := j.saveConversations(parts[i]); err != nil {
			return nil, nil, err
		}
		of := dialectReportBuilder{s, s.Base.String(), j.transcriptPath, j.rerunCommand(s)}.dialectReport(parts[i])
		of.Notes = incompleteNotes(ctx, s, parts[i], report)
		adviseAboutProxy(sh.env, s.Base, of.Causes)
		report.Dialects = append(report.Dialects, of)
		all = append(all, parts[i]...)
	}
	report.DurationMS = time.Since(started).Milliseconds()
	report.Redact(j.secretValues())
	concludeReport(ctx, report, reports.ExitCodeOptions{Strict: j.Strict})
	return report, all, nil
}

// startReference starts the embedded reference server on a free loopback port, and completes
// j.suiteTargets with the URL of the server, the credentials of two users and the capabilities that
// the server has. The caller must call stop to end the server. Errors have type [exitError] and the
// code for internal errors.
func (j *targetRun) startReference() (stop func(), err error) {
	var dialects []*dialect.Dialect
	for _, s := range j.suiteTargets {
		dialects = append(dialects, s.Dialect)
	}
	users, err := j.addReferenceUsers()
	if err != nil {
		return nil, exitError{exitInternal, err.Error()}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, exitError{exitInternal, err.Error()}
	}
	server, prefix := newReferenceServer(dialects, false, reference.Scripted, reference.Config{
		PollInterval: 200 * time.Millisecond, Authenticator: users,
		Limits: reference.Limits{
			StreamsPerUser: j.suiteTargets[0].StreamLimit,
			FinishedRuns:   1000 * len(dialects), // which the dialects share
		},
	})
	srv := &http.Server{Handler: server, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = srv.Serve(ln) }()
	at := joinBaseURLs("http://"+ln.Addr().String(), prefix)
	for i := range j.suiteTargets {
		base, err := url.Parse(at[j.suiteTargets[i].Dialect.Name])
		if err != nil {
			_ = srv.Close()
			return nil, exitError{exitInternal, err.Error()}
		}
		s := &j.suiteTargets[i]
		s.Base = base
		// The scripted agent has every capability, but only for the conformance prompts.
		if s.PromptStyle == suites.ConformancePrompts && !slices.Contains(s.LackedCapabilities, "scripted") {
			s.ClaimedCapabilities = append([]string{"all"}, s.ClaimedCapabilities...)
		}
	}
	return func() { _ = srv.Close() }, nil
}

// addReferenceUsers creates two users with random tokens for each target in j.suiteTargets, and
// stores the credentials in the target. It returns an authenticator that accepts the tokens, or the
// error of [identity.StaticTokens.Add]. It also sets the stream limit of each target, the number of
// streams that one user may open at the same time.
func (j *targetRun) addReferenceUsers() (*identity.StaticTokens, error) {
	users := &identity.StaticTokens{}
	for i := range j.suiteTargets {
		s := &j.suiteTargets[i]
		for name, header := range map[string]*spec.Header{"user": &s.Header, "other": &s.OtherHeader} {
			token := crand.Text()
			if err := users.Add(fmt.Sprintf("%s-%d:%s", name, i, token)); err != nil {
				return nil, err
			}
			*header = header.With("Authorization", "Bearer "+token)
		}
		s.StreamLimit = min(16+2*s.Parallel, 200) // enough for the scenarios that run concurrently
	}
	return users, nil
}
