package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/streamassay/streamassay/internal/transcript"
	"github.com/streamassay/streamassay/suites"
)

// saveConversations writes the transcripts of the conversations in parts if --transcripts is given.
// If it or an earlier [targetRun.saveBeforeTrim] failed to write a transcript, it returns an
// [exitError] with the code for internal errors.
func (j targetRun) saveConversations(parts []suites.ScenarioResult) error {
	for _, p := range parts {
		if j.Transcripts == "" || len(p.Trace.Exchanges) == 0 || p.Trimmed { // saveBeforeTrim saves trimmed ones
			continue
		}
		if err := j.saveConversation(p, j.transcriptPath(p)); err != nil {
			return err
		}
	}
	j.saveErrors.mu.Lock()
	defer j.saveErrors.mu.Unlock()
	return j.saveErrors.err
}

// saveConversation writes the transcript of the conversation in p to path, and creates missing
// directories. Errors have type [exitError] and the code for internal errors.
func (j targetRun) saveConversation(p suites.ScenarioResult, path string) error {
	name := j.displayName
	if !j.embedded { // the base URL may depend on the dialect
		i := slices.IndexFunc(j.suiteTargets, func(s suites.Target) bool { return s.Dialect == p.Dialect })
		name = j.suiteTargets[i].Base.String()
	}
	t := &transcript.Transcript{
		Comment: p.Scenario.Doc, Dialect: p.Dialect.Name, Scenario: p.Scenario.Name, Target: name,
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

// A firstSaveError holds the first error of [targetRun.saveBeforeTrim], which may be called by
// several goroutines at the same time.
type firstSaveError struct {
	mu  sync.Mutex
	err error // nil means that there was no error; protected by mu
}

// saveBeforeTrim writes the transcript of the conversation in p if --transcripts is given. The suite
// calls it for a large conversation before it drops most of the bodies from memory. The first error is
// stored in j.saveErrors. Several goroutines may call saveBeforeTrim at the same time.
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

// transcriptPath returns the path of the transcript of p, which has the form
// DIR/DIALECT/SCENARIO.txtar, where DIR is j.Transcripts. Without --transcripts it returns "".
func (j targetRun) transcriptPath(p suites.ScenarioResult) string {
	if j.Transcripts == "" {
		return ""
	}
	return filepath.Join(j.Transcripts, p.Dialect.Name, p.Scenario.Name+".txtar")
}
