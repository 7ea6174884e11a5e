package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A follower starts a run and reads as many events of the run as it can. Tests use it to compare
// events before and after a server is killed.
type follower struct {
	d      *dialect.Dialect
	thread string
	run    string
	opened bool             // the server has acknowledged it
	midway chan<- *follower // unless nil, receives the follower when it has read midwayFrames frames

	mu     sync.Mutex
	frames []string // whole ones, as they came
	cursor string
	over   bool
}

func (f *follower) do(ctx context.Context, base, phrase string, e spec.Event) (*http.Response, error) {
	e.Thread, e.Run = f.thread, f.run
	req, err := f.d.BuildRequest(phrase, e)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, req.Method, base+req.Target, strings.NewReader(string(req.Body)))
	if err != nil {
		return nil, err
	}
	for _, h := range req.Header {
		r.Header.Set(h.Name, h.Value)
	}
	r.Header.Set("Authorization", "Bearer ada")
	return http.DefaultClient.Do(r)
}

func (f *follower) open(ctx context.Context, base, text string) {
	if res, err := f.do(ctx, base, "prompt", spec.Event{Text: text}); err == nil {
		f.opened = res.StatusCode == http.StatusAccepted
		res.Body.Close()
	}
}

// listen reads the stream of the run from the last cursor until the stream ends or breaks off. It
// returns an error only if the request fails or is refused.
func (f *follower) listen(ctx context.Context, base string) error {
	res, err := f.do(ctx, base, "listen", spec.Event{Cursor: f.cursor})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("run %s: %s", f.run, res.Status)
	}
	var frame strings.Builder
	in := bufio.NewReader(res.Body)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil // cut, or over: what was not whole is not heard
		}
		if frame.WriteString(line); line != "\n" {
			continue
		}
		f.hear(frame.String())
		frame.Reset()
	}
}

func (f *follower) hear(frame string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id, ok := strings.CutPrefix(frame, "id: ")
	if !ok {
		return // a comment
	}
	f.cursor, _, _ = strings.Cut(id, "\n")
	f.frames = append(f.frames, frame)
	if len(f.frames) == midwayFrames && f.midway != nil {
		f.midway <- f
	}
	f.over = f.over || strings.Contains(frame, `"RUN_FINISHED"`) || strings.Contains(frame, `"RUN_ERROR"`)
}

// check returns an error unless the frames that were read contain every event once and in order,
// and end with a terminal event. deltas is the number of deltas of a run that finishes.
func (f *follower) check(deltas int) error {
	seen := map[string]bool{}
	next := 1
	for i, frame := range f.frames {
		id, _, _ := strings.Cut(frame, "\n")
		if seen[id] {
			return fmt.Errorf("run %s: %s twice", f.run, id)
		}
		seen[id] = true
		if strings.Contains(frame, `"TEXT_MESSAGE_CONTENT"`) {
			if !strings.Contains(frame, fmt.Sprintf(`"delta":"%d "`, next)) {
				return fmt.Errorf("run %s: event %d is not delta %d: %s", f.run, i, next, frame)
			}
			next++
		}
	}
	finished := strings.Contains(f.frames[len(f.frames)-1], `"RUN_FINISHED"`)
	if !f.over || finished != (next == deltas+1) {
		return fmt.Errorf("run %s ends after %d deltas with %s", f.run, next-1, f.frames[len(f.frames)-1])
	}
	return nil
}

const killed = 200 // runs

var runsAlone = []string{"runs@2026-04"}

func runsBase(s *served) string { return s.bases[runsAlone[0]] }

func followers(t *testing.T) []*follower {
	t.Helper()
	d, err := dialect.Open("runs")
	if err != nil {
		t.Fatal(err)
	}
	all := make([]*follower, killed)
	for i := range all {
		all[i] = &follower{d: d, thread: fmt.Sprintf("550e8400-e29b-41d4-a716-%012d", i/2), run: fmt.Sprint("run-", i)}
	}
	return all
}

// forAll calls do for all followers concurrently and waits until all calls have returned.
func forAll(all []*follower, do func(i int, f *follower)) {
	var wait sync.WaitGroup
	for i, f := range all {
		wait.Go(func() { do(i, f) })
	}
	wait.Wait()
}

// conclude reads each acknowledged run to its end, and then once more from its beginning. It fails
// the test if the events differ, are incomplete or out of order, or if the message of the user is
// not in the history.
func conclude(t *testing.T, all []*follower, base string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	opened, cut := 0, 0
	var mu sync.Mutex
	forAll(all, func(_ int, f *follower) {
		if !f.opened {
			return
		}
		mu.Lock()
		opened++
		if len(f.frames) > 0 && !f.over {
			cut++
		}
		mu.Unlock()
		for tries := 0; !f.over && tries < 3; tries++ {
			if err := f.listen(ctx, base); err != nil {
				t.Error(err)
				return
			}
		}
		again := &follower{d: f.d, thread: f.thread, run: f.run}
		if err := again.listen(ctx, base); err != nil {
			t.Error(err)
			return
		}
		if strings.Join(again.frames, "") != strings.Join(f.frames, "") {
			t.Errorf("run %s: heard\n%s\nand then, from its beginning,\n%s", f.run, strings.Join(f.frames, ""), strings.Join(again.frames, ""))
		} else if err := f.check(killedDeltas); err != nil {
			t.Error(err)
		}
		remembered(t, ctx, f, base)
	})
	if opened < killed/2 || cut == 0 {
		t.Errorf("%d of %d runs were opened, and %d were cut while they were heard: that shows nothing", opened, killed, cut)
	}
	t.Logf("%d runs were opened, %d were cut while they were heard", opened, cut)
}

const (
	killedDeltas = 40
	killedPrompt = "conformance:slow 40 25"
)

// remembered fails the test if the history of the follower's thread does not contain the message of
// the user.
func remembered(t *testing.T, ctx context.Context, f *follower, base string) {
	res, err := f.do(ctx, base, "history", spec.Event{})
	if err != nil {
		t.Error(err)
		return
	}
	defer res.Body.Close()
	if text, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(text), killedPrompt) {
		t.Errorf("run %s: the history is %s (%v)", f.run, text, err)
	}
}

// midwayFrames is the number of frames after which a follower is certainly in the middle of its run.
const midwayFrames = 10

// killMidway starts a goroutine that kills the server when half of the followers have read
// midwayFrames frames, or when ctx is done.
func killMidway(ctx context.Context, all []*follower, server *served) {
	midway := make(chan *follower, len(all))
	for _, f := range all {
		f.midway = midway
	}
	go func() {
		for range len(all) / 2 {
			select {
			case <-midway:
			case <-ctx.Done():
			}
		}
		server.kill()
	}()
}

// TestKillSQLite checks that everything that a server with a SQLite store has acknowledged is still
// there after the server was killed.
func TestKillSQLite(t *testing.T) {
	state := "sqlite:" + filepath.Join(t.TempDir(), "state.db")
	first := startServe(t, runsAlone, "--state", state)
	all := followers(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	killMidway(ctx, all, first)
	forAll(all, func(_ int, f *follower) {
		if f.open(ctx, runsBase(first), killedPrompt); f.opened {
			_ = f.listen(ctx, runsBase(first)) // until the server is dead
		}
	})
	conclude(t, all, runsBase(startServe(t, runsAlone, "--state", state)))
}

// TestKillRedis kills one of two servers that share a Redis store. It checks that clients of that
// server can continue at the other one, which also ends the runs of the killed server.
func TestKillRedis(t *testing.T) {
	state := startRedis(t)
	replicas := []*served{startServe(t, runsAlone, "--state", state), startServe(t, runsAlone, "--state", state)}
	all := followers(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	killMidway(ctx, all, replicas[0])
	forAll(all, func(i int, f *follower) { // opened here, heard there
		if f.open(ctx, runsBase(replicas[i%2]), killedPrompt); f.opened {
			_ = f.listen(ctx, runsBase(replicas[i/2%2]))
		}
	})
	conclude(t, all, runsBase(replicas[1]))
	finished := 0
	for i, f := range all {
		if i%2 == 1 && f.opened && strings.Contains(f.frames[len(f.frames)-1], `"RUN_FINISHED"`) {
			finished++
		}
	}
	if finished == 0 {
		t.Error("none of the runs of the server that lived was finished")
	}
}
