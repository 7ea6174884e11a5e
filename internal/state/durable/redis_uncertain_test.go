package durable

import (
	"bytes"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/streamassay/streamassay/internal/state"
)

// A cuttingProxy is a proxy between a store and its server. For the next left requests that contain
// about, it cuts the connection when the response arrives, so that the request is executed but its
// response is lost.
type cuttingProxy struct {
	net.Listener
	server string
	mu     sync.Mutex
	about  string // a part of the requests whose responses are lost
	left   int    // number of further responses to lose
}

func newCutter(t testing.TB, server string) *cuttingProxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cuttingProxy{Listener: l, server: server}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go c.relay(conn)
		}
	}()
	return c
}

func (c *cuttingProxy) cut(about string, times int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.about, c.left = about, times
}

func (c *cuttingProxy) cuts(request []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == 0 || !bytes.Contains(request, []byte(c.about)) {
		return false
	}
	c.left--
	return true
}

// relay relays one connection. It relies on each request being small enough to be read at once.
func (c *cuttingProxy) relay(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", c.server)
	if err != nil {
		return
	}
	defer server.Close()
	cutting := make(chan struct{})
	go func() {
		defer client.Close()
		defer server.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			if err != nil {
				return
			}
			select {
			case <-cutting:
				return
			default:
			}
			if _, err := client.Write(buf[:n]); err != nil {
				return
			}
		}
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		if c.cuts(buf[:n]) {
			close(cutting)
			_, _ = server.Write(buf[:n])
			_, _ = server.Read(buf) // or the other one has it
			return
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}

func TestRedisLostAnswers(t *testing.T) {
	r := startRedis(t)
	c := newCutter(t, r.addr())
	url := strings.Replace(r.url(), r.addr(), c.Addr().String(), 1)
	dead := openRedis(t, url, state.Config{})
	warm := state.RunRef{Thread: "warm", Run: "up"}
	begin(t, dead, warm, "u") // the server knows the scripts afterwards
	tell(t, dead, warm, "x")

	for _, times := range []int{1, 2, 3, 4, 7} {
		t.Run(fmt.Sprint(times), func(t *testing.T) {
			s := openRedis(t, url, state.Config{})
			run := state.RunRef{Thread: "t", Run: fmt.Sprint("r", times)}

			c.cut("task-"+run.Run, min(times, 2)) // without a retry the result stays unknown
			if g := begin(t, s, run, "u", state.Message{ID: "m"}); g.Existed || g.ThreadCreated != (times == 1) {
				t.Errorf("it began as %+v", g)
			}
			c.cut("MARK", times)
			var first int64
			tries := 0
			eventually(t, func() (err error) {
				tries++
				first, _, err = s.Append(t.Context(), run, state.AppendBatch{Events: blobs("MARK", "2"), Messages: []state.Message{{ID: "n"}}})
				return err
			})
			if want := 1 + times/3; tries != want {
				t.Errorf("it took %d tries, not %d", tries, want)
			}
			if second := tell(t, s, run, "MARK", "2"); second != first+2 {
				t.Errorf("the repeated update is at %d, want %d", second, first+2)
			}
			c.cut(appendScript.Hash(), times)
			eventually(t, func() error {
				_, _, err := s.Append(t.Context(), run, state.AppendBatch{Events: blobs("end"), End: true})
				return err
			})
			want := fmt.Sprintf("%d:MARK %d:2 %d:MARK %d:2 %d:end over", first, first+1, first+2, first+3, first+4)
			if got := heard(t, s, run, 0); got != want {
				t.Errorf("got %q, not %q", got, want)
			}
			said, err := s.Messages(t.Context(), "t", 0, 2)
			if err != nil || len(said) != 2 || said[0].ID != "m" || said[1].ID != "n" {
				t.Errorf("got %+v, %v", said, err)
			}
		})
	}
	if n := len(dead.locks.byRun); n != 0 {
		t.Errorf("%d runs are in doubt for ever", n)
	}
}

// TestRedisLostOrphans checks that a replica that loses the reply with the runs that it has claimed
// receives those runs at its next call.
func TestRedisLostOrphans(t *testing.T) {
	r := startRedis(t)
	c := newCutter(t, r.addr())
	dead := r.open(t, state.Config{})
	want := map[state.RunRef]bool{}
	for i := range 2*maxTakeover + 10 {
		run := state.RunRef{Thread: "t", Run: fmt.Sprint(i)}
		begin(t, dead, run, "u")
		want[run] = true
	}
	s := openRedis(t, strings.Replace(r.url(), r.addr(), c.Addr().String(), 1), state.Config{})
	if runs, err := s.ClaimOrphans(t.Context()); err != nil || len(runs) > 0 {
		t.Fatalf("%v are orphans, %v", runs, err)
	}
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	c.cut(takeoverScript.Hash(), 7)
	eventually(t, func() error {
		runs, err := s.ClaimOrphans(t.Context())
		for _, run := range runs {
			if !want[run] {
				t.Errorf("%v is another's, or was given twice", run)
			}
			delete(want, run)
		}
		if len(want) > 0 {
			return fmt.Errorf("%d were not given: %w", len(want), err)
		}
		return nil
	})
}

// TestRedisLostBegin checks that a run becomes an orphan if its StartRun returned an error although
// the server executed it.
func TestRedisLostBegin(t *testing.T) {
	r := startRedis(t)
	c := newCutter(t, r.addr())
	s := openRedis(t, strings.Replace(r.url(), r.addr(), c.Addr().String(), 1), state.Config{DeadAfter: time.Second})
	begin(t, s, state.RunRef{Thread: "t", Run: "warm"}, "u")
	lost, again := state.RunRef{Thread: "t", Run: "lost"}, state.RunRef{Thread: "t", Run: "again"}
	for _, run := range []state.RunRef{lost, again} {
		c.cut("task-"+run.Run, 3)
		if _, err := s.StartRun(t.Context(), state.StartRunRequest{RunRef: run, Owner: "u", TaskID: "task-" + run.Run}); err == nil {
			t.Fatal("nothing was lost")
		}
	}
	if g := begin(t, s, again, "u"); g.Existed {
		t.Errorf("it began as %+v", g)
	}
	eventually(t, func() error {
		runs, err := s.ClaimOrphans(t.Context())
		if len(runs) == 0 {
			return fmt.Errorf("no orphans yet: %w", err)
		}
		if len(runs) != 1 || runs[0] != lost {
			t.Errorf("%v are orphans, and not %v", runs, lost)
		}
		return nil
	})
	if runs, err := s.ClaimOrphans(t.Context()); err != nil || len(runs) > 0 {
		t.Errorf("%v are orphans again, %v", runs, err)
	}
}

// TestRedisLate checks that an Append that reaches the server after a later call changes nothing.
func TestRedisLate(t *testing.T) {
	s := startRedis(t).open(t, state.Config{})
	run := state.RunRef{Thread: "t", Run: "r"}
	begin(t, s, run, "u")
	late := s.nextToken()
	tell(t, s, run, "1")
	reply, err := s.runScript(t.Context(), appendScript, run.Thread, run.Run, s.replica, late, "1", 9, 0, 1, "late")
	if got, err := redis.Strings(reply, err); err != nil || len(got) != 1 || got[0] != "late" {
		t.Errorf("got %v, %v", got, err)
	}
	if got := heard(t, s, run, 0); got != "1:1" {
		t.Errorf("got %q", got)
	}
}
