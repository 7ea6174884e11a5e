package durable

import (
	"database/sql"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Identification of the file format, which SQLite stores in the header of the file.
const (
	applicationID = 0x73747261 // "stra"
	schemaVersion = 1
)

// schema contains the SQL statements that create the tables.
//
// Names are blobs, so that they may consist of any bytes and are compared as bytes. Primary
// keys ascend, so that new rows are added at the end of a table. The columns last and
// lost of a thread are the fields LastPosition and LastForgotten of [state.Thread]. The columns
// ended, top and size of a run are null until the run ends.
//
// A chunk is an eventChunk: events of one call of Append, at consecutive positions. Its column
// last is the position of the last one. One row per event would be five times as expensive.
const schema = `
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;

CREATE TABLE thread (
	id    INTEGER PRIMARY KEY,
	name  BLOB NOT NULL UNIQUE,
	owner BLOB NOT NULL,
	tag   INTEGER NOT NULL,
	last  INTEGER NOT NULL,
	lost  INTEGER NOT NULL,
	said  INTEGER NOT NULL, -- number of the last message
	begun INTEGER NOT NULL  -- order in which the latest runs of all threads were started
);
CREATE INDEX thread_latest ON thread (owner, begun, name);

CREATE TABLE run (
	id     INTEGER PRIMARY KEY,
	thread INTEGER NOT NULL,
	name   BLOB NOT NULL,
	task   BLOB NOT NULL,
	at     TEXT NOT NULL,
	first  INTEGER NOT NULL,
	logged INTEGER NOT NULL,
	asked  INTEGER NOT NULL, -- whether Cancel was called
	ended  INTEGER,          -- order in which runs ended; null before
	top    INTEGER,          -- position of its last event, once it has ended
	size   INTEGER,          -- bytes of its events, likewise
	UNIQUE (thread, name)
);
CREATE INDEX run_live ON run (thread) WHERE ended IS NULL;
CREATE INDEX run_over ON run (ended, size) WHERE ended IS NOT NULL;

CREATE TABLE chunk (
	id    INTEGER PRIMARY KEY,
	run   INTEGER NOT NULL,
	last  INTEGER NOT NULL,
	sizes BLOB NOT NULL,
	data  BLOB NOT NULL,
	UNIQUE (run, last)
);

CREATE TABLE message (
	id     INTEGER PRIMARY KEY,
	thread INTEGER NOT NULL,
	seq    INTEGER NOT NULL,
	day    TEXT, -- null if it is hidden
	data   BLOB NOT NULL,
	UNIQUE (thread, seq)
);
CREATE INDEX message_day ON message (thread, day) WHERE day IS NOT NULL;
`

// prepareFile prepares the file to which conn is connected: it sets the pragmas and, if the file is
// empty, creates the tables and stores a new secret. It returns an error if the file was written by
// another program or by a later release.
func prepareFile(conn *sql.Conn) error {
	var id, v, tables int
	row := conn.QueryRowContext(writeContext, `SELECT (SELECT application_id FROM pragma_application_id),
		(SELECT user_version FROM pragma_user_version), count(*) FROM sqlite_schema`)
	if err := row.Scan(&id, &v, &tables); err != nil {
		return err
	}
	fresh := id == 0 && v == 0 && tables == 0
	switch {
	case !fresh && id != applicationID:
		return errors.New("the file is a database of another program: name another file, or one that does not exist")
	case !fresh && v > schemaVersion:
		return fmt.Errorf("the file was written by a later release (schema %d, want at most %d): "+
			"use that release or another file", v, schemaVersion)
	}
	for _, pragma := range []string{
		"journal_mode = WAL", "synchronous = NORMAL", "wal_autocheckpoint = 4000", "journal_size_limit = 67108864",
	} {
		if _, err := conn.ExecContext(writeContext, "PRAGMA "+pragma); err != nil {
			return err
		}
	}
	if !fresh {
		return nil
	}
	tx, err := conn.BeginTx(writeContext, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // no effect after Commit
	version := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, schemaVersion)
	if _, err := tx.Exec(schema + version); err != nil {
		return err
	}
	if _, err := tx.Exec("INSERT INTO meta VALUES ('secret', ?)", newSecret()); err != nil {
		return err
	}
	return tx.Commit()
}

// explain returns an error with advice for the user if err wraps an SQLite error with a known
// cause, such as a file that another process has open. It returns any other error unchanged.
func explain(err error) error {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return errors.New("another process has the file open: end that process, or name another file")
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("the file is not a database, or is corrupt: name another file, or one that does not exist (%w)",
			err)
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		return fmt.Errorf("the file and its directory must be readable and writable (%w)", err)
	}
	return err
}
