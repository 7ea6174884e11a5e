package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/streamassay/streamassay/internal/state"
	"github.com/streamassay/streamassay/reference"
)

// A limitFlags holds the flags that limit how much of a server's resources one request, run, user
// or connection can take.
type limitFlags struct {
	reference.Limits
	header int           // maximum size of the header of a request, in bytes
	idle   time.Duration // time after which an idle connection is closed
}

// addFlags adds the limit flags that the serve and mock commands share to the flag set, and sets l
// to their default values.
func (l *limitFlags) addFlags(flags *pflag.FlagSet) {
	*l = limitFlags{Limits: reference.DefaultLimits(), header: 64 << 10, idle: 2 * time.Minute}
	flags.Var(sizeValue(&l.header), "max-header",
		"maximum size of the headers of a request; larger by more than 4KiB: status 431")
	flags.Var(sizeValue(&l.RequestBytes), "max-body",
		"maximum size of the body of a request, file uploads excepted; larger: status 413")
	flags.Var(sizeValue(&l.EventBytes), "max-event", "maximum size of one event as sent; a run that exceeds it fails")
	flags.Var(sizeValue(&l.RunBytes), "max-log",
		"maximum total size of the events of one run (not of the server's log); a run that exceeds it fails")
	flags.Var(durationValue(&l.RunDuration, 0), "max-run", "maximum duration of a run; a run that exceeds it fails")
	flags.Var(countValue(&l.StreamsPerUser), "max-streams", "maximum number of open streams per user; more: status 429")
	flags.Var(durationValue(&l.idle, 0), "idle",
		"maximum time between two requests on a connection, which is then closed; open streams are not affected")
}

// addRetentionFlags adds --max-runs and --max-bytes, which set the fields of c, to the flag set. The
// flags limit the number and the total size of the ended runs that a store keeps; 0 stands for the
// default of the store. The argument defaults describes the default of --max-runs in the help.
func addRetentionFlags(flags *pflag.FlagSet, c *state.Config, defaults string) {
	flags.Var(countValue(&c.MaxRuns), "max-runs",
		"maximum number of finished runs to keep; the oldest are dropped first; a thread is dropped when no run of it is left "+
			"(default: "+defaults+")")
	flags.Var(sizeValue(&c.MaxBytes), "max-bytes",
		"maximum total size of the events of finished runs to keep; the oldest runs are dropped first (default: 256MiB in "+
			"memory, no limit elsewhere)")
}
