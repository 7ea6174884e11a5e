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

func runCommand(sh shell) *cobra.Command {
	var t target
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
				return usage("run takes one TARGET, not %q too", args[1])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if t.URL = args[0]; t.URL == "" {
					return usage("TARGET is empty: it is a base URL such as http://127.0.0.1:8080, or %q for the embedded one", embeddedName)
				}
			}
			bar := newProgress(sh, 0)
			bar.say("reading the documents")
			jobs, err := plan(t, config)
			bar.clear()
			if err != nil {
				return err
			}
			endAtOnce(cmd.Context())
			boundHeap(sh.env)
			return runAll(cmd.Context(), sh, jobs)
		},
	}
	t.addFlags(cmd)
	cmd.Flags().Var(&once{text: &config}, "config", "YAML `FILE` of one or more targets, each with what the flags say")
	return cmd
}

// A job is one target with everything that was asked about it, checked.
type job struct {
	target
	name     string // what the report calls it
	outputs  []output
	suites   []suites.Target
	embedded bool
	reread   func(suites.Part) (spec.Trace, error) // what its bytes give back; nil: [reread]
	began    time.Time
	filed    *filing
}

// plan checks everything before anything is sent or written.
func plan(flags target, config string) ([]job, error) {
	targets := []target{flags}
	if config != "" {
		if flags.URL != "" {
			return nil, usage("a TARGET and --config together: say it in one place")
		}
		var err error
		if targets, err = readConfig(config, flags); err != nil {
			return nil, err
		}
	}
	var jobs []job
	var reported [][]output
	for _, t := range targets {
		if t.URL == embeddedName {
			t.URL = ""
		}
		j, err := planOne(t)
		if err != nil {
			return nil, t.source.at(err)
		}
		if slices.ContainsFunc(jobs, func(other job) bool { return j.overwrites(other) }) {
			j.Transcripts = numbered(j.Transcripts, len(jobs))
		}
		jobs, reported = append(jobs, j), append(reported, j.outputs)
	}
	return jobs, placeOutputs(reported...)
}

// overwrites reports whether the transcripts of a job would take the place of those of another.
func (j job) overwrites(other job) bool {
	return j.Transcripts != "" && filepath.Clean(j.Transcripts) == filepath.Clean(other.Transcripts) &&
		slices.ContainsFunc(j.suites, func(s suites.Target) bool {
			return slices.ContainsFunc(other.suites, func(o suites.Target) bool { return o.Dialect == s.Dialect })
		})
}

func planOne(t target) (j job, err error) {
	if t.Seed == 0 {
		t.Seed = rand.Uint64()>>1 | 1
	}
	if t.Salt == 0 { // ids that a target has seen before would tell it about another conversation
		t.Salt = suites.NewSalt()
	}
	j = job{target: t, embedded: t.URL == "", name: "the embedded reference"}
	name := t.source.field
	if !j.embedded && len(t.Dialects) == 0 {
		return j, usage("%s is missing: which protocol does %s speak? one of %s", name("dialects"), bare(t.URL), strings.Join(dialect.Names(), ", "))
	}
	if t.Repeat < 1 || t.Repeat > mostRounds {
		return j, usage("%s %d: it is a number from 1 to %d", name("repeat"), t.Repeat, mostRounds)
	}
	dialects, err := dialectsNamed(name("dialects"), t.Dialects)
	if err != nil {
		return j, err
	}
	report := name("reports")
	if t.source.keys["reports"] > 0 {
		report = t.source.prefix("reports") + "reports"
	}
	if j.outputs, err = outputs(report, t.Reports); err != nil {
		return j, err
	}
	if err := t.checkGlobs(dialects); err != nil {
		return j, err
	}
	if err := checkDir(t.Transcripts); t.Transcripts != "" && err != nil {
		return j, usage("%s %s: %v", name("transcripts"), t.Transcripts, err)
	}
	for _, d := range dialects {
		s, err := j.suite(d)
		if err != nil {
			return j, err
		}
		j.suites = append(j.suites, s)
	}
	if !slices.ContainsFunc(j.suites, func(s suites.Target) bool { return s.Judges() }) {
		return j, usage("nothing is left to judge: %s", t.selection())
	}
	return j, nil
}

// suite returns what the suites need of the target for one dialect, checked.
func (j *job) suite(d *dialect.Dialect) (s suites.Target, err error) {
	text, name := j.URL, j.source.field("url")
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
		j.name = shown(base)
	}
	if s, err = j.target.suite(d, base); err != nil {
		return s, err
	}
	return s, j.checkSuite(&s)
}

// checkSuite returns what is wrong with what the suites are told, by the name of the setting
// where it is wrong by itself.
func (j *job) checkSuite(s *suites.Target) error {
	for _, one := range []struct {
		key   string
		alone suites.Target
	}{
		{"claim", suites.Target{Claims: s.Claims}}, {"lacks", suites.Target{Lacks: s.Lacks}}, {"prompt", suites.Target{Prompt: s.Prompt}},
		{"sequences", suites.Target{Sequences: s.Sequences}}, {"stream-limit", suites.Target{Streams: s.Streams}},
		{"other-headers", suites.Target{Header: s.Header, Other: s.Other}},
	} {
		one.alone.Dialect, one.alone.Base = s.Dialect, s.Base
		if err := one.alone.Check(); err != nil {
			return usage("%s: %v", j.source.field(one.key), err)
		}
	}
	if err := s.Check(); err != nil {
		return usage("%v", err)
	}
	return nil
}

// runAll runs every job; the worst of their exit codes is the program's.
func runAll(ctx context.Context, sh shell, jobs []job) error {
	var all conclusions
	var heard []suites.Part
	var failed []string
	for _, j := range jobs {
		report, parts, err := j.run(ctx, sh)
		if err != nil {
			return err
		}
		if err := write(report, j.outputs, sh, styleOf(sh, j.verbose)); err != nil {
			failed = append(failed, err.Error())
		}
		all = append(all, report.Exit)
		heard = append(heard, parts...)
		if _, yes := signaled(ctx); yes {
			break
		}
	}
	agrees := ctx.Err() != nil || suites.Drive(heard)
	if i, yes := signaled(ctx); yes {
		return exitError{i.code(), strings.Join(append([]string{i.Error()}, failed...), "; ")}
	}
	if !agrees {
		return exitError{exitInternal, "the verdicts of the ginkgo suite are not the report's"}
	}
	if len(jobs) > 1 && !slices.ContainsFunc(jobs, func(j job) bool { return printed(j.outputs) }) {
		fmt.Fprintln(sh.out, all.line(len(failed) > 0))
	}
	if len(failed) > 0 {
		return exitError{exitInternal, strings.Join(failed, "; ")}
	}
	if worst := all.worst(); worst != exitOK {
		return exitError{code: worst}
	}
	return nil
}

// worse orders exit codes: the harness's own failure, then findings, then nothing
// measured.
func worse(a, b int) int {
	order := map[int]int{exitOK: 0, exitNothing: 1, exitBroken: 2, exitInternal: 3}
	if order[b] > order[a] {
		return b
	}
	return a
}

func (j job) run(ctx context.Context, sh shell) (*reports.Report, []suites.Part, error) {
	j.began, j.filed = time.Now(), &filing{}
	if j.embedded {
		stop, err := j.embed()
		if err != nil {
			return nil, nil, err
		}
		defer stop()
	}
	if j.Repeat > 1 {
		return j.rounds(ctx, sh)
	}
	return j.round(ctx, sh)
}

// round plays every scenario once.
func (j job) round(ctx context.Context, sh shell) (*reports.Report, []suites.Part, error) {
	started := time.Now()
	report := &reports.Report{Tool: "streamassay", Version: version(), Started: started.UTC(), Target: j.name, Seed: j.Seed, Salt: j.Salt}
	bar := newProgress(sh, len(j.suites))
	var all []suites.Part
	type heard struct {
		parts []suites.Part
		err   error
	}
	results := make([]chan heard, len(j.suites))
	for i, s := range j.suites { // a target's dialects are told one by one, the reference's at once
		results[i] = make(chan heard, 1)
		hear := func() {
			s.Limits.Run = left(s.Limits.Run, j.began)
			s.Released = j.released
			parts, err := suites.Hear(ctx, s, bar.step(i, s.Dialect.Name))
			results[i] <- heard{parts, err}
		}
		if j.embedded {
			go hear()
		} else {
			hear()
		}
	}
	for i, s := range j.suites {
		h := <-results[i]
		if h.err != nil {
			bar.clear()
			return nil, nil, usage("%v", h.err)
		}
		file, err := j.keep(h.parts)
		if err != nil {
			bar.clear()
			return nil, nil, err
		}
		of := telling{s, shown(s.Base), file, j.rerun(s)}.report(h.parts)
		of.Notes = unplayed(h.parts, report)
		report.Dialects = append(report.Dialects, of)
		all = append(all, h.parts...)
	}
	bar.clear()
	report.DurationMS = time.Since(started).Milliseconds()
	report.Redact(j.secrets())
	concludeReport(ctx, report, reports.Options{Strict: j.Strict})
	return report, all, nil
}

// embed starts the reference on a free loopback port and points the suites at it.
func (j *job) embed() (stop func(), err error) {
	var dialects []*dialect.Dialect
	for _, s := range j.suites {
		dialects = append(dialects, s.Dialect)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, exitError{exitInternal, err.Error()}
	}
	users, err := j.admit()
	if err != nil {
		return nil, exitError{exitInternal, err.Error()}
	}
	house, prefix := build(dialects, false, reference.Scripted, reference.Config{
		Poll: 200 * time.Millisecond, Users: users, Limits: reference.Limits{Streams: j.suites[0].Streams},
	})
	srv := &http.Server{Handler: house, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = srv.Serve(ln) }()
	at := bases("http://"+ln.Addr().String(), prefix)
	for i := range j.suites {
		base, err := url.Parse(at[j.suites[i].Dialect.Name])
		if err != nil {
			return nil, exitError{exitInternal, err.Error()}
		}
		s := &j.suites[i]
		s.Base = base
		// It is scripted: it promises everything only where it is asked in its prompts.
		if s.Prompts == suites.Conformance && !slices.Contains(s.Lacks, "scripted") {
			s.Claims = append([]string{"all"}, s.Claims...)
		}
	}
	return func() { _ = srv.Close() }, nil
}

// admit gives each suite two users of the reference, by tokens that nobody else knows,
// and says how many streams they may have: more than the scenarios that are played at
// once have together.
func (j *job) admit() (*identity.Tokens, error) {
	users := &identity.Tokens{}
	for i := range j.suites {
		s := &j.suites[i]
		for name, header := range map[string]*spec.Header{"user": &s.Header, "other": &s.Other} {
			token := crand.Text()
			if err := users.Add(fmt.Sprintf("%s-%d:%s", name, i, token)); err != nil {
				return nil, err
			}
			*header = header.With("Authorization", "Bearer "+token)
		}
		s.Streams = min(16+2*s.Parallel, 200)
	}
	return users, nil
}

// keep writes the conversations down, if anybody wants them, and names their
// files.
func (j job) keep(parts []suites.Part) (file func(suites.Part) string, err error) {
	if j.Transcripts == "" {
		return func(suites.Part) string { return "" }, nil
	}
	file = j.file
	for _, p := range parts {
		if len(p.Trace.Exchanges) == 0 || p.Released { // what was released was written before
			continue
		}
		if err := j.record(p, file(p)); err != nil {
			return nil, err
		}
	}
	j.filed.mu.Lock()
	defer j.filed.mu.Unlock()
	return file, j.filed.err
}

// record writes a conversation down.
func (j job) record(p suites.Part, path string) error {
	t := &transcript.Transcript{
		Comment: p.Scenario.Doc, Dialect: p.Dialect.Name, Scenario: p.Scenario.Name, Target: j.name,
		Recorded: time.Now().UTC().Truncate(time.Second), Trace: p.Trace, Secrets: j.secrets(),
	}
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = replaceFile(path, transcript.Format(t))
	}
	if err != nil {
		return exitError{exitInternal, fmt.Sprintf("--transcripts %s: %v", j.Transcripts, plainError(err))}
	}
	return nil
}

// A filing is what went wrong with the conversations that were written down before the
// others.
type filing struct {
	mu  sync.Mutex
	err error
}

// released writes a conversation down before it is forgotten.
func (j job) released(p suites.Part) {
	if j.Transcripts == "" {
		return
	}
	j.filed.mu.Lock()
	defer j.filed.mu.Unlock()
	if err := j.record(p, j.file(p)); err != nil && j.filed.err == nil {
		j.filed.err = err
	}
}

// file names the transcript of a conversation.
func (j job) file(p suites.Part) string {
	return filepath.Join(j.Transcripts, p.Dialect.Name, p.Scenario.Name+".txtar")
}

// unplayed returns what was not asked of a target, and why. That the run was broken off is noted
// in its report.
func unplayed(parts []suites.Part, report *reports.Report) (all []string) {
	names := map[string][]string{}
	var order []string
	for _, p := range parts {
		if p.Unplayed == nil {
			continue
		}
		if suites.IsTimeUp(p.Unplayed) {
			report.Incomplete = p.Unplayed.Error()
		}
		why := p.Unplayed.Error()
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
