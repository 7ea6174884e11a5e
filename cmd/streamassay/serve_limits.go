package main

import (
	"time"

	"github.com/spf13/pflag"
)

// A limitFlags holds the flags that limit how much of a server's resources one request, run or user
// can take.
type limitFlags struct {
	header, body, event, log byteSize
	run, idle                positiveDuration
	streams                  positiveInt
}

// A retentionFlags holds the flags that limit how many finished runs are kept. The value 0 means
// the default of the store.
type retentionFlags struct {
	runs  positiveInt
	bytes byteSize
}

// addFlags adds to flags the limit flags that the commands serve and mock have in common.
func (l *limitFlags) addFlags(flags *pflag.FlagSet) {
	*l = limitFlags{
		header: 64 << 10, body: 1 << 20, event: 24 << 20, log: 64 << 20,
		run: positiveDuration(10 * time.Minute), idle: positiveDuration(2 * time.Minute), streams: 4096,
	}
	flags.Var(&l.header, "max-header", "maximum size of the headers of a request")
	flags.Var(&l.body, "max-body", "maximum size of the body of a request, file uploads excepted")
	flags.Var(&l.event, "max-event", "maximum size of one event as sent")
	flags.Var(&l.log, "max-log", "maximum size of all events of a run")
	flags.Var(&l.run, "max-run", "maximum duration of a run")
	flags.Var(&l.streams, "max-streams", "maximum number of open streams per user")
	flags.Var(&l.idle, "idle", "time after which an idle connection is closed")
}

// addFlags adds --max-runs and --max-bytes to flags.
func (s *retentionFlags) addFlags(flags *pflag.FlagSet) {
	flags.Var(&s.runs, "max-runs",
		"maximum number of finished runs to keep (default: 1000 in memory, 100000 in Redis, 1000000 in SQLite)")
	flags.Var(&s.bytes, "max-bytes",
		"maximum size of the events of finished runs to keep (default: 256MiB in memory, no limit elsewhere)")
}
