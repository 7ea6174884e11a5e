package main

import (
	"encoding/json"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/streamassay/streamassay/internal/replay"
	"github.com/streamassay/streamassay/spec"
)

// endProxy sends a signal to the proxy s and returns its exit code and its output.
func endProxy(t *testing.T, s *served, signal os.Signal) (code int, out string) {
	t.Helper()
	began := time.Now()
	if err := s.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Wait()
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("the proxy ended %v after the signal", took)
	}
	return s.cmd.ProcessState.ExitCode(), s.out.String()
}

// TestProxyWhole tests a correct server through a proxy: neither the client of the proxy nor the
// proxy itself may have a finding, and no credentials may be in what the proxy writes.
func TestProxyWhole(t *testing.T) {
	t.Parallel()
	real := startServer(t, t.TempDir(), "serve", "--dialect", "runs", "--user", "ada:token-of-ada", "--user", "eve:token-of-eve")
	dir := t.TempDir()
	proxy := startServer(t, dir, "proxy", "--dialect", "runs", "--upstream", real.base(), "--claim", "scripted", "--log", "off",
		"--report", "json=proxy.json", "--report", "html=proxy.html", "--transcripts", "seen")
	args := []string{"run", proxy.base(), "--dialect", "runs", "--header", "Authorization: Bearer token-of-ada",
		"--other-header", "Authorization: Bearer token-of-eve"}
	for _, name := range []string{
		"text", "tool", "slow", "idle", "error", "two-runs", "cancel", "attachments", "resume", "history", "credentials", "second-user",
	} {
		args = append(args, "--only", name)
	}
	code, out, said := streamassay(t, dir, args...)
	if code != exitOK {
		t.Errorf("run through the proxy: exit %d\n%s%s", code, out, said)
	}
	if code, out := endProxy(t, proxy, syscall.SIGTERM); code != exitOK {
		t.Errorf("proxy: exit %d\n%s", code, out)
	}
	var report verdicts
	text, err := os.ReadFile(filepath.Join(dir, "proxy.json"))
	if err != nil || json.Unmarshal(text, &report) != nil || len(report.Dialects) != 1 {
		t.Fatalf("%v\n%s", err, text)
	}
	passed := map[string]bool{}
	for _, r := range report.Dialects[0].Requirements {
		passed[r.ID] = r.Verdict == "passed"
	}
	for _, id := range []string{"runs.create.status-202", "runs.stream.end-finished", "runs.scripted.text", "runs.cancel.status-202"} {
		if !passed[id] {
			t.Errorf("requirement %s is not reported as fulfilled", id)
		}
	}
	files := 0
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, _ error) error {
		if entry.IsDir() {
			return nil
		}
		text, err := os.ReadFile(path)
		if files++; err != nil || strings.Contains(string(text), "token-of-") {
			t.Errorf("%s: %v, or it contains a token", path, err)
		}
		return nil
	})
	if files < 20 {
		t.Errorf("%d files were written", files)
	}
	// The transcripts of the proxy are recordings like others.
	if code, out, said := streamassay(t, dir, "lint", "seen", "--claim", "scripted"); code != exitOK {
		t.Errorf("lint: exit %d\n%s%s", code, out, said)
	}
}

// TestProxyFindings checks that a proxy reports the violations of a server while the tests of a
// client, its COMMAND, succeed.
func TestProxyFindings(t *testing.T) {
	t.Parallel()
	broken := startServer(t, t.TempDir(), "mock", "--dialect", "agui", "--fault", "end-missing")
	dir := t.TempDir()
	client := `"$0" run "$PROXY_URL" --dialect agui --only text --report text=client.txt; test $? = 1`
	code, out, said := streamassay(t, dir, "proxy", "--dialect", "agui", "--upstream", broken.base(), "--report", "text=proxy.txt",
		"--", "sh", "-c", client, os.Args[0])
	text, err := os.ReadFile(filepath.Join(dir, "proxy.txt"))
	if code != exitFailed || err != nil || !strings.Contains(string(text), "FAILED") || !strings.Contains(string(text), "terminal event") {
		t.Errorf("exit %d, %v\n%s%s%s", code, err, out, said, text)
	}
}

// TestProxyCommandFails checks that a COMMAND that fails is a failure, whatever the server did, and
// that the reports say so.
func TestProxyCommandFails(t *testing.T) {
	t.Parallel()
	real := startServer(t, t.TempDir(), "serve", "--dialect", "agui")
	dir := t.TempDir()
	code, out, said := streamassay(t, dir, "proxy", "--dialect", "agui", "--upstream", real.base(), "--report", "json=r.json",
		"--", "sh", "-c", `"$0" run "$PROXY_URL" --dialect agui --only text > client.txt; false`, os.Args[0])
	const why = "command sh failed: exit status 1"
	if code != exitFailed || !strings.Contains(out, "FAILED  agui@1.0") || !strings.Contains(out, "(exit 1)") ||
		!strings.Contains(out, "incomplete: "+why) || !strings.Contains(said, why) {
		t.Errorf("exit %d\n%s%s", code, out, said)
	}
	var report struct {
		Exit                int
		Verdict, Incomplete string
	}
	text, err := os.ReadFile(filepath.Join(dir, "r.json"))
	if err != nil || json.Unmarshal(text, &report) != nil || report.Exit != exitFailed || report.Verdict != "passed" ||
		report.Incomplete != why {
		t.Errorf("the report has %+v, %v", report, err)
	}
	code, _, said = streamassay(t, dir, "proxy", "--dialect", "agui", "--upstream", real.base(), "--report", "json=/dev/full",
		"--", "sh", "-c", "exit 7")
	if code != exitInternal || !strings.Contains(said, "command sh failed: exit status 7; --report json=/dev/full: no space left") {
		t.Errorf("with a report that cannot be written: exit %d\n%s", code, said)
	}
}

// TestProxyInterrupted checks that a signal ends the COMMAND of a proxy, and that the report is
// then marked incomplete and has the exit code of the signal.
func TestProxyInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	proxy := &served{cmd: exec.Command(os.Args[0], "proxy", "--dialect", "agkit", "--upstream", "http://127.0.0.1:1",
		"--report", "json=r.json", "--", "sh", "-c", "touch started; exec sleep 60"), out: &notepad{}}
	proxy.cmd.Env, proxy.cmd.Dir = append(os.Environ(), "STREAMASSAY_TEST_MAIN=1"), dir
	proxy.cmd.Stdout, proxy.cmd.Stderr = proxy.out, proxy.out
	if err := proxy.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.kill)
	gomega.NewWithT(t).Eventually(filepath.Join(dir, "started")).WithTimeout(20 * time.Second).Should(gomega.BeAnExistingFile())
	code, out := endProxy(t, proxy, syscall.SIGTERM)
	data, err := os.ReadFile(filepath.Join(dir, "r.json"))
	var r struct {
		Exit       int
		Incomplete string
	}
	if err != nil || json.Unmarshal(data, &r) != nil || code != 143 || r.Exit != 143 || r.Incomplete == "" {
		t.Errorf("exit %d, report %+v, %v\n%s", code, r, err, out)
	}
}

// TestProxyNothing checks that a proxy whose server cannot be reached, or that got no request, ends
// with the exit code for nothing measured, and that its clients get status 502.
func TestProxyNothing(t *testing.T) {
	t.Parallel()
	proxy := startServer(t, t.TempDir(), "proxy", "--dialect", "agkit", "--upstream", "http://127.0.0.1:1")
	if res, text := get(t, http.DefaultClient, proxy.base()+"/send-message"); res.StatusCode != 502 {
		t.Errorf("status %d: %s", res.StatusCode, text)
	}
	const why = "nothing to judge: the server could not be reached (1 request): http://127.0.0.1:1: connection refused"
	if code, out := endProxy(t, proxy, syscall.SIGINT); code != exitInconclusive || !strings.Contains(out, why) {
		t.Errorf("exit %d\n%s", code, out)
	}
	srv := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(srv.Close)
	for client, why := range map[string]string{
		"true": "nothing to judge: no request reached the proxy: COMMAND must send its requests to the URL in PROXY_URL  (exit 3)",
		`"$0" run "$PROXY_URL" --dialect runs --only text > client.txt; true`: "nothing to judge: no request called an operation of agkit@0.0.10 (5 requests; the last one, POST /api/v1/agent/runs: not an operation of agkit@0.0.10)",
		"false": "nothing to judge: command sh failed: exit status 1; no request reached the proxy: COMMAND must send its requests to the URL in PROXY_URL  (exit 1)",
	} {
		_, out, said := streamassay(t, t.TempDir(), "proxy", "--dialect", "agkit", "--upstream", srv.URL, "--", "sh", "-c", client, os.Args[0])
		if !strings.Contains(out, why) {
			t.Errorf("%s: want %q in\n%s%s", client, why, out, said)
		}
	}
	post := `curl -s "$PROXY_URL" -H 'Content-Type: application/json' -d '{}'`
	_, _, said := streamassay(t, t.TempDir(), "proxy", "--dialect", "agui", "--upstream", srv.URL, "--", "sh", "-c", post)
	advice := "no stream to judge; for agui, --upstream is the URL of the endpoint itself, e.g. " + srv.URL + "/agent\n"
	if !strings.HasSuffix(said, advice) {
		t.Errorf("stderr is %q, want %q", said, advice)
	}
}

// TestProxyPaths checks that a proxy forwards requests for a path of its dialect, also for one that
// it would otherwise answer itself, and that it names the base path if a client repeats it.
func TestProxyPaths(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Error(w, "upstream has "+r.URL.Path, 404) }))
	t.Cleanup(srv.Close)
	for _, c := range []struct{ dialect, cut, path, replies, says string }{
		{"agkit", "", "/healthz", "upstream has /healthz", ""},
		{"agkit", "", "/readyz", "ok", "no request reached the proxy"},
		{"runs", "/api/v1/agent", "/healthz", "ok", "no request reached the proxy"},
		{"runs", "", "/api/v1/agent/history", "upstream has /api/v1/agent/api/v1/agent/history", "GET /api/v1/agent/history: the request repeats the base path /api/v1/agent, which"},
	} {
		proxy := startServer(t, t.TempDir(), "proxy", "--dialect", c.dialect, "--upstream", srv.URL)
		_, replies := get(t, http.DefaultClient, strings.TrimSuffix(proxy.base(), c.cut)+c.path)
		_, out := endProxy(t, proxy, syscall.SIGINT)
		if replies != c.replies+"\n" || !strings.Contains(out, c.says) || c.says == "" && strings.Contains(out, "incomplete") {
			t.Errorf("%s %s: got %q, want %q and %q in\n%s", c.dialect, c.path, replies, c.replies, c.says, out)
		}
	}
}

// TestProxyTLS checks what a proxy says of a server with TLS: if its certificate is not trusted,
// the advice names only flags that proxy has; if it closes connections without TLS, the advice is
// to use TLS.
func TestProxyTLS(t *testing.T) {
	t.Parallel()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	closes := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(closes.Close)
	for upstream, says := range map[string]string{
		secure.URL: "unknown authority): pass the CA's certificate with --ca FILE (exit 3)",
		strings.Replace(secure.URL, "https", "http", 1): "the server speaks TLS on this port: use https://",
		closes.URL: "try https://; else look for a crash",
	} {
		client := `"$0" run "$PROXY_URL" --dialect agkit --only text > client.txt; true`
		_, out, said := streamassay(t, t.TempDir(), "proxy", "--dialect", "agkit", "--upstream", upstream, "--", "sh", "-c", client, os.Args[0])
		if !strings.Contains(strings.Join(strings.Fields(out), " "), says) || strings.Contains(out+said, "--insecure") {
			t.Errorf("%s: want %q in\n%s%s", upstream, says, out, said)
		}
	}
}

// TestProxyBadFlags checks that invalid flags of proxy result in one line that names the flag and
// what would be valid.
func TestProxyBadFlags(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := listing(t, dir)
	const upstream = " --upstream http://127.0.0.1:1"
	for _, c := range []struct{ args, names, right string }{
		{upstream, "--dialect", "list dialects"},
		{"--dialect agkit", "--upstream", "http://127.0.0.1:8080"},
		{"--dialect nope" + upstream, "nope", "dialect"},
		{"--dialect agkit,runs" + upstream, "--dialect: got 2 dialects", "want one"},
		{"--dialect agkit --dialect runs" + upstream, "--dialect: got 2 dialects", "want one"},
		{"--dialect agkit --upstream 127.0.0.1:80", "127.0.0.1:80", "http://"},
		{"--dialect agkit --upstream http://ann:s3cr3t@127.0.0.1", "--upstream", "user"},
		{"--dialect agkit --upstream http://127.0.0.1:1 --upstream http://127.0.0.1:2", "--upstream", "given twice"},
		{"--dialect agkit --addr 0.0.0.0:80" + upstream, "--addr 0.0.0.0:80", "only loopback"},
		{"--dialect agkit --header Authorization" + upstream, "--header", "Name: value"},
		{"--dialect agkit --ca file" + upstream, "--ca file", "certificate"},
		{"--dialect agkit --claim tool" + upstream, "tool", "scripted"},
		{"--dialect agkit --report pdf" + upstream, "pdf", "json"},
		{"--dialect agkit --transcripts file" + upstream, "--transcripts file", "not a directory"},
		{"--dialect agkit file" + upstream, `"file"`, "no arguments"},
		{"--dialect agkit" + upstream + " --", "--", "COMMAND"},
		{"--dialect agkit" + upstream + " -- no-such-command", "no-such-command", "not found"},
	} {
		code, out, said := streamassay(t, dir, append([]string{"proxy"}, strings.Fields(c.args)...)...)
		if code != exitUsage || out != "" || strings.Count(said, "\n") != 1 || strings.Contains(said, "s3cr3t") ||
			!strings.Contains(said, c.names) || !strings.Contains(said, c.right) {
			t.Errorf("proxy %s: exit %d, and it says %q%q", c.args, code, out, said)
		}
	}
	if after := listing(t, dir); !slices.Equal(after, before) {
		t.Errorf("there are the files\n%s\nand there were\n%s", after, before)
	}
}

// TestMarkOtherUsers checks which requests of a conversation are taken for another user's.
func TestMarkOtherUsers(t *testing.T) {
	t.Parallel()
	var trace spec.Trace
	for _, c := range []struct {
		token  string
		status int
	}{{"", 401}, {"ada", 200}, {"ada", 404}, {"eve", 404}, {"eve", 403}, {"bad", 401}, {"", 403}, {"ada-2", 200}, {"", 500}} {
		x := spec.Exchange{Response: spec.Response{Status: c.status}}
		if c.token != "" {
			x.Request.Header = spec.Header{{Name: "Authorization", Value: "Bearer " + c.token}}
		}
		trace.Exchanges = append(trace.Exchanges, x)
	}
	markOtherUsers(&trace)
	want := []spec.Principal{
		spec.PrimaryUser, spec.PrimaryUser, spec.PrimaryUser, spec.OtherUser, spec.OtherUser, spec.UnknownUser, spec.Anonymous,
		spec.PrimaryUser, spec.PrimaryUser,
	}
	for i, x := range trace.Exchanges {
		if x.Request.Principal != want[i] {
			t.Errorf("exchange %d: got principal %q, want %q", i, x.Request.Principal, want[i])
		}
	}
}

// TestProxiedLimits checks that a conversation beyond the limit is left out, also if an earlier
// state of it was below the limit, and that another conversation is kept completely.
func TestProxiedLimits(t *testing.T) {
	t.Parallel()
	var s proxiedConversations
	conversation := func(n, size int) replay.RecordedConversation {
		x := spec.Exchange{Request: spec.Request{Method: "GET", Target: "/"}, Response: spec.Response{Status: 200, Body: make([]byte, size)}}
		return replay.RecordedConversation{Number: n, Bytes: size, Dialect: "agkit@0.0.10", Trace: spec.Trace{Exchanges: []spec.Exchange{x}}}
	}
	for _, c := range []replay.RecordedConversation{
		conversation(1, 10), conversation(2, maxProxiedBytes), conversation(1, maxProxiedBytes+1), conversation(3, 20),
	} {
		if err := s.save(c); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.transcripts()
	if err != nil || len(list) != 1 || len(list[0].Trace.Exchanges[0].Response.Body) != 20 || s.incomplete == "" {
		t.Errorf("%v: %d conversations are kept; incomplete: %q", err, len(list), s.incomplete)
	}
}
