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
	err = s.statements.thread.QueryRowContext(ctx, []byte(name)).Scan(&t.Owner, &t.Tag, &t.LastPosition, &t.LastForgotten)
	return t, s.wrap(notFound(err))
}

// notFound is for what should be there.
func notFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return err
}

// EventsAfter looks first whether the run is over: if it is, all of it is there.
func (s *sqliteStore) EventsAfter(ctx context.Context, run RunRef, at int64, most int) (entries []LogEntry, over bool, err error) {
	var id, top int64
	err = s.statements.run.QueryRowContext(ctx, []byte(run.Thread), []byte(run.Run)).Scan(&id, &over, &top)
	if err != nil {
		return nil, false, s.wrap(notFound(err))
	}
	if over && at >= top {
		return nil, true, nil
	}
	if entries, err = s.entries(ctx, id, at, most); err != nil {
		return nil, false, s.wrap(err)
	}
	return entries, over && len(entries) > 0 && entries[len(entries)-1].Position == top, nil
}

func (s *sqliteStore) entries(ctx context.Context, run, at int64, most int) (entries []LogEntry, err error) {
	rows, err := s.statements.chunksAfter.QueryContext(ctx, run, at, most) // a chunk has at least one
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
		if size += len(c.data); size > MaxReadBytes && len(entries) > 0 {
			break
		}
		some, err := c.decode(last, at)
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
	said, err := scanMessages(s.statements.messages.QueryContext(ctx, []byte(thread), before, max(most, 0)))
	slices.Reverse(said)
	return said, s.wrap(err)
}

// scanMessages reads them all.
func scanMessages(rows *sql.Rows, err error) (said []Message, _ error) {
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

// scanTexts reads a column.
func scanTexts(rows *sql.Rows, err error) (all []string, _ error) {
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

func (s *sqliteStore) DayMessages(ctx context.Context, thread, before string) (day string, said []Message, more bool, err error) {
	if before == "" {
		before = "~" // after all digits
	}
	var earlier string
	if err = s.statements.latestDay.QueryRowContext(ctx, []byte(thread), before).Scan(&day); err != nil || day == "" {
		return "", nil, false, s.wrap(err)
	}
	if err = s.statements.latestDay.QueryRowContext(ctx, []byte(thread), day).Scan(&earlier); err != nil {
		return "", nil, false, s.wrap(err)
	}
	said, err = scanMessages(s.statements.dayMessages.QueryContext(ctx, []byte(thread), day))
	if err != nil || len(said) == 0 { // forgotten meanwhile
		return "", nil, false, s.wrap(err)
	}
	return day, said, earlier != "", nil
}

func (s *sqliteStore) LatestThread(ctx context.Context, owner, prefix string) (thread string, err error) {
	err = s.statements.latestThread.QueryRowContext(ctx, []byte(owner), []byte(prefix), len(prefix)).Scan(&thread)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return thread, s.wrap(err)
}

// ClaimOrphans are the runs that were not over when the file was opened: who played them
// is gone, or it could not have been opened.
func (s *sqliteStore) ClaimOrphans(ctx context.Context) (runs []RunRef, err error) {
	s.orphansMu.Lock()
	defer s.orphansMu.Unlock()
	if s.lastOldRun == 0 {
		return nil, s.wrap(ctx.Err())
	}
	rows, err := s.statements.orphans.QueryContext(ctx, s.lastOldRun)
	if err != nil {
		return nil, s.wrap(err)
	}
	defer rows.Close()
	for rows.Next() {
		var run RunRef
		if err := rows.Scan(&run.Thread, &run.Run); err != nil {
			return nil, s.wrap(err)
		}
		runs = append(runs, run)
	}
	if err := rows.Err(); err != nil {
		return nil, s.wrap(err)
	}
	s.lastOldRun = 0
	return runs, nil
}
