package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/streamassay/streamassay/internal/exitcode"
	"github.com/streamassay/streamassay/internal/transcript"
	"github.com/streamassay/streamassay/reports"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/suites"
)

// maxRounds is the maximum value of --repeat.
const maxRounds = 10000

// runRounds runs the suite in as many rounds as --repeat states. It stops early if ctx is done or
// --max-time ends a round. It returns the merged report, in which requirements whose verdict
// differs between rounds are flaky, and the results of the round with the worst exit code. The
// error, if any, is that of [targetRun.runRound] or [targetRun.rejudge].
//
// It also judges the conversations of each round a second time, unless ctx is done. If a verdict
// then differs, although the bytes are the same, the report states an internal error of
// streamassay.
func (j targetRun) runRounds(ctx context.Context, sh stdio) (*reports.Report, []suites.ScenarioResult, error) {
	var all reports.RoundMerger
	var worst []suites.ScenarioResult
	exit := -1
	for k := range j.Repeat {
		report, parts, err := j.forRound(k).runRound(ctx, sh)
		if err != nil {
			return nil, nil, err
		}
		var wrong []string
		if ctx.Err() == nil {
			if wrong, err = j.rejudge(parts); err != nil {
				return nil, nil, err
			}
		}
		for _, w := range wrong {
			report.Harness = append(report.Harness, fmt.Sprintf("round %d: %s", k+1, w))
		}
		if len(wrong) > 0 {
			report.Exit = exitInternal
			report.Redact(j.secretValues())
			report.Conclude(reports.ExitCodeOptions{Strict: j.Strict})
		}
		all.AddRound(report)
		if exit < 0 || exitcode.Worse(exit, report.Exit) != exit {
			worst, exit = parts, report.Exit
		}
		if ctx.Err() != nil || report.Incomplete != "" {
			break
		}
	}
	return all.Merged(), worst, nil
}

// forRound returns a copy of j for round k, counted from 0. Each round has its own ids and its own
// directory of transcripts.
func (j targetRun) forRound(k int) targetRun {
	j.suiteTargets = slices.Clone(j.suiteTargets)
	for i := range j.suiteTargets {
		j.suiteTargets[i].Round = k
	}
	if j.Transcripts != "" {
		j.Transcripts = filepath.Join(j.Transcripts, fmt.Sprintf("round-%d", k+1))
	}
	return j
}

// rejudge judges the conversations of a round again. The argument parts contains the results of
// that round. rejudge returns a description of each verdict that differs from the one in parts. An
// error means that a conversation could not be judged again.
func (j targetRun) rejudge(parts []suites.ScenarioResult) (wrong []string, err error) {
	read := j.reparse
	if read == nil {
		read = reparseTranscript
	}
	for _, s := range j.suiteTargets {
		var results []suites.ScenarioResult
		for _, p := range parts {
			if p.Dialect == s.Dialect {
				results = append(results, p)
			}
		}
		differs, err := suites.Rejudge(s, results, read)
		if err != nil {
			return nil, exitError{exitInternal, err.Error()}
		}
		wrong = append(wrong, differs...)
	}
	return wrong, nil
}

// reparseTranscript formats the conversation of p as a transcript, parses the transcript, and
// returns the resulting trace, or an error if the transcript cannot be parsed. It does not redact
// secrets: nothing is written to disk, and the checks must see the original bytes.
func reparseTranscript(p suites.ScenarioResult) (spec.Trace, error) {
	name := p.Scenario.Name + ".txtar"
	text := transcript.Format(&transcript.Transcript{Dialect: p.Dialect.Name, Scenario: p.Scenario.Name, Trace: p.Trace})
	t, err := transcript.Parse(name, text)
	if err != nil {
		return spec.Trace{}, err
	}
	return t.Trace, nil
}
