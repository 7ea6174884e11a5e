package main

import (
	"cmp"
	"fmt"
	"net/textproto"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/suites"
)

// rerunCommand returns a function that maps the result of a scenario to a command line that plays
// the scenario again against the target, in the dialect of s. The command line contains shell
// variables instead of the values of headers, because the values may be secret.
func (j targetRun) rerunCommand(s suites.Target) func(suites.ScenarioResult) string {
	words := []string{"streamassay run"}
	if !j.embedded {
		words = append(words, shellWord(s.Base.String()))
	}
	words = append(words, "--dialect "+shellWord(cmp.Or(s.Dialect.File, s.Dialect.Name)))
	for _, line := range j.Headers {
		words = append(words, secretHeader("--header", line, ""))
	}
	for _, line := range j.OtherHeaders {
		words = append(words, secretHeader("--other-header", line, "OTHER_"))
	}
	words = append(words, j.rerunFlags()...)
	return func(p suites.ScenarioResult) string {
		only := "--only " + shellWord(p.Scenario.Name)
		if strings.HasPrefix(p.Scenario.Name, "sequence-") {
			only = fmt.Sprintf("--sequences %d %s", j.suite.Sequences, only)
		}
		return strings.Join(append(slices.Clone(words), only, fmt.Sprintf("--seed %d", j.suite.Seed)), " ")
	}
}

// secretHeader returns part of a shell command line: flag, such as "--header", and the header in
// line, which has the form 'Name: value'. A shell variable replaces the value of the header, which
// may be secret, as in --header "Authorization: $AUTHORIZATION". The name of the variable is prefix
// followed by the name of the header in capitals, with underscores for other characters than
// letters and digits.
func secretHeader(flag, line, prefix string) string {
	name, _, _ := strings.Cut(line, ":")
	name = textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name))
	variable := strings.Map(func(r rune) rune {
		if r == '_' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(name))
	if shellWord(name) != name { // with a character such as $ or `
		return fmt.Sprintf(`%s %s"$%s%s"`, flag, shellWord(name+": "), prefix, variable)
	}
	return fmt.Sprintf(`%s "%s: $%s%s"`, flag, name, prefix, variable)
}

// shellWord returns s as one word for a POSIX shell, in single quotes if s is empty or contains a
// character with a meaning for the shell.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("@%+=:,./-_", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
