package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/streamassay/streamassay/internal/printable"
	"github.com/streamassay/streamassay/internal/replay"
	"github.com/streamassay/streamassay/internal/script"
	"github.com/streamassay/streamassay/internal/transcript"
	"github.com/streamassay/streamassay/mockserver"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// Limits on the scripts and recordings that a mock reads.
const (
	maxFiles       = 10_000  // maximum number of scripts and recordings together
	maxScriptBytes = 1 << 20 // maximum size of one script, in bytes
)

// A mockSources holds the FILE arguments of the mock command: paths of scripts, of recordings, and
// of directories that contain such files.
type mockSources []string

// validate returns a usage error if a path cannot be accessed, or is a file with an unknown
// extension. The argument command is the client command, or nil if there is none. A path may be
// meant as a command: it does not exist, and has neither a directory nor an extension. If command
// is nil, the error for such a path adds that a command comes after "--".
func (p mockSources) validate(command []string) error {
	for _, path := range p {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) && command == nil && path == filepath.Base(path) && filepath.Ext(path) == "" {
			return usageError("%s: %v (a COMMAND comes after --)", path, withoutPath(err))
		}
		if err != nil {
			return usageError("%s: %v", path, withoutPath(err))
		}
		if !info.IsDir() && !isScript(path) && !replay.IsRecording(path) {
			return usageError("%s: must be a script (.yaml, .yml) or a recording (%s)", path, replay.Extensions)
		}
	}
	return nil
}

// isScript reports whether path ends with .yaml or .yml.
func isScript(path string) bool {
	return slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path))
}

// A loadedSources holds the paths of the scripts and recordings of a mock and, once they are read,
// their content.
type loadedSources struct {
	scripts, recordings []string        // paths of files, in the order of the arguments
	rules               *script.RuleSet // content of the scripts; nil if there are none, or if they have errors
	library             *replay.Library // content of the recordings; nil if there are none, or if they have errors
	problems            []fmt.Stringer  // the problems in the files, once they are read
}

// printProblems prints the problems in the files to out, one per line.
func (l loadedSources) printProblems(out io.Writer) {
	for _, one := range l.problems {
		fmt.Fprintln(out, one)
	}
}

// isInvalid reports whether a script or a recording has errors, so that a mock cannot serve the
// files. The files must have been read.
func (l loadedSources) isInvalid() bool {
	return len(l.scripts) > 0 && l.rules == nil || len(l.recordings) > 0 && l.library == nil
}

// summary returns the numbers of scripts and recordings as text, such as "2 scripts, 1 recording".
func (l loadedSources) summary() string {
	return printable.Count(len(l.scripts), "script") + ", " + printable.Count(len(l.recordings), "recording")
}

// find returns the paths of all scripts and recordings in p, including those in directories in p
// and their subdirectories. It does not read the files. It returns a usage error if a path cannot
// be read or if there are more than [maxFiles] files.
func (p mockSources) find() (l loadedSources, err error) {
	for _, path := range p {
		err := filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return usageError("%s: %v", path, withoutPath(err))
			case entry.IsDir():
			case isScript(path):
				l.scripts = append(l.scripts, path)
			case replay.IsRecording(path):
				l.recordings = append(l.recordings, path)
			}
			if len(l.scripts)+len(l.recordings) > maxFiles {
				return usageError("%s: more than %d files", path, maxFiles)
			}
			return nil
		})
		if err != nil {
			return l, err
		}
	}
	return l, nil
}

// read finds and reads all scripts and recordings, and checks them for the given dialects. Use
// [loadedSources.isInvalid] to find out whether the mock can serve the result. An error means that
// files could not be found or read, for example because a script is too large.
func (p mockSources) read(dialects []*dialect.Dialect) (l loadedSources, err error) {
	if l, err = p.find(); err != nil {
		return l, err
	}
	var sources []script.Source
	for _, path := range l.scripts {
		data, err := readScript(path)
		if err != nil {
			return l, usageError("%s: %v", path, withoutPath(err))
		}
		sources = append(sources, script.Source{Name: path, Data: data})
	}
	if len(sources) > 0 {
		var found []script.Problem
		l.rules, found = script.LoadChecked(sources, dialects, judgeReply)
		for _, one := range found {
			l.problems = append(l.problems, one)
		}
	}
	if len(l.recordings) > 0 {
		var found []replay.FileProblem
		l.library, found = replay.Load(l.recordings, dialects)
		for _, one := range found {
			l.problems = append(l.problems, one)
		}
	}
	return l, nil
}

// readScript returns the content of the script at path. It returns an error if the script cannot be
// read or is larger than [maxScriptBytes].
func readScript(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxScriptBytes {
		return nil, fmt.Errorf("script has %d bytes, the maximum is %d", info.Size(), maxScriptBytes)
	}
	return os.ReadFile(path)
}

// load is like read, but also returns an error if the files have errors, or if p is not empty and
// names no script or recording. It prints the problems in the files to out, unless the error is the
// only one.
func (p mockSources) load(out io.Writer, dialects []*dialect.Dialect) (loadedSources, error) {
	l, err := p.read(dialects)
	if l.isInvalid() && len(l.problems) == 1 {
		return l, usageError("%v", l.problems[0])
	}
	l.printProblems(out)
	switch {
	case err != nil:
		return l, err
	case len(p) > 0 && len(l.scripts)+len(l.recordings) == 0:
		return l, usageError("no scripts (.yaml) or recordings (%s) in %s", replay.Extensions, strings.Join(p, ", "))
	case l.isInvalid():
		return l, exitError{exitUsage, "the files have errors (listed above)"}
	}
	return l, nil
}

// check implements the --check flag: it checks the files for the given dialects and prints the
// problems in them to standard output. It returns an error with exit code 1 if a mock could not
// serve the files or a recording is of another dialect, and a usage error if there are no files or
// a file cannot be read.
func (p mockSources) check(sh stdio, dialects []*dialect.Dialect) error {
	if len(p) == 0 {
		return usageError("mock --check: needs at least one FILE")
	}
	l, err := p.read(dialects)
	l.printProblems(sh.out)
	switch {
	case err != nil:
		return err
	case len(l.scripts)+len(l.recordings) == 0:
		return usageError("mock --check: no scripts (.yaml) or recordings (%s) in %s",
			replay.Extensions, strings.Join(p, ", "))
	case l.isInvalid():
		return exitError{exitFailed, ""}
	}
	foreign, err := l.printForeign(sh.out, dialects)
	if err != nil {
		return err
	}
	if foreign {
		return exitError{exitFailed, ""}
	}
	fmt.Fprintf(sh.out, "%s: ok\n", l.summary())
	return nil
}

// printForeign prints to out a message about each recording that would be replayed for one of the
// given dialects although its events look like those of another. It reports whether there is such a
// recording. It returns a usage error if a recording cannot be read.
func (l loadedSources) printForeign(out io.Writer, dialects []*dialect.Dialect) (found bool, err error) {
	list, err := transcript.OpenAll(l.recordings)
	if err != nil {
		return false, usageError("%v", err)
	}
	for _, t := range list {
		i := slices.IndexFunc(dialects, func(d *dialect.Dialect) bool { return t.Dialect == "" || t.Dialect == d.Name })
		if i < 0 {
			continue // ignored, which has been printed
		}
		d := dialects[i]
		if like, _ := suites.ForeignEvents(d, replay.RelativeTrace(t, d)); like != "" {
			fmt.Fprintf(out, "%s: %s\n", t.Name, foreignEventsText(d, like))
			found = true
		}
	}
	return found, nil
}

// settleDelay is the time for which files must stay unchanged before they are read again. It is
// needed because editors write a file in several steps.
const settleDelay = 50 * time.Millisecond

// watch starts to watch the files and, whenever they change, reloads them into the mock m (see
// [mockSources.reload]). It stops when ctx is done or stop is called. If the files cannot be
// watched, watch prints the reason to out and does nothing else. The caller must call stop, which
// waits until a reload in progress has ended. The function stop is never nil.
func (p mockSources) watch(
	ctx context.Context, m *mockserver.Server, dialects []*dialect.Dialect, out io.Writer,
) (stop func()) {
	if len(p) == 0 {
		return func() {}
	}
	w, err := fsnotify.NewWatcher()
	if err == nil {
		err = p.watchDirs(w)
	}
	if err != nil {
		fmt.Fprintf(out, "changed files will not be reloaded: %v\n", err)
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.reloadOnChange(ctx, w, func() {
			_ = p.watchDirs(w) // there may be new directories
			p.reload(m, dialects, out)
		})
	}()
	return func() {
		cancel()
		_ = w.Close()
		<-done
	}
}

// watchDirs adds to w all directories that p names, their subdirectories, and the directories of
// all files that p names. It does not add the files, because some editors replace a file with a new
// one. It returns an error if a directory cannot be watched.
func (p mockSources) watchDirs(w *fsnotify.Watcher) error {
	var errs []error
	for _, path := range p {
		errs = append(errs, filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return nil // removed since
			}
			if !entry.IsDir() {
				path = filepath.Dir(path)
			}
			return w.Add(path)
		}))
	}
	return errors.Join(errs...)
}

// reloadOnChange calls reload when scripts or recordings have changed and [settleDelay] has passed
// without a further change. A new directory and a renamed file or directory also count as changes,
// because they may contain scripts or recordings. reloadOnChange returns when ctx is done or w is
// closed.
func (p mockSources) reloadOnChange(ctx context.Context, w *fsnotify.Watcher, reload func()) {
	timer := time.NewTimer(settleDelay)
	timer.Stop()
	for {
		select {
		case e, ok := <-w.Events:
			if !ok {
				return
			}
			isNewDir := func() bool {
				info, err := os.Stat(e.Name)
				return e.Has(fsnotify.Create) && err == nil && info.IsDir()
			}
			if isScript(e.Name) || replay.IsRecording(e.Name) || e.Has(fsnotify.Rename) || isNewDir() {
				timer.Reset(settleDelay)
			}
		case <-w.Errors: // the next event reloads all files, so a lost one does no harm
		case <-timer.C:
			reload()
		case <-ctx.Done():
			return
		}
	}
}

// reload reads the files again, checks them for the given dialects, and makes the mock m use them.
// If the files have errors or cannot be read, reload prints the errors to out, and the mock keeps
// the files that were loaded before.
func (p mockSources) reload(m *mockserver.Server, dialects []*dialect.Dialect, out io.Writer) {
	l, err := p.read(dialects)
	l.printProblems(out)
	if err != nil {
		fmt.Fprintln(out, err)
	}
	if err != nil || l.isInvalid() {
		fmt.Fprintln(out, "not reloaded: the files have errors, the ones loaded before stay in use")
		return
	}
	m.UpdateSettings("", func(s *mockserver.RuntimeSettings) { s.Scripts, s.Replay = l.rules, l.library })
	fmt.Fprintf(out, "reloaded: %s\n", l.summary())
}
