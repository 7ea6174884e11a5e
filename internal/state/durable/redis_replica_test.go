package durable

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/streamassay/streamassay/internal/state"
)

func TestRedisTwo(t *testing.T) {
	r := startRedis(t)
	one, two := r.open(t, state.Config{}), r.open(t, state.Config{})
	run := state.RunRef{Thread: "t", Run: "r"}
	changed, stop := two.Watch("t")
	begin(t, one, run, "u")
	receive(t, changed)
	stop()
	stop()
	places := follow(t, two, run)
	for i := range 100 { // one appends, and the other is notified each time
		at := tell(t, one, run, fmt.Sprint(i))
		if got := receive(t, places); got != at {
			t.Errorf("heard of %d, not of %d", got, at)
		}
	}

	var runs []state.RunRef
	for i := range 20 {
		runs = append(runs, state.RunRef{Thread: "many", Run: fmt.Sprint(i)})
		begin(t, one, runs[i], "u")
	}
	end(t, one, runs[0])
	if err := two.Cancel(t.Context(), state.RunRef{Thread: "many"}); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*redisStore{one, two} {
		got := map[state.RunRef]bool{}
		for range runs[1:] {
			got[receive(t, s.Canceled())] = true
		}
		for _, run := range runs[1:] {
			if !got[run] {
				t.Errorf("%v was not canceled", run)
			}
		}
	}
	if _, canceled, err := one.Append(t.Context(), runs[1], state.AppendBatch{Events: blobs("x")}); !canceled || err != nil {
		t.Errorf("canceled %v, %v", canceled, err)
	}
	if _, canceled, err := one.Append(t.Context(), run, state.AppendBatch{Events: blobs("x")}); canceled || err != nil {
		t.Errorf("canceled %v, %v", canceled, err)
	}
	a, err := one.Secret(t.Context())
	b, err2 := two.Secret(t.Context())
	if len(a) != 32 || string(a) != string(b) || err != nil || err2 != nil {
		t.Errorf("the secrets have %d and %d bytes: %v %v", len(a), len(b), err, err2)
	}
}

// TestRedisRooms checks that the store subscribes to the channel of a thread only while the thread
// has watchers.
func TestRedisRooms(t *testing.T) {
	r := startRedis(t)
	s := r.open(t, state.Config{})
	db := r.client()
	defer db.close()
	channels := func(want int) {
		t.Helper()
		eventually(t, func() error {
			names, err := redis.Strings(db.do(t.Context(), "PUBSUB", "CHANNELS", s.prefix+"*"))
			if err == nil && len(names) != want+1 { // and the one of the canceled
				err = fmt.Errorf("%d channels, not %d", len(names)-1, want)
			}
			return err
		})
	}
	var watching sync.WaitGroup
	for i := range 50 {
		watching.Go(func() {
			thread := fmt.Sprint("t", i%10)
			for n := range 20 {
				_, stop := s.Watch(thread)
				changed, stop2 := s.Watch(thread)
				stop()
				run := state.RunRef{Thread: thread, Run: fmt.Sprint("r", i, "-", n)}
				if _, err := s.StartRun(t.Context(), state.StartRunRequest{RunRef: run, Owner: "u"}); err != nil {
					t.Error(err)
				}
				select {
				case <-changed:
				case <-time.After(30 * time.Second):
					t.Errorf("nobody was told that %v began", run)
				}
				stop2()
			}
		})
	}
	watching.Wait()
	channels(0)
	_, stop := s.Watch("x")
	_, other := s.Watch("y")
	_, same := s.Watch("x")
	channels(2)
	stop()
	other()
	channels(1)
	list, err := redis.String(db.do(t.Context(), "CLIENT", "LIST"))
	if n := strings.Count(list, " sub=2 "); err != nil || n != 1 || strings.Count(list, " sub=0 ") != strings.Count(list, "\n")-1 {
		t.Errorf("%d connections listen to the room and for cancels (%v):\n%s", n, err, list)
	}
	same()
	channels(0)
}

func TestRedisTakeOver(t *testing.T) {
	const dead = 500 * time.Millisecond
	r := startRedis(t)
	one, two, three := r.open(t, state.Config{DeadAfter: dead}), r.open(t, state.Config{DeadAfter: dead}), r.open(t, state.Config{DeadAfter: dead})
	run, over := state.RunRef{Thread: "t", Run: "r"}, state.RunRef{Thread: "t", Run: "over"}
	begin(t, one, run, "u")
	begin(t, one, over, "u")
	end(t, one, over)
	taken := func(s *redisStore) {
		t.Helper()
		eventually(t, func() error {
			runs, err := s.ClaimOrphans(t.Context())
			if err == nil && len(runs) == 0 {
				err = errors.New("no orphans")
			}
			if err == nil && (len(runs) != 1 || runs[0] != run) {
				t.Errorf("%v are orphans", runs)
			}
			return err
		})
	}
	close(one.heartbeat.halt)
	taken(two)
	if runs, err := three.ClaimOrphans(t.Context()); err != nil || len(runs) > 0 {
		t.Errorf("%v were taken over twice, %v", runs, err)
	}
	tell(t, two, run, "x")
	close(two.heartbeat.halt)
	taken(three)
	end(t, three, run)
	db := r.client()
	defer db.close()
	if n, err := redis.Int(db.do(t.Context(), "EXISTS", three.key("live:", one.replica), three.key("live:", two.replica), three.key("live:", three.replica))); n != 0 || err != nil {
		t.Errorf("%d replicas have runs, and none is left", n)
	}
}

// TestRedisTakeOverOnce checks that each orphan is received by only one of several replicas that
// claim orphans.
func TestRedisTakeOverOnce(t *testing.T) {
	r := startRedis(t)
	gone := r.open(t, state.Config{})
	for i := range 300 {
		begin(t, gone, state.RunRef{Thread: "t", Run: fmt.Sprint(i)}, "u")
	}
	var stores []*redisStore
	for range 4 {
		stores = append(stores, r.open(t, state.Config{}))
	}
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	got := map[state.RunRef]int{}
	var asking sync.WaitGroup
	for _, s := range stores {
		asking.Go(func() {
			runs, err := s.ClaimOrphans(t.Context())
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, run := range runs {
				got[run]++
			}
		})
	}
	asking.Wait()
	if len(got) != 300 {
		t.Errorf("%d were taken over, not 300", len(got))
	}
	for run, n := range got {
		if n != 1 {
			t.Errorf("%v was taken over %d times", run, n)
		}
	}
}

const replicaURL = "STREAMASSAY_TEST_REDIS"

// TestRedisReplica is the program of the process that TestRedisKill kills. It is skipped in other
// processes.
func TestRedisReplica(t *testing.T) {
	url := os.Getenv(replicaURL)
	if url == "" {
		t.Skip("it is run by TestRedisKill")
	}
	s := openRedis(t, url, state.Config{DeadAfter: time.Second})
	for i := range 200 {
		run := state.RunRef{Thread: fmt.Sprint("t", i), Run: "r"}
		begin(t, s, run, "u")
		first := tell(t, s, run, "1", "2", "3")
		fmt.Println("told", run.Thread, first)
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin) // for ever
}

func TestRedisKill(t *testing.T) {
	const dead = time.Second
	r := startRedis(t)
	s := r.open(t, state.Config{DeadAfter: dead})
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRedisReplica$", "-test.v")
	cmd.Env = append(os.Environ(), replicaURL+"="+r.url())
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	told := 0
	for lines := bufio.NewScanner(stdout); lines.Scan() && lines.Text() != "ready"; {
		if strings.HasPrefix(lines.Text(), "told ") {
			told++
		}
	}
	if runs, err := s.ClaimOrphans(t.Context()); err != nil || len(runs) > 0 {
		t.Errorf("%v are orphans already, %v", runs, err)
	}
	_ = cmd.Process.Kill()
	killed := time.Now()
	_ = cmd.Wait()
	var runs []state.RunRef
	eventually(t, func() error {
		more, err := s.ClaimOrphans(t.Context())
		if runs = append(runs, more...); len(runs) < 200 {
			return fmt.Errorf("%d orphans, not 200: %w", len(runs), err)
		}
		return nil
	})
	took := time.Since(killed)
	t.Logf("%d runs were taken over %v after they were left", len(runs), took)
	if took > 5*dead { // on a busy machine; on a quiet one it takes little more than dead
		t.Errorf("it took %v", took)
	}
	if told != 200 {
		t.Errorf("%d runs were told of", told)
	}
	for _, run := range runs {
		if got := heard(t, s, run, 0); got != "1:1 2:2 3:3" {
			t.Errorf("of %v is left %q", run, got)
		}
		end(t, s, run)
	}
}
