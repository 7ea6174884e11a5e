package state

import "database/sql"

// writes are the statements of a desk.
type writes struct {
	begin, commit, rollback            *sql.Stmt
	thread, run, live, lives           *sql.Stmt
	makeThread, moveThread, tellThread *sql.Stmt
	begun, say, tell, end, ask         *sql.Stmt
	oldest, left, lose                 *sql.Stmt
	dropChunks, dropRun                *sql.Stmt
	dropMessages, dropSaid, dropThread *sql.Stmt
}

func prepareWrites(conn *sql.Conn, open *closers) (w writes, err error) {
	for _, s := range []struct {
		to   **sql.Stmt
		text string
	}{
		{&w.begin, "BEGIN IMMEDIATE"},
		{&w.commit, "COMMIT"},
		{&w.rollback, "ROLLBACK"},
		{&w.thread, "SELECT id, owner, tag, last, said, begun FROM thread WHERE name = ?"},
		{&w.run, "SELECT task, at, first FROM run WHERE thread = ? AND name = ?"},
		{&w.live, `SELECT id, logged, asked, (SELECT coalesce(max(last), 0) FROM chunk WHERE run = run.id),
			(SELECT coalesce(sum(length(data)), 0) FROM chunk WHERE run = run.id)
			FROM run WHERE thread = ? AND name = ? AND ended IS NULL`},
		{&w.lives, "SELECT name FROM run WHERE thread = ? AND ended IS NULL"},
		{&w.makeThread, "INSERT INTO thread (id, name, owner, tag, last, lost, said, begun) VALUES (?, ?, ?, ?, ?, 0, ?, ?)"},
		{&w.moveThread, "UPDATE thread SET begun = ?, last = ?, said = ? WHERE id = ?"},
		{&w.tellThread, "UPDATE thread SET last = ?, said = ? WHERE id = ?"},
		{&w.begun, "INSERT INTO run (id, thread, name, task, at, first, logged, asked) VALUES (?, ?, ?, ?, ?, ?, ?, 0)"},
		{&w.say, "INSERT INTO message (thread, seq, day, data) VALUES (?, ?, ?, ?)"},
		{&w.tell, "INSERT INTO chunk (run, last, sizes, data) VALUES (?, ?, ?, ?)"},
		{&w.end, "UPDATE run SET ended = ?, top = ?, size = ? WHERE id = ?"},
		{&w.ask, "UPDATE run SET asked = 1 WHERE id = ?"},
		{&w.oldest, "SELECT id, thread, top, size FROM run WHERE ended IS NOT NULL ORDER BY ended LIMIT 1"},
		{&w.left, "SELECT EXISTS (SELECT 1 FROM run WHERE thread = ?)"},
		{&w.lose, "UPDATE thread SET lost = ? WHERE id = ? AND lost < ?"},
		{&w.dropChunks, "DELETE FROM chunk WHERE run = ?"},
		{&w.dropRun, "DELETE FROM run WHERE id = ?"},
		{&w.dropMessages, "DELETE FROM message WHERE thread = ?"},
		{&w.dropSaid, "DELETE FROM message WHERE thread = ? AND seq <= ?"},
		{&w.dropThread, "DELETE FROM thread WHERE id = ?"},
	} {
		if *s.to, err = conn.PrepareContext(nowhere, s.text); err != nil {
			return w, err
		}
		*open = append(*open, *s.to) // who prepares on a connection has to close what was prepared
	}
	return w, nil
}

// reads are the statements of those who read. Each connection prepares its own.
type reads struct {
	thread, run, after, messages *sql.Stmt
	day, said, latest, orphans   *sql.Stmt
}

func prepareReads(db *sql.DB) (*reads, error) {
	r := &reads{}
	const message = "SELECT message.seq, message.data FROM thread JOIN message ON message.thread = thread.id WHERE thread.name = ?"
	for _, s := range []struct {
		to   **sql.Stmt
		text string
	}{
		{&r.thread, "SELECT owner, tag, last, lost FROM thread WHERE name = ?"},
		{&r.run, `SELECT run.id, run.ended IS NOT NULL, coalesce(run.top, 0) FROM thread JOIN run ON run.thread = thread.id
			WHERE thread.name = ? AND run.name = ?`},
		{&r.after, "SELECT last, sizes, data FROM chunk WHERE run = ? AND last > ? ORDER BY last LIMIT ?"},
		{&r.messages, message + " AND message.seq < ? ORDER BY message.seq DESC LIMIT ?"},
		{&r.day, `SELECT coalesce(max(message.day), '') FROM thread JOIN message ON message.thread = thread.id
			WHERE thread.name = ? AND message.day < ?`},
		{&r.said, message + " AND message.day = ? ORDER BY message.id"},
		{&r.latest, "SELECT name FROM thread WHERE owner = ?1 AND substr(name, 1, ?3) = ?2 ORDER BY begun DESC LIMIT 1"},
		{&r.orphans, `SELECT thread.name, run.name FROM run JOIN thread ON thread.id = run.thread
			WHERE run.ended IS NULL AND run.id <= ? ORDER BY run.id`},
	} {
		var err error
		if *s.to, err = db.Prepare(s.text); err != nil {
			return nil, err
		}
	}
	return r, nil
}
