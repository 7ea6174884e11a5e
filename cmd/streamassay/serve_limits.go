package main

import (
	"time"

	"github.com/spf13/pflag"
)

// limitFlags are how much one request or user can make the server hold.
type limitFlags struct {
	header, body, event, log byteSize
	run, idle                positiveDuration
	streams                  positiveInt
}

// A retentionFlags is how much is kept of what is over; 0 is what the store thinks right.
type retentionFlags struct {
	runs  positiveInt
	bytes byteSize
}

func newLimitFlags() limitFlags {
	return limitFlags{
		header: 64 << 10, body: 1 << 20, event: 24 << 20, log: 64 << 20,
		run: positiveDuration(10 * time.Minute), idle: positiveDuration(2 * time.Minute), streams: 4096,
	}
}

func (l *limitFlags) addFlags(flags *pflag.FlagSet) {
	flags.Var(&l.header, "max-header", "bytes of the headers of a request")
	flags.Var(&l.body, "max-body", "bytes of the body of a request that carries no file")
	flags.Var(&l.event, "max-event", "bytes of an event, as it is sent")
	flags.Var(&l.log, "max-log", "bytes of all events of a run")
	flags.Var(&l.run, "max-run", "how long a run may take")
	flags.Var(&l.streams, "max-streams", "streams that a user may have open")
	flags.Var(&l.idle, "idle", "how long a connection stays open on which nothing is asked")
}

func (s *retentionFlags) addFlags(flags *pflag.FlagSet) {
	flags.Var(&s.runs, "max-runs", "runs that are over and kept (default: 1000 in memory, 100000 in Redis, 1000000 in SQLite)")
	flags.Var(&s.bytes, "max-bytes", "bytes of events of runs that are over and kept (default: 256MiB in memory, no bound elsewhere)")
}
