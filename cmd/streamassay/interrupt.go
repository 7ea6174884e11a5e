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

// exitSignal is added to the number of the signal that has ended a program.
const exitSignal = 128

// An interruption is the signal that ended a context.
type interruption struct{ signal os.Signal }

func (i interruption) Error() string {
	if i.signal == syscall.SIGTERM {
		return "interrupted by SIGTERM"
	}
	return "interrupted by SIGINT"
}

// code is the exit code after the signal.
func (i interruption) code() int {
	if i.signal == syscall.SIGTERM {
		return reports.ExitTerminated
	}
	return reports.ExitInterrupted
}

// impatience is where a command notes that a second signal may end it at once.
type impatience struct{}

// withSignals returns a context that SIGINT and SIGTERM end, with an [interruption] as its
// cause.
func withSignals(parent context.Context) (ctx context.Context, stop func()) {
	atOnce := new(atomic.Bool)
	ctx, cancel := context.WithCancelCause(context.WithValue(parent, impatience{}, atOnce))
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for s := range signals {
			if ctx.Err() != nil && atOnce.Load() {
				os.Exit(interruption{s}.code())
			}
			cancel(interruption{s})
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel(nil)
	}
}

// endAtOnce lets a second signal end the program at once: what a command would still do is
// of no use to anybody else.
func endAtOnce(ctx context.Context) {
	if atOnce, ok := ctx.Value(impatience{}).(*atomic.Bool); ok {
		atOnce.Store(true)
	}
}

// signaled reports whether a signal has ended the context.
func signaled(ctx context.Context) (i interruption, yes bool) {
	return i, errors.As(context.Cause(ctx), &i)
}

// concludeReport concludes a report, or marks it as one of an interrupted run.
func concludeReport(ctx context.Context, r *reports.Report, o reports.Options) {
	if i, yes := signaled(ctx); yes {
		r.Incomplete, r.Exit = i.Error(), i.code()
	}
	r.Conclude(o)
}

// signalGrace is how long after a signal something may still be worked on.
const signalGrace = time.Second

// soonAfter returns a context that ends a little later than ctx.
func soonAfter(ctx context.Context) (later context.Context, stop func()) {
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

// unlessInterrupted returns what do does, unless the context ends first: then nobody waits
// for it.
func unlessInterrupted[T any](ctx context.Context, do func() (T, error)) (result T, err error) {
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
