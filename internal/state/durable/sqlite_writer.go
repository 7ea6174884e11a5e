package durable

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"

	"github.com/streamassay/streamassay/internal/state"
)

// A sqliteWriter makes all changes to the file, in one goroutine. It caches runs that have not
// ended and their threads, so that most changes need no query.
type sqliteWriter struct {
	conn       *sql.Conn
	statements writeStatements
	notifier   *state.Notifier

	maxRuns, maxBytes int64  // limits on the number of ended runs and on the bytes of their events
	baseTag           uint32 // random; the tag of a new thread is baseTag plus the id of its row
	cachedCounts
	threads map[string]*cachedThread    // threads of the runs in the field runs, and threads with unwritten changes
	runs    map[state.RunRef]*cachedRun // runs that have not ended

	// The transaction in progress.
	dirty          []*cachedThread // threads to be written
	endedRuns      int             // number of runs that ended
	canceled       []state.RunRef  // runs for which Cancel was called
	changedThreads []string        // threads whose watchers are notified after the commit
}

// cachedCounts holds numbers that a sqliteWriter reads from the file when it is created, and then
// keeps up to date without queries. When a transaction is rolled back, their previous values are
// restored.
type cachedCounts struct {
	lastThread, lastRun         int64 // latest ids
	lastStart, lastEnd          int64 // latest values of thread.begun and run.ended, see schema
	finishedRuns, finishedBytes int64 // number of ended runs, and bytes of their events
}

// A cachedThread is a thread in the cache of a sqliteWriter, with changes that may not be written
// yet.
type cachedThread struct {
	state.Thread
	id, lastMessage, startSeq int64 // columns id, said and begun, see schema
	name                      string
	running                   int  // number of cached runs that have not ended
	isNew                     bool // its row has not been inserted yet
	startChanged              bool // a change of startSeq has not been written yet
	contentChanged            bool // a change of LastPosition or lastMessage has not been written yet
	dirty                     bool // the thread is in sqliteWriter.dirty
}

// A cachedRun is a run that has not ended, in the cache of a sqliteWriter.
type cachedRun struct {
	id                 int64 // id of its row
	thread             *cachedThread
	keepEvents         bool  // its events are stored
	cancelRequested    bool  // Cancel was called
	lastPosition, size int64 // position of its latest event, and bytes of all its events
}

// writeContext is the context of all changes. It is never canceled, so that a transaction is
// completed once it has begun.
var writeContext = context.Background()

// newWriter returns a writer that makes changes through conn and, after each commit, notifies
// watchers through b. It reads the cachedCounts from the file. It appends the statements that it
// prepares to *open, whose elements the caller must close. It returns an error if preparing or
// reading fails.
func newWriter(conn *sql.Conn, cfg state.Config, b *state.Notifier, open *closers) (*sqliteWriter, error) {
	d := &sqliteWriter{
		conn: conn, notifier: b, baseTag: state.RandomTag(),
		maxRuns: int64(cmp.Or(cfg.MaxRuns, SQLiteMaxRuns)), maxBytes: cmp.Or(cfg.MaxBytes, math.MaxInt64),
	}
	d.clear()
	var err error
	if d.statements, err = prepareWrites(conn, open); err != nil {
		return nil, err
	}
	row := conn.QueryRowContext(writeContext, `SELECT
		(SELECT coalesce(max(id), 0) FROM thread), (SELECT coalesce(max(begun), 0) FROM thread),
		(SELECT coalesce(max(id), 0) FROM run), coalesce(max(ended), 0), count(*), coalesce(sum(size), 0)
		FROM run WHERE ended IS NOT NULL`)
	return d, row.Scan(&d.lastThread, &d.lastStart, &d.lastRun, &d.lastEnd, &d.finishedRuns, &d.finishedBytes)
}

func (d *sqliteWriter) clear() {
	d.threads, d.runs = map[string]*cachedThread{}, map[state.RunRef]*cachedRun{}
}

// writeBatch executes the jobs in batch in one transaction and sets the field err of each. If the
// transaction fails, writeBatch executes each job in a transaction of its own, so that only the
// jobs that cause errors fail. After each commit, it notifies the watchers.
func (d *sqliteWriter) writeBatch(batch []*writeJob) {
	before := d.cachedCounts
	err := d.transact(batch)
	if err == nil {
		for _, thread := range d.changedThreads {
			d.notifier.Notify(thread)
		}
		for _, run := range d.canceled {
			d.notifier.NotifyCanceled(run)
		}
		return
	}
	_, _ = d.statements.rollback.Exec() // fails if SQLite has rolled back already
	d.cachedCounts = before
	d.clear()
	if len(batch) == 1 {
		batch[0].err = err
		return
	}
	for i := range batch {
		d.writeBatch(batch[i : i+1])
	}
}

// transact executes the jobs in batch in one transaction and commits the transaction. After an
// error, the caller must roll the transaction back. ErrNotOwner and ErrNotFound do not count as
// errors: they are stored in the job that causes them and do not affect the other jobs.
func (d *sqliteWriter) transact(batch []*writeJob) error {
	clear(d.dirty)
	clear(d.changedThreads)
	d.dirty, d.changedThreads, d.canceled, d.endedRuns = d.dirty[:0], d.changedThreads[:0], d.canceled[:0], 0
	if _, err := d.statements.begin.Exec(); err != nil {
		return err
	}
	for _, j := range batch {
		j.err = j.apply(d)
		if j.err != nil && !errors.Is(j.err, state.ErrNotOwner) && !errors.Is(j.err, state.ErrNotFound) {
			return j.err
		}
	}
	if err := d.flushThreads(); err != nil {
		return err
	}
	if err := d.forgetOldest(); err != nil {
		return err
	}
	_, err := d.statements.commit.Exec()
	return err
}

// markChanged records that the thread t has changed. The thread is written once, at the end of the
// transaction, and its watchers are notified after the commit.
func (d *sqliteWriter) markChanged(t *cachedThread) {
	if !t.dirty {
		t.dirty = true
		d.dirty = append(d.dirty, t)
		d.changedThreads = append(d.changedThreads, t.name)
	}
}

// flushThreads writes to the file the threads that changed in this transaction, and removes from the
// cache those of them that have no unfinished runs. It stops at the first error from SQLite and returns it.
func (d *sqliteWriter) flushThreads() error {
	for _, t := range d.dirty {
		var err error
		switch {
		case t.isNew:
			_, err = d.statements.insertThread.Exec(
				t.id, []byte(t.name), []byte(t.Owner), int64(t.Tag), t.LastPosition, t.lastMessage, t.startSeq)
		case t.startChanged:
			_, err = d.statements.updateThreadStart.Exec(t.startSeq, t.LastPosition, t.lastMessage, t.id)
		case t.contentChanged:
			_, err = d.statements.updateThread.Exec(t.LastPosition, t.lastMessage, t.id)
		}
		if err != nil {
			return err
		}
		if t.isNew, t.startChanged, t.contentChanged, t.dirty = false, false, false, false; t.running == 0 {
			delete(d.threads, t.name)
		}
	}
	return nil
}

// findThread returns the thread with the given name, from the cache or the file. It returns nil
// without an error if the thread does not exist, and an error if the file cannot be read.
func (d *sqliteWriter) findThread(name string) (*cachedThread, error) {
	if t := d.threads[name]; t != nil {
		return t, nil
	}
	t := &cachedThread{name: name}
	err := d.statements.findThread.QueryRow([]byte(name)).Scan(
		&t.id, &t.Owner, &t.Tag, &t.LastPosition, &t.lastMessage, &t.startSeq)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return t, err
}

// startRun implements [state.Store.StartRun] within a transaction.
func (d *sqliteWriter) startRun(
	b state.StartRunRequest, messages []encodedMessage,
) (g state.StartRunResult, err error) {
	t, err := d.findThread(b.Thread)
	switch {
	case err != nil:
		return g, err
	case t == nil:
		d.lastThread++
		g.ThreadCreated = true
		t = &cachedThread{
			Thread: state.Thread{Owner: b.Owner, Tag: d.baseTag + uint32(d.lastThread)},
			id:     d.lastThread, name: b.Thread, isNew: true,
		}
	case t.Owner != b.Owner:
		return g, state.ErrNotOwner
	default:
		if g, err = d.existingRun(t.id, b.Run); g.Existed || err != nil {
			return g, err
		}
	}
	d.lastRun++
	d.lastStart++
	r := &cachedRun{id: d.lastRun, thread: t, keepEvents: b.KeepEvents}
	g.TaskID, g.StartedAt, g.FirstMessage = b.TaskID, b.StartedAt, t.lastMessage+1
	startedAt := encodeTime(b.StartedAt)
	_, err = d.statements.insertRun.Exec(
		r.id, t.id, []byte(b.Run), []byte(b.TaskID), startedAt, g.FirstMessage, b.KeepEvents)
	if err != nil {
		return g, err
	}
	t.startSeq, t.startChanged = d.lastStart, true
	d.trackRun(b.RunRef, r)
	d.markChanged(t)
	return g, d.addMessages(t, messages)
}

// trackRun adds r, which describes a run that has not ended, and the thread of the run to the
// cache.
func (d *sqliteWriter) trackRun(run state.RunRef, r *cachedRun) {
	d.runs[run] = r
	d.threads[run.Thread] = r.thread
	r.thread.running++
}

// existingRun returns the stored information about a run, or a result whose Existed is false if
// there is no such run. The parameter thread is the id of the thread's row, and run is the name of
// the run. The error is any error from reading or decoding the run's row.
func (d *sqliteWriter) existingRun(thread int64, run string) (g state.StartRunResult, err error) {
	var at string
	err = d.statements.findRun.QueryRow(thread, []byte(run)).Scan(&g.TaskID, &at, &g.FirstMessage)
	if errors.Is(err, sql.ErrNoRows) {
		return state.StartRunResult{}, nil
	}
	if err == nil {
		g.Existed = true
		g.StartedAt, err = decodeTime(at)
	}
	return g, err
}

func (d *sqliteWriter) addMessages(t *cachedThread, messages []encodedMessage) error {
	for _, m := range messages {
		t.lastMessage++
		t.contentChanged = true
		if _, err := d.statements.insertMessage.Exec(t.id, t.lastMessage, m.day, m.data); err != nil {
			return err
		}
		if t.lastMessage > state.MaxMessages && t.lastMessage%state.TrimStep == 0 {
			if _, err := d.statements.trimMessages.Exec(t.id, t.lastMessage-state.MaxMessages); err != nil {
				return err
			}
		}
	}
	return nil
}

// unfinishedRun returns a run that has not ended, from the cache or the file. The error is
// ErrNotFound if the run does not exist or has ended, and otherwise any error from reading the
// file.
func (d *sqliteWriter) unfinishedRun(run state.RunRef) (*cachedRun, error) {
	if r := d.runs[run]; r != nil {
		return r, nil
	}
	t, err := d.findThread(run.Thread)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, state.ErrNotFound
	}
	r := &cachedRun{thread: t}
	err = d.statements.findUnfinished.QueryRow(t.id, []byte(run.Run)).Scan(
		&r.id, &r.keepEvents, &r.cancelRequested, &r.lastPosition, &r.size)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, state.ErrNotFound
	}
	if err == nil {
		d.trackRun(run, r)
	}
	return r, err
}

// appendEvents implements [state.Store.Append] within a transaction.
func (d *sqliteWriter) appendEvents(run state.RunRef, chunks []eventChunk, messages []encodedMessage, end bool) (
	first int64, canceled bool, err error,
) {
	r, err := d.unfinishedRun(run)
	if err != nil {
		return 0, false, err
	}
	t := r.thread
	first = t.LastPosition + 1
	if r.keepEvents {
		for _, c := range chunks {
			t.LastPosition += c.count
			t.contentChanged = true
			r.lastPosition = t.LastPosition
			r.size += int64(len(c.data))
			if _, err := d.statements.insertChunk.Exec(r.id, t.LastPosition, c.sizes, c.data); err != nil {
				return 0, false, err
			}
		}
	}
	d.markChanged(t)
	if err := d.addMessages(t, messages); err != nil {
		return 0, false, err
	}
	if end {
		err = d.endRun(run, r)
	}
	return first, r.cancelRequested, err
}

func (d *sqliteWriter) endRun(run state.RunRef, r *cachedRun) error {
	d.lastEnd++
	d.endedRuns++
	d.finishedRuns++
	d.finishedBytes += r.size
	delete(d.runs, run)
	r.thread.running-- // at 0, flushThreads removes the thread from the cache
	_, err := d.statements.endRun.Exec(d.lastEnd, r.lastPosition, r.size, r.id)
	return err
}

// cancelRuns implements [state.Store.Cancel] within a transaction.
func (d *sqliteWriter) cancelRuns(run state.RunRef) error {
	names := []string{run.Run}
	if run.Run == "" {
		t, err := d.findThread(run.Thread)
		if err != nil || t == nil {
			return err
		}
		rows, err := d.statements.listUnfinished.Query(t.id)
		if names, err = scanRows(rows, err, func(name *string) error { return rows.Scan(name) }); err != nil {
			return err
		}
	}
	for _, name := range names {
		run.Run = name
		r, err := d.unfinishedRun(run)
		if errors.Is(err, state.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if _, err := d.statements.requestCancel.Exec(r.id); err != nil {
			return err
		}
		r.cancelRequested = true
		d.canceled = append(d.canceled, run)
	}
	return nil
}
