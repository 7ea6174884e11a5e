package main

import (
	"os/exec"

	"github.com/spf13/cobra"
)

// Flags that have no effect while requests are passed on to a real server.
var notRecording = []string{
	"fault", "pace", "vary", "seed", "clock", "strict", "flush", "poll", "eventsource", "watch", "check", "schema", "control",
	"journal", "journal-bytes", "journal-body", "expect", "expect-report",
}

// checkFlags returns what is wrong with flags that do not go together, and with a command that
// cannot be run.
func (m *mock) checkFlags(cmd *cobra.Command, paths, command []string) error {
	recording := changed(cmd, "record") != ""
	switch flag := changed(cmd, notRecording...); {
	case recording && len(paths) > 0:
		return usage("--record %s: it passes requests on: no FILE is played", bare(m.upstream))
	case recording && flag != "":
		return usage("%s: it has no effect with --record, which passes requests on to a real server", flag)
	}
	if flag := changed(cmd, "save", "header"); !recording && flag != "" {
		return usage("%s: it belongs to --record URL, which is not given", flag)
	}
	for _, flag := range []string{"check", "schema"} {
		if len(command) > 0 && changed(cmd, flag) != "" {
			return usage("--%s serves nothing: no COMMAND can be run against it", flag)
		}
	}
	if len(command) > 0 {
		if _, err := exec.LookPath(command[0]); err != nil {
			return usage("the command %s cannot be run: %v", command[0], plainError(err))
		}
	}
	return nil
}
