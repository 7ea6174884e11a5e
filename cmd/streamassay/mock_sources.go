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

	"github.com/streamassay/streamassay/mockserver"
	"github.com/streamassay/streamassay/mockserver/replay"
	"github.com/streamassay/streamassay/mockserver/script"
	"github.com/streamassay/streamassay/spec/dialect"
)

// What a mock reads at most.
const (
	maxFiles       = 10_000
	maxScriptBytes = 1 << 20 // bytes of a script
)

// A mockSources is what a mock was given: scripts, and recordings.
type mockSources struct {
	paths []string // as they were named; directories are looked into each time
}

// newMockSources says what is wrong with the names.
func newMockSources(paths []string) (mockSources, error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return mockSources{}, usageError("%s: %v", path, withoutPath(err))
		}
		if !info.IsDir() && !isScript(path) && !replay.IsRecording(path) {
			return mockSources{}, usageError("%s: it is no script (.yaml) and no recording (%s)", path, replay.Extensions)
		}
	}
	return mockSources{paths}, nil
}

func isScript(path string) bool {
	return slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path))
}

// files are the scripts and the recordings, in the order of the names.
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
				return usageError("%s: there are more than %d files", path, maxFiles)
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return scripts, recordings, nil
}

// parse are the scripts and recordings as they are now, with what is wrong with them.
func (p mockSources) parse(dialects []*dialect.Dialect) (set *script.RuleSet, library *replay.Library, problems []string, err error) {
	scripts, recordings, err := p.files()
	if err != nil {
		return nil, nil, nil, err
	}
	var sources []script.Source
	for _, path := range scripts {
		info, err := os.Stat(path)
		if err == nil && info.Size() > maxScriptBytes {
			err = fmt.Errorf("it has %d bytes, and a script has %d at most", info.Size(), maxScriptBytes)
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
		var found []replay.Problem
		library, found = replay.Load(recordings, dialects)
		for _, one := range found {
			problems = append(problems, one.String())
		}
	}
	return set, library, problems, nil
}

// load reads them for a mock that is started. Warnings are told.
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
		return nil, nil, usageError("there is no script and no recording in %s", strings.Join(p.paths, ", "))
	}
	if len(scripts) > 0 && set == nil || len(recordings) > 0 && library == nil {
		return nil, nil, exitError{exitUsage, "the files above cannot be played"}
	}
	return set, library, nil
}

// check says what is wrong, and nothing else.
func (p mockSources) check(sh stdio, dialects []*dialect.Dialect) error {
	if len(p.paths) == 0 {
		return usageError("mock --check: name the FILEs that are to be looked at")
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
		return usageError("mock --check: there is no script and no recording in %v", p.paths)
	case len(scripts) > 0 && set == nil || len(recordings) > 0 && library == nil:
		return exitError{exitFailed, ""}
	}
	fmt.Fprintf(sh.out, "%s and %s can be played\n", countNoun(len(scripts), "script"), countNoun(len(recordings), "recording"))
	return nil
}

// settleDelay is how long files have to stay as they are before they are read again: editors
// write in several steps.
const settleDelay = 50 * time.Millisecond

// watch loads the files again when they change. What cannot be played is told, and what
// was played before goes on.
func (p mockSources) watch(ctx context.Context, m *mockserver.Server, dialects []*dialect.Dialect, out io.Writer) (stop func()) {
	if len(p.paths) == 0 {
		return func() {}
	}
	w, err := fsnotify.NewWatcher()
	if err == nil {
		err = p.watchDirs(w)
	}
	if err != nil {
		fmt.Fprintf(out, "files that change are not loaded again: %v\n", err)
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

// watchDirs watches the directories in which the files stand: editors put a new file in the
// place of the old one.
func (p mockSources) watchDirs(w *fsnotify.Watcher) error {
	var errs []error
	for _, path := range p.paths {
		errs = append(errs, filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return nil // it has just gone
			}
			if !entry.IsDir() {
				path = filepath.Dir(path)
			}
			return w.Add(path)
		}))
	}
	return errors.Join(errs...)
}

// reloadOnChange calls again whenever files have changed, and settled.
func (p mockSources) reloadOnChange(ctx context.Context, w *fsnotify.Watcher, again func()) {
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
		case <-w.Errors: // what was lost is seen with the next change
		case <-timer.C:
			again()
		case <-ctx.Done():
			return
		}
	}
}

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
		fmt.Fprintln(out, "the files cannot be played: what was loaded before goes on")
		return
	}
	m.UpdateSettings("", func(s *mockserver.Settings) { s.Scripts, s.Replay = set, library })
	fmt.Fprintf(out, "loaded again: %s, %s\n", countNoun(len(scripts), "script"), countNoun(len(recordings), "recording"))
}

// countNoun says how many of something there are.
func countNoun(n int, one string) string {
	if n != 1 {
		one += "s"
	}
	return fmt.Sprintf("%d %s", n, one)
}
