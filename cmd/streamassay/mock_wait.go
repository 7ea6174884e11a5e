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

// wait is until the context is done, a port fails, or the command has ended.
func (m *mock) wait(ctx context.Context, sh shell, where places, failed <-chan error, command []string) error {
	ended := make(chan error, 1)
	if len(command) > 0 {
		go func() { ended <- client(ctx, sh, where, command) }()
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
		return interrupted(ctx)
	}
}

// interrupted returns the exit of a program whose work a signal has cut short.
func interrupted(ctx context.Context) error {
	i, _ := signaled(ctx)
	return exitError{code: i.code()}
}

// client runs the command that asks the mock. It finds where that is in its environment.
func client(ctx context.Context, sh shell, where places, command []string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = sh.in, sh.out, sh.err
	cmd.Env = append(os.Environ(), where.environment()...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = grace
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return interrupted(ctx)
	case err == nil:
		return nil
	case errors.As(err, &exit):
		return exitError{exitBroken, "the command " + command[0] + " ended with " + exit.Error()}
	}
	return usage("%s: %v", command[0], err)
}

// Places are where everything is.
type places struct {
	base    map[string]string
	control string
	seed    *uint64 // nil: nothing is left to chance
}

// environment tells a command where the mock is: MOCK_URL, if there is one dialect,
// MOCK_URLS, by dialect as JSON, and MOCK_CONTROL.
func (p places) environment() []string {
	all, _ := json.Marshal(p.base) // a map of texts is always encoded
	env := []string{"MOCK_URLS=" + string(all), "MOCK_CONTROL=" + p.control}
	if len(p.base) == 1 {
		for _, at := range p.base {
			env = append(env, "MOCK_URL="+at)
		}
	}
	return env
}

// tell prints it.
func (p places) tell(out io.Writer) {
	for _, name := range slices.Sorted(maps.Keys(p.base)) {
		fmt.Fprintf(out, "%s  %s\n", name, p.base[name])
	}
	if p.control != "" {
		fmt.Fprintf(out, "control  %s\n", p.control)
	}
	if p.seed != nil {
		fmt.Fprintf(out, "seed  %d\n", *p.seed)
	}
}
