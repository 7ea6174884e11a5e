package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"

	"syscall"
)

// waitForEnd is until the context is done, a port fails, or the command has ended.
func (m *mockOptions) waitForEnd(ctx context.Context, sh stdio, where endpoints, failed <-chan error, command []string) error {
	ended := make(chan error, 1)
	if len(command) > 0 {
		go func() { ended <- runClient(ctx, sh, where, command) }()
	}
	select {
	case err := <-failed:
		return exitError{exitInternal, err.Error()}
	case err := <-ended:
		return err
	case <-ctx.Done():
		if len(command) == 0 {
			return nil
		}
		<-ended
		return interruptExit(ctx)
	}
}

// interruptExit returns the exit of a program whose work a signal has cut short.
func interruptExit(ctx context.Context) error {
	i, _ := interruptedBy(ctx)
	return exitError{code: i.exitCode()}
}

// runClient runs the command that asks the mock. It finds where that is in its environment.
func runClient(ctx context.Context, sh stdio, where endpoints, command []string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = sh.in, sh.out, sh.err
	cmd.Env = append(os.Environ(), where.clientEnv()...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = shutdownGrace
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return interruptExit(ctx)
	case err == nil:
		return nil
	case errors.As(err, &exit):
		return exitError{exitFailed, "the command " + command[0] + " ended with " + exit.Error()}
	}
	return usageError("%s: %v", command[0], err)
}

// Places are where everything is.
type endpoints struct {
	baseURLs   map[string]string
	controlURL string
	seed       *uint64 // nil: nothing is left to chance
}

// clientEnv tells a command where the mock is: MOCK_URL, if there is one dialect,
// MOCK_URLS, by dialect as JSON, and MOCK_CONTROL.
func (p endpoints) clientEnv() []string {
	all, _ := json.Marshal(p.baseURLs) // a map of texts is always encoded
	env := []string{"MOCK_URLS=" + string(all), "MOCK_CONTROL=" + p.controlURL}
	if len(p.baseURLs) == 1 {
		for _, at := range p.baseURLs {
			env = append(env, "MOCK_URL="+at)
		}
	}
	return env
}

// print prints it.
func (p endpoints) print(out io.Writer) {
	for _, name := range slices.Sorted(maps.Keys(p.baseURLs)) {
		fmt.Fprintf(out, "%s  %s\n", name, p.baseURLs[name])
	}
	if p.controlURL != "" {
		fmt.Fprintf(out, "control  %s\n", p.controlURL)
	}
	if p.seed != nil {
		fmt.Fprintf(out, "seed  %d\n", *p.seed)
	}
}
