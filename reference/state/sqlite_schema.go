package state

import (
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// What the file says of itself.
const (
	applicationID = 0x73747261 // "stra"
	schemaVersion = 1
)

// Names are blobs: any bytes will do, and they are compared as bytes. All tables grow
// at their end; an index is what is found by.
//
// A chunk is the events of one Tell, or a part of them, whose places follow each
// other up to the last; sizes are their lengths, as varints. One row for each event
// would cost five times as much.
const schema = `
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;

CREATE TABLE thread (
	id    INTEGER PRIMARY KEY,
	name  BLOB NOT NULL UNIQUE,
	owner BLOB NOT NULL,
	tag   INTEGER NOT NULL,
	last  INTEGER NOT NULL,
	lost  INTEGER NOT NULL,
	said  INTEGER NOT NULL, -- the number of the last message
	begun INTEGER NOT NULL  -- rises with every run that is begun, in all threads
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
	asked  INTEGER NOT NULL, -- whether it is to be stopped
	ended  INTEGER,          -- rises with every run that is over; null as long as it is not
	top    INTEGER,          -- its last place, when it is over
	size   INTEGER,          -- the bytes of its events, likewise
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
	day    TEXT, -- null if it is not shown
	data   BLOB NOT NULL,
	UNIQUE (thread, seq)
);
CREATE INDEX message_day ON message (thread, day) WHERE day IS NOT NULL;
`

// prepareFile makes a file a store, or sees that it is one.
func prepareFile(conn *sql.Conn) error {
	var id, v, tables int
	row := conn.QueryRowContext(writeContext, "SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version), count(*) FROM sqlite_schema")
	if err := row.Scan(&id, &v, &tables); err != nil {
		return err
	}
	fresh := id == 0 && v == 0 && tables == 0
	switch {
	case !fresh && id != applicationID:
		return errors.New("it is the database of another program: name another file, or one that is not there yet")
	case !fresh && v > schemaVersion:
		return fmt.Errorf("it was written by a later release (schema %d, and this one knows %d): use that one, or another file", v, schemaVersion)
	}
	for _, pragma := range []string{"journal_mode = WAL", "synchronous = NORMAL", "wal_autocheckpoint = 4000", "journal_size_limit = 67108864"} {
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
	defer tx.Rollback() // nothing, once it is committed
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // it never fails
	if _, err := tx.Exec(schema + fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, schemaVersion)); err != nil {
		return err
	}
	if _, err := tx.Exec("INSERT INTO meta VALUES ('secret', ?)", secret); err != nil {
		return err
	}
	return tx.Commit()
}

// explain says what would be right, where SQLite says what is wrong.
func explain(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return errors.New("another process has it open: end that one, or name another file")
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("it is not a database, or a damaged one: name another file, or one that is not there yet (%w)", err)
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		return fmt.Errorf("it has to be a file that can be read and written, in a directory likewise (%w)", err)
	}
	return err
}
