package main

import (
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
)

// TestStores checks that the reference passes with a store outside of its memory. Stores do not
// depend on the dialect, so two dialects are tested, and without the scenarios that send many forms
// of requests.
func TestStores(t *testing.T) {
	for name, state := range map[string]func(t *testing.T) string{
		"sqlite": func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "state.db") },
		"redis":  startRedis,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServe(t, []string{"runs", "agui"}, "--state", state(t), "--max-streams", fmt.Sprint(storeStreams), "--poll", "200ms", "--user", "ada:token-of-ada", "--user", "eve:token-of-eve")
			for name, base := range s.bases {
				args := []string{"run", base, "--dialect", name, "--strict", "--parallel", "4",
					"--header", "Authorization: Bearer token-of-ada", "--other-header", "Authorization: Bearer token-of-eve", "--stream-limit", fmt.Sprint(storeStreams)}
				for _, name := range []string{"refusals", "variants", "forms", "accepts", "payloads-*", "combination-*"} {
					args = append(args, "--skip", name)
				}
				if code, out, said := streamassay(t, t.TempDir(), args...); code != exitOK {
					t.Errorf("%s: exit %d\n%s%s", name, code, out, said)
				}
			}
			if len(s.bases) != 2 {
				t.Errorf("%d dialects are served; want 2", len(s.bases))
			}
		})
	}
}

// storeStreams is the maximum number of concurrent streams per user in TestStores.
const storeStreams = 60

// TestReadyMeansStored checks that /readyz reports within four seconds whether the store can be
// written.
func TestReadyMeansStored(t *testing.T) {
	t.Parallel()
	socket := strings.TrimPrefix(startRedis(t), "unix://")
	s := startServe(t, []string{"runs"}, "--state", "unix://"+socket)
	ready := func() string {
		begun := time.Now()
		res, text := get(t, http.DefaultClient, strings.TrimSuffix(s.base(), "/api/v1/agent")+"/readyz")
		if took := time.Since(begun); took > 4*time.Second {
			t.Errorf("/readyz took %v", took)
		}
		return fmt.Sprint(res.StatusCode, " ", text)
	}
	redis := func(args ...string) {
		if out, err := exec.Command("redis-cli", append([]string{"-s", socket}, args...)...).CombinedOutput(); err != nil || !strings.Contains(string(out), "OK") {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if got := ready(); got != "200 ok\n" {
		t.Errorf("at first: %s", got)
	}
	redis("config", "set", "maxmemory", "1")
	if got := ready(); got != "503 the store of runs cannot be written to\n" {
		t.Errorf("out of memory: %s", got)
	}
	redis("config", "set", "maxmemory", "0")
	if got := ready(); got != "200 ok\n" {
		t.Errorf("with memory again: %s", got)
	}
	redis("client", "pause", "20000", "write")
	if got := ready(); !strings.HasPrefix(got, "503 ") {
		t.Errorf("while writes hang: %s", got)
	}
	redis("client", "unpause")
	gomega.NewWithT(t).Eventually(ready).WithTimeout(15 * time.Second).Should(gomega.Equal("200 ok\n"))
}

// startServe starts the reference for the given dialects, or all if dialects is empty, and waits
// until it serves.
func startServe(t *testing.T, dialects []string, args ...string) *served {
	t.Helper()
	args = append([]string{"serve", "--log-level", "error"}, args...)
	for _, d := range dialects {
		args = append(args, "--dialect", d)
	}
	return startServer(t, "", args...)
}

// startRedis starts a Redis server for the test and returns its URL. If Redis is not installed, the
// test is skipped.
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
	gomega.NewWithT(t).Eventually(func() error {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			err = conn.Close()
		}
		return err
	}).WithTimeout(10 * time.Second).Should(gomega.Succeed())
	return "unix://" + socket
}
