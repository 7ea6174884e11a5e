package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/streamassay/streamassay/internal/transcript"
	"github.com/streamassay/streamassay/reports"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/suites"
)

// mostRounds bounds --repeat.
const mostRounds = 10000

// rounds plays the suite as often as was asked, to tell flaky targets from a flaky
// harness: verdicts that differ between the rounds are the target's, verdicts that differ
// when the same bytes are judged again are ours. The parts are those of the worst round.
func (j job) rounds(ctx context.Context, sh shell) (*reports.Report, []suites.Part, error) {
	var all reports.Rounds
	var worst []suites.Part
	exit := -1
	for k := range j.Repeat {
		report, parts, err := j.nth(k).round(ctx, sh)
		if err != nil {
			return nil, nil, err
		}
		var wrong []string
		if ctx.Err() == nil {
			if wrong, err = j.judgedAgain(parts); err != nil {
				return nil, nil, err
			}
		}
		for _, w := range wrong {
			report.Harness = append(report.Harness, fmt.Sprintf("round %d: %s", k+1, w))
		}
		if len(wrong) > 0 {
			report.Exit = exitInternal
			report.Redact(j.secrets())
			report.Conclude(reports.Options{Strict: j.Strict})
		}
		all.Add(report)
		if exit < 0 || worse(exit, report.Exit) != exit {
			worst, exit = parts, report.Exit
		}
		if ctx.Err() != nil || report.Incomplete != "" {
			break
		}
	}
	return all.Report(), worst, nil
}

// nth is the job of one round, from 0.
func (j job) nth(k int) job {
	j.suites = slices.Clone(j.suites)
	for i := range j.suites {
		j.suites[i].Round = k
	}
	if j.Transcripts != "" {
		j.Transcripts = filepath.Join(j.Transcripts, fmt.Sprintf("round-%d", k+1))
	}
	return j
}

// judgedAgain judges what a round recorded from its bytes, and says what came out
// differently.
func (j job) judgedAgain(parts []suites.Part) (wrong []string, err error) {
	read := j.reread
	if read == nil {
		read = reread
	}
	for _, s := range j.suites {
		var of []suites.Part
		for _, p := range parts {
			if p.Dialect == s.Dialect {
				of = append(of, p)
			}
		}
		differs, err := suites.Again(s, of, read)
		if err != nil {
			return nil, exitError{exitInternal, err.Error()}
		}
		wrong = append(wrong, differs...)
	}
	return wrong, nil
}

// reread is what a file with a conversation would give back. It is never written, so
// nothing has to be hidden that the checks have seen.
func reread(p suites.Part) (spec.Trace, error) {
	name := p.Scenario.Name + ".txtar"
	t, err := transcript.Parse(name, transcript.Format(&transcript.Transcript{Dialect: p.Dialect.Name, Scenario: p.Scenario.Name, Trace: p.Trace}))
	if err != nil {
		return spec.Trace{}, err
	}
	return t.Trace, nil
}
