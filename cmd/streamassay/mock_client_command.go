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

// waitForEnd waits for the end of the mock: until the client command, if one is given, has ended, a
// listener fails or ctx ends.
func (m *mockOptions) waitForEnd(
	ctx context.Context, sh stdio, where mockURLs, failed <-chan error, command []string,
) error {
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

// interruptExit returns the error that ends the program with the exit code for the signal that
// ended ctx.
func interruptExit(ctx context.Context) error {
	i, _ := interruptedBy(ctx)
	return exitError{code: i.exitCode()}
}

// runClient runs the client command with the URLs of the mock in its environment.
func runClient(ctx context.Context, sh stdio, where mockURLs, command []string) error {
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
		return exitError{exitFailed, "command " + command[0] + " failed: " + exit.Error()}
	}
	return usageError("%s: %v", command[0], err)
}

// mockURLs holds the URLs under which the mock can be reached, and its seed.
type mockURLs struct {
	baseURLs   map[string]string
	controlURL string
	seed       *uint64 // nil while recording
}

// clientEnv returns the environment variables through which the client command learns the URLs of
// the mock: MOCK_URLS, a JSON object of base URLs by dialect, MOCK_CONTROL and, if there is only
// one dialect, MOCK_URL.
func (p mockURLs) clientEnv() []string {
	all, _ := json.Marshal(p.baseURLs) // cannot fail for a map of strings
	env := []string{"MOCK_URLS=" + string(all), "MOCK_CONTROL=" + p.controlURL}
	if len(p.baseURLs) == 1 {
		for _, at := range p.baseURLs {
			env = append(env, "MOCK_URL="+at)
		}
	}
	return env
}

// print prints the URLs and the seed, one per line.
func (p mockURLs) print(out io.Writer) {
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
