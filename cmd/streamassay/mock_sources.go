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

	"github.com/streamassay/streamassay/internal/replay"
	"github.com/streamassay/streamassay/internal/script"
	"github.com/streamassay/streamassay/mockserver"
	"github.com/streamassay/streamassay/spec/dialect"
)

// Limits on the scripts and recordings that a mock reads.
const (
	maxFiles       = 10_000
	maxScriptBytes = 1 << 20 // bytes of a script
)

// A mockSources holds the FILE arguments of a mock: scripts, recordings and directories of them.
type mockSources struct {
	paths []string // as given; directories are read again at each load
}

// newMockSources returns the sources that the FILE arguments of the command mock name. It returns
// an error if a path does not exist or has an unknown extension.
func newMockSources(paths []string) (mockSources, error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return mockSources{}, usageError("%s: %v", path, withoutPath(err))
		}
		if !info.IsDir() && !isScript(path) && !replay.IsRecording(path) {
			return mockSources{}, usageError("%s: must be a script (.yaml, .yml) or a recording (%s)", path, replay.Extensions)
		}
	}
	return mockSources{paths}, nil
}

// isScript reports whether a file name has the extension of scripts.
func isScript(path string) bool {
	return slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path))
}

// files returns the paths of all scripts and all recordings, in the order of the arguments.
// Directories are searched anew at each call. An error means that a path cannot be read or that
// there are too many files.
func (p mockSources) files() (scripts, recordings []string, err error) {
	for _, path := range p.paths {
		err := filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return usageError("%s: %v", path, withoutPath(err))
			case entry.IsDir():
			case isScript(path):
				scripts = append(scripts, path)
			case replay.IsRecording(path):
				recordings = append(recordings, path)
			}
			if len(scripts)+len(recordings) > maxFiles {
				return usageError("%s: more than %d files", path, maxFiles)
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return scripts, recordings, nil
}

// parse reads all scripts and recordings. It returns the rules of the scripts and the library of
// the recordings; either is nil if there are no such files, or if these files have errors. problems
// holds the problems in the files as messages for people. err means that the files cannot be read,
// for example because one is too large.
func (p mockSources) parse(dialects []*dialect.Dialect) (
	set *script.RuleSet, library *replay.Library, problems []string, err error,
) {
	scripts, recordings, err := p.files()
	if err != nil {
		return nil, nil, nil, err
	}
	var sources []script.Source
	for _, path := range scripts {
		info, err := os.Stat(path)
		if err == nil && info.Size() > maxScriptBytes {
			err = fmt.Errorf("script has %d bytes, the maximum is %d", info.Size(), maxScriptBytes)
		}
		var data []byte
		if err == nil {
			data, err = os.ReadFile(path)
		}
		if err != nil {
			return nil, nil, nil, usageError("%s: %v", path, withoutPath(err))
		}
		sources = append(sources, script.Source{Name: path, Data: data})
	}
	if len(sources) > 0 {
		var found []script.Problem
		set, found = script.LoadChecked(sources, dialects, judgeReply)
		for _, one := range found {
			problems = append(problems, one.String())
		}
	}
	if len(recordings) > 0 {
		var found []replay.FileProblem
		library, found = replay.Load(recordings, dialects)
		for _, one := range found {
			problems = append(problems, one.String())
		}
	}
	return set, library, problems, nil
}

// load parses the files before a mock serves, and prints the problems in them to out. It returns an
// error if the files have errors, or if paths were given and contain no scripts or recordings.
func (p mockSources) load(out io.Writer, dialects []*dialect.Dialect) (*script.RuleSet, *replay.Library, error) {
	set, library, problems, err := p.parse(dialects)
	if err != nil {
		return nil, nil, err
	}
	for _, text := range problems {
		fmt.Fprintln(out, text)
	}
	scripts, recordings, _ := p.files()
	if len(p.paths) > 0 && len(scripts)+len(recordings) == 0 {
		return nil, nil, usageError("no scripts (.yaml) or recordings (%s) in %s",
			replay.Extensions, strings.Join(p.paths, ", "))
	}
	if len(scripts) > 0 && set == nil || len(recordings) > 0 && library == nil {
		return nil, nil, exitError{exitUsage, "the files have errors (listed above)"}
	}
	return set, library, nil
}

// check prints the problems in the files, for the flag --check. It returns an error with exit code
// 1 if the files have errors, so that a mock could not serve them.
func (p mockSources) check(sh stdio, dialects []*dialect.Dialect) error {
	if len(p.paths) == 0 {
		return usageError("mock --check: needs at least one FILE")
	}
	set, library, problems, err := p.parse(dialects)
	if err != nil {
		return err
	}
	for _, text := range problems {
		fmt.Fprintln(sh.out, text)
	}
	scripts, recordings, _ := p.files()
	switch {
	case len(scripts)+len(recordings) == 0:
		return usageError("mock --check: no scripts (.yaml) or recordings (%s) in %s",
			replay.Extensions, strings.Join(p.paths, ", "))
	case len(scripts) > 0 && set == nil || len(recordings) > 0 && library == nil:
		return exitError{exitFailed, ""}
	}
	fmt.Fprintf(sh.out, "%s, %s: ok\n", countNoun(len(scripts), "script"), countNoun(len(recordings), "recording"))
	return nil
}

// settleDelay is how long files must stay unchanged before they are read again, because editors
// write a file in several steps.
const settleDelay = 50 * time.Millisecond

// watch starts to reload the files whenever they change, and returns a function that ends this. If
// the changed files have errors, the errors are printed to out, and the mock keeps the files loaded
// before.
func (p mockSources) watch(
	ctx context.Context, m *mockserver.Server, dialects []*dialect.Dialect, out io.Writer,
) (stop func()) {
	if len(p.paths) == 0 {
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

// watchDirs makes w watch the directories that contain the files. The files themselves are not
// watched, because editors replace a file by a new one.
func (p mockSources) watchDirs(w *fsnotify.Watcher) error {
	var errs []error
	for _, path := range p.paths {
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

// reloadOnChange calls reload each time files have changed and then stayed unchanged for
// [settleDelay]. It returns when ctx ends or w is closed.
func (p mockSources) reloadOnChange(ctx context.Context, w *fsnotify.Watcher, reload func()) {
	timer := time.NewTimer(settleDelay)
	timer.Stop()
	for {
		select {
		case e, ok := <-w.Events:
			if !ok {
				return
			}
			if isScript(e.Name) || replay.IsRecording(e.Name) {
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

// reload parses the files again and makes the mock use them. If the files have errors, the errors
// are printed to out, and the mock keeps the files loaded before.
func (p mockSources) reload(m *mockserver.Server, dialects []*dialect.Dialect, out io.Writer) {
	set, library, problems, err := p.parse(dialects)
	if err != nil {
		problems = append(problems, err.Error())
	}
	for _, text := range problems {
		fmt.Fprintln(out, text)
	}
	scripts, recordings, _ := p.files()
	if err != nil || len(scripts) > 0 && set == nil || len(recordings) > 0 && library == nil {
		fmt.Fprintln(out, "not reloaded: the files have errors, the ones loaded before stay in use")
		return
	}
	m.UpdateSettings("", func(s *mockserver.Settings) { s.Scripts, s.Replay = set, library })
	fmt.Fprintf(out, "reloaded: %s, %s\n", countNoun(len(scripts), "script"), countNoun(len(recordings), "recording"))
}

// countNoun returns a number with a noun, in the plural unless n is 1: "1 script", "2 scripts".
func countNoun(n int, one string) string {
	if n != 1 {
		one += "s"
	}
	return fmt.Sprintf("%d %s", n, one)
}
