package main

import (
	"os/exec"

	"github.com/spf13/cobra"
)

// Flags that have no effect while requests are passed on to a real server.
var flagsWithoutRecord = []string{
	"fault", "pace", "vary", "seed", "clock", "strict", "flush", "poll", "eventsource", "watch", "check", "schema", "control",
	"journal", "journal-bytes", "journal-body", "expect", "expect-report",
}

// checkFlags returns what is wrong with flags that do not go together, and with a command that
// cannot be run.
func (m *mockOptions) checkFlags(cmd *cobra.Command, paths, command []string) error {
	recording := firstChangedFlag(cmd, "record") != ""
	switch flag := firstChangedFlag(cmd, flagsWithoutRecord...); {
	case recording && len(paths) > 0:
		return usageError("--record %s: it passes requests on: no FILE is played", withoutSecrets(m.upstream))
	case recording && flag != "":
		return usageError("%s: it has no effect with --record, which passes requests on to a real server", flag)
	}
	if flag := firstChangedFlag(cmd, "save", "header"); !recording && flag != "" {
		return usageError("%s: it belongs to --record URL, which is not given", flag)
	}
	for _, flag := range []string{"check", "schema"} {
		if len(command) > 0 && firstChangedFlag(cmd, flag) != "" {
			return usageError("--%s serves nothing: no COMMAND can be run against it", flag)
		}
	}
	if len(command) > 0 {
		if _, err := exec.LookPath(command[0]); err != nil {
			return usageError("the command %s cannot be run: %v", command[0], withoutPath(err))
		}
	}
	return nil
}
