//go:build !unix

package main

import (
	"fmt"
	"os"
)

// checkAccess is not implemented on this system; a file that cannot be written is noticed late.
func checkAccess(string) error { return nil }

// checkDescriptor returns an error for all descriptors but standard output.
func checkDescriptor(fd int) error {
	if fd != 1 {
		return fmt.Errorf("descriptor %d: only standard output can be written by number on this system", fd)
	}
	return nil
}

// writeDescriptor writes data to standard output.
func writeDescriptor(_ int, data []byte) error {
	_, err := os.Stdout.Write(data)
	return err
}

// openFIFO opens a FIFO for writing and waits for its reader.
func openFIFO(path string) (*os.File, error) { return os.OpenFile(path, os.O_WRONLY, 0) }
