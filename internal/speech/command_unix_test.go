//go:build unix

package speech

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/onsi/gomega"
)

// TestExecKillsAll checks that the child processes of a command are killed together with the
// command, and that a caller that gives up does not wait for the command.
func TestExecKillsAll(t *testing.T) {
	needs(t, "sh", "sleep")
	g := gomega.NewWithT(t)
	note := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	hear := open(t, "exec:sh -c 'sleep 1000 & echo $! >\"$0.new\"; mv \"$0.new\" \"$0\"; wait' "+note, Config{})
	go func() {
		_, err := hear(ctx, riff(mono, second))
		done <- err
	}()
	var text []byte
	g.Eventually(func() (err error) { text, err = os.ReadFile(note); return }, "20s", "10ms").Should(gomega.Succeed())
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; !errors.Is(err, ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	g.Eventually(func() bool { return gone(pid) }, "20s", "10ms").Should(gomega.BeTrue())
}

// gone reports whether a process has exited. A zombie counts as exited: without an init process, a
// process stays a zombie if its parent does not wait for it.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func TestAtOnce(t *testing.T) {
	needs(t, "sh", "cat")
	g := gomega.NewWithT(t)
	dir := t.TempDir()
	hear := open(t, "exec:sh -c 'echo >\"$(mktemp \"$0/XXXXXX\")\"; cat \"$0/../pipe\"' "+filepath.Join(dir, "in"), Config{MaxConcurrent: 2})
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "in"), 0o700), syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 5)
	for range cap(done) {
		go func() {
			_, err := hear(ctx, riff(mono, second))
			done <- err
		}()
	}
	running := func() int { in, _ := os.ReadDir(filepath.Join(dir, "in")); return len(in) }
	g.Eventually(running, "20s", "10ms").Should(gomega.Equal(2))
	g.Consistently(running, "200ms", "20ms").Should(gomega.Equal(2))
	cancel()
	busy := 0
	for range cap(done) {
		if err := <-done; !errors.Is(err, ErrUnavailable) {
			t.Errorf("got %v", err)
		} else if strings.Contains(err.Error(), "at once") {
			busy++
		}
	}
	if busy != 3 {
		t.Errorf("%d transcriptions had no turn, want 3", busy)
	}
}
