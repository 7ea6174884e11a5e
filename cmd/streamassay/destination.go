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
	"syscall"
	"time"

	"github.com/streamassay/streamassay/internal/replay"
)

// stdoutPath is the path that stands for standard output.
const stdoutPath = "-"

// maxLinks is the maximum number of symbolic links that are followed to find the file to which a
// path leads. The limit is needed because links can form a loop.
const maxLinks = 40

// fifoTimeout is the maximum time for which a write to a FIFO waits for a process to open the FIFO
// for reading.
const fifoTimeout = 10 * time.Second

// An outputDestination is the place to which a command writes a report, or the content of the ready
// file (--ready-file): a file, or a file descriptor of this process. A regular file is replaced in
// one step. Anything else, such as a device or a FIFO, is opened and written to.
type outputDestination struct {
	path string      // path as the user gave it
	fd   int         // file descriptor of this process that the path names, or -1
	file string      // path with symbolic links resolved; "" for a descriptor
	info fs.FileInfo // info about file, as found by newDestination; nil for a new file or a descriptor
}

// writableDestination returns the destination that path names, or a usage error if it cannot be
// written to. The path "-" stands for standard output. The error begins with name, the flag and its
// value, such as "--expect-report r.json". The destination is not changed.
func writableDestination(name, path string) (outputDestination, error) {
	d, err := newDestination(path)
	if err == nil {
		err = d.checkWritable()
	}
	if err != nil {
		return d, usageError("%s: %v", name, err)
	}
	return d, nil
}

// newDestination returns the destination that path names; "-" stands for standard output. It
// follows symbolic links, but does not create or open the file. It returns an error if path cannot
// name a file, for example because its directory does not exist.
func newDestination(path string) (outputDestination, error) {
	d := outputDestination{path: path, fd: -1}
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

// isFile reports whether the destination is a regular file, or will be one once it is created.
func (d outputDestination) isFile() bool {
	return d.fd < 0 && (d.info == nil || d.info.Mode().IsRegular())
}

// isSame reports whether d and other are the same file or the same file descriptor. A file and a
// descriptor are never the same, even if the descriptor refers to the file.
func (d outputDestination) isSame(other outputDestination) bool {
	if d.fd >= 0 || other.fd >= 0 {
		return d.fd == other.fd
	}
	return d.file == other.file || d.info != nil && other.info != nil && os.SameFile(d.info, other.info)
}

// checkInputs returns a usage error if the destination is one of the input files, or a script or
// recording in one of the input directories, so that writing to it would overwrite the input. The
// error begins with name, which is the flag that set the destination and its value. Inputs that are
// "" or "-" are ignored.
func (d outputDestination) checkInputs(name string, inputs ...string) error {
	for _, path := range inputs {
		in, err := newDestination(filepath.Clean(path))
		if path == "" || err != nil || in.info == nil || !d.isFile() {
			continue
		}
		same := d.isSame(in)
		if in.info.IsDir() && d.info != nil && (isScript(d.file) || replay.IsRecording(d.file)) {
			same, path = strings.HasPrefix(d.file, in.file+string(filepath.Separator)), d.path
		}
		if same {
			return usageError("%s would overwrite the input %s", name, path)
		}
	}
	return nil
}

// checkDistinct returns a usage error if d and other are the same regular file. The error names
// both destinations by name and otherName, their flags with the values, such as "--junit r.xml".
func (d outputDestination) checkDistinct(name string, other outputDestination, otherName string) error {
	if d.isFile() && d.isSame(other) {
		return usageError("%s and %s go to the same place", otherName, name)
	}
	return nil
}

// isStdout reports whether the destination is the regular file to which standard output is
// redirected. The result is false if the path is "-".
func (d outputDestination) isStdout() bool {
	out, err := os.Stdout.Stat()
	return err == nil && d.isFile() && d.info != nil && os.SameFile(out, d.info)
}

// checkWritable returns an error if the destination cannot be written to. It does not change the
// destination and does not block. To check whether a new file can be created, it creates a
// temporary file in the same directory and removes it.
func (d outputDestination) checkWritable() error {
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

// checkFolder returns an error if no file can be created in the existing directory dir. To find
// out, it creates a temporary file and removes it.
func checkFolder(dir string) error {
	probe, err := os.CreateTemp(dir, ".streamassay-*")
	if err != nil {
		return fmt.Errorf("cannot create files in %s: %w", dir, withoutPath(err))
	}
	_ = probe.Close()
	return os.Remove(probe.Name())
}

// write writes data to the destination. If the destination is a FIFO, write waits until another
// process has opened the FIFO for reading. It returns [errNoReader] if none has done so when ctx is
// done or [fifoTimeout] has passed. Other writes ignore ctx.
func (d outputDestination) write(ctx context.Context, data []byte) error {
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

// replace replaces the content of d, a regular file that may not exist yet, with data in one step,
// so that no reader sees only a part of data. If the file exists and no file can be created in its
// directory, replace overwrites the file in place instead.
func (d outputDestination) replace(data []byte) error {
	err := replaceFile(d.file, data)
	if d.info == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	file, err := os.OpenFile(d.file, os.O_WRONLY|os.O_TRUNC, 0)
	return writeAndClose(file, err, data)
}

// writeFIFO writes data to the FIFO once a process has opened the FIFO for reading. It returns
// [errNoReader] if no process does so within [fifoTimeout] or before ctx is done.
func (d outputDestination) writeFIFO(ctx context.Context, data []byte) error {
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

// errNoReader means that no process has opened the FIFO for reading.
var errNoReader = errors.New("is a FIFO without a reader")

// writeAndClose writes data to file and closes the file, even if writing fails. The arguments file
// and err are the results of opening the file; if err is not nil, nothing is written. The returned
// error is the first one from opening, writing or closing the file, without the path of the file.
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

// checkDir returns an error if no file can be created in the directory at path. If the directory
// does not exist, checkDir checks the nearest existing directory above it instead. It does not
// create any directory.
func checkDir(path string) error {
	for {
		info, err := os.Stat(path)
		switch {
		case err == nil && !info.IsDir():
			return fmt.Errorf("%s is a file, want a directory", path)
		case err == nil:
			return checkFolder(path)
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR): // ENOTDIR: below a file
			return withoutPath(err)
		}
		parent := filepath.Dir(path)
		if parent == path {
			return withoutPath(err)
		}
		path = parent
	}
}
