//go:build !unix

package speech

import "os/exec"

// group has a command killed alone: there are no process groups.
func setKillGroup(cmd *exec.Cmd) { cmd.Cancel = func() error { return cmd.Process.Kill() } }
