package durable

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/streamassay/streamassay/internal/state"
)

func TestSQLite(t *testing.T) {
	contract(t, func(t *testing.T, cfg state.Config) state.Store {
		return openFile(t, filepath.Join(t.TempDir(), "a b?c#%41.db"), cfg)
	})
}

func openFile(t testing.TB, path string, cfg state.Config) *sqliteStore {
	t.Helper()
	s, err := OpenSQLite(path, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.(*sqliteStore)
}

// TestSQLiteReopen checks that data is still there when the file is opened again, and that runs
// that had not ended are orphans.
func TestSQLiteReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	p := &probe{T: t, s: openFile(t, path, state.Config{})}
	a, b, over := p.run("t", "a"), p.run("t", "b"), p.run("u", "\x00over")
	p.tell(a, "1", "2")
	p.tell(b, "3")
	p.told(over, state.AppendBatch{Events: [][]byte{[]byte("1")}, Messages: []state.Message{{ID: "m", At: day(0)}}, End: true})
	p.cancel(b)
	was := p.thread("t")
	secret, _ := p.s.Secret(t.Context())
	latest, _ := p.s.LatestThread(t.Context(), "", "")
	if err := p.s.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(path + "*"); err != nil || !slices.Equal(left, []string{path, path + ".lock"}) {
		t.Errorf("%q are left (%v)", left, err)
	}

	p.s = openFile(t, path, state.Config{})
	p.hears(over, "1:1 over")
	p.checkMessages("u", 0, 9, state.Message{ID: "m", At: day(0), Seq: 1})
	if now := p.thread("t"); now != was {
		t.Errorf("it was %+v, and is %+v", was, now)
	}
	if now, err := p.s.Secret(t.Context()); err != nil || !slices.Equal(now, secret) {
		t.Errorf("the secret is another one (%v)", err)
	}
	if now, err := p.s.LatestThread(t.Context(), "", ""); err != nil || now != latest {
		t.Errorf("the latest was %q, and is %q (%v)", latest, now, err)
	}
	c := p.run("t", "c")
	if runs, err := p.s.ClaimOrphans(t.Context()); err != nil || !slices.Equal(runs, []state.RunRef{a, b}) {
		t.Errorf("got orphans %q (%v)", runs, err)
	}
	if runs, err := p.s.ClaimOrphans(t.Context()); err != nil || len(runs) > 0 {
		t.Errorf("%q are nobody's again (%v)", runs, err)
	}
	if first, canceled := p.told(b, state.AppendBatch{Events: [][]byte{[]byte("4")}, End: true}); first != 4 || !canceled {
		t.Errorf("it went on at %d, to be stopped: %v", first, canceled)
	}
	p.tell(c, "5")
	p.hears(a, "1:1 2:2")
	p.hears(b, "3:3 4:4 over")

	// The process that claimed the runs may die, too.
	if err := p.s.Close(); err != nil {
		t.Fatal(err)
	}
	p.s = openFile(t, path, state.Config{})
	if runs, err := p.s.ClaimOrphans(t.Context()); err != nil || !slices.Equal(runs, []state.RunRef{a, c}) {
		t.Errorf("got orphans %q (%v)", runs, err)
	}
}

// TestSQLiteLowered checks that lowered limits also apply to data of earlier processes: the excess
// is dropped as further runs end.
func TestSQLiteLowered(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	p := &probe{T: t, s: openFile(t, path, state.Config{})}
	for i := range 100 {
		run := p.run(fmt.Sprint("t", i), "r")
		p.tell(run, "x")
		p.end(run)
	}
	_ = p.s.Close()
	p.s = openFile(t, path, state.Config{MaxRuns: 10})
	for i := range 10 {
		p.end(p.run(fmt.Sprint("u", i), "r"))
	}
	p.hears(state.RunRef{Thread: "t99", Run: "r"}, "unknown")
	p.hears(state.RunRef{Thread: "u0", Run: "r"}, "over")
	p.hears(state.RunRef{Thread: "u9", Run: "r"}, "over")
	db := p.s.(*sqliteStore).readDB
	for table, want := range map[string]int{"thread": 10, "run": 10, "chunk": 0, "message": 0} {
		var n int
		if err := db.QueryRow("SELECT count(*) FROM " + table).Scan(&n); err != nil || n != want {
			t.Errorf("there are %d in %s, not %d (%v)", n, table, want, err)
		}
	}
}

func TestSQLiteRefuses(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	other := alter(t, filepath.Join(dir, "other.db"), "CREATE TABLE mine (a)")
	newer := filepath.Join(dir, "newer.db")
	_ = openFile(t, newer, state.Config{}).Close()
	alter(t, newer, "PRAGMA user_version = 2")
	open := filepath.Join(dir, "open.db")
	openFile(t, open, state.Config{})
	link := filepath.Join(dir, "link.db")
	if err := os.Symlink(open, link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, want string }{
		{filepath.Join(dir, "no", "s.db"), "no directory " + filepath.Join(dir, "no")},
		{filepath.Join(text, "s.db"), "no directory " + text},
		{dir, "the path is a directory"},
		{text, "the file is not a database"},
		{other, "the file is a database of another program"},
		{newer, "the file was written by a later release (schema 2, want at most 1)"},
		{open, "another process has the file open"},
		{link, "another process has the file open"},
	} {
		s, err := OpenSQLite(c.path, state.Config{})
		if err == nil || s != nil || !strings.Contains(err.Error(), "sqlite "+c.path+": "+c.want) {
			t.Errorf("%s: %v, %v; not %q", c.path, s, err, c.want)
		}
	}
	if data, err := os.ReadFile(text); err != nil || len(data) != 1200 {
		t.Errorf("what is not ours was changed: %d bytes, %v", len(data), err)
	}
	var mode string
	if err := sqlAt(t, other).QueryRow("PRAGMA journal_mode").Scan(&mode); err != nil || mode != "delete" {
		t.Errorf("what is not ours was changed: %s, %v", mode, err)
	}
}

func TestSQLiteMayNot(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("NOT RUN: the system forbids root nothing")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	_, err := OpenSQLite(filepath.Join(dir, "s.db"), state.Config{})
	if err == nil || !strings.Contains(err.Error(), "cannot create the file: permission denied") {
		t.Errorf("%v", err)
	}
}

func sqlAt(t *testing.T, path string) *sql.DB {
	t.Helper()
	var open closers
	t.Cleanup(func() { _ = open.Close() })
	db, err := openDB(path, 1, &open, busyTimeout)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func alter(t *testing.T, path, text string) string {
	t.Helper()
	if _, err := sqlAt(t, path).Exec(text); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSQLiteClosed(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "s.db"), state.Config{})
	p := &probe{T: t, s: s}
	run := p.run("t", "r")
	var all sync.WaitGroup
	told := make(chan error, 8)
	for range 8 {
		all.Go(func() {
			for {
				if _, _, err := s.Append(t.Context(), run, state.AppendBatch{Events: [][]byte{[]byte("x")}}); err != nil {
					told <- err
					return
				}
			}
		})
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	all.Wait()
	for range 8 {
		if err := <-told; !errors.Is(err, errClosed) || !strings.Contains(err.Error(), s.path) {
			t.Errorf("told when it was closed: %v", err)
		}
	}
	if err := s.Ping(t.Context()); err == nil {
		t.Error("it is said to be there")
	}
}

// TestSQLiteRemoved checks that a store whose file was removed is not usable.
func TestSQLiteRemoved(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "s.db"), state.Config{})
	if err := os.Remove(s.path); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("ping: %v", err)
	}
	if err := os.WriteFile(s.path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "replaced") {
		t.Errorf("ping: %v", err)
	}
}
