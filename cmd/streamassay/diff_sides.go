package main

import (
	"context"
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

// askBoth asks two targets the same, each of them twice.
func (d differing) askBoth(ctx context.Context, sh shell, report *diff.Report) (a, b heardSide, err error) {
	var jobs [2]job
	for i, word := range []string{report.A, report.B} {
		t := d.target
		t.Headers = slices.Concat(t.Headers, [][]string{d.headerA, d.headerB}[i])
		if t.URL = word; word == embeddedName {
			t.URL = ""
		}
		if i > 0 {
			t.Seed, t.Salt = jobs[0].Seed, jobs[0].Salt
		}
		if jobs[i], err = planOne(t); err != nil {
			return a, b, err
		}
	}
	report.Seed, report.Salt, report.A, report.B = jobs[0].Seed, jobs[0].Salt, jobs[0].name, jobs[1].name
	if d.json { // a program is told by the words that it has used
		report.A, report.B = plainWord(jobs[0]), plainWord(jobs[1])
	}
	if jobs[0].URL == jobs[1].URL && !jobs[0].embedded { // it must not see an id again
		jobs[1] = jobs[1].nth(takes)
	}
	other := make(chan error, 1)
	go func() {
		var err error
		b, err = jobs[1].listen(ctx, sh)
		other <- err
	}()
	a, err = jobs[0].listen(ctx, sh)
	if failed := <-other; err == nil {
		err = failed
	}
	return a, b, err
}

func plainWord(j job) string {
	if j.embedded {
		return embeddedName
	}
	return j.name
}

// listen plays the suite to a target, as often as takes says. A target that has seen an
// id would tell the conversation that it belonged to, so each take has its own.
func (j job) listen(ctx context.Context, sh shell) (h heardSide, err error) {
	if j.embedded {
		stop, err := j.embed()
		if err != nil {
			return h, err
		}
		defer stop()
	}
	j.began, j.filed = time.Now(), &filing{}
	for k := range takes {
		_, parts, err := j.nth(k).round(ctx, sh)
		if err != nil {
			return h, err
		}
		for _, p := range parts {
			at := j.suites[slices.IndexFunc(j.suites, func(s suites.Target) bool { return s.Dialect == p.Dialect })].Base
			if p.Err != nil || p.Unplayed != nil || len(p.Trace.Exchanges) == 0 {
				h.add(p.Dialect.Name, p.Scenario.Name, nil)
				continue
			}
			h.add(p.Dialect.Name, p.Scenario.Name, tell(p.Dialect, p.Trace, at.String()))
		}
	}
	if _, broken := signaled(ctx); broken { // what differs in one take alone may be volatile
		for name, list := range h.talks {
			h.talks[name] = slices.DeleteFunc(list, func(t diff.Talk) bool { return len(t.Takes) < takes })
		}
	}
	return h, nil
}

// tell are the events of a conversation; where the target stands is no part of what it
// says.
func tell(d *dialect.Dialect, t spec.Trace, base string) []spec.Event {
	events := slices.Collect(d.Events(t))
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return events
	}
	homeless(events, strings.NewReplacer(u.Scheme+"://"+u.Host, "http://target", u.Host, "target"))
	return events
}

func homeless(events []spec.Event, away *strings.Replacer) {
	for i := range events {
		e := &events[i]
		e.Text = away.Replace(e.Text)
		e.Header = slices.Clone(e.Header)
		for k, f := range e.Header {
			e.Header[k].Value = away.Replace(f.Value)
		}
		e.Parts = slices.Clone(e.Parts)
		homeless(e.Parts, away)
	}
}

// read reads the recordings of one side.
func (d differing) read(root string) (h heardSide, err error) {
	files, err := recordingsIn(root)
	if err != nil {
		return h, err
	}
	list, err := transcript.OpenAll(files)
	if err != nil {
		return h, usage("%v", err)
	}
	for _, t := range list {
		if err := d.take(&h, t); err != nil {
			return h, err
		}
	}
	return h, nil
}

// take adds one recording.
func (d differing) take(h *heardSide, t *transcript.Transcript) error {
	names := slices.Clone(d.Dialects)
	if t.Dialect != "" {
		names = []string{t.Dialect}
	}
	if len(names) != 1 {
		return usage("%s does not say its dialect: add --dialect with one of %s", t.Name, strings.Join(dialect.Names(), ", "))
	}
	of, err := dialect.Named(names[0])
	if err != nil {
		return usage("%s: %v", t.Name, err)
	}
	name := t.Scenario
	if name == "" {
		name = strings.TrimSuffix(filepath.Base(t.Name), filepath.Ext(t.Name))
	}
	if len(d.Only) > 0 && !fits(d.Only, name) || fits(d.Skip, name) {
		return nil
	}
	of.Complete(&t.Trace)
	t.Strip(of.Base)
	h.add(of.Name, name, tell(of, t.Trace, t.Target))
	return nil
}

func fits(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool { ok, _ := path.Match(glob, name); return ok })
}

// meet makes two recordings that are the only ones of their sides one conversation,
// whatever they are called.
func (h *heardSide) meet(other *heardSide) {
	if len(h.dialects) != 1 || len(other.dialects) != 1 || h.dialects[0] != other.dialects[0] {
		return
	}
	a, b := h.talks[h.dialects[0]], other.talks[other.dialects[0]]
	if len(a) == 1 && len(b) == 1 {
		b[0].Name = a[0].Name
	}
}
