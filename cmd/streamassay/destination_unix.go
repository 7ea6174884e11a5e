//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// checkAccess returns why a file that is there cannot be written. It is not opened: that
// would be seen at the other end of a FIFO.
func checkAccess(path string) error {
	const write = 2 // W_OK
	if err := syscall.Access(path, write); err != nil {
		return fmt.Errorf("it cannot be written: %w", err)
	}
	return nil
}

// checkDescriptor returns why a descriptor of this process cannot be written.
func checkDescriptor(fd int) error {
	var stat syscall.Stat_t
	if err := syscall.Fstat(fd, &stat); err != nil {
		return fmt.Errorf("descriptor %d is not open", fd)
	}
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFL, 0)
	// What has no type is of the runtime, such as its poller.
	if stat.Mode&syscall.S_IFMT == 0 || errno != 0 || flags&syscall.O_ACCMODE == syscall.O_RDONLY {
		return fmt.Errorf("descriptor %d is not open for writing", fd)
	}
	return nil
}

// writeDescriptor writes to a descriptor of this process, which stays open.
func writeDescriptor(fd int, data []byte) error {
	own, err := syscall.Dup(fd)
	if err != nil {
		return err
	}
	return writeAndClose(os.NewFile(uintptr(own), fmt.Sprintf("descriptor %d", fd)), nil, data)
}

// openFIFO opens a FIFO for writing; errNoReader is returned where nobody reads it.
func openFIFO(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ENXIO) {
		return nil, errNoReader
	}
	return file, err
}
