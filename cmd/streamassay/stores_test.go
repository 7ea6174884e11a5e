package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/streamassay/streamassay/spec/dialect"
)

// TestStores checks that the reference passes on each kind of store. In memory, it is tested in the
// default version of each dialect, with all capabilities claimed, and every requirement that has
// checks must pass. With the other stores, it is tested in two dialects, and without the scenarios
// that send many forms of requests.
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
			t.Parallel()
			s := startServe(t, nil, "--state", c.state(t), "--max-streams", fmt.Sprint(storeStreams), "--poll", "200ms", "--user", "ada:token-of-ada", "--user", "eve:token-of-eve")
			dir := t.TempDir()
			for name, base := range s.bases {
				if d, err := dialect.Open(name[:strings.Index(name, "@")]); err != nil || d.Name != name {
					continue // an older version stores nothing else
				}
				if c.name != "memory" && name != "runs@2026-04" && name != "agui@1.0" {
					continue // stores do not depend on the dialect
				}
				args := []string{"run", base, "--dialect", name, "--strict", "--parallel", "4", "--report", "json=report.json",
					"--header", "Authorization: Bearer token-of-ada", "--other-header", "Authorization: Bearer token-of-eve", "--stream-limit", fmt.Sprint(storeStreams)}
				if c.name == "memory" {
					args = append(args, "--claim", "all")
				} else {
					for _, name := range []string{"refusals", "variants", "forms", "accepts", "payloads-*", "combination-*"} {
						args = append(args, "--skip", name)
					}
				}
				code, out, said := streamassay(t, dir, args...)
				if code != exitOK {
					t.Fatalf("exit %d\n%s%s", code, out, said)
				}
				if c.name == "memory" {
					noneSilent(t, filepath.Join(dir, "report.json"))
				}
			}
			if len(s.bases) != len(dialect.Names()) {
				t.Errorf("%d dialects are served", len(s.bases))
			}
		})
	}
}

// storeStreams is the maximum number of concurrent streams per user in TestStores.
const storeStreams = 60

// notTested matches the requirements of events that the reference does not send and of requests that
// the suite does not send.
var notTested = regexp.MustCompile(`^agui\.(event\.((text|tool)-chunk|activity|` +
	`encrypted-value|subagent|raw|custom|thinking)|subagent\.pairs|chunk\.first|input\.(snake-case|null|role-.*)|interrupt\.outcome)$`)

// noneSilent fails the test if a requirement in the JSON report at path has checks and did not pass,
// unless notTested excepts it.
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
			if len(r.Checks) > 0 && r.Verdict != "passed" && !notTested.MatchString(r.ID) {
				t.Errorf("%s: %s is %s", d.Dialect, r.ID, r.Verdict)
			}
		}
	}
}

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
