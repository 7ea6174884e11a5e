package state

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"time"
)

// A desk is where everything is written, by one goroutine. It knows the threads in
// which something goes on, so that most of what is asked needs no reading.
type desk struct {
	conn *sql.Conn
	do   writes
	bell *bell

	mostRuns, mostSize int64 // that are over and kept
	base               uint32
	counters
	threads map[string]*deskThread // those that have runs below, and new ones
	runs    map[Ref]*deskRun       // those that are not over

	// Of the transaction under way.
	dirty []*deskThread
	ended int   // runs
	asked []Ref // to be stopped
	told  []string
}

// The counters are as they were when a transaction is undone.
type counters struct {
	thread, run int64 // the ids given last
	begun, over int64 // see the schema
	kept, size  int64 // runs that are over, and their bytes
}

type deskThread struct {
	Thread
	id, said, begun int64
	name            string
	live            int  // runs that are known to be not over
	made            bool // it is not written yet
	moved           bool // likewise begun
	grown           bool // likewise last, or said
	dirty           bool // something happened to it
}

type deskRun struct {
	id        int64
	thread    *deskThread
	logged    bool
	asked     bool
	top, size int64
}

// nowhere is the context of what is written: once begun it is brought to an end.
var nowhere = context.Background()

func newDesk(conn *sql.Conn, cfg Config, b *bell, open *closers) (*desk, error) {
	d := &desk{conn: conn, bell: b, base: seed(), mostRuns: int64(cmp.Or(cfg.Runs, 1_000_000)), mostSize: cmp.Or(cfg.Bytes, math.MaxInt64)}
	d.clear()
	var err error
	if d.do, err = prepareWrites(conn, open); err != nil {
		return nil, err
	}
	row := conn.QueryRowContext(nowhere, `SELECT (SELECT coalesce(max(id), 0) FROM thread), (SELECT coalesce(max(begun), 0) FROM thread),
		(SELECT coalesce(max(id), 0) FROM run), coalesce(max(ended), 0), count(*), coalesce(sum(size), 0) FROM run WHERE ended IS NOT NULL`)
	return d, row.Scan(&d.thread, &d.begun, &d.run, &d.over, &d.kept, &d.size)
}

func (d *desk) clear() { d.threads, d.runs = map[string]*deskThread{}, map[Ref]*deskRun{} }

// work writes jobs in one transaction. If it fails it is not known whose fault that
// is, so they are written one by one.
func (d *desk) work(batch []*job) {
	before := d.counters
	err := d.transact(batch)
	if err == nil {
		for _, thread := range d.told {
			d.bell.ring(thread)
		}
		for _, run := range d.asked {
			d.bell.ask(run)
		}
		return
	}
	_, _ = d.do.rollback.Exec() // it may be undone already
	d.counters = before
	d.clear()
	if len(batch) == 1 {
		batch[0].err = err
		return
	}
	for i := range batch {
		d.work(batch[i : i+1])
	}
}

func (d *desk) transact(batch []*job) error {
	clear(d.dirty)
	clear(d.told)
	d.dirty, d.told, d.asked, d.ended = d.dirty[:0], d.told[:0], d.asked[:0], 0
	if _, err := d.do.begin.Exec(); err != nil {
		return err
	}
	for _, j := range batch {
		j.err = j.do(d)
		if j.err != nil && !errors.Is(j.err, ErrOwner) && !errors.Is(j.err, ErrUnknown) {
			return j.err
		}
	}
	if err := d.flush(); err != nil {
		return err
	}
	if err := d.forget(); err != nil {
		return err
	}
	_, err := d.do.commit.Exec()
	return err
}

// touch sees to it that a thread is written, once for all that happens to it, and
// that those who watch it are told.
func (d *desk) touch(t *deskThread) {
	if !t.dirty {
		t.dirty = true
		d.dirty = append(d.dirty, t)
		d.told = append(d.told, t.name)
	}
}

func (d *desk) flush() error {
	for _, t := range d.dirty {
		var err error
		switch {
		case t.made:
			_, err = d.do.makeThread.Exec(t.id, []byte(t.name), []byte(t.Owner), int64(t.Tag), t.Last, t.said, t.begun)
		case t.moved:
			_, err = d.do.moveThread.Exec(t.begun, t.Last, t.said, t.id)
		case t.grown:
			_, err = d.do.tellThread.Exec(t.Last, t.said, t.id)
		}
		if err != nil {
			return err
		}
		if t.made, t.moved, t.grown, t.dirty = false, false, false, false; t.live == 0 {
			delete(d.threads, t.name)
		}
	}
	return nil
}

// find is a thread, or nil.
func (d *desk) find(name string) (*deskThread, error) {
	if t := d.threads[name]; t != nil {
		return t, nil
	}
	t := &deskThread{name: name}
	err := d.do.thread.QueryRow([]byte(name)).Scan(&t.id, &t.Owner, &t.Tag, &t.Last, &t.said, &t.begun)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return t, err
}

func (d *desk) begin(b Beginning, said []line) (g Begun, err error) {
	t, err := d.find(b.Thread)
	switch {
	case err != nil:
		return g, err
	case t == nil:
		d.thread++
		g.Made = true
		t = &deskThread{Thread: Thread{Owner: b.Owner, Tag: d.base + uint32(d.thread)}, id: d.thread, name: b.Thread, made: true}
	case t.Owner != b.Owner:
		return g, ErrOwner
	default:
		if g, err = d.again(t.id, b.Run); g.Again || err != nil {
			return g, err
		}
	}
	d.run++
	d.counters.begun++
	r := &deskRun{id: d.run, thread: t, logged: b.Logged}
	g.Task, g.At, g.First = b.Task, b.At, t.said+1
	if _, err = d.do.begun.Exec(r.id, t.id, []byte(b.Run), []byte(b.Task), b.At.UTC().Format(time.RFC3339Nano), g.First, b.Logged); err != nil {
		return g, err
	}
	t.begun, t.moved = d.counters.begun, true
	d.join(b.Ref, r)
	d.touch(t)
	return g, d.say(t, said)
}

// join is from when on a run is known here.
func (d *desk) join(run Ref, r *deskRun) {
	d.runs[run] = r
	d.threads[run.Thread] = r.thread
	r.thread.live++
}

// again looks for a run that was begun before.
func (d *desk) again(thread int64, run string) (g Begun, err error) {
	var at string
	err = d.do.run.QueryRow(thread, []byte(run)).Scan(&g.Task, &at, &g.First)
	if errors.Is(err, sql.ErrNoRows) {
		return Begun{}, nil
	}
	if err == nil {
		g.Again = true
		g.At, err = time.Parse(time.RFC3339Nano, at)
	}
	return g, err
}

func (d *desk) say(t *deskThread, said []line) error {
	for _, l := range said {
		t.said++
		t.grown = true
		if _, err := d.do.say.Exec(t.id, t.said, l.day, l.data); err != nil {
			return err
		}
		if t.said > mostSaid && t.said%saidStep == 0 {
			if _, err := d.do.dropSaid.Exec(t.id, t.said-mostSaid); err != nil {
				return err
			}
		}
	}
	return nil
}

// playing is a run that is not over.
func (d *desk) playing(run Ref) (*deskRun, error) {
	if r := d.runs[run]; r != nil {
		return r, nil
	}
	t, err := d.find(run.Thread)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, ErrUnknown
	}
	r := &deskRun{thread: t}
	err = d.do.live.QueryRow(t.id, []byte(run.Run)).Scan(&r.id, &r.logged, &r.asked, &r.top, &r.size)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, ErrUnknown
	}
	if err == nil {
		d.join(run, r)
	}
	return r, err
}

func (d *desk) tell(run Ref, data []chunk, said []line, over bool) (first int64, canceled bool, err error) {
	r, err := d.playing(run)
	if err != nil {
		return 0, false, err
	}
	t := r.thread
	first = t.Last + 1
	if r.logged {
		for _, c := range data {
			t.Last += c.count
			t.grown = true
			r.top = t.Last
			r.size += int64(len(c.data))
			if _, err := d.do.tell.Exec(r.id, t.Last, c.sizes, c.data); err != nil {
				return 0, false, err
			}
		}
	}
	d.touch(t)
	if err := d.say(t, said); err != nil {
		return 0, false, err
	}
	if over {
		err = d.end(run, r)
	}
	return first, r.asked, err
}

func (d *desk) end(run Ref, r *deskRun) error {
	d.over++
	d.ended++
	d.kept++
	d.counters.size += r.size
	delete(d.runs, run)
	r.thread.live-- // it is left when it is written
	_, err := d.do.end.Exec(d.over, r.top, r.size, r.id)
	return err
}

func (d *desk) cancel(run Ref) error {
	names := []string{run.Run}
	if run.Run == "" {
		t, err := d.find(run.Thread)
		if err != nil || t == nil {
			return err
		}
		if names, err = texts(d.do.lives.Query(t.id)); err != nil {
			return err
		}
	}
	for _, name := range names {
		run.Run = name
		r, err := d.playing(run)
		if errors.Is(err, ErrUnknown) {
			continue
		}
		if err != nil {
			return err
		}
		if _, err := d.do.ask.Exec(r.id); err != nil {
			return err
		}
		r.asked = true
		d.asked = append(d.asked, run)
	}
	return nil
}
