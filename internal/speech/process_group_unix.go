//go:build unix

package speech

import (
	"os/exec"
	"syscall"
)

// setKillGroup arranges for cmd to run in a process group of its own, and for that group to be
// killed when the context of cmd is done. The group includes child processes of a script.
// setKillGroup must be called before cmd is started.
func setKillGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
