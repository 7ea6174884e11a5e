package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/streamassay/streamassay/internal/journal"
	"github.com/streamassay/streamassay/internal/near"
)

// clientJudge returns a function that judges the requests of the clients by the expectations of
// --expect. It must be called before the mock serves anything. The argument files holds the scripts
// and recordings that the mock has loaded, and command states whether it runs a client command. It
// returns a usage error if --expect or --expect-report is invalid.
//
// The caller must call the returned function when the mock has ended, with the journal and the exit
// code of the mock. The function prints the result and writes the report of --expect-report. It
// returns an error with the exit code for internal errors if the report cannot be written;
// otherwise with the exit code of the mock or, if that is 0, of the result. If that is 0 as well,
// it returns nil. Without --expect and --expect-report, it neither judges nor prints anything.
func (m *mockOptions) clientJudge(
	sh stdio, files loadedSources, command bool,
) (func(*journal.Journal, int) error, error) {
	if m.expect == "" && m.expectReport == "" {
		return func(_ *journal.Journal, code int) error { return exitWith(code) }, nil
	}
	var want journal.Expectations
	if m.expect != "" {
		file, err := os.Open(m.expect)
		if err != nil {
			return nil, usageError("--expect %s: %v", m.expect, withoutPath(err))
		}
		defer file.Close()
		text := bufio.NewReader(file)
		if _, err := text.Peek(1); err == io.EOF {
			return nil, usageError("--expect %s: is empty: want calls", m.expect)
		}
		if want, err = journal.LoadExpectations(m.expect, text, m.dialects); err != nil {
			if !slices.Contains([]string{".yaml", ".yml", ".json", ""}, filepath.Ext(m.expect)) {
				return nil, usageError("--expect %s: is not an expectation file (YAML, e.g. calls: [{op: run, exactly: 1}]): %v",
					m.expect, err)
			}
			return nil, usageError("--expect %v", err)
		}
		if err := m.checkRuleNames(sh.err, want.Calls, files); err != nil {
			return nil, err
		}
	}
	var to outputDestination
	if m.expectReport != "" {
		var err error
		if to, err = writableDestination("--expect-report "+m.expectReport, m.expectReport); err != nil {
			return nil, err
		}
		name, ready := "--expect-report "+m.expectReport, m.endpoint
		if err := to.checkInputs(name, append(m.inputs, ready.cert, ready.key)...); err != nil {
			return nil, err
		}
		if err := to.checkDistinct(name, ready.readyTo, "--ready-file "+ready.readyFile); err != nil {
			return nil, err
		}
	}
	started := time.Now()
	return func(j *journal.Journal, code int) error {
		found := want.Conclude(j)
		found.Tool, found.Version = "streamassay", buildVersion()
		found.Started, found.DurationMS = started.UTC().Truncate(time.Second), time.Since(started).Milliseconds()
		if code != exitOK {
			found.Exit = code
		}
		fmt.Fprint(sh.out, found.Text())
		if m.expectReport != "" {
			var text bytes.Buffer
			err := found.WriteJSON(&text)
			if err == nil {
				err = to.write(context.Background(), text.Bytes())
			}
			if err != nil {
				return exitError{exitInternal, fmt.Sprintf("--expect-report %s: %v", m.expectReport, withoutPath(err))}
			}
		}
		if found.Exit == exitInconclusive {
			return exitError{found.Exit, m.nothingReceivedText(command)}
		}
		return exitWith(found.Exit)
	}, nil
}

// nothingReceivedText returns the message about a mock that received no requests. The argument
// command states whether the mock ran a client command.
func (m *mockOptions) nothingReceivedText(command bool) string {
	switch {
	case !command:
		return "no request reached the mock"
	case len(m.dialects) > 1:
		return "no request reached the mock: COMMAND must send its requests to a URL in MOCK_URLS"
	}
	return "no request reached the mock: COMMAND must send its requests to the URL in MOCK_URL"
}

// checkRuleNames checks that the scripts in files have the rules that the calls of --expect name.
// If they lack one, it returns a usage error if no rule can be added while the mock runs, which is
// the case with --watch=false and --control off. Otherwise it prints a warning to out. If there are
// no scripts, or if there are recordings, whose names count as names of rules, it does nothing.
func (m *mockOptions) checkRuleNames(out io.Writer, calls []journal.Expectation, files loadedSources) error {
	if len(files.scripts) == 0 || len(files.recordings) > 0 {
		return nil
	}
	var names []string
	for _, rule := range files.rules.Rules() {
		names = append(names, rule.Name)
	}
	for i, call := range calls {
		if call.Rule == "" || call.Rule == "-" || slices.Contains(names, call.Rule) { // "-" means that no rule matched
			continue
		}
		text := fmt.Sprintf("--expect %s: call %d: the scripts have no rule %.60q", m.expect, i+1, call.Rule)
		if len(names) > 0 {
			text += near.Suggest(call.Rule, names)
		}
		if !m.watch && m.control == "off" {
			return usageError("%s", text)
		}
		fmt.Fprintln(out, "warning: "+text)
	}
	return nil
}
