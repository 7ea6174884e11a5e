//go:build unix

package speech

import (
	"os/exec"
	"syscall"
)

// setKillGroup makes cmd run in a process group of its own. When the context of cmd is done, the
// whole group is killed, including the child processes of cmd. setKillGroup must be called before
// cmd is started.
func setKillGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
