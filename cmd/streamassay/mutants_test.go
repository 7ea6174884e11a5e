package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/mutation"
)

// TestMutants checks that invalid arguments of mutants result in a single line, and that a run in
// which the mutant is killed succeeds.
func TestMutants(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"--only recall-finds-nothing --dialect agkit", exitOK, "1 of 1 mutants killed"},
		{"--only nix* --dialect agkit", exitUsage, `"nix*" matches no mutant`},
		{"--only [", exitUsage, `"[" is not a glob`},
		{"--only run-start-missing --check docs", exitUsage, "--check needs all mutants"},
		{"--each -1", exitUsage, "--each -1"},
		{"--dialect nix", exitUsage, "nix"},
	} {
		code, out, said := streamassay(t, dir, append([]string{"mutants"}, strings.Fields(c.args)...)...)
		if code != c.code || !strings.Contains(out+said, c.says) || c.code != exitOK && strings.Count(said, "\n") != 1 {
			t.Errorf("mutants %s: exit %d, want %d and %q\n%s%s", c.args, code, c.code, c.says, out, said)
		}
	}
}

// TestConcludeMutants checks the exit code for reports with and without survivors, compared with
// what the document allows.
func TestConcludeMutants(t *testing.T) {
	killed := mutation.Outcome{Mutant: "one", Dialect: "a@1", KilledBy: []string{"wire.utf-8"}}
	alive := mutation.Outcome{Mutant: "two", Dialect: "a@1"}
	over := mutation.Outcome{Mutant: "two", Dialect: "a@1", KilledBy: []string{"wire.utf-8"}, OverKills: []string{"run.ends"}}
	report := func(o ...mutation.Outcome) *mutation.Report { return &mutation.Report{Outcomes: o} }
	for name, c := range map[string]struct {
		found, stated *mutation.Report
		code          int
	}{
		"all die":                           {report(killed), nil, exitOK},
		"one survives":                      {report(killed, alive), nil, exitFailed},
		"one survives, which is known":      {report(killed, alive), report(killed, alive), exitOK},
		"one survives, and another is said": {report(killed, alive), report(killed, over), exitFailed},
		"something else is red":             {report(killed, over), nil, exitFailed},
		"something else is red, as known":   {report(killed, over), report(killed, over), exitOK},
		"the right server is red":           {&mutation.Report{Outcomes: []mutation.Outcome{killed}, InvalidReasons: []string{"a@1: the canary survived"}}, nil, exitInternal},
		"no document":                       {report(killed), report(), exitUsage},
	} {
		dir := t.TempDir()
		check := ""
		if c.stated != nil {
			check = dir
			if len(c.stated.Outcomes) > 0 {
				if err := os.WriteFile(filepath.Join(dir, mutantsFile), c.stated.Markdown(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		var out bytes.Buffer
		err := concludeMutants(stdio{out: &out, err: &out}, c.found, "", check)
		code, exit := exitOK, exitError{}
		if errors.As(err, &exit) {
			code = exit.code
		}
		if code != c.code {
			t.Errorf("%s: exit %d (%v), want %d", name, code, err, c.code)
		}
	}
}
