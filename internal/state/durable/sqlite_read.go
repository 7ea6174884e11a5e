package durable

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"slices"

	"github.com/streamassay/streamassay/internal/state"
)

func (s *sqliteStore) Thread(ctx context.Context, name string) (t state.Thread, err error) {
	err = s.statements.thread.QueryRowContext(ctx, []byte(name)).Scan(&t.Owner, &t.Tag, &t.LastPosition, &t.LastForgotten)
	return t, s.wrap(notFound(err))
}

// notFound returns ErrNotFound if err wraps sql.ErrNoRows, the error from a query without a result,
// and otherwise err itself.
func notFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return state.ErrNotFound
	}
	return err
}

// EventsAfter implements [state.Store]. It first reads whether the run has ended, and then the
// events. In this order, it misses no events, because none are added to a run that has ended.
func (s *sqliteStore) EventsAfter(ctx context.Context, run state.RunRef, position int64, limit int) (
	entries []state.LogEntry, ended bool, err error,
) {
	var id, top int64
	err = s.statements.run.QueryRowContext(ctx, []byte(run.Thread), []byte(run.Run)).Scan(&id, &ended, &top)
	if err != nil {
		return nil, false, s.wrap(notFound(err))
	}
	if ended && position >= top {
		return nil, true, nil
	}
	if entries, err = s.entries(ctx, id, position, limit); err != nil {
		return nil, false, s.wrap(err)
	}
	return entries, ended && len(entries) > 0 && entries[len(entries)-1].Position == top, nil
}

// entries returns the events of a run whose positions are greater than position, in ascending order
// of their positions. It returns at most limit events and about MaxReadBytes bytes, but at least
// one event if there is any and limit is positive. The argument run is the id of the run's row.
func (s *sqliteStore) entries(
	ctx context.Context, run, position int64, limit int,
) (entries []state.LogEntry, err error) {
	rows, err := s.statements.chunksAfter.QueryContext(ctx, run, position, limit) // each chunk has at least one event
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for size := 0; len(entries) < limit && rows.Next(); {
		var c eventChunk
		var last int64
		if err := rows.Scan(&last, &c.sizes, &c.data); err != nil {
			return nil, err
		}
		if size += len(c.data); size > state.MaxReadBytes && len(entries) > 0 {
			break
		}
		decoded, err := c.decode(last, position)
		if err != nil {
			return nil, err
		}
		entries = append(entries, decoded[:min(len(decoded), limit-len(entries))]...)
	}
	return entries, rows.Err()
}

func (s *sqliteStore) Messages(ctx context.Context, thread string, before int64, limit int) ([]state.Message, error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	messages, err := scanMessages(s.statements.messages.QueryContext(ctx, []byte(thread), before, max(limit, 0)))
	slices.Reverse(messages)
	return messages, s.wrap(err)
}

// scanMessages returns the messages in rows, in order, and closes rows. The parameters are the two
// results of a query. If err is not nil, scanMessages returns err.
func scanMessages(rows *sql.Rows, err error) ([]state.Message, error) {
	return scanRows(rows, err, func(m *state.Message) error {
		var data sql.RawBytes
		var seq int64
		if err := rows.Scan(&seq, &data); err != nil {
			return err
		}
		err := json.Unmarshal(data, m)
		m.Seq = seq
		return err
	})
}

// scanRows returns a value of type T for each row, in order, and closes rows. It calls scan for
// each row; scan must store the value of the current row in the variable to which its argument
// points. An error from scan is returned. The parameters rows and err are the two results of a
// query. If err is not nil, scanRows returns err.
func scanRows[T any](rows *sql.Rows, err error, scan func(*T) error) (all []T, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var v T
		if err := scan(&v); err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

func (s *sqliteStore) DayMessages(ctx context.Context, thread, before string) (
	day string, messages []state.Message, more bool, err error,
) {
	if before == "" {
		before = "~" // sorts after every day
	}
	var earlier string
	if err = s.statements.latestDay.QueryRowContext(ctx, []byte(thread), before).Scan(&day); err != nil || day == "" {
		return "", nil, false, s.wrap(err)
	}
	if err = s.statements.latestDay.QueryRowContext(ctx, []byte(thread), day).Scan(&earlier); err != nil {
		return "", nil, false, s.wrap(err)
	}
	messages, err = scanMessages(s.statements.dayMessages.QueryContext(ctx, []byte(thread), day))
	if err != nil || len(messages) == 0 { // dropped since the first query
		return "", nil, false, s.wrap(err)
	}
	return day, messages, earlier != "", nil
}

func (s *sqliteStore) LatestThread(ctx context.Context, owner, prefix string) (thread string, err error) {
	err = s.statements.latestThread.QueryRowContext(ctx, []byte(owner), []byte(prefix), len(prefix)).Scan(&thread)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return thread, s.wrap(err)
}

// ClaimOrphans implements [state.Store]. The first call that succeeds returns the runs that had not
// ended when the file was opened; later calls return none. The processes that executed these runs
// have ended; otherwise this process could not hold the lock of the store.
func (s *sqliteStore) ClaimOrphans(ctx context.Context) (runs []state.RunRef, err error) {
	s.orphansMu.Lock()
	defer s.orphansMu.Unlock()
	if s.lastOldRun == 0 {
		return nil, s.wrap(ctx.Err())
	}
	rows, err := s.statements.orphans.QueryContext(ctx, s.lastOldRun)
	runs, err = scanRows(rows, err, func(run *state.RunRef) error { return rows.Scan(&run.Thread, &run.Run) })
	if err == nil {
		s.lastOldRun = 0
	}
	return runs, s.wrap(err)
}
