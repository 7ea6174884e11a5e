package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"slices"
)

func (s *sqliteStore) Thread(ctx context.Context, name string) (t Thread, err error) {
	err = s.read.thread.QueryRowContext(ctx, []byte(name)).Scan(&t.Owner, &t.Tag, &t.Last, &t.Lost)
	return t, s.wrap(unknown(err))
}

// unknown is for what should be there.
func unknown(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return ErrUnknown
	}
	return err
}

// After looks first whether the run is over: if it is, all of it is there.
func (s *sqliteStore) After(ctx context.Context, run Ref, at int64, most int) (entries []Entry, over bool, err error) {
	var id, top int64
	err = s.read.run.QueryRowContext(ctx, []byte(run.Thread), []byte(run.Run)).Scan(&id, &over, &top)
	if err != nil {
		return nil, false, s.wrap(unknown(err))
	}
	if over && at >= top {
		return nil, true, nil
	}
	if entries, err = s.entries(ctx, id, at, most); err != nil {
		return nil, false, s.wrap(err)
	}
	return entries, over && len(entries) > 0 && entries[len(entries)-1].At == top, nil
}

func (s *sqliteStore) entries(ctx context.Context, run, at int64, most int) (entries []Entry, err error) {
	rows, err := s.read.after.QueryContext(ctx, run, at, most) // a chunk has at least one
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for size := 0; len(entries) < most && rows.Next(); {
		var c chunk
		var last int64
		if err := rows.Scan(&last, &c.sizes, &c.data); err != nil {
			return nil, err
		}
		if size += len(c.data); size > MaxRead && len(entries) > 0 {
			break
		}
		some, err := c.entries(last, at)
		if err != nil {
			return nil, err
		}
		entries = append(entries, some[:min(len(some), most-len(entries))]...)
	}
	return entries, rows.Err()
}

func (s *sqliteStore) Messages(ctx context.Context, thread string, before int64, most int) ([]Message, error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	said, err := messages(s.read.messages.QueryContext(ctx, []byte(thread), before, max(most, 0)))
	slices.Reverse(said)
	return said, s.wrap(err)
}

// messages reads them all.
func messages(rows *sql.Rows, err error) (said []Message, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var m Message
		var data sql.RawBytes
		var seq int64
		if err := rows.Scan(&seq, &data); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(data, &m); err != nil {
			return nil, err
		}
		m.Seq = seq
		said = append(said, m)
	}
	return said, rows.Err()
}

// texts reads a column.
func texts(rows *sql.Rows, err error) (all []string, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}

func (s *sqliteStore) Day(ctx context.Context, thread, before string) (day string, said []Message, more bool, err error) {
	if before == "" {
		before = "~" // after all digits
	}
	var earlier string
	if err = s.read.day.QueryRowContext(ctx, []byte(thread), before).Scan(&day); err != nil || day == "" {
		return "", nil, false, s.wrap(err)
	}
	if err = s.read.day.QueryRowContext(ctx, []byte(thread), day).Scan(&earlier); err != nil {
		return "", nil, false, s.wrap(err)
	}
	said, err = messages(s.read.said.QueryContext(ctx, []byte(thread), day))
	if err != nil || len(said) == 0 { // forgotten meanwhile
		return "", nil, false, s.wrap(err)
	}
	return day, said, earlier != "", nil
}

func (s *sqliteStore) Latest(ctx context.Context, owner, prefix string) (thread string, err error) {
	err = s.read.latest.QueryRowContext(ctx, []byte(owner), []byte(prefix), len(prefix)).Scan(&thread)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return thread, s.wrap(err)
}

// Orphans are the runs that were not over when the file was opened: who played them
// is gone, or it could not have been opened.
func (s *sqliteStore) Orphans(ctx context.Context) (runs []Ref, err error) {
	s.orphans.Lock()
	defer s.orphans.Unlock()
	if s.before == 0 {
		return nil, s.wrap(ctx.Err())
	}
	rows, err := s.read.orphans.QueryContext(ctx, s.before)
	if err != nil {
		return nil, s.wrap(err)
	}
	defer rows.Close()
	for rows.Next() {
		var run Ref
		if err := rows.Scan(&run.Thread, &run.Run); err != nil {
			return nil, s.wrap(err)
		}
		runs = append(runs, run)
	}
	if err := rows.Err(); err != nil {
		return nil, s.wrap(err)
	}
	s.before = 0
	return runs, nil
}
