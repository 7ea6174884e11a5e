package durable

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/streamassay/streamassay/internal/state"
)

// room limits the file to its present size plus the given number of pages.
func (s *sqliteStore) room(t *testing.T, pages int) {
	t.Helper()
	err := s.submit(t.Context(), 0, func(d *sqliteWriter) error {
		var now int
		if err := d.conn.QueryRowContext(writeContext, "PRAGMA page_count").Scan(&now); err != nil {
			return err
		}
		_, err := d.conn.ExecContext(writeContext, fmt.Sprintf("PRAGMA max_page_count = %d", now+pages))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSQLiteFull checks that a full disk leaves no partial changes, that existing data can be read
// meanwhile, and that writing works again when there is space.
func TestSQLiteFull(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "s.db"), state.Config{})
	p := &probe{T: t, s: s}
	small := p.run("t", "small")
	p.tell(small, "1")
	s.room(t, 50)

	const tellers = 8
	var all sync.WaitGroup
	var told [tellers]int
	for i := range tellers {
		run := p.run("t", fmt.Sprint(i))
		all.Go(func() {
			for {
				first, _, err := s.Append(t.Context(), run, state.AppendBatch{
					Events: [][]byte{[]byte("a"), []byte(strings.Repeat("b", 5000)), []byte("c")}, Messages: []state.Message{{ID: "m"}},
				})
				if err != nil {
					if first != 0 || !strings.Contains(err.Error(), "full") || !strings.Contains(err.Error(), s.path) {
						t.Errorf("%d: %v", first, err)
					}
					return
				}
				told[i] += 3
			}
		})
	}
	all.Wait()
	if _, err := s.StartRun(t.Context(), state.StartRunRequest{RunRef: state.RunRef{Thread: "u", Run: "r"}, Messages: []state.Message{{Text: strings.Repeat("x", 10_000)}}}); err == nil {
		t.Error("there was room for another one")
	}
	if got := p.thread("u"); got != (state.Thread{}) {
		t.Errorf("it was made by halves: %+v", got)
	}
	sum := 1
	for i, n := range told {
		run := state.RunRef{Thread: "t", Run: fmt.Sprint(i)}
		heard := 0
		for at := int64(0); ; {
			entries, _, err := s.EventsAfter(t.Context(), run, at, 1<<20)
			if err != nil {
				t.Error(err)
			}
			if len(entries) == 0 {
				break
			}
			heard, at = heard+len(entries), entries[len(entries)-1].Position
		}
		if heard != n {
			t.Errorf("%q has %d events, and %d were acknowledged", run, heard, n)
		}
		sum += n
	}
	said, err := s.Messages(t.Context(), "t", 0, 1<<20)
	if got := p.thread("t"); got.LastPosition != int64(sum) || len(said) != sum/3 || err != nil {
		t.Errorf("it is %+v with %d messages (%v), and %d events were acknowledged", got, len(said), err, sum)
	}
	p.hears(small, "1:1")
	if err := s.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "full") {
		t.Errorf("nothing can be kept, and ping says %v", err)
	}

	s.room(t, 1000)
	if first := p.tell(state.RunRef{Thread: "t", Run: "0"}, "a"); first != int64(sum)+1 {
		t.Errorf("it goes on at %d, after %d", first, sum)
	}
	if g := p.begin(state.StartRunRequest{RunRef: state.RunRef{Thread: "u", Run: "r"}}); !g.ThreadCreated || g.FirstMessage != 1 {
		t.Errorf("it began as %+v", g)
	}
	p.end(small)
	p.hears(small, "1:1 over")
}

// TestSQLiteSpoiled checks that a failing job does not affect the other jobs in its batch.
func TestSQLiteSpoiled(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "s.db"), state.Config{})
	p := &probe{T: t, s: s}
	a, b := p.run("t", "a"), p.run("t", "b")
	p.tell(a, "1")
	wrong := errors.New("wrong")
	held, hold := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		_ = s.submit(t.Context(), 0, func(*sqliteWriter) error { // the others wait meanwhile
			close(held)
			<-hold
			return nil
		})
	})
	<-held
	ctx, cancel := context.WithCancel(t.Context())
	var withdrawn, failed, over, unknown error
	all.Go(func() {
		_, _, over = s.Append(t.Context(), b, state.AppendBatch{Events: [][]byte{[]byte("x")}, End: true})
	})
	all.Go(func() {
		failed = s.submit(t.Context(), 0, func(d *sqliteWriter) error {
			if _, _, err := d.appendEvents(a, encodeChunks([][]byte{[]byte("y")}), nil, true); err != nil {
				return err
			}
			return wrong
		})
	})
	all.Go(func() {
		_, _, unknown = s.Append(t.Context(), state.RunRef{Thread: "t", Run: "c"}, state.AppendBatch{End: true})
	})
	var gone sync.WaitGroup
	gone.Go(func() { _, _, withdrawn = s.Append(ctx, a, state.AppendBatch{End: true}) })
	for len(s.jobs) < 4 {
		p.thread("t") // a little time passes
	}
	cancel()
	gone.Wait()
	close(hold)
	all.Wait()
	if over != nil || !errors.Is(failed, wrong) || !errors.Is(unknown, state.ErrNotFound) || !errors.Is(withdrawn, context.Canceled) {
		t.Errorf("over %v, failed %v, unknown %v, withdrawn %v", over, failed, unknown, withdrawn)
	}
	p.hears(a, "1:1")
	p.hears(b, "2:x over")
	if first := p.tell(a, "3"); first != 3 {
		t.Errorf("it goes on at %d", first)
	}
}
