package state

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
)

func (m *memory) Thread(ctx context.Context, name string) (Thread, error) {
	if err := ctx.Err(); err != nil {
		return Thread{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.threads[name]; t != nil {
		return t.Thread, nil
	}
	return Thread{}, ErrNotFound
}

func (m *memory) EventsAfter(ctx context.Context, run RunRef, position int64, limit int) (
	entries []LogEntry, ended bool, err error,
) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.runs[run]
	if r == nil {
		return nil, false, ErrNotFound
	}
	from, _ := slices.BinarySearchFunc(r.log, position+1, func(e LogEntry, want int64) int {
		return cmp.Compare(e.Position, want)
	})
	to := min(from+max(limit, 0), len(r.log))
	return r.log[from:to:to], r.finished && to == len(r.log), nil // entries never change
}

// messages returns the stored messages of a thread, oldest first, or nil if the thread does not
// exist. Callers must not modify them.
func (m *memory) messages(thread string) []*Message {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.threads[thread]; t != nil {
		return t.messages[:len(t.messages):len(t.messages)] // elements never change
	}
	return nil
}

func (m *memory) Messages(ctx context.Context, thread string, before int64, limit int) ([]Message, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	all := m.messages(thread)
	if before > 0 {
		i, _ := slices.BinarySearchFunc(all, before, func(m *Message, seq int64) int { return cmp.Compare(m.Seq, seq) })
		all = all[:i]
	}
	var last []Message
	for _, message := range all[max(len(all)-max(limit, 0), 0):] {
		last = append(last, *message)
	}
	return last, nil
}

func (m *memory) DayMessages(ctx context.Context, thread, before string) (
	day string, messages []Message, more bool, err error,
) {
	if err := ctx.Err(); err != nil {
		return "", nil, false, err
	}
	all := m.messages(thread)
	if day = latestDay(all, before); day == "" {
		return "", nil, false, nil
	}
	for _, message := range all {
		if !message.Hidden && message.Day() == day {
			messages = append(messages, *message)
		}
	}
	return day, messages, latestDay(all, day) != "", nil
}

// latestDay returns the latest day of the messages that are not hidden, or "" if there is none. If
// before is not "", latestDay ignores that day and all later ones. Days are in UTC and have the
// form "2006-01-02".
func latestDay(messages []*Message, before string) (day string) {
	for _, message := range messages {
		if message.Hidden {
			continue
		}
		if d := message.Day(); d > day && (before == "" || d < before) {
			day = d
		}
	}
	return day
}

func (m *memory) LatestThread(ctx context.Context, owner, prefix string) (thread string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	threads := m.byOwner[owner]
	if threads == nil {
		return "", nil
	}
	for e := threads.Front(); e != nil; e = e.Next() {
		if t := e.Value.(*memThread); strings.HasPrefix(t.name, prefix) {
			return t.name, nil
		}
	}
	return "", nil
}

// ClaimOrphans implements [Store]. It never returns a run, because a store in memory ends together
// with the process that executes its runs.
func (m *memory) ClaimOrphans(ctx context.Context) ([]RunRef, error) { return nil, ctx.Err() }

func (m *memory) Secret(ctx context.Context) ([]byte, error) {
	return bytes.Clone(m.secret[:]), ctx.Err()
}

func (m *memory) Ping(ctx context.Context) error { return ctx.Err() }

// Close does nothing and returns nil, so that open streams can still read from the store.
func (m *memory) Close() error { return nil }
