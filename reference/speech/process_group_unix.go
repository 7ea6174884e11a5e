//go:build unix

package speech

import (
	"os/exec"
	"syscall"
)

// setKillGroup runs a command in a process group of its own and makes cmd's context
// kill the whole group, including child processes of a script.
func setKillGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
