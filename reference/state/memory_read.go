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

func (m *memory) EventsAfter(ctx context.Context, run RunRef, at int64, most int) (entries []LogEntry, over bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.runs[run]
	if r == nil {
		return nil, false, ErrNotFound
	}
	from, _ := slices.BinarySearchFunc(r.log, at+1, func(e LogEntry, at int64) int { return cmp.Compare(e.Position, at) })
	to := min(from+max(most, 0), len(r.log))
	return r.log[from:to:to], r.finished && to == len(r.log), nil // what is there does not change
}

// messages are those of a thread, all of them.
func (m *memory) messages(thread string) []*Message {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.threads[thread]; t != nil {
		return t.messages[:len(t.messages):len(t.messages)] // likewise
	}
	return nil
}

func (m *memory) Messages(ctx context.Context, thread string, before int64, most int) ([]Message, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	said := m.messages(thread)
	if before > 0 {
		i, _ := slices.BinarySearchFunc(said, before, func(m *Message, seq int64) int { return cmp.Compare(m.Seq, seq) })
		said = said[:i]
	}
	var all []Message
	for _, s := range said[max(len(said)-most, 0):] {
		all = append(all, *s)
	}
	return all, nil
}

func (m *memory) DayMessages(ctx context.Context, thread, before string) (day string, said []Message, more bool, err error) {
	if err := ctx.Err(); err != nil {
		return "", nil, false, err
	}
	all := m.messages(thread)
	if day = latestDay(all, before); day == "" {
		return "", nil, false, nil
	}
	for _, s := range all {
		if !s.Hidden && dayOf(*s) == day {
			said = append(said, *s)
		}
	}
	return day, said, latestDay(all, day) != "", nil
}

// latestDay is the latest day before a day on which something was said that is shown.
func latestDay(said []*Message, before string) (day string) {
	for _, s := range said {
		if s.Hidden {
			continue
		}
		if on := dayOf(*s); on > day && (before == "" || on < before) {
			day = on
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
	first := m.latestByOwner[owner]
	for t := first; t != nil; {
		if strings.HasPrefix(t.name, prefix) {
			return t.name, nil
		}
		if t = t.next; t == first {
			break
		}
	}
	return "", nil
}

// ClaimOrphans has none: what is kept here ends with who plays it.
func (m *memory) ClaimOrphans(ctx context.Context) ([]RunRef, error) { return nil, ctx.Err() }

func (m *memory) Secret(ctx context.Context) ([]byte, error) {
	return bytes.Clone(m.secret[:]), ctx.Err()
}

func (m *memory) Ping(ctx context.Context) error { return ctx.Err() }

// Close leaves what is kept to those who still hold on to it.
func (m *memory) Close() error { return nil }
