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
	mostFiles  = 10_000
	mostScript = 1 << 20 // bytes of a script
)

// A playbook is what a mock was given: scripts, and recordings.
type playbook struct {
	paths []string // as they were named; directories are looked into each time
}

// playbookNamed says what is wrong with the names.
func playbookNamed(paths []string) (playbook, error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return playbook{}, usage("%s: %v", path, plainError(err))
		}
		if !info.IsDir() && !isScript(path) && !replay.Reads(path) {
			return playbook{}, usage("%s: it is no script (.yaml) and no recording (%s)", path, replay.Kinds)
		}
	}
	return playbook{paths}, nil
}

func isScript(path string) bool {
	return slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path))
}

// all are the scripts and the recordings, in the order of the names.
func (p playbook) all() (scripts, recordings []string, err error) {
	for _, path := range p.paths {
		err := filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return usage("%s: %v", path, plainError(err))
			case entry.IsDir():
			case isScript(path):
				scripts = append(scripts, path)
			case replay.Reads(path):
				recordings = append(recordings, path)
			}
			if len(scripts)+len(recordings) > mostFiles {
				return usage("%s: there are more than %d files", path, mostFiles)
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return scripts, recordings, nil
}

// read are the scripts and recordings as they are now, with what is wrong with them.
func (p playbook) read(dialects []*dialect.Dialect) (set *script.Set, library *replay.Library, problems []string, err error) {
	scripts, recordings, err := p.all()
	if err != nil {
		return nil, nil, nil, err
	}
	var sources []script.Source
	for _, path := range scripts {
		info, err := os.Stat(path)
		if err == nil && info.Size() > mostScript {
			err = fmt.Errorf("it has %d bytes, and a script has %d at most", info.Size(), mostScript)
		}
		var data []byte
		if err == nil {
			data, err = os.ReadFile(path)
		}
		if err != nil {
			return nil, nil, nil, usage("%s: %v", path, plainError(err))
		}
		sources = append(sources, script.Source{Name: path, Data: data})
	}
	if len(sources) > 0 {
		var found []script.Problem
		set, found = script.LoadJudged(sources, dialects, judgeReply)
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
func (p playbook) load(out io.Writer, dialects []*dialect.Dialect) (*script.Set, *replay.Library, error) {
	set, library, problems, err := p.read(dialects)
	if err != nil {
		return nil, nil, err
	}
	for _, text := range problems {
		fmt.Fprintln(out, text)
	}
	scripts, recordings, _ := p.all()
	if len(p.paths) > 0 && len(scripts)+len(recordings) == 0 {
		return nil, nil, usage("there is no script and no recording in %s", strings.Join(p.paths, ", "))
	}
	if len(scripts) > 0 && set == nil || len(recordings) > 0 && library == nil {
		return nil, nil, exitError{exitUsage, "the files above cannot be played"}
	}
	return set, library, nil
}

// check says what is wrong, and nothing else.
func (p playbook) check(sh shell, dialects []*dialect.Dialect) error {
	if len(p.paths) == 0 {
		return usage("mock --check: name the FILEs that are to be looked at")
	}
	set, library, problems, err := p.read(dialects)
	if err != nil {
		return err
	}
	for _, text := range problems {
		fmt.Fprintln(sh.out, text)
	}
	scripts, recordings, _ := p.all()
	switch {
	case len(scripts)+len(recordings) == 0:
		return usage("mock --check: there is no script and no recording in %v", p.paths)
	case len(scripts) > 0 && set == nil || len(recordings) > 0 && library == nil:
		return exitError{exitBroken, ""}
	}
	fmt.Fprintf(sh.out, "%s and %s can be played\n", counted(len(scripts), "script"), counted(len(recordings), "recording"))
	return nil
}

// settle is how long files have to stay as they are before they are read again: editors
// write in several steps.
const settle = 50 * time.Millisecond

// watch loads the files again when they change. What cannot be played is told, and what
// was played before goes on.
func (p playbook) watch(ctx context.Context, m *mockserver.Server, dialects []*dialect.Dialect, out io.Writer) (stop func()) {
	if len(p.paths) == 0 {
		return func() {}
	}
	w, err := fsnotify.NewWatcher()
	if err == nil {
		err = p.attend(w)
	}
	if err != nil {
		fmt.Fprintf(out, "files that change are not loaded again: %v\n", err)
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.follow(ctx, w, func() {
			_ = p.attend(w) // there may be new directories
			p.reload(m, dialects, out)
		})
	}()
	return func() {
		cancel()
		_ = w.Close()
		<-done
	}
}

// attend watches the directories in which the files stand: editors put a new file in the
// place of the old one.
func (p playbook) attend(w *fsnotify.Watcher) error {
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

// follow calls again whenever files have changed, and settled.
func (p playbook) follow(ctx context.Context, w *fsnotify.Watcher, again func()) {
	timer := time.NewTimer(settle)
	timer.Stop()
	for {
		select {
		case e, ok := <-w.Events:
			if !ok {
				return
			}
			if isScript(e.Name) || replay.Reads(e.Name) {
				timer.Reset(settle)
			}
		case <-w.Errors: // what was lost is seen with the next change
		case <-timer.C:
			again()
		case <-ctx.Done():
			return
		}
	}
}

func (p playbook) reload(m *mockserver.Server, dialects []*dialect.Dialect, out io.Writer) {
	set, library, problems, err := p.read(dialects)
	if err != nil {
		problems = append(problems, err.Error())
	}
	for _, text := range problems {
		fmt.Fprintln(out, text)
	}
	scripts, recordings, _ := p.all()
	if err != nil || len(scripts) > 0 && set == nil || len(recordings) > 0 && library == nil {
		fmt.Fprintln(out, "the files cannot be played: what was loaded before goes on")
		return
	}
	m.Change("", func(s *mockserver.Settings) { s.Scripts, s.Replay = set, library })
	fmt.Fprintf(out, "loaded again: %s, %s\n", counted(len(scripts), "script"), counted(len(recordings), "recording"))
}

// counted says how many of something there are.
func counted(n int, one string) string {
	if n != 1 {
		one += "s"
	}
	return fmt.Sprintf("%d %s", n, one)
}
