package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/streamassay/streamassay/spec/dialect"
)

// The reference passes in every dialect with everything claimed, on every store, and
// no requirement that a check judges stays silent.
func TestStores(t *testing.T) {
	for _, c := range []struct {
		name  string
		state func(t *testing.T) string
	}{
		{"memory", func(*testing.T) string { return "memory" }},
		{"sqlite", func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "state.db") }},
		{"redis", startRedis},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := startServe(t, nil, "--state", c.state(t), "--max-streams", fmt.Sprint(storeStreams), "--poll", "200ms", "--user", "ada:token-of-ada", "--user", "eve:token-of-eve")
			dir := t.TempDir()
			for name, base := range s.bases {
				code, out, said := streamassay(t, dir, "run", base, "--dialect", name, "--claim", "all", "--strict", "--report", "json=report.json",
					"--header", "Authorization: Bearer token-of-ada", "--other-header", "Authorization: Bearer token-of-eve", "--stream-limit", fmt.Sprint(storeStreams))
				if code != exitOK {
					t.Fatalf("exit %d\n%s%s", code, out, said)
				}
				noneSilent(t, filepath.Join(dir, "report.json"))
			}
			if len(s.bases) != len(dialect.Names()) {
				t.Errorf("%d dialects are served", len(s.bases))
			}
		})
	}
}

// storeStreams is how many streams one user may have in TestStores.
const storeStreams = 60

func noneSilent(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Dialects []struct {
			Dialect      string
			Requirements []struct {
				ID, Verdict string
				Checks      []string
			}
		}
	}
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	for _, d := range report.Dialects {
		for _, r := range d.Requirements {
			if len(r.Checks) > 0 && r.Verdict != "passed" {
				t.Errorf("%s: %s is %s", d.Dialect, r.ID, r.Verdict)
			}
		}
	}
}

// A served is a reference server in a process of its own.
type served struct {
	cmd   *exec.Cmd
	bases map[string]string // by dialect
}

// startServe starts the reference and waits until it serves.
func startServe(t *testing.T, dialects []string, args ...string) *served {
	t.Helper()
	ready := filepath.Join(t.TempDir(), "ready.json")
	args = append([]string{"serve", "--ready-file", ready, "--log-level", "error"}, args...)
	for _, d := range dialects {
		args = append(args, "--dialect", d)
	}
	s := &served{cmd: exec.Command(os.Args[0], args...)}
	s.cmd.Env = append(os.Environ(), "STREAMASSAY_TEST_MAIN=1")
	s.cmd.Stderr = os.Stderr
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(10 * time.Millisecond) {
		var said struct{ Base map[string]string }
		if text, err := os.ReadFile(ready); err == nil && json.Unmarshal(text, &said) == nil {
			s.bases = said.Base
			return s
		}
	}
	t.Fatal("the server is not ready")
	return nil
}

// kill is kill -9.
func (s *served) kill() {
	_ = s.cmd.Process.Kill()
	_, _ = s.cmd.Process.Wait()
}

// startRedis starts a Redis of the test's own, and says how it is reached.
func startRedis(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("NOT RUN: redis-server is not installed (Debian: apt-get install redis-server): the Redis store was not tested")
	}
	socket := filepath.Join(t.TempDir(), "redis.sock")
	server := exec.Command(path, "--port", "0", "--unixsocket", socket, "--save", "", "--dir", filepath.Dir(socket))
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	for began := time.Now(); time.Since(began) < 10*time.Second; time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("unix", socket); err == nil {
			conn.Close()
			return "unix://" + socket
		}
	}
	t.Fatal("redis-server does not answer")
	return ""
}
