package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/spf13/cobra"
)

// splitCommand divides args, the arguments of cmd, into those before "--" and the client command
// after it. The command is nil if there is no "--". splitCommand returns a usage error if the
// command is empty or its program is not found.
func splitCommand(cmd *cobra.Command, args []string) (before, command []string, err error) {
	at := cmd.ArgsLenAtDash()
	if at < 0 {
		return args, nil, nil
	}
	if before, command = args[:at], args[at:]; len(command) == 0 {
		return nil, nil, usageError("no COMMAND after --")
	}
	if _, err := exec.LookPath(command[0]); err != nil {
		return nil, nil, usageError("cannot run COMMAND %s: %v", command[0], withoutPath(err))
	}
	return before, command, nil
}

// waitForEnd waits until the server must shut down. It runs the client command, with the URLs in
// settings as environment variables such as MOCK_URL, and waits until the command has ended. If
// command is empty, it waits until ctx is done. It stops early, and ends the command, if ctx is
// done or if an error of a listener arrives on failed.
//
// waitForEnd returns nil if the command succeeded, or if ctx is done and there is no command.
// Otherwise, it returns an error that carries the exit code for this program.
func waitForEnd(
	ctx context.Context, sh stdio, settings clientURLs, failed <-chan error, command []string,
) error {
	if len(command) == 0 {
		select {
		case err := <-failed:
			return exitError{exitInternal, err.Error()}
		case <-ctx.Done():
			return nil
		}
	}
	clientCtx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- runClient(clientCtx, sh, settings, command) }()
	select {
	case err := <-failed:
		stop()
		<-ended
		return exitError{exitInternal, err.Error()}
	case err := <-ended:
		return err
	case <-ctx.Done():
		<-ended
		return interruptExit(ctx)
	}
}

// interruptExit returns an error that ends the program with the exit code for the signal that
// canceled ctx: 130 for SIGINT and 143 for SIGTERM.
func interruptExit(ctx context.Context) error {
	i, _ := interruptedBy(ctx)
	return exitError{code: i.exitCode()}
}

// runClient runs the client command with the URLs in settings as environment variables, and waits
// until it has ended. If ctx is done first, runClient sends SIGTERM to the command, and kills it
// after a further [shutdownGrace]. It returns nil if the command succeeded. The exit code of the
// error is 1 if the command failed, 2 if it could not be started, and 130 or 143 if a signal
// canceled ctx.
func runClient(ctx context.Context, sh stdio, settings clientURLs, command []string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = sh.in, sh.out, sh.err
	cmd.Env = append(os.Environ(), settings.clientEnv()...)
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
		hint := ""
		if len(settings.baseURLs) > 1 {
			hint = fmt.Sprintf(" (%s_URL is not set, because several dialects are served: use %[1]s_URLS or one --dialect)",
				settings.envPrefix)
		}
		return exitError{exitFailed, "command " + command[0] + " failed: " + exit.Error() + hint}
	}
	return usageError("%s: %v", command[0], err)
}
