package durable

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamassay/streamassay/internal/state"
)

// A redisServer is a server that a test has started, and can kill and start again.
type redisServer struct {
	t       testing.TB
	program string
	dir     string
	port    int
	options []string
	cmd     *exec.Cmd
}

func startRedis(t testing.TB, options ...string) *redisServer {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("NOT RUN: redis-server is not installed (Debian: apt-get install redis-server): the Redis store was not tested")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &redisServer{t: t, program: program, dir: t.TempDir(), port: l.Addr().(*net.TCPAddr).Port, options: options}
	_ = l.Close()
	t.Cleanup(r.kill)
	r.start()
	return r
}

func (r *redisServer) addr() string { return "127.0.0.1:" + strconv.Itoa(r.port) }

// url returns the URL of the server with a key prefix for this test alone.
func (r *redisServer) url() string {
	return "redis://" + r.addr() + "/0?prefix=" + strings.ReplaceAll(r.t.Name(), "/", "_")
}

// start starts the server and returns when it responds.
func (r *redisServer) start() {
	r.t.Helper()
	log, err := os.OpenFile(filepath.Join(r.dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		r.t.Fatal(err)
	}
	defer log.Close()
	r.cmd = exec.Command(r.program, append([]string{"--port", strconv.Itoa(r.port), "--bind", "127.0.0.1",
		"--dir", r.dir, "--appendonly", "yes", "--save", ""}, r.options...)...)
	r.cmd.Stdout, r.cmd.Stderr = log, log
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	db := r.client()
	defer db.close()
	eventually(r.t, func() error {
		_, err := db.do(r.t.Context(), "PING")
		if err != nil && strings.Contains(err.Error(), "NOAUTH") {
			return nil // it wants a password, so it is there
		}
		return err
	})
}

func (r *redisServer) kill() {
	if r.cmd == nil || r.cmd.Process == nil {
		return
	}
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
}

func (r *redisServer) client() *redisClient {
	return newRedisClient(redisAddress{network: "tcp", address: r.addr()})
}

func (r *redisServer) open(t testing.TB, cfg state.Config) *redisStore {
	t.Helper()
	return openRedis(t, r.url(), cfg)
}

func openRedis(t testing.TB, url string, cfg state.Config) *redisStore {
	t.Helper()
	s, err := OpenRedis(t.Context(), url, cfg)
	for n := 0; n < 10 && errors.Is(err, context.DeadlineExceeded); n++ {
		s, err = OpenRedis(t.Context(), url, cfg) // the machine is busy, and cfg.DeadAfter may be short
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s.(*redisStore)
}

// eventually calls try repeatedly until it returns nil. The test fails if that takes longer than 30
// seconds.
func eventually(t testing.TB, try func() error) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(30 * time.Second); ; <-tick.C {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// receive returns the next value from the channel c. The test fails if there is none within 30
// seconds.
func receive[T any](t testing.TB, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(30 * time.Second):
		t.Fatal("nothing came")
	}
	return v
}

func begin(t testing.TB, s state.Store, run state.RunRef, owner string, said ...state.Message) state.StartRunResult {
	t.Helper()
	g, err := s.StartRun(context.Background(), state.StartRunRequest{RunRef: run, Owner: owner, TaskID: "task-" + run.Run, StartedAt: noon, KeepEvents: true, Messages: said})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func tell(t testing.TB, s state.Store, run state.RunRef, data ...string) int64 {
	t.Helper()
	first, _, err := s.Append(context.Background(), run, state.AppendBatch{Events: blobs(data...)})
	if err != nil {
		t.Fatal(err)
	}
	return first
}

func end(t testing.TB, s state.Store, run state.RunRef) {
	t.Helper()
	if _, _, err := s.Append(context.Background(), run, state.AppendBatch{End: true}); err != nil {
		t.Fatal(err)
	}
}

func blobs(data ...string) (all [][]byte) {
	for _, d := range data {
		all = append(all, []byte(d))
	}
	return all
}

// heard returns the events of the run beyond the position at as text, followed by "over" if the run
// has ended. If the store returns an error, heard returns the text of the error.
func heard(t testing.TB, s state.Store, run state.RunRef, at int64) string {
	t.Helper()
	entries, over, err := s.EventsAfter(context.Background(), run, at, 1<<20)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "%d:%s ", e.Position, e.Data)
	}
	if over {
		b.WriteString("over")
	}
	return strings.TrimSpace(b.String())
}

// follow starts a goroutine that reads a run to its end. The goroutine reads again only after Watch
// reports a change or the store returned an error. The result receives the positions of the events.
func follow(t testing.TB, s state.Store, run state.RunRef) <-chan int64 {
	t.Helper()
	places := make(chan int64, 1)
	changed, stop := s.Watch(run.Thread)
	var reader sync.WaitGroup
	t.Cleanup(reader.Wait) // the store is closed later, and no call may be in progress then
	reader.Go(func() {
		defer close(places)
		defer stop()
		for at := int64(0); ; {
			entries, over, err := s.EventsAfter(t.Context(), run, at, 1000)
			if errors.Is(err, state.ErrNotFound) {
				t.Errorf("after %d: %v", at, err)
				return
			}
			for _, e := range entries {
				at = e.Position
				select {
				case places <- at:
				case <-t.Context().Done():
					return
				}
			}
			if over {
				return
			}
			var again <-chan time.Time
			if err != nil {
				again = time.After(50 * time.Millisecond)
			}
			select {
			case <-changed:
			case <-again:
			case <-t.Context().Done():
				return
			}
		}
	})
	return places
}

var noon = time.Date(2024, 5, 6, 12, 0, 0, 123456789, time.UTC)

func TestRedis(t *testing.T) {
	r := startRedis(t)
	contract(t, func(t *testing.T, cfg state.Config) state.Store {
		return openRedis(t, "redis://"+r.addr()+"?prefix="+url.QueryEscape(t.Name()), cfg)
	})
}

func TestRedisRuns(t *testing.T) {
	s := startRedis(t).open(t, state.Config{})
	a, b := state.RunRef{Thread: "t:1", Run: "a"}, state.RunRef{Thread: "t:1", Run: "b"}
	if g := begin(t, s, a, "u"); !g.ThreadCreated || g.Existed || g.FirstMessage != 1 || g.TaskID != "task-a" || !g.StartedAt.Equal(noon) {
		t.Errorf("the first run began as %+v", g)
	}
	if g := begin(t, s, b, "u", state.Message{ID: "m", Text: "hi"}); g.ThreadCreated || g.Existed || g.FirstMessage != 1 {
		t.Errorf("the second run began as %+v", g)
	}
	if g := begin(t, s, a, "u", state.Message{ID: "m", Text: "hi"}); g.ThreadCreated || !g.Existed || g.FirstMessage != 1 || g.TaskID != "task-a" {
		t.Errorf("the first run began again as %+v", g)
	}
	if _, err := s.StartRun(t.Context(), state.StartRunRequest{RunRef: a, Owner: "v"}); !errors.Is(err, state.ErrNotOwner) {
		t.Errorf("another's thread: %v", err)
	}
	tell(t, s, a, "1", "2")
	tell(t, s, b, "3")
	if first := tell(t, s, a, "4", "", "\x00\xff"); first != 4 {
		t.Errorf("the first place was %d", first)
	}
	end(t, s, b)
	for _, c := range []struct {
		run  state.RunRef
		at   int64
		want string
	}{
		{a, 0, "1:1 2:2 4:4 5: 6:\x00\xff"}, {a, 2, "4:4 5: 6:\x00\xff"}, {a, 6, ""}, {a, 99, ""},
		{b, 0, "3:3 over"}, {b, 3, "over"}, {state.RunRef{Thread: "t:1", Run: "c"}, 0, state.ErrNotFound.Error()}, {state.RunRef{Thread: "t", Run: "1a"}, 0, state.ErrNotFound.Error()},
	} {
		if got := heard(t, s, c.run, c.at); got != c.want {
			t.Errorf("%v after %d: %q, not %q", c.run, c.at, got, c.want)
		}
	}
	if entries, over, err := s.EventsAfter(t.Context(), b, 0, 1); len(entries) != 1 || !over || err != nil {
		t.Errorf("one event of a run that has one: %v %v %v", entries, over, err)
	}
	if _, _, err := s.Append(t.Context(), b, state.AppendBatch{End: true}); !errors.Is(err, state.ErrNotFound) {
		t.Errorf("appended to an ended run: %v", err)
	}
	got, err := s.Thread(t.Context(), "t:1")
	if want := (state.Thread{Owner: "u", Tag: got.Tag, LastPosition: 6}); err != nil || got != want {
		t.Errorf("the thread is %+v (%v), not %+v", got, err, want)
	}
	if _, err := s.Thread(t.Context(), "t"); !errors.Is(err, state.ErrNotFound) {
		t.Errorf("no such thread: %v", err)
	}
}

// TestRedisLongRun checks that all events of a long run can be read in several calls, and that a
// call returns fewer events if they are large.
func TestRedisLongRun(t *testing.T) {
	s := startRedis(t).open(t, state.Config{})
	run := state.RunRef{Thread: "t", Run: "r"}
	begin(t, s, run, "u")
	large := strings.Repeat("x", 1<<20)
	var want []string
	for i := range 30 {
		want = append(want, strconv.Itoa(i))
		for range 60 {
			want = append(want, "y")
		}
	}
	want = append(want, large, large, large, large, large, large)
	for part := want; len(part) > 0; part = part[min(100, len(part)):] {
		tell(t, s, run, part[:min(100, len(part))]...)
	}
	end(t, s, run)
	for _, most := range []int{1, 7, 511, 512, 513, 1 << 20} {
		var got []string
		for at, over := int64(0), false; !over; {
			var entries []state.LogEntry
			var err error
			if entries, over, err = s.EventsAfter(t.Context(), run, at, most); err != nil || len(entries) > most {
				t.Fatalf("%d entries, at most %d, %v", len(entries), most, err)
			}
			for _, e := range entries {
				if at++; e.Position != at {
					t.Fatalf("place %d instead of %d", e.Position, at)
				}
				got = append(got, string(e.Data))
			}
		}
		if !cmp.Equal(got, want) {
			t.Errorf("%d at a time: %d events, not %d", most, len(got), len(want))
		}
	}
}
