package reference

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamassay/streamassay/internal/state"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

var errGone = errors.New("the medium is gone")

// A failingStore is a Store whose methods fail when its fields say so.
type failingStore struct {
	state.Store
	mu     sync.Mutex
	gone   bool           // every call fails
	lost   int            // number of calls of Append that succeed and return an error
	orphan []state.RunRef // what ClaimOrphans returns, once
}

func (s *failingStore) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *failingStore) down() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return errGone
	}
	return nil
}

func (s *failingStore) StartRun(ctx context.Context, b state.StartRunRequest) (state.StartRunResult, error) {
	if err := s.down(); err != nil {
		return state.StartRunResult{}, err
	}
	return s.Store.StartRun(ctx, b)
}

func (s *failingStore) Append(ctx context.Context, ref state.RunRef, told state.AppendBatch) (int64, bool, error) {
	if err := s.down(); err != nil {
		return 0, false, err
	}
	first, canceled, err := s.Store.Append(ctx, ref, told)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost > 0 && err == nil {
		s.lost--
		return 0, false, errGone
	}
	return first, canceled, err
}

func (s *failingStore) Thread(ctx context.Context, name string) (state.Thread, error) {
	if err := s.down(); err != nil {
		return state.Thread{}, err
	}
	return s.Store.Thread(ctx, name)
}

func (s *failingStore) ClaimOrphans(context.Context) (refs []state.RunRef, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	refs, s.orphan = s.orphan, nil
	return refs, nil
}

func onShaky(t *testing.T, name string, f func(k *testClient, s *failingStore)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &failingStore{Store: state.NewMemory(state.Config{})}
		k := newTestClient(t, mustDialect(t, name), Scripted, Config{Store: s})
		f(k, s)
		k.close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestStoreComesBack checks that a store that is unavailable for a while only delays a run: no
// event is lost or sent twice.
func TestStoreComesBack(t *testing.T) {
	onShaky(t, "runs@2026-04", func(k *testClient, s *failingStore) {
		listen := k.sendPrompt("prompt", spec.Event{Text: "conformance:slow 20 100"})
		p := k.start(listen, nil)
		wait(550 * time.Millisecond)
		s.set(func() { s.gone = true })
		wait(5 * time.Second)
		if got := strings.Count(string(p.bytes()), "_CONTENT\""); got < 4 || got > 7 {
			k.Errorf("got %d deltas while the store was unavailable", got)
		}
		refused := k.do(k.messageRequest("prompt", spec.Event{Run: "other", Text: "hi"}))
		if refused.status != 503 || strings.Contains(string(refused.bytes()), errGone.Error()) {
			k.Errorf("a run that cannot be kept: %d %s", refused.status, refused.bytes())
		}
		if heard := k.do(listen); heard.status != 503 {
			k.Errorf("a run that cannot be read: %d", heard.status)
		}
		s.set(func() { s.gone = false })
		<-p.done
		events := k.events(listen, p)
		deltas, seen := 0, map[string]bool{}
		for _, e := range events {
			if e.Kind == spec.MessageDelta {
				deltas++
			}
			if e.Cursor != "" && seen[e.Cursor] {
				k.Errorf("cursor %s twice", e.Cursor)
			}
			seen[e.Cursor] = true
		}
		if deltas != 20 || events[len(events)-1].Kind != spec.RunEnd {
			k.Errorf("%d deltas: %s", deltas, kinds(events))
		}
	})
}

// TestWaitingIsLogged checks what is logged of a run that waits for its store: the id of the run,
// the time, how many others wait, and that the store is available again. The wait is not logged at
// every attempt, nor for every run.
func TestWaitingIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &failingStore{Store: state.NewMemory(state.Config{})}
		var log bytes.Buffer
		k := newTestClient(t, mustDialect(t, "runs@2026-04"), Scripted, Config{Store: s, Log: slog.New(slog.NewTextHandler(&log, nil))})
		var tapes []*recordedResponse
		for i := range 20 {
			tapes = append(tapes, k.start(k.sendPrompt("prompt", spec.Event{Run: fmt.Sprint("waiting-", i), Text: "conformance:slow 20 100"}), nil))
		}
		wait(550 * time.Millisecond)
		s.set(func() { s.gone = true })
		wait(35 * time.Second)
		s.set(func() { s.gone = false })
		for _, p := range tapes {
			<-p.done
		}
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		waits := 0
		for _, line := range lines {
			if !strings.Contains(line, `msg="a run waits for its store"`) {
				continue
			}
			waits++
			if !strings.Contains(line, "run=waiting-") || !strings.Contains(line, "waited=") || !strings.Contains(line, "the medium is gone") {
				t.Error(line)
			}
		}
		if waits < 3 || waits > 4 || !strings.Contains(log.String(), "waiting=20") {
			t.Errorf("%d lines in 35 s say that runs wait:\n%s", waits, log.String())
		}
		if !strings.Contains(lines[len(lines)-1], `msg="the store is available again"`) || len(lines) > waits+1 {
			t.Errorf("the recovery is not logged, or too often:\n%s", log.String())
		}
		k.close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestMessagesWaitForAnEvent checks that messages that are queued while the writer has nothing else
// to store are stored later, even if the writer was woken for events that it has stored already.
func TestMessagesWaitForAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := state.NewMemory(state.Config{})
		k := newTestClient(t, mustDialect(t, "runs@2026-04"), Scripted, Config{Store: s})
		ref := state.RunRef{Thread: "t", Run: "r"}
		if _, err := s.StartRun(t.Context(), state.StartRunRequest{RunRef: ref, KeepEvents: true}); err != nil {
			t.Fatal(err)
		}
		r := &run{ref: ref, id: "r"}
		r.ctx, r.cancel = context.WithCancelCause(t.Context())
		w := newRunLogWriter(k.s, r)
		w.addMessages([]state.Message{{ID: "m1", Text: "one"}})
		w.notify()
		synctest.Wait()
		w.finish()
		got, err := s.Messages(t.Context(), "t", 0, 10)
		if err != nil || len(got) != 1 || got[0].ID != "m1" {
			t.Errorf("stored messages %v, %v; want m1", got, err)
		}
		k.close()
	})
}

// TestLostAnswers checks that data that was stored although Append returned an error is not stored
// again.
func TestLostAnswers(t *testing.T) {
	onShaky(t, "runs@2026-04", func(k *testClient, s *failingStore) {
		for lost := 1; lost <= 3; lost++ {
			s.set(func() { s.lost = lost })
			events := k.runEvents("prompt", spec.Event{Text: "conformance:slow 3 300"})
			var said strings.Builder
			for _, e := range events {
				if e.Kind == spec.MessageDelta {
					said.WriteString(e.Text)
				}
			}
			if said.String() != "1 2 3 " || events[len(events)-1].Kind != spec.RunEnd {
				k.Errorf("%d answers lost: %q, %s", lost, said.String(), kinds(events))
			}
		}
	})
}

// TestNotRemembered checks that a run whose messages cannot be stored does not end successfully,
// because clients rely on the history.
func TestNotRemembered(t *testing.T) {
	for _, name := range []string{"agentscope@1.1", "agkit@0.0.10"} {
		onShaky(t, name, func(k *testClient, s *failingStore) {
			req := k.messageRequest("prompt", spec.Event{Run: "run-1", Text: "conformance:slow 3 100"})
			p := k.start(req, nil)
			wait(150 * time.Millisecond)
			s.set(func() { s.gone = true })
			<-p.done
			events := k.events(req, p)
			if last(events, spec.RunEnd).Err == nil || last(events, spec.RunError).Err != nil {
				k.Errorf("%s: %s", name, kinds(events))
			}
		})
	}
}

// TestOrphans checks that orphans are ended, and that their streams receive the terminal event.
func TestOrphans(t *testing.T) {
	eachResumable(t, func(t *testing.T, d *dialect.Dialect) {
		onShaky(t, d.Name, func(k *testClient, s *failingStore) {
			ref := k.s.runRef(k.thread, "run-7")
			if _, err := s.StartRun(t.Context(), state.StartRunRequest{RunRef: ref, Owner: k.user, StartedAt: time.Now(), KeepEvents: true}); err != nil {
				t.Fatal(err)
			}
			begun := k.s.encodeEvent(nil, &spec.Event{Kind: spec.RunStart, Thread: k.thread, Run: "run-7"})
			if _, _, err := s.Append(t.Context(), ref, state.AppendBatch{Events: [][]byte{begun}}); err != nil {
				t.Fatal(err)
			}
			listen := k.messageRequest("listen", spec.Event{Run: "run-7"})
			p := k.start(listen, nil)
			wait(10 * time.Millisecond)
			synctest.Wait() // it has sent all events, and waits for more
			if got := kinds(k.events(listen, p)); got != "run.start" {
				t.Errorf("before: %s", got)
			}
			s.set(func() { s.orphan = []state.RunRef{ref, {Thread: "nobody@1/x", Run: "r"}} })
			<-p.done
			events := k.events(listen, p)
			if got := kinds(events); !strings.HasSuffix(got, "run.error") || last(events, spec.RunError).Text != errOrphaned.text {
				t.Errorf("after: %s", fmt.Sprint(got))
			}
		})
	})
}
