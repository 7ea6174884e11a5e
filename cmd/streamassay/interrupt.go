package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/streamassay/streamassay/internal/exitcode"
	"github.com/streamassay/streamassay/reports"
)

// An interruptError is the cause, as returned by [context.Cause], of a context that a signal
// canceled.
type interruptError struct{ signal os.Signal }

func (i interruptError) Error() string {
	if i.signal == syscall.SIGTERM {
		return "interrupted by SIGTERM"
	}
	return "interrupted by SIGINT"
}

// exitCode returns the exit code of a program that was ended by the signal: 143 for SIGTERM and 130
// for SIGINT.
func (i interruptError) exitCode() int {
	if i.signal == syscall.SIGTERM {
		return exitcode.Terminated
	}
	return exitcode.Interrupted
}

// exitOnSecondSignalKey is the context key of an *atomic.Bool. If the Bool is true, a second signal
// ends the program immediately.
type exitOnSecondSignalKey struct{}

// shutdownLimit is the time after which any command should have ended because of a signal. If one
// has not, for example because it opens a FIFO that has no writer, a further signal ends the
// program.
const shutdownLimit = 5 * time.Second

// withSignals returns a copy of parent that is canceled by SIGINT or SIGTERM, with an
// [interruptError] as its cause. The caller must call stop exactly once. The function stop cancels
// the context and restores the default handling of the signals.
func withSignals(parent context.Context) (ctx context.Context, stop func()) {
	atOnce := new(atomic.Bool)
	ctx, cancel := context.WithCancelCause(context.WithValue(parent, exitOnSecondSignalKey{}, atOnce))
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		var first time.Time
		for s := range signals {
			if ctx.Err() != nil && (atOnce.Load() || time.Since(first) > shutdownLimit) {
				os.Exit(interruptError{s}.exitCode())
			}
			if first.IsZero() {
				first = time.Now()
			}
			cancel(interruptError{s})
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel(nil)
	}
}

// exitOnSecondSignal makes a second signal end the program immediately. The context ctx must be
// derived from one that [withSignals] returned; otherwise exitOnSecondSignal has no effect.
// Commands that run a server must not call it, because they have to end open streams first.
func exitOnSecondSignal(ctx context.Context) {
	if atOnce, ok := ctx.Value(exitOnSecondSignalKey{}).(*atomic.Bool); ok {
		atOnce.Store(true)
	}
}

// interruptedBy returns the signal that canceled ctx. The result ok is false if ctx was not
// canceled by a signal.
func interruptedBy(ctx context.Context) (i interruptError, ok bool) {
	return i, errors.As(context.Cause(ctx), &i)
}

// concludeReport sets the verdict and the exit code of the report r, according to the options o. If
// a signal canceled ctx, it also marks r as incomplete, and the exit code is that of the signal,
// whatever the verdict is.
func concludeReport(ctx context.Context, r *reports.Report, o reports.ExitCodeOptions) {
	if i, ok := interruptedBy(ctx); ok {
		r.Incomplete, r.Exit = i.Error(), i.exitCode()
	}
	r.Conclude(o)
}

// signalGrace is the maximum time that diff may take, after a signal, to compare the conversations
// that have already been played.
const signalGrace = time.Second

// withSignalGrace returns a context that outlives ctx by [signalGrace]: it is canceled that long
// after ctx, with the same cause. It has the values of ctx. The caller must call stop, which
// cancels the context immediately and releases its resources.
func withSignalGrace(ctx context.Context) (later context.Context, stop func()) {
	later, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	unlink := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(signalGrace):
			cancel(context.Cause(ctx))
		case <-later.Done():
		}
	})
	return later, func() { unlink(); cancel(nil) }
}

// runUntilDone calls f in a new goroutine and returns the results of f. If ctx is done first, it
// immediately returns an error that wraps the cause of ctx; f continues, but its results are
// discarded. If f panics before ctx is done, runUntilDone panics with the same value. A later panic
// is ignored.
func runUntilDone[T any](ctx context.Context, f func() (T, error)) (result T, err error) {
	type doResult struct {
		result   T
		err      error
		panicked any
	}
	done := make(chan doResult, 1)
	go func() {
		var o doResult
		defer func() {
			o.panicked = recover()
			done <- o
		}()
		o.result, o.err = f()
	}()
	select {
	case o := <-done:
		if o.panicked != nil {
			panic(o.panicked)
		}
		return o.result, o.err
	case <-ctx.Done():
		return result, fmt.Errorf("aborted: %w", context.Cause(ctx))
	}
}
