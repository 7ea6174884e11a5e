package durable

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/streamassay/streamassay/internal/state"
)

func TestRedisRestart(t *testing.T) {
	r := startRedis(t, "--appendfsync", "always")
	s := r.open(t, state.Config{DeadAfter: time.Second})
	other := r.open(t, state.Config{DeadAfter: time.Second})
	run := state.RunRef{Thread: "t", Run: "r"}
	begin(t, s, run, "u")
	changed, stop := other.Watch("t")
	defer stop()
	tell(t, s, run, "1")
	receive(t, changed)

	r.kill()
	told := state.AppendBatch{Events: blobs("2"), Messages: []state.Message{{ID: "m"}}}
	for name, call := range map[string]func() error{
		"begin": func() error {
			_, err := s.StartRun(t.Context(), state.StartRunRequest{RunRef: state.RunRef{Thread: "u", Run: "s"}})
			return err
		},
		"tell":   func() error { _, _, err := s.Append(t.Context(), run, told); return err },
		"after":  func() error { _, _, err := s.EventsAfter(t.Context(), run, 0, 9); return err },
		"thread": func() error { _, err := s.Thread(t.Context(), "t"); return err },
		"cancel": func() error { return s.Cancel(t.Context(), run) },
		"latest": func() error { _, err := s.LatestThread(t.Context(), "u", ""); return err },
		"day":    func() error { _, _, _, err := s.DayMessages(t.Context(), "t", ""); return err },
		"secret": func() error { _, err := s.Secret(t.Context()); return err },
		"ping":   func() error { return s.Ping(t.Context()) },
	} {
		start := time.Now()
		err := call()
		if err == nil || errors.Is(err, state.ErrNotFound) || !strings.Contains(err.Error(), r.addr()) {
			t.Errorf("%s without a server: %v", name, err)
		}
		if took := time.Since(start); took > redisTimeout+time.Second {
			t.Errorf("%s without a server took %v", name, took)
		}
	}
	quiet := time.NewTimer(2 * time.Second) // longer than a replica may be silent
	receive(t, quiet.C)
	r.start()

	eventually(t, func() error { _, _, err := s.Append(t.Context(), run, told); return err })
	if got := heard(t, other, run, 0); got != "1:1 2:2" {
		t.Errorf("got %q", got)
	}
	receive(t, changed)
	for _, s := range []*redisStore{s, other} {
		if runs, err := s.ClaimOrphans(t.Context()); err != nil || len(runs) > 0 {
			t.Errorf("%v are orphans (%v), but the server was away, not who plays them", runs, err)
		}
	}
	eventually(t, func() error { // the connection that listens is back as well
		if err := s.Cancel(t.Context(), run); err != nil {
			return err
		}
		select {
		case got := <-other.Canceled():
			if got != run {
				t.Errorf("canceled %v", got)
			}
			return nil
		default:
			return errors.New("nothing was canceled")
		}
	})
	end(t, s, run)
}

// TestRedisNoMemory checks that a server that has run out of memory executes a call either
// completely or not at all.
func TestRedisNoMemory(t *testing.T) {
	r := startRedis(t, "--maxmemory-policy", "noeviction")
	s := r.open(t, state.Config{MaxRuns: 10})
	run := state.RunRef{Thread: "t", Run: "r"}
	begin(t, s, run, "u")
	tell(t, s, run, "1")
	db := r.client()
	defer db.close()
	if _, err := db.do(t.Context(), "CONFIG", "SET", "maxmemory", "1"); err != nil {
		t.Fatal(err)
	}
	_, _, err := s.Append(t.Context(), run, state.AppendBatch{Events: blobs("2", "3"), Messages: []state.Message{{ID: "m"}}, End: true})
	if err == nil || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("told without memory: %v", err)
	}
	if _, err := s.StartRun(t.Context(), state.StartRunRequest{RunRef: state.RunRef{Thread: "u", Run: "s"}, Owner: "u"}); err == nil || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("begun without memory: %v", err)
	}
	if got := heard(t, s, run, 0); got != "1:1" {
		t.Errorf("got %q, want the stored data", got)
	}
	if err := s.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("nothing can be kept, and ping says %v", err)
	}
	if _, err := s.Thread(t.Context(), "u"); !errors.Is(err, state.ErrNotFound) {
		t.Errorf("a thread was made by halves: %v", err)
	}
	if _, err := db.do(t.Context(), "CONFIG", "SET", "maxmemory", "0"); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	tell(t, s, run, "2")
	end(t, s, run)
	if got := heard(t, s, run, 0); got != "1:1 2:2 over" {
		t.Errorf("got %q afterwards", got)
	}
}

// TestRedisDeaf checks that watchers miss no change when the connection of the subscription is
// lost.
func TestRedisDeaf(t *testing.T) {
	r := startRedis(t)
	s, other := r.open(t, state.Config{}), r.open(t, state.Config{})
	db := r.client()
	defer db.close()
	run := state.RunRef{Thread: "t", Run: "r"}
	begin(t, s, run, "u")
	places := follow(t, other, run)
	for i := range 20 {
		if i%2 == 0 {
			eventually(t, func() error { // both listen, and are cut off
				n, err := redis.Int(db.do(t.Context(), "CLIENT", "KILL", "TYPE", "pubsub"))
				if err == nil && n == 0 {
					err = errors.New("nobody listens")
				}
				return err
			})
		}
		at := tell(t, s, run, fmt.Sprint(i))
		if got := receive(t, places); got != at {
			t.Errorf("heard of %d, not of %d", got, at)
		}
	}
	if _, err := db.do(t.Context(), "CLIENT", "KILL", "TYPE", "pubsub"); err != nil {
		t.Fatal(err)
	}
	if err := other.Cancel(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*redisStore{s, other} {
		if got := receive(t, s.Canceled()); got != run {
			t.Errorf("canceled %v", got)
		}
	}
}

// TestRedisSilent checks that calls to a server that does not respond fail in time, and that a
// repeated call is not executed twice when the server responds again. A replica whose heartbeats
// failed only for that reason does not count as dead.
func TestRedisSilent(t *testing.T) {
	r := startRedis(t)
	s := r.open(t, state.Config{DeadAfter: time.Second})
	other := r.open(t, state.Config{DeadAfter: time.Second})
	run := state.RunRef{Thread: "t", Run: "r"}
	begin(t, s, run, "u")
	places := follow(t, other, run)
	eventually(t, func() error {
		if !steady(other) {
			return errors.New("the server is not trusted")
		}
		return nil
	})
	if err := r.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	for range 2 {
		if _, _, err := s.Append(t.Context(), run, state.AppendBatch{Events: blobs("1")}); err == nil {
			t.Error("a silent server was told")
		}
	}
	if _, err := other.ClaimOrphans(t.Context()); err == nil { // it is done when the server wakes
		t.Error("a silent server gave orphans")
	}
	if took := time.Since(start); took > 3*redisTimeout+time.Second {
		t.Errorf("it took %v", took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := s.Append(ctx, run, state.AppendBatch{Events: blobs("1")}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("who does not wait for long: %v", err)
	}
	if err := r.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		_, _, err := s.Append(t.Context(), run, state.AppendBatch{Events: blobs("1")})
		return err
	})
	tell(t, s, run, "2")
	for want := range 2 {
		if got := receive(t, places); got != int64(want)+1 {
			t.Errorf("heard of %d, not of %d", got, want+1)
		}
	}
	for range 50 { // until both are sure of the server again
		for _, s := range []*redisStore{s, other} {
			if runs, err := s.ClaimOrphans(t.Context()); err != nil || len(runs) > 0 {
				t.Errorf("%v are orphans, %v", runs, err)
			}
		}
		receive(t, time.After(30*time.Millisecond))
	}
	if !steady(s) || !steady(other) {
		t.Error("the server is not trusted again")
	}
	if got := heard(t, s, run, 0); got != "1:1 2:2" {
		t.Errorf("got %q", got)
	}
}

// TestRedisClose checks that Close ends all goroutines of a store, whether or not the server is
// running.
func TestRedisClose(t *testing.T) {
	r := startRedis(t)
	before := runtime.NumGoroutine()
	for _, gone := range []string{"", "and its server is gone"} {
		s := r.open(t, state.Config{})
		_, stop := s.Watch("t")
		defer stop()
		begin(t, s, state.RunRef{Thread: "t", Run: "r" + gone}, "u")
		if err := s.Cancel(t.Context(), state.RunRef{Thread: "t"}); err != nil {
			t.Fatal(err)
		}
		if gone != "" {
			r.kill()
		}
		start := time.Now()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("closing took %v", took)
		}
		if err := s.Close(); err != nil {
			t.Errorf("it was closed twice: %v", err)
		}
		if err := s.Ping(t.Context()); err == nil {
			t.Error("it is closed, and answers")
		}
	}
	eventually(t, func() error {
		if n := runtime.NumGoroutine(); n > before {
			return fmt.Errorf("%d goroutines, not %d", n, before)
		}
		return nil
	})
}

// TestRedisAway checks that after an outage of the server, all replicas have the time
// Config.DeadAfter for a heartbeat before their runs are claimed.
func TestRedisAway(t *testing.T) {
	const dead = 500 * time.Millisecond
	r := startRedis(t, "--appendfsync", "always")
	one, two := r.open(t, state.Config{DeadAfter: dead}), r.open(t, state.Config{DeadAfter: dead})
	run := state.RunRef{Thread: "t", Run: "r"}
	begin(t, one, run, "u")
	eventually(t, func() error {
		if !steady(two) {
			return errors.New("the server is not trusted")
		}
		return nil
	})
	close(one.heartbeat.halt)
	since, known := two.heartbeat.steadiness()
	r.kill()
	receive(t, time.After(2*dead))
	back := time.Now() // no replica can have a heartbeat before
	r.start()
	eventually(t, func() error { // requested before, and received only now
		taken, err := two.runScript(t.Context(), takeoverScript, "", "", two.replica, "old", 9, since, known, dead.Milliseconds())
		if len(taken) > 0 {
			t.Errorf("%v were taken by what was known long ago", taken)
		}
		return err
	})
	eventually(t, func() error { return two.heartbeat.beat(t.Context()) })
	eventually(t, func() error {
		runs, err := two.ClaimOrphans(t.Context())
		if err == nil && len(runs) == 0 {
			err = errors.New("no orphans")
		}
		return err
	})
	if took := time.Since(back).Round(10 * time.Millisecond); took < dead {
		t.Errorf("it was given %v", took)
	}
}

// steady reports whether the store s would claim the runs of another replica without heartbeats.
func steady(s *redisStore) bool {
	since, known := s.heartbeat.steadiness()
	now, dead := time.Now().UnixMilli(), s.cfg.DeadAfter.Milliseconds() // the server is on this machine
	return now-since >= dead && now-known <= dead/2
}

// TestRedisKilledServer checks that acknowledged events are stored once and in order although the
// server is killed repeatedly.
func TestRedisKilledServer(t *testing.T) {
	const runs, events, kills = 8, 300, 3
	r := startRedis(t, "--appendfsync", "always")
	s := r.open(t, state.Config{})
	var telling sync.WaitGroup
	var told atomic.Int64
	for i := range runs {
		run := state.RunRef{Thread: fmt.Sprint("t", i%3), Run: fmt.Sprint("r", i)}
		begin(t, s, run, "u")
		telling.Go(func() {
			for n := 0; n < events; n += 2 {
				next := state.AppendBatch{Events: blobs(fmt.Sprint(n), fmt.Sprint(n+1)), End: n+2 == events}
				for again := time.Duration(0); ; again = 10 * time.Millisecond {
					receive(t, time.After(again))
					_, _, err := s.Append(t.Context(), run, next)
					if err == nil {
						break
					}
					if errors.Is(err, state.ErrNotFound) || t.Context().Err() != nil {
						t.Errorf("%v at %d: %v", run, n, err)
						return
					}
				}
				told.Add(2)
			}
		})
	}
	for k := range kills {
		eventually(t, func() error {
			if n := told.Load(); n < int64((k+1)*runs*events/(kills+2)) {
				return fmt.Errorf("only %d events were told", n)
			}
			return nil
		})
		r.kill()
		r.start()
	}
	telling.Wait()
	for i := range runs {
		entries, over, err := s.EventsAfter(t.Context(), state.RunRef{Thread: fmt.Sprint("t", i%3), Run: fmt.Sprint("r", i)}, 0, 2*events)
		if err != nil || !over || len(entries) != events {
			t.Errorf("run %d has %d events, %v, %v", i, len(entries), over, err)
		}
		for n, e := range entries {
			if string(e.Data) != fmt.Sprint(n) {
				t.Fatalf("run %d has %s at %d", i, e.Data, n)
			}
		}
	}
}

// TestOpenNotRedis checks that OpenRedis says so if what listens on the port does not answer like a
// Redis server.
func TestOpenNotRedis(t *testing.T) {
	for name, c := range map[string]struct {
		answer string // "" means that the connection stays open without an answer
		close  bool
		want   string
	}{
		"SSH":    {"SSH-2.0-OpenSSH_9.6\r\n", false, "the server is not a Redis server"},
		"HTTP":   {"HTTP/1.1 400 Bad Request\r\n\r\n", true, "the server is not a Redis server"},
		"closed": {"", true, "the connection was closed without a reply: is it a Redis server?"},
		"silent": {"", false, "no reply within 5s: is it a Redis server?"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			go func() {
				for {
					conn, err := ln.Accept()
					if err != nil {
						return
					}
					defer conn.Close()
					_, _ = conn.Read(make([]byte, 100)) // the command
					_, _ = conn.Write([]byte(c.answer))
					if c.close {
						conn.Close()
					}
				}
			}()
			want := "redis " + ln.Addr().String() + ": " + c.want
			if _, err := OpenRedis(t.Context(), "redis://"+ln.Addr().String(), state.Config{}); err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}
