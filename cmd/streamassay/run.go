package main

import (
	"context"
	crand "crypto/rand"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/streamassay/streamassay/internal/transcript"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/reference/identity"
	"github.com/streamassay/streamassay/reports"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

func runCommand(sh stdio) *cobra.Command {
	var t targetOptions
	var config string
	cmd := &cobra.Command{
		Use:   "run [TARGET]",
		Short: "Hold a server to its protocol; without TARGET the embedded reference, in every dialect",
		Long: `Hold a server to its protocol. TARGET is the base URL of a running server; without one,
or with the word "reference", the embedded reference is held to every dialect.

Credentials are what --header gives as Authorization, Cookie, X-API-Key, Api-Key, X-Auth-Token or the like, or
under a name that --other-header has too. With them, a target whose document wants any
has to refuse who has none, or has some that nobody handed out; with --other-header,
to keep what is one user's from the other; with --stream-limit, to refuse one stream
too many. What nobody said is not judged: without credentials such a document is asked
with 'Authorization: Bearer streamassay'.

Exit codes: 0 every MUST that was judged holds, 1 a MUST is broken (with --strict also
a SHOULD), 2 usage, 3 nothing measured, 5 the harness itself failed.`,
		Example: `  streamassay run
  streamassay run http://127.0.0.1:8080 --dialect agkit
  streamassay run http://127.0.0.1:8080 --dialect runs --header 'Authorization: Bearer T' --report json=r.json --report junit=r.xml
  streamassay run --config targets.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError("run takes one TARGET, not %q too", args[1])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if t.URL = args[0]; t.URL == "" {
					return usageError("TARGET is empty: it is a base URL such as http://127.0.0.1:8080, or %q for the embedded one", referenceName)
				}
			}
			bar := newProgress(sh, 0)
			bar.show("reading the documents")
			jobs, err := newTargetRuns(t, config)
			bar.clear()
			if err != nil {
				return err
			}
			exitOnSecondSignal(cmd.Context())
			setMemoryLimit(sh.env)
			return runAll(cmd.Context(), sh, jobs)
		},
	}
	t.addFlags(cmd)
	cmd.Flags().Var(&singleValue{value: &config}, "config", "YAML `FILE` of one or more targets, each with what the flags say")
	return cmd
}

// A targetRun is one target with everything that was asked about it, checked.
type targetRun struct {
	targetOptions
	displayName  string // what the report calls it
	outputs      []reportOutput
	suiteTargets []suites.Target
	embedded     bool
	reparse      func(suites.ScenarioResult) (spec.Trace, error) // what its bytes give back; nil: [reread]
	started      time.Time
	saveErrors   *saveError
}

// newTargetRuns checks everything before anything is sent or written.
func newTargetRuns(flags targetOptions, config string) ([]targetRun, error) {
	targets := []targetOptions{flags}
	if config != "" {
		if flags.URL != "" {
			return nil, usageError("a TARGET and --config together: say it in one place")
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
	return jobs, resolveOutputs(reported...)
}

// overwritesTranscripts reports whether the transcripts of a job would take the place of those of another.
func (j targetRun) overwritesTranscripts(other targetRun) bool {
	return j.Transcripts != "" && filepath.Clean(j.Transcripts) == filepath.Clean(other.Transcripts) &&
		slices.ContainsFunc(j.suiteTargets, func(s suites.Target) bool {
			return slices.ContainsFunc(other.suiteTargets, func(o suites.Target) bool { return o.Dialect == s.Dialect })
		})
}

func newTargetRun(t targetOptions) (j targetRun, err error) {
	if t.Seed == 0 {
		t.Seed = rand.Uint64()>>1 | 1
	}
	if t.Salt == 0 { // ids that a target has seen before would tell it about another conversation
		t.Salt = suites.NewSalt()
	}
	j = targetRun{targetOptions: t, embedded: t.URL == "", displayName: "the embedded reference"}
	name := t.source.settingName
	if !j.embedded && len(t.Dialects) == 0 {
		return j, usageError("%s is missing: which protocol does %s speak? one of %s", name("dialects"), withoutSecrets(t.URL), strings.Join(dialect.Names(), ", "))
	}
	if t.Repeat < 1 || t.Repeat > maxRounds {
		return j, usageError("%s %d: it is a number from 1 to %d", name("repeat"), t.Repeat, maxRounds)
	}
	dialects, err := dialectsNamed(name("dialects"), t.Dialects)
	if err != nil {
		return j, err
	}
	report := name("reports")
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
		s, err := j.newSuiteTarget(d)
		if err != nil {
			return j, err
		}
		j.suiteTargets = append(j.suiteTargets, s)
	}
	if !slices.ContainsFunc(j.suiteTargets, func(s suites.Target) bool { return s.HasObligations() }) {
		return j, usageError("nothing is left to judge: %s", t.selectionText())
	}
	return j, nil
}

// newSuiteTarget returns what the suites need of the target for one dialect, checked.
func (j *targetRun) newSuiteTarget(d *dialect.Dialect) (s suites.Target, err error) {
	text, name := j.URL, j.source.settingName("url")
	if name == "--url" {
		name = "TARGET"
	}
	if j.embedded {
		text = "http://127.0.0.1/"
	}
	base, err := baseURL(name, text, d)
	if err != nil {
		return s, err
	}
	if !j.embedded {
		j.displayName = urlWithoutUser(base)
	}
	if s, err = j.targetOptions.suiteTarget(d, base); err != nil {
		return s, err
	}
	return s, j.checkSuite(&s)
}

// checkSuite returns what is wrong with what the suites are told, by the name of the setting
// where it is wrong by itself.
func (j *targetRun) checkSuite(s *suites.Target) error {
	for _, one := range []struct {
		key   string
		alone suites.Target
	}{
		{"claim", suites.Target{ClaimedCapabilities: s.ClaimedCapabilities}}, {"lacks", suites.Target{LackedCapabilities: s.LackedCapabilities}}, {"prompt", suites.Target{PromptOverrides: s.PromptOverrides}},
		{"sequences", suites.Target{Sequences: s.Sequences}}, {"stream-limit", suites.Target{StreamLimit: s.StreamLimit}},
		{"other-headers", suites.Target{Header: s.Header, OtherHeader: s.OtherHeader}},
	} {
		one.alone.Dialect, one.alone.Base = s.Dialect, s.Base
		if err := one.alone.Check(); err != nil {
			return usageError("%s: %v", j.source.settingName(one.key), err)
		}
	}
	if err := s.Check(); err != nil {
		return usageError("%v", err)
	}
	return nil
}

// runAll runs every job; the worst of their exit codes is the program's.
func runAll(ctx context.Context, sh stdio, jobs []targetRun) error {
	var all exitCodes
	var heard []suites.ScenarioResult
	var failed []string
	for _, j := range jobs {
		report, parts, err := j.run(ctx, sh)
		if err != nil {
			return err
		}
		if err := writeReports(report, j.outputs, sh, textStyle(sh, j.verbose)); err != nil {
			failed = append(failed, err.Error())
		}
		all = append(all, report.Exit)
		heard = append(heard, parts...)
		if _, yes := interruptedBy(ctx); yes {
			break
		}
	}
	agrees := ctx.Err() != nil || suites.RunGinkgo(heard)
	if i, yes := interruptedBy(ctx); yes {
		return exitError{i.exitCode(), strings.Join(append([]string{i.Error()}, failed...), "; ")}
	}
	if !agrees {
		return exitError{exitInternal, "the verdicts of the ginkgo suite are not the report's"}
	}
	if len(jobs) > 1 && !slices.ContainsFunc(jobs, func(j targetRun) bool { return usesStdout(j.outputs) }) {
		fmt.Fprintln(sh.out, all.summaryLine(len(failed) > 0))
	}
	if len(failed) > 0 {
		return exitError{exitInternal, strings.Join(failed, "; ")}
	}
	if worst := all.worst(); worst != exitOK {
		return exitError{code: worst}
	}
	return nil
}

// worseExitCode orders exit codes: the harness's own failure, then findings, then nothing
// measured.
func worseExitCode(a, b int) int {
	order := map[int]int{exitOK: 0, exitInconclusive: 1, exitFailed: 2, exitInternal: 3}
	if order[b] > order[a] {
		return b
	}
	return a
}

func (j targetRun) run(ctx context.Context, sh stdio) (*reports.Report, []suites.ScenarioResult, error) {
	j.started, j.saveErrors = time.Now(), &saveError{}
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

// runRound plays every scenario once.
func (j targetRun) runRound(ctx context.Context, sh stdio) (*reports.Report, []suites.ScenarioResult, error) {
	started := time.Now()
	report := &reports.Report{Tool: "streamassay", Version: buildVersion(), Started: started.UTC(), Target: j.displayName, Seed: j.Seed, Salt: j.Salt}
	bar := newProgress(sh, len(j.suiteTargets))
	var all []suites.ScenarioResult
	type heard struct {
		parts []suites.ScenarioResult
		err   error
	}
	results := make([]chan heard, len(j.suiteTargets))
	for i, s := range j.suiteTargets { // a target's dialects are told one by one, the reference's at once
		results[i] = make(chan heard, 1)
		hear := func() {
			s.Limits.RunTimeout = remainingTime(s.Limits.RunTimeout, j.started)
			s.BeforeTrim = j.saveBeforeTrim
			parts, err := suites.Run(ctx, s, bar.callback(i, s.Dialect.Name))
			results[i] <- heard{parts, err}
		}
		if j.embedded {
			go hear()
		} else {
			hear()
		}
	}
	for i, s := range j.suiteTargets {
		h := <-results[i]
		if h.err != nil {
			bar.clear()
			return nil, nil, usageError("%v", h.err)
		}
		file, err := j.saveConversations(h.parts)
		if err != nil {
			bar.clear()
			return nil, nil, err
		}
		of := reportBuilder{s, urlWithoutUser(s.Base), file, j.rerunCommand(s)}.dialectReport(h.parts)
		of.Notes = incompleteNotes(h.parts, report)
		report.Dialects = append(report.Dialects, of)
		all = append(all, h.parts...)
	}
	bar.clear()
	report.DurationMS = time.Since(started).Milliseconds()
	report.Redact(j.secretValues())
	concludeReport(ctx, report, reports.ConcludeOptions{Strict: j.Strict})
	return report, all, nil
}

// startReference starts the reference on a free loopback port and points the suites at it.
func (j *targetRun) startReference() (stop func(), err error) {
	var dialects []*dialect.Dialect
	for _, s := range j.suiteTargets {
		dialects = append(dialects, s.Dialect)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, exitError{exitInternal, err.Error()}
	}
	users, err := j.addReferenceUsers()
	if err != nil {
		return nil, exitError{exitInternal, err.Error()}
	}
	house, prefix := newReferenceServer(dialects, false, reference.Scripted, reference.Config{
		PollInterval: 200 * time.Millisecond, Authenticator: users, Limits: reference.Limits{StreamsPerUser: j.suiteTargets[0].StreamLimit},
	})
	srv := &http.Server{Handler: house, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = srv.Serve(ln) }()
	at := joinBaseURLs("http://"+ln.Addr().String(), prefix)
	for i := range j.suiteTargets {
		base, err := url.Parse(at[j.suiteTargets[i].Dialect.Name])
		if err != nil {
			return nil, exitError{exitInternal, err.Error()}
		}
		s := &j.suiteTargets[i]
		s.Base = base
		// It is scripted: it promises everything only where it is asked in its prompts.
		if s.PromptStyle == suites.ConformancePrompts && !slices.Contains(s.LackedCapabilities, "scripted") {
			s.ClaimedCapabilities = append([]string{"all"}, s.ClaimedCapabilities...)
		}
	}
	return func() { _ = srv.Close() }, nil
}

// addReferenceUsers gives each suite two users of the reference, by tokens that nobody else knows,
// and says how many streams they may have: more than the scenarios that are played at
// once have together.
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
		s.StreamLimit = min(16+2*s.Parallel, 200)
	}
	return users, nil
}

// saveConversations writes the conversations down, if anybody wants them, and names their
// files.
func (j targetRun) saveConversations(parts []suites.ScenarioResult) (file func(suites.ScenarioResult) string, err error) {
	if j.Transcripts == "" {
		return func(suites.ScenarioResult) string { return "" }, nil
	}
	file = j.transcriptPath
	for _, p := range parts {
		if len(p.Trace.Exchanges) == 0 || p.Trimmed { // what was released was written before
			continue
		}
		if err := j.saveConversation(p, file(p)); err != nil {
			return nil, err
		}
	}
	j.saveErrors.mu.Lock()
	defer j.saveErrors.mu.Unlock()
	return file, j.saveErrors.err
}

// saveConversation writes a conversation down.
func (j targetRun) saveConversation(p suites.ScenarioResult, path string) error {
	t := &transcript.Transcript{
		Comment: p.Scenario.Doc, Dialect: p.Dialect.Name, Scenario: p.Scenario.Name, Target: j.displayName,
		Recorded: time.Now().UTC().Truncate(time.Second), Trace: p.Trace, Secrets: j.secretValues(),
	}
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = replaceFile(path, transcript.Format(t))
	}
	if err != nil {
		return exitError{exitInternal, fmt.Sprintf("--transcripts %s: %v", j.Transcripts, withoutPath(err))}
	}
	return nil
}

// A saveError is what went wrong with the conversations that were written down before the
// others.
type saveError struct {
	mu  sync.Mutex
	err error
}

// saveBeforeTrim writes a conversation down before it is forgotten.
func (j targetRun) saveBeforeTrim(p suites.ScenarioResult) {
	if j.Transcripts == "" {
		return
	}
	j.saveErrors.mu.Lock()
	defer j.saveErrors.mu.Unlock()
	if err := j.saveConversation(p, j.transcriptPath(p)); err != nil && j.saveErrors.err == nil {
		j.saveErrors.err = err
	}
}

// transcriptPath names the transcript of a conversation.
func (j targetRun) transcriptPath(p suites.ScenarioResult) string {
	return filepath.Join(j.Transcripts, p.Dialect.Name, p.Scenario.Name+".txtar")
}

// incompleteNotes returns what was not asked of a target, and why. That the run was broken off is noted
// in its report.
func incompleteNotes(parts []suites.ScenarioResult, report *reports.Report) (all []string) {
	names := map[string][]string{}
	var order []string
	for _, p := range parts {
		if p.IncompleteReason == nil {
			continue
		}
		if suites.IsRunTimeout(p.IncompleteReason) {
			report.Incomplete = p.IncompleteReason.Error()
		}
		why := p.IncompleteReason.Error()
		if names[why] == nil {
			order = append(order, why)
		}
		names[why] = append(names[why], p.Scenario.Name)
	}
	for _, why := range order {
		all = append(all, fmt.Sprintf("not played, or not to the end: %s (%s)", strings.Join(names[why], ", "), why))
	}
	return all
}
