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

	"github.com/streamassay/streamassay/reports"
)

// signalExitBase is added to the number of the signal that has ended a program.
const signalExitBase = 128

// An interruptError is the signal that ended a context.
type interruptError struct{ signal os.Signal }

func (i interruptError) Error() string {
	if i.signal == syscall.SIGTERM {
		return "interrupted by SIGTERM"
	}
	return "interrupted by SIGINT"
}

// exitCode is the exit code after the signal.
func (i interruptError) exitCode() int {
	if i.signal == syscall.SIGTERM {
		return reports.ExitTerminated
	}
	return reports.ExitInterrupted
}

// exitFlagKey is where a command notes that a second signal may end it at once.
type exitFlagKey struct{}

// withSignals returns a context that SIGINT and SIGTERM end, with an [interruption] as its
// cause.
func withSignals(parent context.Context) (ctx context.Context, stop func()) {
	atOnce := new(atomic.Bool)
	ctx, cancel := context.WithCancelCause(context.WithValue(parent, exitFlagKey{}, atOnce))
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for s := range signals {
			if ctx.Err() != nil && atOnce.Load() {
				os.Exit(interruptError{s}.exitCode())
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

// exitOnSecondSignal lets a second signal end the program at once: what a command would still do is
// of no use to anybody else.
func exitOnSecondSignal(ctx context.Context) {
	if atOnce, ok := ctx.Value(exitFlagKey{}).(*atomic.Bool); ok {
		atOnce.Store(true)
	}
}

// interruptedBy reports whether a signal has ended the context.
func interruptedBy(ctx context.Context) (i interruptError, yes bool) {
	return i, errors.As(context.Cause(ctx), &i)
}

// concludeReport concludes a report, or marks it as one of an interrupted run.
func concludeReport(ctx context.Context, r *reports.Report, o reports.ConcludeOptions) {
	if i, yes := interruptedBy(ctx); yes {
		r.Incomplete, r.Exit = i.Error(), i.exitCode()
	}
	r.Conclude(o)
}

// signalGrace is how long after a signal something may still be worked on.
const signalGrace = time.Second

// withSignalGrace returns a context that ends a little later than ctx.
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

// runUntilDone returns what do does, unless the context ends first: then nobody waits
// for it.
func runUntilDone[T any](ctx context.Context, do func() (T, error)) (result T, err error) {
	type outcome struct {
		result   T
		err      error
		panicked any
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			o.panicked = recover()
			done <- o
		}()
		o.result, o.err = do()
	}()
	select {
	case o := <-done:
		if o.panicked != nil {
			panic(o.panicked)
		}
		return o.result, o.err
	case <-ctx.Done():
		return result, fmt.Errorf("broken off: %w", context.Cause(ctx))
	}
}
