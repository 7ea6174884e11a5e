package main

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/streamassay/streamassay/internal/diff"
	"github.com/streamassay/streamassay/internal/transcript"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// runTargets plays the scenarios against the targets report.A and report.B concurrently, and
// returns their conversations. It sets the seed and the salt of report. Unless --json is given, it
// replaces report.A and report.B with display names, which contain no credentials. It returns an
// error if a flag or a target is invalid, if a target cannot be connected to, or if the scenarios
// cannot be played at all.
func (d diffOptions) runTargets(ctx context.Context, sh stdio, report *diff.Report) (a, b diffSide, err error) {
	names := "conversation (streamassay list scenarios lists the scenarios; combinations are combination-N)"
	if err := d.checkGlobsMatch(d.conversationNames(), names); err != nil {
		return a, b, err
	}
	var jobs [2]targetRun
	for i, word := range []string{report.A, report.B} {
		t := d.targetOptions
		flag, own := []string{"--header-a", "--header-b"}[i], [][]string{d.headerA, d.headerB}[i]
		if _, err := parseTestHeaders(flag, own); err != nil {
			return a, b, err
		}
		t.Headers = slices.Concat(t.Headers, own)
		if t.URL = word; word == referenceName {
			t.URL = ""
		}
		if i > 0 {
			t.suite.Seed, t.suite.Salt = jobs[0].suite.Seed, jobs[0].suite.Salt
		}
		if jobs[i], err = newTargetRun(t); err != nil {
			return a, b, err
		}
	}
	report.Seed, report.Salt = jobs[0].suite.Seed, jobs[0].suite.Salt
	report.A, report.B = jobs[0].displayName, jobs[1].displayName
	if d.json { // programs expect the arguments that they gave
		report.A, report.B = originalArgument(jobs[0]), originalArgument(jobs[1])
	}
	if jobs[0].URL == jobs[1].URL && !jobs[0].embedded { // one server must not see an id twice
		jobs[1] = jobs[1].forRound(takesPerTarget)
	}
	if err := reachTargets(ctx, jobs[:]); err != nil {
		return a, b, err
	}
	other := make(chan error, 1)
	go func() {
		var err error
		b, err = jobs[1].collectTakes(ctx, sh)
		other <- err
	}()
	a, err = jobs[0].collectTakes(ctx, sh)
	if failed := <-other; err == nil {
		err = failed
	}
	return a, b, err
}

// reachTargets connects to the targets of jobs[0] and jobs[1], the sides A and B of the comparison.
// It skips the embedded reference server, which has not been started yet. If a target cannot be
// reached and ctx is not done, it returns an [exitError] with the code exitInconclusive. If ctx is
// done, it returns nil.
func reachTargets(ctx context.Context, jobs []targetRun) error {
	var reasons []string
	for i, j := range jobs {
		if j.embedded {
			continue // not started yet
		}
		if err := suites.Reach(ctx, j.suiteTargets[0]); err != nil {
			reasons = append(reasons, fmt.Sprintf("%s: %v", []string{"A", "B"}[i], err))
		}
	}
	if len(reasons) > 0 && ctx.Err() == nil {
		return exitError{exitInconclusive, strings.Join(reasons, "; ")}
	}
	return nil
}

// originalArgument returns the command-line argument that named the target of j: its URL, or
// [referenceName] for the embedded reference server.
func originalArgument(j targetRun) string { return cmp.Or(j.URL, referenceName) }

// collectTakes plays the selected scenarios [takesPerTarget] times, with different ids each time,
// against the target of j and returns the conversations. If a take of a conversation ends early,
// the conversation is marked as incomplete. collectTakes returns an error if the scenarios cannot
// be played at all.
func (j targetRun) collectTakes(ctx context.Context, sh stdio) (h diffSide, err error) {
	if j.embedded {
		stop, err := j.startReference()
		if err != nil {
			return h, err
		}
		defer stop()
	}
	j.started, j.saveErrors = time.Now(), &firstSaveError{}
	for k := range takesPerTarget {
		_, parts, err := j.forRound(k).runRound(ctx, sh)
		if err != nil {
			return h, err
		}
		for _, p := range parts {
			c := h.conversation(p.Dialect.Name, p.Scenario.Name)
			switch {
			case p.IncompleteReason != nil: // one take does not show what is volatile
				c.Incomplete = true
				h.timedOut = h.timedOut || suites.IsRunTimeout(p.IncompleteReason)
			case p.Err != nil:
				c.Error = p.Err.Error()
			case len(p.Trace.Exchanges) > 0:
				i := slices.IndexFunc(j.suiteTargets, func(s suites.Target) bool { return s.Dialect == p.Dialect })
				c.Takes = append(c.Takes, relativeEvents(p.Dialect, p.Trace, j.suiteTargets[i].Base.String()))
			default:
				c.Error = j.unsentReason(p)
			}
		}
	}
	return h, nil
}

// unsentReason returns the reason why no request of the scenario of p was sent.
func (j targetRun) unsentReason(p suites.ScenarioResult) string {
	for _, s := range j.suiteTargets {
		if s.Dialect != p.Dialect {
			continue
		}
		if missing := s.MissingSetup(p.Scenario); missing != "" {
			return missing
		}
		if name := s.LackedCapability(p.Scenario); name != "" {
			return "--lacks excludes " + name
		}
	}
	return "needs " + lackedByTarget
}

// relativeEvents returns the events of the trace t, decoded in dialect d. In texts and headers, it
// replaces the host and port of base, the base URL of the target, with a fixed name, so that events
// of two servers can be compared. It replaces nothing if base has no host.
func relativeEvents(d *dialect.Dialect, t spec.Trace, base string) []spec.Event {
	events := slices.Collect(d.Events(t))
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return events
	}
	replaceHost(events, strings.NewReplacer(u.Scheme+"://"+u.Host, "http://target", u.Host, "target"))
	return events
}

// replaceHost applies r, which replaces a host name, to the texts and headers of events and,
// recursively, of their parts. It modifies the elements of events, but not the headers and parts
// that they share with other events.
func replaceHost(events []spec.Event, r *strings.Replacer) {
	for i := range events {
		e := &events[i]
		e.Text = r.Replace(e.Text)
		e.Header = slices.Clone(e.Header)
		for k, f := range e.Header {
			e.Header[k].Value = r.Replace(f.Value)
		}
		e.Parts = slices.Clone(e.Parts)
		replaceHost(e.Parts, r)
	}
}

// readSide reads the recordings at root, a file or directory, and returns them as one side of the
// comparison. Errors are usage errors. It prints notes on the recordings to standard error.
func (d diffOptions) readSide(sh stdio, root string) (h diffSide, err error) {
	files, err := recordingsIn(root)
	if err != nil {
		return h, err
	}
	list, err := transcript.OpenAll(files)
	if err != nil {
		return h, usageError("%v", err)
	}
	given, err := givenDialects("--dialect", d.Dialects)
	if err != nil {
		return h, err
	}
	for _, t := range list {
		if err := d.addRecording(sh, &h, t, given); err != nil {
			return h, err
		}
	}
	return h, nil
}

// addRecording adds the recording t to h as one take of a conversation. It leaves t out if --only
// or --skip excludes the conversation, or if no request in t calls an operation of the dialect of
// t; in the latter case it prints a note to standard error. The requests in t are modified: the
// base path is removed, and requests of which only the body was recorded are completed. The
// argument selected holds the dialects of the --dialect flag. If the dialect of t cannot be
// determined, the error is that of [recordedDialect].
func (d diffOptions) addRecording(
	sh stdio, h *diffSide, t *transcript.Transcript, selected []*dialect.Dialect,
) error {
	of, err := recordedDialect(t, selected)
	if err != nil {
		return err
	}
	name := t.Scenario
	if name == "" {
		name = strings.TrimSuffix(filepath.Base(t.Name), filepath.Ext(t.Name))
	}
	h.names = append(h.names, name)
	if len(d.suite.Only) > 0 && !matchesAnyGlob(d.suite.Only, name) || matchesAnyGlob(d.suite.Skip, name) {
		return nil
	}
	of.CompleteRequests(&t.Trace)
	t.StripBasePath(of.Base)
	of.UseEndpoint(&t.Trace)
	if note := foreignRequestNote(of, t.Trace); note != "" {
		fmt.Fprintf(sh.err, "streamassay: %s: not compared: %s\n", t.Name, note)
		return nil
	}
	c := h.conversation(of.Name, name)
	c.Takes = append(c.Takes, relativeEvents(of, t.Trace, t.Target))
	return nil
}

// matchesAnyGlob reports whether name matches at least one of the globs, which have the syntax of
// [path.Match]. A malformed glob matches nothing.
func matchesAnyGlob(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool { ok, _ := path.Match(glob, name); return ok })
}

// pairUp makes two recordings with different names comparable. If h and other each have exactly one
// conversation, and both conversations have the same dialect, pairUp gives the one in other the
// name of the one in h. Otherwise, it changes nothing.
func (h *diffSide) pairUp(other *diffSide) {
	if len(h.dialects) != 1 || len(other.dialects) != 1 || h.dialects[0] != other.dialects[0] {
		return
	}
	a, b := h.conversations[h.dialects[0]], other.conversations[other.dialects[0]]
	if len(a) == 1 && len(b) == 1 {
		b[0].Name = a[0].Name
	}
}
