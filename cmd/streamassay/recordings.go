package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/streamassay/streamassay/internal/replay"
	"github.com/streamassay/streamassay/internal/transcript"
	"github.com/streamassay/streamassay/spec/dialect"
)

// maxRecordings is the maximum number of recordings that are read from one directory, including the
// directories below it.
const maxRecordings = 10000

// stdinPath is the argument of the lint command that stands for standard input.
const stdinPath = "-"

// recordingsIn returns the paths of the recordings in the directory root and all directories below
// it, in lexical order. If root is a file, the result is only root. recordingsIn returns a usage
// error if root cannot be read, or if it contains no recordings or more than [maxRecordings].
func recordingsIn(root string) (files []string, err error) {
	err = filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return usageError("%s: %v", file, withoutPath(err))
		case entry.IsDir() || file != root && !replay.IsRecording(file):
			return nil
		case len(files) == maxRecordings:
			return usageError("%s: more than %d recordings, give a directory with fewer", root, maxRecordings)
		}
		files = append(files, file)
		return nil
	})
	if err == nil && len(files) == 0 {
		err = usageError("%s: contains no recordings (%s)", root, replay.Extensions)
	}
	return files, err
}

// foreignEventsText returns a message for a recording whose events are not those of dialect d but
// look like those of the dialect with the name like, or of no known dialect if like is "".
func foreignEventsText(d *dialect.Dialect, like string) string {
	if like == "" {
		return fmt.Sprintf("the events are not those of %s, nor of any other dialect that streamassay knows", d.Name)
	}
	return fmt.Sprintf("the events are not those of %s but look like %s: try --dialect %[2]s", d.Name, like)
}

// openRecordings reads the recordings that the arguments of the lint command name. Each element of
// paths is a file, a directory of recordings, or "-" for standard input. The result is in the order
// of paths, except that standard input comes last. Errors are usage errors.
func openRecordings(sh stdio, paths []string) (list []*transcript.Transcript, err error) {
	var files []string
	stdin := false
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case path == stdinPath && stdin:
			return nil, usageError("standard input (-) is given twice")
		case path == stdinPath:
			stdin = true
		case err == nil && info.IsDir():
			in, err := recordingsIn(path)
			if err != nil {
				return nil, err
			}
			files = append(files, in...)
		case err != nil:
			return nil, usageError("%s: %v", path, withoutPath(err))
		default:
			files = append(files, path)
		}
	}
	if list, err = transcript.OpenAll(files); err != nil {
		return nil, usageError("%v", err)
	}
	if stdin {
		t, err := transcript.Read("standard input", sh.in)
		if err != nil {
			return nil, usageError("%v", err)
		}
		list = append(list, t)
	}
	return list, nil
}
