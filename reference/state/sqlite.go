package state

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"modernc.org/sqlite"
)

// errClosed is what a store answers that was closed.
var errClosed = errors.New("the store is closed")

// A sqliteStore keeps everything in one file. One goroutine writes (a desk); those
// who read have connections of their own, and see what was committed.
type sqliteStore struct {
	*notifier
	path       string
	openedFile os.FileInfo // what was opened
	readDB     *sql.DB     // to read
	statements *readStatements
	secret     []byte

	writer    *writer
	jobs      chan *job
	closing   chan struct{}
	closeOnce func() error // once
	writing   sync.WaitGroup

	orphansMu  sync.Mutex
	lastOldRun int64 // runs up to this one were begun by a process before; 0 if that was asked for
}

// OpenSQLite opens the store that is kept in a file, which is made if it is not there.
// Beside it are PATH-wal and PATH-shm, which belong to it, and PATH.lock: only one
// process at a time may have it open. What it acknowledges survives the death of the
// process at any moment; if the machine dies the last of it may be lost, but what is
// left is whole. Room in the file is used again, but not given back.
func OpenSQLite(path string, cfg Config) (Store, error) {
	s, err := newSQLiteStore(path, cfg)
	if err != nil {
		return nil, fmt.Errorf("sqlite %s: %w", path, err)
	}
	return s, nil
}

func newSQLiteStore(path string, cfg Config) (_ *sqliteStore, err error) {
	s := &sqliteStore{notifier: newNotifier(), jobs: make(chan *job, maxBatchJobs), closing: make(chan struct{})}
	if s.path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(s.path); err == nil {
		s.path = real // under every name it has the same lock
	}
	if err := makeFiles(s.path); err != nil {
		return nil, err
	}
	var open closers
	defer func() {
		if err != nil {
			err = explain(err)
			_ = open.Close() // the first error counts
		}
	}()
	if err = lockFile(s.path, &open); err != nil {
		return nil, err
	}
	if err = s.openWriter(cfg, &open); err != nil {
		return nil, err
	}
	if err = s.openReaders(&open); err != nil {
		return nil, err
	}
	s.closeOnce = sync.OnceValue(func() error {
		close(s.closing)
		s.writing.Wait()
		return open.Close()
	})
	s.writing.Go(s.writeLoop)
	return s, nil
}

func (s *sqliteStore) openWriter(cfg Config, open *closers) error {
	conn, err := connect(s.path, open, busyTimeout)
	if err != nil {
		return err
	}
	if err := prepareFile(conn); err != nil {
		return err
	}
	if s.writer, err = newWriter(conn, cfg, s.notifier, open); err != nil {
		return err
	}
	s.lastOldRun = s.writer.lastRun
	return nil
}

func (s *sqliteStore) openReaders(open *closers) (err error) {
	if s.readDB, err = openDB(s.path, max(4, runtime.GOMAXPROCS(0)), open, busyTimeout, "query_only(1)"); err != nil {
		return err
	}
	if s.statements, err = prepareReads(s.readDB); err != nil {
		return err
	}
	if err = s.readDB.QueryRow("SELECT value FROM meta WHERE name = 'secret'").Scan(&s.secret); err != nil {
		return err
	}
	s.openedFile, err = os.Stat(s.path)
	return err
}

// closers are closed last to first.
type closers []io.Closer

func (c closers) Close() error {
	var all []error
	for _, one := range slices.Backward(c) {
		all = append(all, one.Close())
	}
	return errors.Join(all...)
}

// busyTimeout is for other programs that look into the file.
const busyTimeout = "busy_timeout(5000)"

// openDB opens a database for so many connections.
func openDB(path string, connections int, open *closers, pragmas ...string) (*sql.DB, error) {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive
	}
	address := url.URL{Scheme: "file", Path: slashed}
	address.RawQuery = url.Values{"_pragma": pragmas}.Encode()
	connector, err := sqlite.NewConnector(address.String())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	*open = append(*open, db)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

// connect opens a database for one connection.
func connect(path string, open *closers, pragmas ...string) (*sql.Conn, error) {
	db, err := openDB(path, 1, open, pragmas...)
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(writeContext)
	if err != nil {
		return nil, err
	}
	*open = append(*open, conn)
	return conn, nil
}

// makeFiles makes what is not there, so that the system says what is wrong, not SQLite.
func makeFiles(path string) error {
	if dir := filepath.Dir(path); !isDir(dir) {
		return fmt.Errorf("there is no directory %s: make it first", dir)
	}
	if isDir(path) {
		return errors.New("it is a directory: name a file in it")
	}
	for _, name := range []string{path + lockSuffix, path} {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		switch {
		case err == nil:
			_ = f.Close() // nothing was written
		case !errors.Is(err, os.ErrExist):
			return fmt.Errorf("it cannot be made: %w", cause(err))
		}
	}
	return nil
}

const lockSuffix = ".lock"

// lockFile keeps other processes out, as long as it is open. It is an empty database
// of its own: its locks are the same everywhere, and the system lets go of them when
// the process dies.
func lockFile(path string, open *closers) error {
	conn, err := connect(path+lockSuffix, open, "busy_timeout(0)")
	if err == nil {
		_, err = conn.ExecContext(writeContext, "BEGIN EXCLUSIVE") // it never ends
	}
	return err
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// cause is what the system says, without the path.
func cause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func (s *sqliteStore) Secret(ctx context.Context) ([]byte, error) {
	return bytes.Clone(s.secret), ctx.Err()
}

// Ping writes, and looks whether the file is still the one that was opened: what is
// written to one that was removed is lost.
func (s *sqliteStore) Ping(ctx context.Context) error {
	now, err := os.Stat(s.path)
	if err == nil && !os.SameFile(now, s.openedFile) {
		err = errors.New("the file was replaced by another one")
	}
	if err != nil {
		return s.wrap(err)
	}
	if err := s.probeWrite(ctx, "INSERT OR REPLACE INTO meta (name, value) VALUES ('probe', zeroblob(16384))"); err != nil {
		return err
	}
	return s.probeWrite(ctx, "DELETE FROM meta WHERE name = 'probe'")
}

// probeWrite changes the file as it is changed for what is kept. What is added is more than
// fits into the room that is left in pages.
func (s *sqliteStore) probeWrite(ctx context.Context, statement string) error {
	return s.submit(ctx, 0, func(d *writer) error {
		_, err := d.conn.ExecContext(writeContext, statement)
		return err
	})
}

// Close ends what is being written. What comes after it is refused.
func (s *sqliteStore) Close() error { return s.wrap(s.closeOnce()) }

// wrap says where an error comes from.
func (s *sqliteStore) wrap(err error) error {
	if err == nil || errors.Is(err, ErrNotOwner) || errors.Is(err, ErrNotFound) {
		return err
	}
	return fmt.Errorf("sqlite %s: %w", s.path, err)
}
