// Package durable provides stores (see [state.Store]) that outlive the process: in an SQLite file,
// or in a Redis server that several processes share.
package durable

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

	"github.com/streamassay/streamassay/internal/state"
)

// errClosed is the error for a change that is requested after Close.
var errClosed = errors.New("the store is closed")

// A sqliteStore is a [state.Store] that keeps its data in one SQLite file. One goroutine makes all
// changes, with the field writer. Readers have separate connections and see the committed changes.
type sqliteStore struct {
	*state.Notifier
	path       string
	openedFile os.FileInfo // identity of the file at path when it was opened
	readDB     *sql.DB     // the connections of readers
	statements readStatements
	secret     []byte // what Secret returns

	writer    *sqliteWriter
	jobs      chan *writeJob // changes that wait for the writer
	closing   chan struct{}  // closed by Close
	closeOnce func() error
	writing   sync.WaitGroup // the goroutine that runs writeLoop

	orphansMu  sync.Mutex // guards lastOldRun
	lastOldRun int64      // greatest id of a run of earlier processes; 0 once ClaimOrphans has returned them
}

// SQLiteMaxRuns is the default of Config.MaxRuns of a store in SQLite.
const SQLiteMaxRuns = 1_000_000

// OpenSQLite opens the store in the file at path, which it creates if there is none. It returns an
// error if the file cannot be created or opened, contains something else, or is open in another
// process. The files PATH-wal, PATH-shm and PATH.lock belong to the store, too.
//
// Acknowledged data survives the death of the process at any moment. If the machine crashes, the
// latest changes may be lost, but the remaining data is consistent. The file never shrinks, but its
// unused space is reused.
func OpenSQLite(path string, cfg state.Config) (state.Store, error) {
	s, err := newSQLiteStore(path, cfg)
	if err != nil {
		return nil, fmt.Errorf("sqlite %s: %w", path, err)
	}
	return s, nil
}

func newSQLiteStore(path string, cfg state.Config) (_ *sqliteStore, err error) {
	s := &sqliteStore{
		Notifier: state.NewNotifier(state.MaxCanceled, nil),
		jobs:     make(chan *writeJob, maxBatchJobs), closing: make(chan struct{}),
	}
	if s.path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(s.path); err == nil {
		s.path = real // so that all names of a file share its lock
	}
	if err := makeFiles(s.path); err != nil {
		return nil, err
	}
	var open closers
	defer func() {
		if err != nil {
			err = explain(err)
			_ = open.Close() // err is the first error
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

func (s *sqliteStore) openWriter(cfg state.Config, open *closers) error {
	conn, err := connect(s.path, open, busyTimeout)
	if err != nil {
		return err
	}
	if err := prepareFile(conn); err != nil {
		return err
	}
	if s.writer, err = newWriter(conn, cfg, s.Notifier, open); err != nil {
		return err
	}
	s.lastOldRun = s.writer.lastRun
	return nil
}

func (s *sqliteStore) openReaders(open *closers) (err error) {
	if s.readDB, err = openDB(s.path, max(4, runtime.GOMAXPROCS(0)), open, busyTimeout, "query_only(1)"); err != nil {
		return err
	}
	if s.statements, err = prepareReads(s.readDB, open); err != nil {
		return err
	}
	if err = s.readDB.QueryRow("SELECT value FROM meta WHERE name = 'secret'").Scan(&s.secret); err != nil {
		return err
	}
	s.openedFile, err = os.Stat(s.path)
	return err
}

// closers lists open resources. A function with a parameter of the type *closers appends the
// resources that it opens, and its caller closes them. The Close method closes the resources in
// reverse order and returns their errors, joined.
type closers []io.Closer

func (c closers) Close() error {
	var all []error
	for _, closer := range slices.Backward(c) {
		all = append(all, closer.Close())
	}
	return errors.Join(all...)
}

// busyTimeout is a pragma that makes a connection wait up to 5,000 ms for the locks of other
// programs that use the file.
const busyTimeout = "busy_timeout(5000)"

// openDB returns a database whose connections open the file at path when they are first needed, and
// then set the pragmas, such as busyTimeout. The parameter connections is the maximum number of
// connections. openDB appends the database to *open, whose elements the caller must close. The
// error is any error from the SQLite driver.
func openDB(path string, connections int, open *closers, pragmas ...string) (*sql.DB, error) {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // begins with a drive letter
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

// connect opens a single connection to the database file at path and sets the pragmas, such as
// busyTimeout, on it. It returns an error if one of these fails. It appends the database and the
// connection to *open, whose elements the caller must close, even after an error.
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

// makeFiles creates the database file at path and its lock file if they do not exist. It returns an
// error if a file cannot be created, the directory does not exist or path is itself a directory.
func makeFiles(path string) error {
	if dir := filepath.Dir(path); !isDir(dir) {
		return fmt.Errorf("no directory %s: create it first", dir)
	}
	if isDir(path) {
		return errors.New("the path is a directory, want a file")
	}
	for _, name := range []string{path + lockSuffix, path} {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		switch {
		case err == nil:
			_ = f.Close() // nothing was written
		case !errors.Is(err, os.ErrExist):
			if withPath, ok := errors.AsType[*os.PathError](err); ok {
				err = withPath.Err
			}
			return fmt.Errorf("cannot create the file: %w", err)
		}
	}
	return nil
}

const lockSuffix = ".lock"

// lockFile locks the store at path against other processes. It returns an error if another process
// holds the lock. The lock is held until the connection that lockFile appends to *open is closed.
// The lock is an open transaction on an empty database, PATH.lock: SQLite locks work in the same
// way on all systems, and the system releases them when the process dies.
func lockFile(path string, open *closers) error {
	conn, err := connect(path+lockSuffix, open, "busy_timeout(0)")
	if err == nil {
		_, err = conn.ExecContext(writeContext, "BEGIN EXCLUSIVE") // ends with the connection
	}
	return err
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (s *sqliteStore) Secret(ctx context.Context) ([]byte, error) {
	return bytes.Clone(s.secret), ctx.Err()
}

// Ping implements [state.Store]. To detect a full disk, it writes 16 KiB to the file and deletes
// them. It also checks that s.path still refers to the file that was opened, because data written
// to a removed file is lost.
func (s *sqliteStore) Ping(ctx context.Context) error {
	now, err := os.Stat(s.path)
	if err == nil && !os.SameFile(now, s.openedFile) {
		err = errors.New("the file was replaced by another file")
	}
	if err != nil {
		return s.wrap(err)
	}
	for _, statement := range []string{
		"INSERT OR REPLACE INTO meta (name, value) VALUES ('probe', zeroblob(16384))",
		"DELETE FROM meta WHERE name = 'probe'",
	} {
		err := s.submit(ctx, 0, func(d *sqliteWriter) error {
			_, err := d.conn.ExecContext(writeContext, statement)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Close waits for the transaction in progress and closes the store. Methods that access the file
// return an error after that. Later calls of Close return the result of the first.
func (s *sqliteStore) Close() error { return s.wrap(s.closeOnce()) }

// wrap returns an error that wraps err and whose text begins with the path of the file. It returns
// nil and errors that wrap ErrNotOwner or ErrNotFound unchanged, because they do not mean that the
// file has failed.
func (s *sqliteStore) wrap(err error) error {
	if err == nil || errors.Is(err, state.ErrNotOwner) || errors.Is(err, state.ErrNotFound) {
		return err
	}
	return fmt.Errorf("sqlite %s: %w", s.path, err)
}
