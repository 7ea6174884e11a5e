package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// stdoutPath is the path that stands for standard output.
const stdoutPath = "-"

// maxLinks is the maximum number of symbolic links that are followed to find the file that a path
// names. The limit is needed because links can form a loop.
const maxLinks = 40

// fifoTimeout is the maximum time that a write to a FIFO waits for a process to open the FIFO for
// reading.
const fifoTimeout = 10 * time.Second

// A destination is a file to which a report or a ready file is written. A regular file is
// replaced in one step; anything else (a device, a FIFO, a descriptor) is opened and written to.
type destination struct {
	path string      // as given
	fd   int         // descriptor of this process that the path names, or -1
	file string      // path with symbolic links resolved; "" for a descriptor
	info fs.FileInfo // of the existing file, or nil
}

// newDestination returns the destination that a path names. It returns an error if the path cannot
// be a file; the error does not contain the path, which the caller adds.
func newDestination(path string) (destination, error) {
	d := destination{path: path, fd: -1}
	switch {
	case path == stdoutPath:
		d.fd = 1
		return d, nil
	case strings.HasSuffix(path, string(filepath.Separator)):
		return d, errors.New("is a directory, want a file")
	}
	at := path
	for range maxLinks {
		dir, err := filepath.EvalSymlinks(filepath.Dir(at))
		if err == nil {
			dir, err = filepath.Abs(dir)
		}
		if err != nil {
			return d, fmt.Errorf("directory %s does not exist", filepath.Dir(at))
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return d, fmt.Errorf("%s is not a directory", filepath.Dir(at))
		}
		name := filepath.Base(at)
		if fd, err := strconv.Atoi(name); err == nil && isDescriptorDir(dir) {
			d.fd = fd
			return d, nil
		}
		d.file = filepath.Join(dir, name)
		info, err := os.Lstat(d.file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return d, nil
		case err != nil:
			return d, withoutPath(err)
		case info.Mode()&fs.ModeSymlink == 0 || strings.HasPrefix(dir, "/proc/"): // links in /proc cannot be resolved by name
			d.info, err = os.Stat(d.file)
			return d, err
		}
		link, err := os.Readlink(d.file)
		if err != nil {
			return d, withoutPath(err)
		}
		if at = link; !filepath.IsAbs(link) {
			at = filepath.Join(dir, link)
		}
	}
	return d, errors.New("too many symbolic links")
}

// isDescriptorDir reports whether dir is a directory, such as /dev/fd, in which the system lists
// the open descriptors of this process.
func isDescriptorDir(dir string) bool {
	return dir == "/dev/fd" || dir == fmt.Sprintf("/proc/%d/fd", os.Getpid())
}

// isFile reports whether the destination is a regular file, or would be one if it were created.
func (d destination) isFile() bool { return d.fd < 0 && (d.info == nil || d.info.Mode().IsRegular()) }

// isSame reports whether both destinations are the same file or the same descriptor.
func (d destination) isSame(other destination) bool {
	if d.fd >= 0 || other.fd >= 0 {
		return d.fd == other.fd
	}
	return d.file == other.file || d.info != nil && other.info != nil && os.SameFile(d.info, other.info)
}

// isStdout reports whether the destination is the regular file that standard output is redirected
// to.
func (d destination) isStdout() bool {
	out, err := os.Stdout.Stat()
	return err == nil && d.isFile() && d.info != nil && os.SameFile(out, d.info)
}

// checkWritable returns an error if the destination cannot be written. It does not change the
// destination and does not block. For a new file, it creates and removes a temporary file in the
// same directory.
func (d destination) checkWritable() error {
	switch {
	case d.fd >= 0:
		return checkDescriptor(d.fd)
	case d.info == nil:
		return checkFolder(filepath.Dir(d.file))
	case d.info.IsDir():
		return errors.New("is a directory, want a file")
	case d.info.Mode().IsRegular():
		file, err := os.OpenFile(d.file, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("not writable: %w", withoutPath(err))
		}
		return file.Close()
	case d.info.Mode()&fs.ModeSocket != 0:
		return errors.New("is a socket, want a file")
	}
	return checkAccess(d.file)
}

// checkFolder returns an error if no file can be created in dir, an existing directory. To find
// out, it creates a temporary file and removes it.
func checkFolder(dir string) error {
	probe, err := os.CreateTemp(dir, ".streamassay-*")
	if err != nil {
		return fmt.Errorf("cannot create files in %s: %w", dir, withoutPath(err))
	}
	_ = probe.Close()
	return os.Remove(probe.Name())
}

// write writes data to the destination. If the destination is a FIFO, write waits for a reader, but
// not after ctx is done. Other writes ignore ctx.
func (d destination) write(ctx context.Context, data []byte) error {
	switch {
	case d.fd >= 0:
		return writeDescriptor(d.fd, data)
	case d.isFile():
		return d.replace(data)
	case d.info.Mode()&fs.ModeNamedPipe != 0:
		return d.writeFIFO(ctx, data)
	}
	file, err := os.OpenFile(d.file, os.O_WRONLY, 0)
	return writeAndClose(file, err, data)
}

// replace replaces the content of a regular file in one step, so that no reader sees a part of the
// new content. If no file can be created in the directory of an existing file, the file is
// overwritten in place.
func (d destination) replace(data []byte) error {
	err := replaceFile(d.file, data)
	if d.info == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	file, err := os.OpenFile(d.file, os.O_WRONLY|os.O_TRUNC, 0)
	return writeAndClose(file, err, data)
}

// writeFIFO writes data to a FIFO once a process has opened it for reading. It returns
// [errNoReader] if no process does so within [fifoTimeout] or before ctx ends.
func (d destination) writeFIFO(ctx context.Context, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, fifoTimeout)
	defer cancel()
	for {
		file, err := openFIFO(d.file)
		if !errors.Is(err, errNoReader) {
			return writeAndClose(file, err, data)
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// errNoReader means that no process has opened a FIFO for reading.
var errNoReader = errors.New("is a FIFO without a reader")

// writeAndClose writes data to file and closes it, even if writing fails. Its first two arguments are
// the results of opening the file: if err is not nil, writeAndClose writes nothing and returns err.
// It removes the path of the file from the error that it returns.
func writeAndClose(file *os.File, err error, data []byte) error {
	if err != nil {
		return withoutPath(err)
	}
	_, err = file.Write(data)
	if closed := file.Close(); err == nil {
		err = closed
	}
	return withoutPath(err)
}

// checkDir returns an error if no file can be created in the directory path. If the directory does
// not exist, the nearest existing directory above it is checked instead. No directory is created.
func checkDir(path string) error {
	for {
		info, err := os.Stat(path)
		switch {
		case err == nil && !info.IsDir():
			return fmt.Errorf("%s is a file, want a directory", path)
		case err == nil:
			return checkFolder(path)
		case !errors.Is(err, fs.ErrNotExist):
			return withoutPath(err)
		}
		parent := filepath.Dir(path)
		if parent == path {
			return withoutPath(err)
		}
		path = parent
	}
}
