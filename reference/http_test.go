package reference

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// dial starts a server for an agent in one dialect and returns a TCP connection to it.
func dial(t *testing.T, name string, agent Agent) net.Conn {
	t.Helper()
	s := New(mustDialect(t, name), agent, Config{})
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	t.Cleanup(func() {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	return conn
}

// post sends a prompt with the given text on a connection, as an HTTP/1.1 request for target.
func post(t *testing.T, conn net.Conn, target, text string) {
	t.Helper()
	body := fmt.Sprintf(`{"input":[{"role":"user","content":[{"type":"text","text":%q}]}]}`, text)
	_, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", target, len(body), body)
	if err != nil {
		t.Fatal(err)
	}
}

// TestStreamOverHTTP checks that a stream is chunked and not cached, and that the connection serves
// the next request.
func TestStreamOverHTTP(t *testing.T) {
	conn := dial(t, "agentscope@1.1", Scripted)
	in := bufio.NewReader(conn)
	for range 2 {
		post(t, conn, "/process", "hi")
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil || strings.Count(string(body), "data: ") != 9 || !strings.HasSuffix(string(body), "}\n\n") {
			t.Errorf("%v: %s", err, body)
		}
		h := res.Header
		if res.StatusCode != 200 || h.Get("Content-Type") != "text/event-stream" || h.Get("Cache-Control") != "no-cache" || h.Get("X-Accel-Buffering") != "no" ||
			res.ContentLength != -1 || len(res.TransferEncoding) != 1 {
			t.Errorf("%d %v %v", res.StatusCode, h, res.TransferEncoding)
		}
	}
}

// TestLeavingIsNoticed checks that the agent is stopped when the client leaves, even if nothing is
// being sent.
func TestLeavingIsNoticed(t *testing.T) {
	stopped := make(chan struct{})
	agent := func(ctx context.Context, turn Turn) iter.Seq[spec.Event] {
		return func(yield func(spec.Event) bool) {
			yield(spec.Event{Kind: spec.RunStart})
			<-ctx.Done()
			close(stopped)
		}
	}
	conn := dial(t, "agentscope@1.1", agent)
	post(t, conn, "/process", "hi")
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatal(line, err)
	}
	conn.Close()
	select {
	case <-stopped:
	case <-time.After(10 * time.Second):
		t.Error("the agent still works")
	}
}

// TestEventsAreFlushed checks that events are sent at once, rather than when a buffer is full.
func TestEventsAreFlushed(t *testing.T) {
	next := make(chan struct{})
	agent := func(ctx context.Context, turn Turn) iter.Seq[spec.Event] {
		return func(yield func(spec.Event) bool) {
			for range 3 {
				if !yield(spec.Event{Kind: spec.MessageDelta, Message: "m", Text: "x"}) {
					return
				}
				select {
				case <-next:
				case <-ctx.Done():
					return
				}
			}
		}
	}
	conn := dial(t, "agentscope@1.1", agent)
	post(t, conn, "/process", "hi")
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewScanner(res.Body)
	heard := 0
	for in.Scan() {
		if strings.Contains(in.Text(), `"delta":true`) {
			heard++
			next <- struct{}{} // the next event follows only after this one was received
		}
	}
	if heard != 3 {
		t.Errorf("got %d deltas: %v", heard, in.Err())
	}
}

// TestWritesAreGathered checks that events that are emitted at the same time are combined into few
// writes.
func TestWritesAreGathered(t *testing.T) {
	k := newTestClient(t, mustDialect(t, "runs@2026-04"), Scripted, Config{})
	defer k.close()
	listen := k.sendPrompt("prompt", spec.Event{Text: "conformance:many 2000"})
	k.do(listen) // now it is over, and all of it is due
	w := &counter{recordedResponse: recordedResponse{header: http.Header{}}}
	r := httptest.NewRequestWithContext(t.Context(), "GET", k.d.Base+listen.Target, nil)
	r.Header.Set("Authorization", "Bearer ada")
	k.s.ServeHTTP(w, r)
	most := w.body.Len()/maxWriteBuffer + 1
	if events := strings.Count(w.body.String(), "data: "); events != 2004 || w.writes > most {
		t.Errorf("%d events in %d writes, %d would do", events, w.writes, most)
	}
}

type counter struct {
	recordedResponse
	writes int
}

func (c *counter) Write(data []byte) (int, error) {
	c.writes++
	return c.recordedResponse.Write(data)
}

// TestAll checks that the handler that NewDialectMux returns serves every dialect below its name.
func TestAll(t *testing.T) {
	all, err := dialect.All()
	if err != nil {
		t.Fatal(err)
	}
	m := NewDialectMux(all, Scripted, Config{})
	srv := httptest.NewServer(m)
	defer srv.Close()
	for _, d := range all {
		req, err := d.BuildRequest("prompt", spec.Event{Thread: firstThread, Run: "run-1", Text: "hi"})
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(t.Context(), "POST", srv.URL+"/"+d.Name+d.Base+req.Target, strings.NewReader(string(req.Body)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer ada"}}
		res, err := srv.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if res.Body.Close(); res.StatusCode/100 != 2 {
			t.Errorf("%s: %s", d.Name, res.Status)
		}
	}
	res, err := srv.Client().Get(srv.URL + "/send-message")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	res.Body.Close()
	const want = "no operation at /send-message: the dialects are served below /agentscope-java@0.1/, "
	if res.StatusCode != 404 || !strings.HasPrefix(string(body), want) {
		t.Errorf("%s: %s", res.Status, body)
	}
	if err := m.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if res, err := srv.Client().Get(srv.URL + "/agkit@0.0.10/healthz"); err != nil || res.StatusCode != 503 {
		t.Errorf("after the shutdown: %v %v", res, err)
	}
}

// TestBase checks that a dialect with a Base is served below that path.
func TestBase(t *testing.T) {
	s := New(mustDialect(t, "runs@2026-04"), Scripted, Config{})
	for target, want := range map[string]int{"/api/v1/agent/runs": 422, "/runs": 404, "/api/v1/agentruns": 404, "/api/v1/agent": 404} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), "POST", target, strings.NewReader("{}"))
		r.Header.Set("Authorization", "Bearer ada")
		s.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s: %d", target, w.Code)
		}
	}
}

func TestUUID(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		id := uuid.NewString()
		if len(id) != 36 || id[14] != '4' || !strings.ContainsRune("89ab", rune(id[19])) || seen[id] {
			t.Fatal(id)
		}
		seen[id] = true
	}
}
