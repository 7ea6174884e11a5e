//go:build !unix

package speech

import "os/exec"

// setKillGroup arranges for cmd to be killed when its context is done. Child processes of cmd are
// not killed, because this system has no process groups.
func setKillGroup(cmd *exec.Cmd) { cmd.Cancel = func() error { return cmd.Process.Kill() } }
