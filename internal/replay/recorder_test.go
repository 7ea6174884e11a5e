package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/streamassay/streamassay/internal/identity"
	"github.com/streamassay/streamassay/internal/replay"
	"github.com/streamassay/streamassay/internal/transcript"
	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A recordingRig holds a server, a recorder in front of it, and a directory for recordings.
type recordingRig struct {
	*testing.T
	d      *dialect.Dialect
	dir    string
	url    string
	client *wire.Client
	mu     sync.Mutex
	heard  []replay.RecordedExchange
	log    bytes.Buffer
}

func newRecordingRig(t *testing.T, d *dialect.Dialect, upstream *url.URL, header spec.Header) *recordingRig {
	t.Helper()
	s := &recordingRig{T: t, d: d, dir: t.TempDir()}
	folder, err := replay.OpenRecordingDir(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { folder.Close() })
	r, err := replay.NewRecorder(replay.RecorderConfig{
		Dialect: d, Upstream: upstream, Header: header, Save: folder.Save, IdleTimeout: 5 * time.Second,
		Log: slog.New(slog.NewTextHandler(lockedWriter{&s.mu, &s.log}, nil)),
		OnExchange: func(o replay.RecordedExchange) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.heard = append(s.heard, o)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(r)
	t.Cleanup(srv.Close)
	s.url = srv.URL
	base, _ := url.Parse(srv.URL + d.Base)
	if s.client, err = wire.NewClient(wire.Config{Base: base, IdleTimeout: 5 * time.Second}); err != nil {
		t.Fatal(err)
	}
	return s
}

type lockedWriter struct {
	mu *sync.Mutex
	b  *bytes.Buffer
}

func (w lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (s *recordingRig) do(r spec.Request, limit wire.StopWhen) spec.Exchange {
	s.Helper()
	x, err := s.client.Do(context.Background(), r, limit)
	if err != nil {
		s.Fatal(err)
	}
	return x
}

func (s *recordingRig) buildRequest(phrase string, e spec.Event) spec.Request {
	s.Helper()
	r, err := s.d.BuildRequest(phrase, e)
	if err != nil {
		s.Fatal(err)
	}
	return r
}

// savedFiles waits until the directory has n recordings and returns their paths. It fails the test
// if this takes too long.
func (s *recordingRig) savedFiles(n int) (files []string) {
	s.Helper()
	gomega.NewWithT(s.T).Eventually(func() int {
		files, _ = filepath.Glob(filepath.Join(s.dir, "[^.]*.txtar"))
		return len(files)
	}, "3s", "5ms").Should(gomega.Equal(n))
	return files
}

func (s *recordingRig) logText() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// TestRecordAndReplay checks that recordings of the reference are replayed byte for byte in every
// dialect, with their timing.
func TestRecordAndReplay(t *testing.T) {
	for _, name := range dialect.Names() {
		t.Run(name, func(t *testing.T) {
			d := openDialect(t, name)
			users := &identity.StaticTokens{}
			if err := users.Add("ada:canary-token"); err != nil {
				t.Fatal(err)
			}
			house := reference.New(d, reference.Scripted, reference.Config{Authenticator: users})
			real := httptest.NewServer(house)
			defer real.Close()
			upstream, _ := url.Parse(real.URL + d.Base)
			s := newRecordingRig(t, d, upstream, spec.Header{{Name: "Authorization", Value: "Bearer canary-token"}})
			e := spec.Event{Thread: otherThread, Run: "11111111-2222-4333-8444-555555555556", Message: "m-1", Text: "conformance:text Hello, world."}
			told := []spec.Exchange{s.do(s.buildRequest("prompt", e), wire.StopWhen{})}
			if o, ok := d.TemplateOperation("prompt"); ok && !o.IsStream {
				told = append(told, s.do(s.buildRequest("listen", e), wire.StopWhen{}))
			}
			files := s.savedFiles(1)
			var l *replay.Library
			gomega.NewWithT(t).Eventually(func() int {
				l, _ = replay.Load([]string{s.dir}, []*dialect.Dialect{d})
				return l.Len()
			}, "3s", "5ms").Should(gomega.Equal(len(told)))
			seen := &replay.PlaybackState{}
			for i, x := range told {
				if x.Response.Status/100 != 2 || len(x.Response.Body) == 0 {
					t.Fatalf("exchange %d: status %d, %q", i, x.Response.Status, x.Response.Body)
				}
				a, why := l.Find(d, x.Request, nil, seen)
				if a == nil {
					t.Fatalf("exchange %d: %v", i, why)
				}
				if body, _ := playAll(a, 0); !bytes.Equal(body, x.Response.Body) || a.Status != x.Response.Status || !a.HasTiming || a.End != replay.Clean {
					t.Errorf("exchange %d: status %d, timed %v, end %s, body\n%s\nwant\n%s", i, a.Status, a.HasTiming, a.End, body, x.Response.Body)
				}
			}
			tr, err := transcript.Open(files[0])
			if err != nil || tr.Dialect != name || tr.Target != upstream.String() || len(tr.Trace.Exchanges) != len(told) {
				t.Errorf("%v: %+v", err, tr)
			}
		})
	}
}

// TestNothingIsGathered checks that frames are forwarded one by one and that their times are
// recorded.
func TestNothingIsGathered(t *testing.T) {
	d := openDialect(t, "agkit")
	next := make(chan struct{})
	real := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, "data: {\"type\":\"x%d\"}\n\n", i)
			w.(http.Flusher).Flush()
			<-next
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	defer real.Close()
	upstream, _ := url.Parse(real.URL)
	s := newRecordingRig(t, d, upstream, nil)
	n := 0
	x := s.do(s.buildRequest("prompt", spec.Event{Thread: "t", Text: "hi"}), wire.StopWhen{Until: func(heard spec.Response) bool {
		if got := bytes.Count(heard.Body, []byte("\n\n")); got > n && got <= 3 {
			n = got
			next <- struct{}{}
		}
		return false
	}})
	if n != 3 || x.Response.End != nil {
		t.Errorf("%d frames, end %v", n, x.Response.End)
	}
	tr, err := transcript.Open(s.savedFiles(1)[0])
	if err != nil || len(tr.Trace.Exchanges[0].Response.Arrivals) != 4 {
		t.Errorf("%v, %v", err, tr.Trace.Exchanges)
	}
}

// TestClientLeaves checks that the recorder closes the stream from the server if the client leaves,
// and that the received part is saved.
func TestClientLeaves(t *testing.T) {
	d := openDialect(t, "agkit")
	left := make(chan struct{})
	real := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"type\":\"x\"}\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(left)
	}))
	defer real.Close()
	upstream, _ := url.Parse(real.URL)
	s := newRecordingRig(t, d, upstream, nil)
	s.do(s.buildRequest("prompt", spec.Event{Thread: "t", Text: "hi"}), wire.StopWhen{Frames: 1})
	select {
	case <-left:
	case <-time.After(5 * time.Second):
		t.Fatal("the real server's stream goes on")
	}
	tr, err := transcript.Open(s.savedFiles(1)[0])
	if err != nil || !errors.Is(tr.Trace.Exchanges[0].Response.End, spec.ErrClientLeft) {
		t.Errorf("%v, %v", err, tr)
	}
}

// brokenUpstream starts a server that responds to each connection with the bytes in raw and closes
// it. It returns the URL of the server, which runs until the end of the test.
func brokenUpstream(t *testing.T, raw string) *url.URL {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 64<<10))
			_, _ = io.WriteString(conn, raw)
			_ = conn.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, conn)
			conn.Close()
		}
	}()
	t.Cleanup(func() { ln.Close() })
	return &url.URL{Scheme: "http", Host: ln.Addr().String()}
}

const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"

func TestBrokenUpstreams(t *testing.T) {
	for name, tt := range map[string]struct {
		raw, why, body string
		end            error
		status         int
	}{
		"cut":            {streamHead + "Transfer-Encoding: chunked\r\n\r\n9\r\ndata: {}\n\r\n1\r\n\n\r\n", "incomplete response", "data: {}\n\n", spec.ErrTruncated, 200},
		"cut by length":  {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", "incomplete response", "{", spec.ErrTruncated, 200},
		"no answer":      {"", "no response", "the server closed the connection without a response\n", nil, 502},
		"not HTTP":       {"SSH-2.0-x\r\n", "not HTTP", "the server closed the connection without a response\n", nil, 502},
		"wrong type":     {"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi", `got media type "text/html"`, "hi", nil, 200},
		"server error":   {"HTTP/1.1 503 Busy\r\nContent-Type: application/json\r\nContent-Length: 2\r\nRetry-After: 3\r\n\r\n{}", "status 503", "{}", nil, 503},
		"no JSON":        {streamHead + "Content-Length: 11\r\n\r\ndata: {oh\n\n", "json", "data: {oh\n\n", nil, 200},
		"no UTF-8":       {streamHead + "Content-Length: 15\r\n\r\ndata: {\"\xff\":1}\n\n", "utf-8", "data: {\"\xff\":1}\n\n", nil, 200},
		"unfinished":     {streamHead + "Content-Length: 9\r\n\r\ndata: {}\n", "unterminated", "data: {}\n", nil, 200},
		"no end":         {streamHead + "Content-Length: 38\r\n\r\ndata: {\"type\":\"text\",\"content\":\"hi\"}\n\n", "without a terminal event (events: 1)", "data: {\"type\":\"text\",\"content\":\"hi\"}\n\n", nil, 200},
		"nothing":        {streamHead + "Content-Length: 0\r\n\r\n", "without a terminal event (events: 0)", "", nil, 200},
		"encoded stream": {streamHead + "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b", "Content-Encoding", "\x1f\x8b", nil, 200},
	} {
		t.Run(name, func(t *testing.T) {
			s := newRecordingRig(t, openDialect(t, "agkit"), brokenUpstream(t, tt.raw), nil)
			x := s.do(s.buildRequest("prompt", spec.Event{Thread: "t", Text: "hi"}), wire.StopWhen{})
			if x.Response.Status != tt.status || string(x.Response.Body) != tt.body || !errors.Is(x.Response.End, tt.end) || tt.end == nil && x.Response.End != nil {
				t.Errorf("status %d, body %q, end %v; want %d, %q, %v", x.Response.Status, x.Response.Body, x.Response.End, tt.status, tt.body, tt.end)
			}
			gomega.NewWithT(t).Eventually(s.logText, "3s", "5ms").Should(gomega.ContainSubstring("because="))
			s.mu.Lock()
			defer s.mu.Unlock()
			if files, _ := os.ReadDir(s.dir); len(files) > 0 || len(s.heard) != 1 || !strings.Contains(s.heard[0].SkipReason, tt.why) {
				t.Errorf("saved %v, heard %d, because %q, want %q", files, len(s.heard), s.heard[0].SkipReason, tt.why)
			}
		})
	}
}

func TestNobodyThere(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	s := newRecordingRig(t, openDialect(t, "agkit"), &url.URL{Scheme: "http", Host: ln.Addr().String()}, nil)
	if x := s.do(s.buildRequest("prompt", spec.Event{Thread: "t", Text: "hi"}), wire.StopWhen{}); x.Response.Status != 502 {
		t.Errorf("status %d: %s", x.Response.Status, x.Response.Body)
	}
	if files, _ := os.ReadDir(s.dir); len(files) > 0 || !strings.Contains(s.logText(), "connection refused") {
		t.Errorf("saved %v, log %s", files, s.logText())
	}
}

// TestSecrets checks that secrets are sent to the server and are redacted everywhere in recordings.
func TestSecrets(t *testing.T) {
	const own, cookie, set, query, key = "canary-bearer-1", "canary-cookie-2", "canary-set-3", "canary-query-4", "canary-config-5"
	got := make(chan *http.Request, 1)
	real := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.Clone(context.Background())
		w.Header().Set("Set-Cookie", "session="+set+"; Path=/")
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"a\":%q,\"b\":%q,\"c\":%q,\"d\":%q,\"e\":%q}\n\ndata: [DONE]\n\n", own, cookie, set, query, key)
	}))
	defer real.Close()
	upstream, _ := url.Parse(real.URL)
	s := newRecordingRig(t, openDialect(t, "agkit"), upstream, spec.Header{{Name: "X-Tenant-Key", Value: key}})
	r := s.buildRequest("prompt", spec.Event{Thread: "t-1", Text: "hi " + own})
	r.Target += "?access_token=" + query
	r.Header = append(r.Header, spec.HeaderField{Name: "Authorization", Value: "Bearer " + own}, spec.HeaderField{Name: "Cookie", Value: "a=1; sid=" + cookie},
		spec.HeaderField{Name: "Connection", Value: "close, X-Hop"}, spec.HeaderField{Name: "X-Hop", Value: "1"})
	x := s.do(r, wire.StopWhen{})
	if !bytes.Contains(x.Response.Body, []byte(own)) || !strings.Contains(x.Response.Header.Get("Set-Cookie"), set) {
		t.Errorf("the client was told %q, %v", x.Response.Body, x.Response.Header)
	}
	sent := <-got
	if sent.Header.Get("Authorization") != "Bearer "+own || sent.Header.Get("X-Tenant-Key") != key || sent.Header.Get("X-Hop") != "" || sent.Header.Get("Accept-Encoding") != "identity" {
		t.Errorf("the real server was sent %v", sent.Header)
	}
	data, err := os.ReadFile(s.savedFiles(1)[0])
	if err != nil || bytes.Contains(data, []byte("canary")) || !bytes.Contains(data, []byte("REDACTED")) {
		t.Errorf("%v\n%s", err, data)
	}
	if strings.Contains(s.logText(), "canary") {
		t.Errorf("the log says %s", s.logText())
	}
}

// TestFolder checks that, for any thread id, the file of a conversation is in the directory and
// does not overwrite another file.
func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	folder, err := replay.OpenRecordingDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	mine := filepath.Join(dir, "runs-t.txtar")
	if err := os.WriteFile(mine, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for i, thread := range []string{"t", "t", "../../etc/passwd", "a/b", "a_b", "", strings.Repeat("x", 500), "é\x00\n", ".."} {
		c := replay.RecordedConversation{Number: i + 1, Thread: thread, Dialect: "runs@2026-04"}
		for range 2 { // saving again replaces the file
			if err := folder.Save(c); err != nil {
				t.Fatal(err)
			}
		}
		name := folder.FileName(c)
		if names[name] || name != filepath.Base(name) || len(name) > 120 || !strings.HasPrefix(name, "runs-") {
			t.Errorf("%q is saved as %q", thread, name)
		}
		names[name] = true
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != len(names)+1 {
		t.Errorf("%d files, want %d", len(entries), len(names)+1)
	}
	if data, _ := os.ReadFile(mine); string(data) != "mine" {
		t.Errorf("a file of somebody else is now %q", data)
	}
}
