//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// checkAccess returns an error if the existing file at path cannot be written to. It does not open
// the file: if the file is a FIFO, opening it would let a waiting reader continue.
func checkAccess(path string) error {
	const write = 2 // W_OK
	if err := syscall.Access(path, write); err != nil {
		return fmt.Errorf("not writable: %w", err)
	}
	return nil
}

// checkDescriptor returns an error unless fd is a descriptor of this process that is open for
// writing.
func checkDescriptor(fd int) error {
	var stat syscall.Stat_t
	if err := syscall.Fstat(fd, &stat); err != nil {
		return fmt.Errorf("descriptor %d is not open", fd)
	}
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFL, 0)
	// A descriptor without a file type belongs to the Go runtime, such as its poller.
	if stat.Mode&syscall.S_IFMT == 0 || errno != 0 || flags&syscall.O_ACCMODE == syscall.O_RDONLY {
		return fmt.Errorf("descriptor %d is not open for writing", fd)
	}
	return nil
}

// writeDescriptor writes data to fd, a descriptor of this process, and leaves the descriptor open.
func writeDescriptor(fd int, data []byte) error {
	own, err := syscall.Dup(fd)
	if err != nil {
		return err
	}
	return writeAndClose(os.NewFile(uintptr(own), fmt.Sprintf("descriptor %d", fd)), nil, data)
}

// openFIFO opens the FIFO at path for writing, without blocking. It returns [errNoReader] if no
// process has opened the FIFO for reading.
func openFIFO(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ENXIO) {
		return nil, errNoReader
	}
	return file, err
}
