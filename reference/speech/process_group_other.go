//go:build !unix

package speech

import "os/exec"

// setKillGroup makes cmd's context kill only the command itself, as there are no
// process groups.
func setKillGroup(cmd *exec.Cmd) { cmd.Cancel = func() error { return cmd.Process.Kill() } }
