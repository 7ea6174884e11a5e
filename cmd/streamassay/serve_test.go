package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/streamassay/streamassay/internal/files"
	"github.com/streamassay/streamassay/internal/files/blob"
	"github.com/streamassay/streamassay/internal/state"
	"github.com/streamassay/streamassay/reference"
)

// TestServeBadFlags checks that an invalid flag of serve results in a single line that names the
// flag and the valid values, without secrets, and that no file is created or removed.
func TestServeBadFlags(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	dir := t.TempDir()
	for name, text := range map[string]string{
		"users": "ann:s3cr3t-of-ann\n\nbob\n", "none": "# nobody\n", "no.pem": "hello", "no.json": `{"keys":[]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := listing(t, dir)
	for _, c := range []struct{ args, names, right string }{
		{"--addr 0.0.0.0:80", "--addr 0.0.0.0:80", "without --user or --jwks only loopback addresses are allowed"},
		{"--addr :80", "--addr :80", "only loopback"},
		{"--addr [::]:80", "--addr [::]:80", "only loopback"},
		{"--addr example.com:80", "--addr example.com:80", "only loopback"},
		{"--addr 127.0.0.1", "--addr", "HOST:PORT"},
		{"--addr 127.0.0.1:99999", "--addr", "99999"},
		{"--addr " + taken.Addr().String(), "--addr", "address already in use"},
		{"--ready-file missing/ready", "--ready-file missing/ready", "directory missing does not exist"},
		{"--tls-cert no.pem", "--tls-cert no.pem", "--tls-key"},
		{"--tls-key no.pem", "--tls-key no.pem", "--tls-cert"},
		{"--tls-cert no.pem --tls-key no.pem", "--tls-cert no.pem", "PEM"},
		{"--tls-cert missing --tls-key no.pem", "--tls-cert missing", "no such file"},
		{"--public-url agents.example.com", "--public-url", "http or https URL"},
		{"--public-url ftp://agents.example.com", "--public-url", "http or https URL"},
		{"--public-url https://ann:s3cr3t@agents.example.com", "--public-url", "without user"},
		{"--public-url https://agents.example.com?key=s3cr3t", "--public-url", "query"},
		{"--user s3cr3t-of-ann", "--user", "NAME:TOKEN"},
		{"--user :s3cr3t-of-ann", "--user", "empty name"},
		{"--user ann:", "--user", "at least 8"},
		{"--user ann:s3cr3t-", "--user", "at least 8"},
		{"--user ann:s3cr3t-of-both --user bob:s3cr3t-of-both", "--user", "same token"},
		{"--user @users", "--user @users", "line 3"},
		{"--user @none", "--user @none", "no user"},
		{"--user @missing", "--user @missing", "no such file"},
		{"--user ann:s3cr3t-of-ann --jwks no.json", "--user and --jwks", "cannot be used together"},
		{"--jwks no.json", "--jwks", "the set has no keys"},
		{"--jwks missing", "--jwks", "no such file"},
		{"--jwks ftp://id.example/s3cr3t", "--jwks", "https"},
		{"--jwks http://127.0.0.1:1/keys?key=s3cr3t", "--jwks", "connection refused"},
		{"--jwks-issuer me", "--jwks-issuer", "need --jwks"},
		{"--cors app.example", "--cors app.example", "SCHEME://HOST"},
		{"--cors https://app.example/", "--cors https://app.example/", "SCHEME://HOST"},
		{"--cors https://App.example", "--cors https://App.example", "SCHEME://HOST"},
		{"--agent clever", "--agent clever", "scripted or openai:BASE_URL"},
		{"--agent scripted:more", "--agent scripted:more", "scripted or openai:BASE_URL"},
		{"--agent openai:", "--agent openai:", "openai:BASE_URL"},
		{"--agent openai:localhost --model m", "--agent openai:localhost", "openai:BASE_URL"},
		{"--agent openai:http://127.0.0.1:1/v1", "--agent openai:http://127.0.0.1:1/v1", "--model NAME"},
		{"--model m", "--model m", "--agent openai:BASE_URL"},
		{"--state disk", "--state disk", "sqlite:PATH"},
		{"--state sqlite:", "--state sqlite:", "sqlite:PATH"},
		{"--state sqlite:missing/state.db", "--state sqlite:missing/state.db", "state.db"},
		{"--state redis:", "--state redis:", "redis://HOST:PORT"},
		{"--state redis://ann:s3cr3t@127.0.0.1:1", "--state redis://127.0.0.1:1", "connection refused"},
		{"--files tape", "--files tape", "dir:PATH"},
		{"--files dir:", "--files dir:", "dir:PATH"},
		{"--files s3:bucket", "--files s3:bucket", "s3://BUCKET"},
		{"--files dir:users", "--files dir:users", "want a directory"},
		{"--files s3://b?endpoint=http://127.0.0.1:1&region=r", "--files s3://b", "s3://b?…: "},
		{"--agent openai:http://127.0.0.1:1/v1?key=s3cr3t --model m", "--agent openai:http://127.0.0.1:1/v1", "no user, query or fragment"},
		{"--agent openai:http://u:s3cr3t@127.0.0.1:1/v1 --model m", "--agent openai:http://", "no user, query or fragment"},
		{"--speech deaf", "--speech deaf", "exec:COMMAND"},
		{"--speech exec:", "--speech exec:", "exec:COMMAND"},
		{"--speech openai:file:///etc", "--speech openai:file:///etc", "openai:BASE_URL"},
		{"--speech-model m", "--speech-model m", "--speech openai:BASE_URL"},
		{"--max-body 1TiB", "--max-body", "64KiB"},
		{"--max-body 0", "--max-body", "above 0"},
		{"--max-header lots", "--max-header", "64KiB"},
		{"--max-event -1", "--max-event", "64KiB"},
		{"--max-log 1KiB", "--max-log 1KiB", "at least --max-event"},
		{"--max-streams 0", "--max-streams", "above 0"},
		{"--max-runs x", "--max-runs", "above 0"},
		{"--max-bytes x", "--max-bytes", "64KiB"},
		{"--max-run 0s", "--max-run", "above 0"},
		{"--idle soon", "--idle", "30s"},
		{"--poll -1s", "--poll", "above 0"},
		{"--log yaml", "--log", "text, json, off"},
		{"--log-level loud", "--log-level", "debug, info, warn, error"},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			code, out, said := refused(t, dir, strings.Fields(c.args)...)
			if code != exitUsage || out != "" || strings.Count(said, "\n") != 1 || !strings.Contains(said, c.names) || !strings.Contains(said, c.right) {
				t.Errorf("exit %d, stdout %q, stderr %q: want exit 2 and one line that names %q and says %q", code, out, said, c.names, c.right)
			}
			if strings.Contains(said, "s3cr3t") {
				t.Errorf("it shows a secret: %s", said)
			}
		})
	}
	t.Cleanup(func() {
		if after := listing(t, dir); len(after) != len(before) {
			t.Errorf("files were touched: %v", after)
		}
	})
}

// refused runs serve with invalid args and returns the exit code and the output. A server that
// starts nevertheless is killed after 20 seconds.
func refused(t *testing.T, dir string, args ...string) (code int, out, said string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], append([]string{"serve"}, args...)...)
	cmd.Env, cmd.Dir = append(os.Environ(), "STREAMASSAY_TEST_MAIN=1"), dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run()
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// A daemon is a process of this program that runs the serve command.
type daemon struct {
	*exec.Cmd
	base     map[string]string
	ended    chan struct{}
	out, err bytes.Buffer // to be read when it has ended
}

// start runs the serve command with args and waits until the server is ready. The process is killed
// at the end of the test.
func start(t *testing.T, args ...string) *daemon {
	t.Helper()
	ready := filepath.Join(t.TempDir(), "ready")
	d := &daemon{Cmd: exec.Command(os.Args[0], append([]string{"serve", "--ready-file", ready}, args...)...)}
	d.Env = append(os.Environ(), "STREAMASSAY_TEST_MAIN=1")
	d.Stdout, d.Stderr = &d.out, &d.err
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	d.ended = make(chan struct{})
	go func() {
		_ = d.Wait()
		close(d.ended)
	}()
	t.Cleanup(func() {
		_ = d.Process.Kill()
		<-d.ended
	})
	var told struct {
		PID  int
		Base map[string]string
	}
	gomega.NewWithT(t).Eventually(func() error {
		select {
		case <-d.ended:
			return gomega.StopTrying("it ended: " + d.err.String())
		default:
		}
		text, err := os.ReadFile(ready)
		if err != nil {
			return err
		}
		return json.Unmarshal(text, &told) // it is written in one step: what is there is whole
	}).WithTimeout(20 * time.Second).WithPolling(5 * time.Millisecond).Should(gomega.Succeed())
	if told.PID != d.Process.Pid {
		t.Errorf("the ready file says process %d, it is %d", told.PID, d.Process.Pid)
	}
	d.base = told.Base
	return d
}

// stop sends a signal to the server and fails the test unless the server ends with exit code 0
// within five seconds.
func (d *daemon) stop(t *testing.T, signal os.Signal) {
	t.Helper()
	begun := time.Now()
	if err := d.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	<-d.ended
	if code, took := d.ProcessState.ExitCode(), time.Since(begun); code != exitOK || took > 5*time.Second {
		t.Errorf("after %v it ends with %d within %v; want 0 within five seconds\n%s", signal, code, took, d.err.String())
	}
}

// TestServeUsers checks that a server with users and TLS refuses requests of unknown users, and
// that no token is logged.
func TestServeUsers(t *testing.T) {
	dir := t.TempDir()
	users := filepath.Join(dir, "users")
	if err := os.WriteFile(users, []byte("# all of us\nann:s3cr3t-of-ann\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cert, key, client := certified(t, dir)
	d := start(t, "--dialect", "runs", "--addr", "0.0.0.0:0", "--tls-cert", cert, "--tls-key", key,
		"--user", "@"+users, "--user", "bob:s3cr3t-of-bob", "--log", "json", "--log-level", "debug", "--cors", "https://app.example")
	base := d.base["runs@2026-04"]
	if !strings.HasPrefix(base, "https://127.0.0.1:") || !strings.HasSuffix(base, "/api/v1/agent") {
		t.Fatalf("the base is %s", base)
	}
	for _, c := range []struct {
		token  string
		status int
	}{{"s3cr3t-of-ann", 200}, {"s3cr3t-of-bob", 200}, {"s3cr3t-of-eve", 401}, {"ann", 401}, {"", 401}} {
		res, text := get(t, client, base+"/history?access_token=s3cr3t-of-ann", "Authorization", "Bearer "+c.token, "Origin", "https://app.example", "X-Request-Id", "r-7")
		if res.StatusCode != c.status || res.ProtoMajor != 2 || res.Header.Get("X-Request-Id") != "r-7" || res.Header.Get("Access-Control-Allow-Origin") != "https://app.example" {
			t.Errorf("token %q: %s %d %v %s; want %d", c.token, res.Proto, res.StatusCode, res.Header, text, c.status)
		}
	}
	origin := strings.TrimSuffix(base, "/api/v1/agent")
	for path, says := range map[string]string{"/healthz": "ok\n", "/readyz": "ok\n", "/metrics": "streamassay_build_info{"} {
		if res, text := get(t, client, origin+path); res.StatusCode != 200 || !strings.Contains(text, says) {
			t.Errorf("%s: %d %q", path, res.StatusCode, text)
		}
	}
	d.stop(t, syscall.SIGTERM)
	if said := d.err.String(); strings.Contains(said, "s3cr3t") || !strings.Contains(said, `"id":"r-7"`) || !strings.Contains(said, `"status":401`) {
		t.Errorf("the log is %s", said)
	}
	if out := d.out.String(); out != "runs@2026-04  "+base+"\n" {
		t.Errorf("stdout is %q", out)
	}
}

// TestServeEndsStreams checks that the streams that are open when the server is stopped end with a
// terminal event.
func TestServeEndsStreams(t *testing.T) {
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		d := start(t, "--dialect", "agkit")
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.base["agkit@0.0.10"]+"/send-message",
			strings.NewReader(`{"conversationId":"c1","messages":[{"role":"user","content":"conformance:slow 1000 100"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(res.Body)
		if _, err := in.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		d.stop(t, signal)
		rest, err := io.ReadAll(in)
		res.Body.Close()
		frames := strings.Split(strings.TrimSpace(string(rest)), "\n\n")
		if last := frames[len(frames)-1]; err != nil || !strings.Contains(last, `"type":"error"`) || !strings.Contains(last, "shutting down") || !strings.HasSuffix(string(rest), "\n\n") {
			t.Errorf("after %v the stream ends with %q, %v", signal, rest, err)
		}
	}
}

// TestServeInterrupted checks that serve exits with 0 and without a message if a signal ends it
// before it serves.
func TestServeInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(interruptError{syscall.SIGTERM})
	var out, errs bytes.Buffer
	code := run(ctx, []string{"serve", "--dialect", "agkit"}, stdio{nil, &out, &errs, func(string) string { return "" }})
	if code != exitOK || errs.Len() > 0 {
		t.Errorf("exit code %d, stderr %q; want 0 and nothing", code, &errs)
	}
}

// TestServePlain checks that HTTP/2 is served without TLS, to clients that use it without
// negotiation, and that requests with too large headers are refused.
func TestServePlain(t *testing.T) {
	d := start(t, "--dialect", "agkit", "--max-header", "8KiB")
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	h2 := &http.Client{Transport: &http.Transport{Protocols: &protocols}}
	defer h2.CloseIdleConnections()
	base := d.base["agkit@0.0.10"]
	for major, client := range map[int]*http.Client{1: http.DefaultClient, 2: h2} {
		res, text := get(t, client, base+"/healthz")
		if res.StatusCode != 200 || res.ProtoMajor != major || text == "ok\n" {
			t.Errorf("%s %d %q: a path of the dialect is the dialect's", res.Proto, res.StatusCode, text)
		}
	}
	if res, text := get(t, http.DefaultClient, base+"/readyz"); res.StatusCode != 200 || text != "ok\n" {
		t.Errorf("readyz: %d %q", res.StatusCode, text)
	}
	if res, _ := get(t, http.DefaultClient, base+"/healthz", "X-Long", strings.Repeat("a", 16<<10)); res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("headers of 16 KiB are answered with %d", res.StatusCode)
	}
	d.stop(t, syscall.SIGTERM)
	if d.err.Len() > 0 {
		t.Errorf("the log is %s", d.err.String())
	}
}

// TestServeAll checks that all dialects are served below their names, and that refused requests are
// counted by dialect and status.
func TestServeAll(t *testing.T) {
	d := start(t, "--log", "off", "--log-level", "debug")
	if len(d.base) < 7 {
		t.Fatalf("the bases are %v", d.base)
	}
	base := d.base["agkit@0.0.10"]
	get(t, http.DefaultClient, base+"/healthz")
	get(t, http.DefaultClient, base+"/nowhere")
	origin := strings.TrimSuffix(base, "/agkit@0.0.10")
	if _, text := get(t, http.DefaultClient, origin+"/healthz"); text != "ok\n" {
		t.Errorf("healthz of all is %q", text)
	}
	_, text := get(t, http.DefaultClient, origin+"/metrics")
	for _, line := range []string{
		`streamassay_refusals_total{dialect="agkit@0.0.10",status="404"} 1`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("there is no figure %s", line)
		}
	}
	d.stop(t, syscall.SIGTERM)
	if d.err.Len() > 0 {
		t.Errorf("with --log off the log is %s", d.err.String())
	}
}

// TestServeTwice checks that a dialect that is given twice is served at the root, like one that is
// given once.
func TestServeTwice(t *testing.T) {
	for _, command := range []string{"serve", "mock"} {
		s := startServer(t, t.TempDir(), command, "--dialect", "agkit", "--dialect", "agkit@0.0.10")
		if base := s.base(); strings.Count(base, "/") != 2 {
			t.Errorf("%s: the base URL is %s", command, base)
		}
	}
}

// A gone is a store that cannot be reached: every Ping fails.
type gone struct{ state.Store }

func (gone) Ping(context.Context) error { return errors.New("dial s3cr3t.internal: refused") }

func TestReady(t *testing.T) {
	n := logFlags{format: "text", level: "warn"}
	var said bytes.Buffer
	dir := filepath.Join(t.TempDir(), "files")
	storage, err := blob.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	onDisk, err := files.New(storage, files.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	inMemory := files.NewMemory(files.Config{})
	well := &openedBackends{cfg: reference.Config{Store: state.NewMemory(state.Config{}), Files: inMemory}}
	lost := &openedBackends{cfg: reference.Config{Store: gone{}, Files: inMemory, Log: n.logger(&said)}}
	away := &openedBackends{cfg: reference.Config{Store: state.NewMemory(state.Config{}), Files: onDisk, Log: n.logger(&said)}}
	ended, end := context.WithCancel(t.Context())
	end()
	for _, c := range []struct {
		b      *openedBackends
		ending context.Context
		want   string
	}{
		{well, t.Context(), "<nil>"}, {lost, t.Context(), "the store of runs cannot be written to"},
		{away, t.Context(), "the store of attachments cannot be written to"}, {well, ended, "shutting down"},
	} {
		if err := c.b.readyCheck(c.ending)(t.Context()); fmt.Sprint(err) != c.want {
			t.Errorf("it is ready but for %v, want %s", err, c.want)
		}
	}
	if !strings.Contains(said.String(), "refused") {
		t.Errorf("why the store is not reached is not written down: %s", said.String())
	}
}

// TestServeHelp checks that the help of serve lists the flags by group, each only once.
func TestServeHelp(t *testing.T) {
	_, out, _ := streamassay(t, t.TempDir(), "serve", "--help")
	at := 0
	for _, want := range []string{
		"Server:", "--dialect", "--agent", "--state", "Address:", "--addr", "--ready-file", "--tls-cert", "--public-url",
		"Authentication:", "--user", "--jwks", "--cors", "--eventsource", "Limits:", "--max-body", "(default 1MiB)", "--idle", "(default 2m)", "Log:", "--log-level",
	} {
		next := strings.Index(out[at:], want)
		if next < 0 {
			t.Fatalf("%s does not come where it should in\n%s", want, out)
		}
		at += next
	}
	for line := range strings.Lines(out) {
		if len(line) > 112 {
			t.Errorf("the help has a long line: %s", line)
		}
	}
	lines := strings.Split(out, "\n")
	for _, flag := range []string{"--poll", "--user", "--max-run ", "--log "} {
		n := 0
		for _, line := range lines {
			if strings.HasPrefix(strings.TrimSpace(line), flag) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s has %d lines in the help", flag, n)
		}
	}
}
