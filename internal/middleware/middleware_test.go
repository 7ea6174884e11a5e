package middleware

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamassay/streamassay/internal/metrics"
)

// A logBuffer collects log records, one per line.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) lines(t *testing.T) (lines []map[string]any) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for line := range strings.Lines(b.text.String()) {
		var one map[string]any
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, one)
	}
	return lines
}

func (b *logBuffer) logger(level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(b, &slog.HandlerOptions{Level: level}))
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// serve sends a request to a handler without a network and returns the response.
func serve(h http.Handler, method, target string, header ...string) *http.Response {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return rec.Result()
}

func body(t *testing.T, res *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRequestID(t *testing.T) {
	var inside string
	h := New(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { inside = r.Header.Get(requestIDHeader) }),
		Config{NewID: func() string { return "made" }})
	for _, c := range []struct {
		name  string
		given []string
		want  string
	}{
		{"none", nil, "made"},
		{"a sane one", []string{"req-7_A.b:c/d+e=f@g"}, "req-7_A.b:c/d+e=f@g"},
		{"an empty one", []string{""}, "made"},
		{"two", []string{"a", "b"}, "made"},
		{"a line break", []string{"a\nb"}, "made"},
		{"a quote", []string{`a"b`}, "made"},
		{"a comma", []string{"a,b"}, "made"},
		{"a blank", []string{"a b"}, "made"},
		{"brackets", []string{"a[b"}, "made"},
		{"beyond ASCII", []string{"ä"}, "made"},
		{"a long one", []string{strings.Repeat("a", 128)}, strings.Repeat("a", 128)},
		{"too long", []string{strings.Repeat("a", 129)}, "made"},
	} {
		var header []string
		for _, id := range c.given {
			header = append(header, requestIDHeader, id)
		}
		res := serve(h, "GET", "/", header...)
		if got := res.Header[requestIDHeader]; len(got) != 1 || got[0] != c.want || inside != c.want {
			t.Errorf("%s: outside %q, inside %q; want %q", c.name, got, inside, c.want)
		}
	}
	made := New(says(200, ""), Config{})
	one, two := serve(made, "GET", "/").Header.Get(requestIDHeader), serve(made, "GET", "/").Header.Get(requestIDHeader)
	if len(one) != 32 || one == two || !isSafeID(one) {
		t.Errorf("ids are made as %q and %q", one, two)
	}
}

func TestAccessLog(t *testing.T) {
	var log logBuffer
	h := New(says(418, "short"), Config{Log: log.logger(slog.LevelInfo), Metrics: metrics.New("")})
	serve(h, "POST", "/runs/7?key=s3cr3t", requestIDHeader, "r7", "Authorization", "Bearer s3cr3t", "Cookie", "s3cr3t")
	serve(h, "GET", "/"+strings.Repeat("a", 4000))
	serve(h, "GET", "/healthz")
	serve(h, "GET", "/metrics")
	lines := log.lines(t)
	if len(lines) != 2 {
		t.Fatalf("there are %d lines, want one for each request that is not ours: %v", len(lines), lines)
	}
	for key, want := range map[string]any{
		"level": "INFO", "msg": "request", "method": "POST", "path": "/runs/7", "status": 418.0, "bytes": 5.0, "id": "r7", "remote": "192.0.2.1:1234",
	} {
		if lines[0][key] != want {
			t.Errorf("%s is %v, want %v", key, lines[0][key], want)
		}
	}
	if took, ok := lines[0]["took"].(float64); !ok || took < 0 {
		t.Errorf("it took %v", lines[0]["took"])
	}
	if path := lines[1]["path"].(string); len(path) > 520 {
		t.Errorf("a path of %d bytes is logged", len(path))
	}
	if strings.Contains(log.text.String(), "s3cr3t") {
		t.Errorf("the log shows a secret: %s", log.text.String())
	}
}

// TestLongPaths checks that long paths are cut in the log, between two characters.
func TestLongPaths(t *testing.T) {
	var log logBuffer
	h := New(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("fault") }), Config{Log: log.logger(slog.LevelInfo)})
	for before := range 3 {
		serve(h, "GET", "/"+strings.Repeat("a", before)+strings.Repeat("%E2%82%AC", 1000))
	}
	for _, line := range log.lines(t) {
		path := line["path"].(string)
		if len(path) < 500 || len(path) > 520 || strings.Contains(path, "\uFFFD") {
			t.Errorf("%s: a path of %d bytes: %.600q", line["msg"], len(path), path)
		}
	}
}

// TestPanics checks that a panic results in a response without details and a log record with all
// details.
func TestPanics(t *testing.T) {
	var log logBuffer
	m := metrics.New("")
	h := New(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "7")
		w.Header().Set("Content-Type", "text/event-stream")
		panic("details of " + "the fault")
	}), Config{Log: log.logger(slog.LevelError), Metrics: m, AllowedOrigins: []string{"*"}, NewID: func() string { return "r1" }})
	res := serve(h, "GET", "/runs", "Origin", "https://app.example")
	text := body(t, res)
	if res.StatusCode != 500 || text != "internal failure r1\n" || res.Header.Get("Content-Type") != "text/plain; charset=utf-8" ||
		res.Header.Get(requestIDHeader) != "r1" || res.Header.Get("Access-Control-Allow-Origin") != "*" || res.ContentLength != int64(len(text)) {
		t.Errorf("%d %v %q", res.StatusCode, res.Header, text)
	}
	lines := log.lines(t)
	if len(lines) != 1 || lines[0]["panic"] != "details of the fault" || lines[0]["id"] != "r1" || !strings.Contains(lines[0]["stack"].(string), "middleware_test.go") {
		t.Errorf("got log %v", lines)
	}
	if text := body(t, serve(h, "GET", "/metrics")); !strings.Contains(text, "streamassay_panics_total 1\n") {
		t.Error("the fault is not counted")
	}
}

// TestPanicsInStreams checks that the connection is aborted if the handler panics after the
// response has begun, or panics with ErrAbortHandler.
func TestPanicsInStreams(t *testing.T) {
	for name, fault := range map[string]any{"a fault": "fault", "meant": http.ErrAbortHandler} {
		var log logBuffer
		srv := httptest.NewUnstartedServer(New(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "data: begun\n\n")
			_ = http.NewResponseController(w).Flush()
			panic(fault)
		}), Config{Log: log.logger(slog.LevelError)}))
		srv.Start()
		res, err := http.Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		srv.Close()
		if string(text) != "data: begun\n\n" || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %q, %v; want it to be cut off", name, text, err)
		}
		if want := map[string]int{"a fault": 1}[name]; len(log.lines(t)) != want {
			t.Errorf("%s: got log %v", name, log.lines(t))
		}
	}
}

func TestHealth(t *testing.T) {
	var fault error
	inside := says(404, "inside")
	cfg := Config{Ready: func(context.Context) error { return fault }, Metrics: metrics.New("v7")}
	h := New(inside, cfg)
	cfg.PassThrough = func(r *http.Request) bool { return r.URL.Path == "/healthz" }
	owned := New(inside, cfg)
	check := func(h http.Handler, method, path string, status int, text string) {
		t.Helper()
		res := serve(h, method, path)
		if got := body(t, res); res.StatusCode != status || !strings.Contains(got, text) {
			t.Errorf("%s %s: %d %q, want %d %q", method, path, res.StatusCode, got, status, text)
		}
	}
	check(h, "GET", "/healthz", 200, "ok\n")
	check(h, "HEAD", "/healthz", 200, "")
	check(h, "POST", "/healthz", 405, "not allowed")
	check(h, "GET", "/readyz", 200, "ok\n")
	check(h, "GET", "/metrics", 200, `version="v7"`)
	check(h, "GET", "/healthz/", 404, "inside")
	check(owned, "GET", "/healthz", 404, "inside")
	check(owned, "POST", "/healthz", 404, "inside")
	check(owned, "GET", "/readyz", 200, "ok\n")
	fault = errors.New("the store\ndoes not answer")
	check(h, "GET", "/readyz", 503, "the store does not answer\n")
	check(h, "GET", "/healthz", 200, "ok\n")
	check(New(inside, Config{}), "GET", "/metrics", 404, "")
	if got := serve(h, "GET", "/readyz").Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("caches may keep whether we are ready: %q", got)
	}
}

// TestControl checks that the wrapped handler can flush, set deadlines, use full duplex and hijack
// the connection as without the middleware, with HTTP/1 and HTTP/2.
func TestControl(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		faults := make(chan error, 8)
		srv := httptest.NewUnstartedServer(New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c := http.NewResponseController(w)
			if !http2 {
				faults <- c.EnableFullDuplex()
			}
			faults <- c.SetReadDeadline(time.Now().Add(time.Minute))
			faults <- c.SetWriteDeadline(time.Now().Add(time.Minute))
			line, err := bufio.NewReader(r.Body).ReadString('\n')
			faults <- err
			_, _ = io.WriteString(w, "heard "+line)
			faults <- c.Flush()
			w.(http.Flusher).Flush()
			_, _ = io.Copy(io.Discard, r.Body)
		}), Config{AllowedOrigins: []string{"*"}}))
		srv.EnableHTTP2 = http2
		srv.StartTLS()
		in, out := io.Pipe()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL, in)
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.WriteString(out, "hello\n") }()
		res, err := srv.Client().Do(req) // comes only if the flush goes through: the body has no end yet
		if err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(res.Body).ReadString('\n')
		if line != "heard hello\n" || err != nil || (res.ProtoMajor == 2) != http2 {
			t.Errorf("HTTP/2 %v: %q in %s, %v", http2, line, res.Proto, err)
		}
		out.Close()
		res.Body.Close()
		srv.Close()
		close(faults)
		for err := range faults {
			if err != nil {
				t.Errorf("HTTP/2 %v: %v", http2, err)
			}
		}
	}
}

func TestHijack(t *testing.T) {
	srv := httptest.NewServer(New(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 299 Own\r\nConnection: close\r\n\r\n")
	}), Config{}))
	defer srv.Close()
	res, err := http.Get(srv.URL)
	if err != nil || res.StatusCode != 299 {
		t.Fatalf("%v, %v", res, err)
	}
	res.Body.Close()
}

// TestInformational checks that an informational response (1xx) is not recorded as the response.
func TestInformational(t *testing.T) {
	var log logBuffer
	srv := httptest.NewUnstartedServer(New(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusTeapot)
	}), Config{Log: log.logger(slog.LevelInfo)}))
	srv.Start()
	res, err := http.Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	srv.Close()
	if lines := log.lines(t); len(lines) != 1 || lines[0]["status"] != 418.0 || res.StatusCode != 418 {
		t.Errorf("status %d, log %v", res.StatusCode, lines)
	}
}
