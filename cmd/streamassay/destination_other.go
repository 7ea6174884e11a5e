//go:build !unix

package main

import (
	"fmt"
	"os"
)

// checkAccess returns nil for every file, because the check is implemented only for Unix. On other
// systems, a file that is not writable is detected only when it is written to.
func checkAccess(string) error { return nil }

// checkDescriptor returns an error unless fd is 1, standard output. On systems other than Unix, no
// other descriptor can be written to by its number.
func checkDescriptor(fd int) error {
	if fd != 1 {
		return fmt.Errorf("descriptor %d: only standard output can be written by number on this system", fd)
	}
	return nil
}

// writeDescriptor writes data to standard output, the only descriptor that [checkDescriptor]
// accepts on systems other than Unix.
func writeDescriptor(_ int, data []byte) error {
	_, err := os.Stdout.Write(data)
	return err
}

// openFIFO opens the FIFO at path for writing. It blocks until a process has opened the FIFO for
// reading.
func openFIFO(path string) (*os.File, error) { return os.OpenFile(path, os.O_WRONLY, 0) }
