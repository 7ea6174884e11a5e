//go:build unix

package speech

import (
	"os/exec"
	"syscall"
)

// group gives a command a process group of its own, and has all of it killed where
// the command is: a script would leave behind what it has started.
func setKillGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
