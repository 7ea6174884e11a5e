package main

import "github.com/spf13/cobra"

// flagsWithoutRecord lists the flags that cannot be used with --record, because they would have no
// effect while requests are forwarded to a real server.
var flagsWithoutRecord = []string{
	"fault", "pace", "vary", "seed", "clock", "strict", "flush", "poll", "eventsource", "watch", "check", "schema", "control",
	"journal", "journal-bytes", "journal-body", "expect", "expect-report",
}

// checkFlags returns a usage error if flags of cmd, the mock command, cannot be combined with each
// other or with the arguments. The slice paths holds the FILE arguments, and command holds the
// client program and its arguments.
func (m *mockOptions) checkFlags(cmd *cobra.Command, paths, command []string) error {
	recording := firstChangedFlag(cmd, "record") != ""
	switch flag := firstChangedFlag(cmd, flagsWithoutRecord...); {
	case recording && len(paths) > 0:
		return usageError("--record %s: forwards all requests, so no FILE can be given", withoutSecrets(m.upstream))
	case recording && flag != "":
		return usageError("%s: cannot be used with --record, which forwards requests to a real server", flag)
	}
	if flag := firstChangedFlag(cmd, "save", "header"); !recording && flag != "" {
		return usageError("%s: needs --record URL", flag)
	}
	switch {
	case m.schema && m.check:
		return usageError("--schema cannot be combined with --check: give only one of them")
	case m.schema && len(paths) > 0:
		return usageError("--schema prints a schema, so no FILE can be given; to check scripts: mock --check FILE")
	}
	if flag := firstChangedFlag(cmd, "check", "schema"); len(command) > 0 && flag != "" {
		return usageError("%s: serves nothing, so no COMMAND can be given", flag)
	}
	return nil
}
