package durable

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/streamassay/streamassay/internal/state"
)

// childEnv is the environment variable that makes this test binary a child process. Its value is
// the path of the store's file.
const childEnv = "STATE_TEST_FILE"

// child starts this test binary as a child process with the file at path. lines reads the standard
// output of that process.
func child(t *testing.T, path string) (lines *bufio.Scanner, cmd *exec.Cmd) {
	t.Helper()
	cmd = exec.Command(os.Args[0], "-test.run=^TestSQLiteChild$", "-test.timeout=1m")
	cmd.Env = append(os.Environ(), childEnv+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // before its files are removed
	})
	return bufio.NewScanner(out), cmd
}

// TestSQLiteChild is the program of the child process, which is killed. It prints a line for
// everything that the store has acknowledged. It is skipped in other processes.
func TestSQLiteChild(t *testing.T) {
	path := os.Getenv(childEnv)
	if path == "" {
		t.Skip("it is run by other tests")
	}
	s, err := OpenSQLite(path, state.Config{})
	if err != nil {
		fmt.Println("error", err)
		return
	}
	fmt.Println("open")
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for i := 0; ; i++ {
				appendRun(t, s, state.RunRef{Thread: fmt.Sprint("t", w%3), Run: fmt.Sprint(os.Getpid(), "-", w, "-", i)})
			}
		})
	}
	all.Wait()
}

// appendRun starts a run and appends to it in several parts. It leaves about one in three runs
// without an end, at random.
func appendRun(t *testing.T, s state.Store, run state.RunRef) {
	if _, err := s.StartRun(t.Context(), state.StartRunRequest{RunRef: run, KeepEvents: true, Messages: []state.Message{{ID: run.Run}}}); err != nil {
		t.Error(err)
		return
	}
	fmt.Printf("begun %s %s\n", run.Thread, run.Run)
	for n := 0; n < 12; {
		var told state.AppendBatch
		for range min(1+rand.IntN(4), 12-n) {
			told.Events = append(told.Events, []byte(fmt.Sprint(n, strings.Repeat(".", rand.IntN(300)))))
			n++
		}
		first, _, err := s.Append(t.Context(), run, told)
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Printf("told %s %s %d %d\n", run.Thread, run.Run, first, len(told.Events))
	}
	if rand.IntN(3) > 0 {
		if _, _, err := s.Append(t.Context(), run, state.AppendBatch{End: true}); err != nil {
			t.Error(err)
			return
		}
		fmt.Printf("over %s %s\n", run.Thread, run.Run)
	}
}

// An acknowledged value holds what the store has acknowledged of one run.
type acknowledged struct {
	places []int64
	over   bool
}

func TestSQLiteKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	acked := map[state.RunRef]*acknowledged{}
	for range 6 {
		lines, cmd := child(t, path)
		left := 20 + rand.IntN(1500) // lines until it is killed
		for lines.Scan() {
			learn(t, acked, lines.Text())
			if left--; left == 0 {
				_ = cmd.Process.Kill() // earlier output can still be read
			}
		}
		_ = cmd.Wait() // it was killed
		s := openFile(t, path, state.Config{})
		verify(&probe{T: t, s: s}, acked)
		_ = s.Close()
	}
	if len(acked) < 20 {
		t.Errorf("%d runs were begun: too few to say anything", len(acked))
	}
	t.Logf("%d runs", len(acked))
}

func learn(t *testing.T, acked map[state.RunRef]*acknowledged, text string) {
	var what string
	var run state.RunRef
	var first, count int64
	n, _ := fmt.Sscan(text, &what, &run.Thread, &run.Run, &first, &count)
	switch {
	case what == "begun" && n == 3:
		acked[run] = &acknowledged{}
	case what == "told" && n == 5:
		for i := range count {
			acked[run].places = append(acked[run].places, first+i)
		}
	case what == "over" && n == 3:
		acked[run].over = true
	case what != "open":
		t.Errorf("the child says %q", text)
	}
}

// verify checks that all acknowledged data is stored. It also ends some of the orphans.
func verify(p *probe, acked map[state.RunRef]*acknowledged) {
	p.Helper()
	orphans, err := p.s.ClaimOrphans(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	places, said := map[string][]int64{}, map[string]int{}
	for run, h := range acked {
		entries, over, err := p.s.EventsAfter(p.Context(), run, 0, 1000)
		if err != nil {
			p.Fatalf("%q was begun, and is lost: %v", run, err)
		}
		var at []int64
		for i, e := range entries {
			at = append(at, e.Position)
			if text, _, _ := strings.Cut(string(e.Data), "."); text != fmt.Sprint(i) {
				p.Errorf("event %d of %q is %q", i, run, e.Data)
			}
		}
		if len(at) < len(h.places) || !slices.Equal(at[:len(h.places)], h.places) {
			p.Errorf("%q has %v, and %v were acknowledged", run, at, h.places)
		}
		if h.over && !over || over == slices.Contains(orphans, run) {
			p.Errorf("%q: over %v, acknowledged %v, somebody's %v", run, over, h.over, !slices.Contains(orphans, run))
		}
		places[run.Thread] = append(places[run.Thread], at...)
		said[run.Thread]++
		if !over && len(at)%2 == 0 {
			p.end(run)
			h.over = true
		}
	}
	for thread, all := range places {
		slices.Sort(all) // it is empty where the runs of the thread were only begun
		if len(slices.Compact(all)) != len(places[thread]) || len(all) > 0 && p.thread(thread).LastPosition < all[len(all)-1] {
			p.Errorf("a place of %s is given twice, or is beyond the last: %v", thread, all)
		}
		if got, err := p.s.Messages(p.Context(), thread, 0, 1<<20); err != nil || len(got) < said[thread] {
			p.Errorf("%d messages of %s are left, not %d (%v)", len(got), thread, said[thread], err)
		}
	}
}

// TestSQLiteTwice checks that a second process cannot open the file while the store is open, and
// can do so after the store is closed.
func TestSQLiteTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s := openFile(t, path, state.Config{})
	lines, cmd := child(t, path)
	lines.Scan()
	got := lines.Text()
	_ = cmd.Wait() // it ends by itself
	if want := "error sqlite " + path + ": another process has the file open: end that process, or name another file"; got != want {
		t.Errorf("the other one says %q, not %q", got, want)
	}
	p := &probe{T: t, s: s}
	p.tell(p.run("t", "r"), "1")
	_ = s.Close()
	lines, _ = child(t, path)
	if lines.Scan(); lines.Text() != "open" {
		t.Errorf("when it is free the other one says %q", lines.Text())
	}
}
