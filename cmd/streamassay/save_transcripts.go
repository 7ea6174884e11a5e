package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/streamassay/streamassay/internal/transcript"
	"github.com/streamassay/streamassay/suites"
)

// saveConversations writes the transcripts of parts if --transcripts is given. It returns a
// function that maps a result to the path of its transcript, or to "" without --transcripts.
func (j targetRun) saveConversations(parts []suites.ScenarioResult) (
	file func(suites.ScenarioResult) string, err error,
) {
	if j.Transcripts == "" {
		return func(suites.ScenarioResult) string { return "" }, nil
	}
	file = j.transcriptPath
	for _, p := range parts {
		if len(p.Trace.Exchanges) == 0 || p.Trimmed { // trimmed ones are saved by saveBeforeTrim
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

// saveConversation writes the transcript of the conversation in p to path. If that fails, it returns
// an [exitError] with the code for internal errors.
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

// A saveError keeps the first error of [targetRun.saveBeforeTrim], which may be called by several
// goroutines at the same time.
type saveError struct {
	mu  sync.Mutex
	err error
}

// saveBeforeTrim writes the transcript of a large conversation to disk, before most of its bodies
// are dropped from memory. The first error is kept in j.saveErrors.
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

// transcriptPath returns the path of the transcript of a conversation: DIR/DIALECT/SCENARIO.txtar.
func (j targetRun) transcriptPath(p suites.ScenarioResult) string {
	return filepath.Join(j.Transcripts, p.Dialect.Name, p.Scenario.Name+".txtar")
}
