package durable

import (
	"context"
	"database/sql"
)

// writeStatements are the prepared SQL statements with which a writer changes and reads the file.
type writeStatements struct {
	begin, commit, rollback                                      *sql.Stmt
	findThread, findRun, findUnfinished, listUnfinished          *sql.Stmt
	insertThread, updateThreadStart, updateThread                *sql.Stmt
	insertRun, insertMessage, insertChunk, endRun, requestCancel *sql.Stmt
	oldestRun, threadHasRuns, setLastForgotten                   *sql.Stmt
	deleteChunks, deleteRun                                      *sql.Stmt
	deleteMessages, trimMessages, deleteThread                   *sql.Stmt
}

func prepareWrites(conn *sql.Conn, open *closers) (w writeStatements, err error) {
	err = prepare(conn, open, map[**sql.Stmt]string{
		&w.begin:      "BEGIN IMMEDIATE",
		&w.commit:     "COMMIT",
		&w.rollback:   "ROLLBACK",
		&w.findThread: "SELECT id, owner, tag, last, said, begun FROM thread WHERE name = ?",
		&w.findRun:    "SELECT task, at, first FROM run WHERE thread = ? AND name = ?",
		&w.findUnfinished: `SELECT id, logged, asked, (SELECT coalesce(max(last), 0) FROM chunk WHERE run = run.id),
			(SELECT coalesce(sum(length(data)), 0) FROM chunk WHERE run = run.id)
			FROM run WHERE thread = ? AND name = ? AND ended IS NULL`,
		&w.listUnfinished: "SELECT name FROM run WHERE thread = ? AND ended IS NULL",
		&w.insertThread: `INSERT INTO thread (id, name, owner, tag, last, lost, said, begun)
			VALUES (?, ?, ?, ?, ?, 0, ?, ?)`,
		&w.updateThreadStart: "UPDATE thread SET begun = ?, last = ?, said = ? WHERE id = ?",
		&w.updateThread:      "UPDATE thread SET last = ?, said = ? WHERE id = ?",
		&w.insertRun: `INSERT INTO run (id, thread, name, task, at, first, logged, asked)
			VALUES (?, ?, ?, ?, ?, ?, ?, 0)`,
		&w.insertMessage:    "INSERT INTO message (thread, seq, day, data) VALUES (?, ?, nullif(?, ''), ?)",
		&w.insertChunk:      "INSERT INTO chunk (run, last, sizes, data) VALUES (?, ?, ?, ?)",
		&w.endRun:           "UPDATE run SET ended = ?, top = ?, size = ? WHERE id = ?",
		&w.requestCancel:    "UPDATE run SET asked = 1 WHERE id = ?",
		&w.oldestRun:        "SELECT id, thread, top, size FROM run WHERE ended IS NOT NULL ORDER BY ended LIMIT 1",
		&w.threadHasRuns:    "SELECT EXISTS (SELECT 1 FROM run WHERE thread = ?)",
		&w.setLastForgotten: "UPDATE thread SET lost = ? WHERE id = ? AND lost < ?",
		&w.deleteChunks:     "DELETE FROM chunk WHERE run = ?",
		&w.deleteRun:        "DELETE FROM run WHERE id = ?",
		&w.deleteMessages:   "DELETE FROM message WHERE thread = ?",
		&w.trimMessages:     "DELETE FROM message WHERE thread = ? AND seq <= ?",
		&w.deleteThread:     "DELETE FROM thread WHERE id = ?",
	})
	return w, err
}

// prepare prepares SQL statements with db, which is a *sql.Conn or a *sql.DB. The map texts
// contains, for each statement, its text and the variable in which prepare stores it. prepare also
// appends the statements to *open, whose elements the caller must close, even after an error. It
// stops at the first statement that cannot be prepared and returns the error.
func prepare(db interface {
	PrepareContext(ctx context.Context, text string) (*sql.Stmt, error)
}, open *closers, texts map[**sql.Stmt]string) (err error) {
	for to, text := range texts {
		if *to, err = db.PrepareContext(writeContext, text); err != nil {
			return err
		}
		*open = append(*open, *to) // statements of a *sql.Conn are not closed with it
	}
	return nil
}

// readStatements are the SQL statements of the methods that only read. The package database/sql
// prepares them on each connection.
type readStatements struct {
	thread, run, chunksAfter, messages            *sql.Stmt
	latestDay, dayMessages, latestThread, orphans *sql.Stmt
}

func prepareReads(db *sql.DB, open *closers) (r readStatements, err error) {
	const message = "SELECT message.seq, message.data " +
		"FROM thread JOIN message ON message.thread = thread.id WHERE thread.name = ?"
	err = prepare(db, open, map[**sql.Stmt]string{
		&r.thread: "SELECT owner, tag, last, lost FROM thread WHERE name = ?",
		&r.run: `SELECT run.id, run.ended IS NOT NULL, coalesce(run.top, 0) FROM thread JOIN run ON run.thread = thread.id
			WHERE thread.name = ? AND run.name = ?`,
		&r.chunksAfter: "SELECT last, sizes, data FROM chunk WHERE run = ? AND last > ? ORDER BY last LIMIT ?",
		&r.messages:    message + " AND message.seq < ? ORDER BY message.seq DESC LIMIT ?",
		&r.latestDay: `SELECT coalesce(max(message.day), '') FROM thread JOIN message ON message.thread = thread.id
			WHERE thread.name = ? AND message.day < ?`,
		&r.dayMessages:  message + " AND message.day = ? ORDER BY message.id",
		&r.latestThread: "SELECT name FROM thread WHERE owner = ?1 AND substr(name, 1, ?3) = ?2 ORDER BY begun DESC LIMIT 1",
		&r.orphans: `SELECT thread.name, run.name FROM run JOIN thread ON thread.id = run.thread
			WHERE run.ended IS NULL AND run.id <= ? ORDER BY run.id`,
	})
	return r, err
}
