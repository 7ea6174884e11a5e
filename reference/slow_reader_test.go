package reference

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/streamassay/streamassay/internal/state"
	"github.com/streamassay/streamassay/spec"
)

// The number of clients in these tests, and the size in bytes of the event that the clients do not
// read.
const (
	slowClients = 200
	eventSize   = 8 << 20
)

// TestReadersThatDoNotRead checks that a large event is in memory once, not once for each client
// that does not read it. This holds while the run is executed and when it is read from a store.
func TestReadersThatDoNotRead(t *testing.T) {
	for _, c := range stores {
		t.Run(c.name, func(t *testing.T) {
			store := c.open(t)
			defer store.Close()
			for _, live := range []bool{true, false} {
				t.Run(fmt.Sprint("live ", live), func(t *testing.T) { testSlowClients(t, store, live) })
			}
		})
	}
}

func testSlowClients(t *testing.T, store state.Store, live bool) {
	release := make(chan struct{})
	agent := func(ctx context.Context, turn Turn) iter.Seq[spec.Event] {
		return func(yield func(spec.Event) bool) {
			for e := range Scripted(ctx, turn) {
				if live && e.Kind == spec.MessageEnd {
					<-release
				}
				if !yield(e) {
					return
				}
			}
		}
	}
	k := newTestClient(t, mustDialect(t, "runs@2026-04"), agent, Config{Store: store})
	srv := httptest.NewServer(k.s)
	listen := k.sendPrompt("prompt", spec.Event{Run: fmt.Sprint("run-", live), Text: fmt.Sprint("conformance:large ", eventSize)})
	readEvent(t, srv, listen, live)

	before := heap()
	var conns []net.Conn
	for range slowClients {
		c := sendRequest(t, srv, listen)
		_ = c.(*net.TCPConn).SetReadBuffer(4096)
		conns = append(conns, c)
	}
	after, peak := waitSettled(t, k)
	if grown := after - before; grown > 2*eventSize {
		t.Errorf("%d slow clients hold %d MiB, want that of one event: %d MiB", slowClients, grown>>20, eventSize>>20)
	}
	// The peak includes garbage, of which there is more when the machine is busy or GOGC is high.
	if grown := peak - before; grown > slowClients*eventSize/4 {
		t.Errorf("%d slow clients held up to %d MiB; one copy each is %d MiB", slowClients, grown>>20, slowClients*eventSize>>20)
	}
	t.Logf("%d slow clients hold %d MiB, up to %d MiB", slowClients, (after-before)>>20, (peak-before)>>20)
	for _, c := range conns {
		_ = c.Close()
	}
	close(release)
	srv.Close()
	k.close()
}

// sendRequest sends a request on a new connection and returns the connection without reading the
// response.
func sendRequest(t *testing.T, srv *httptest.Server, r spec.Request) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ada\r\n", r.Method, mustDialect(t, "runs@2026-04").Base+r.Target)
	for _, f := range r.Header {
		fmt.Fprintf(&b, "%s: %s\r\n", f.Name, f.Value)
	}
	if _, err := c.Write(append(b.Bytes(), "\r\n"...)); err != nil {
		t.Fatal(err)
	}
	return c
}

// readEvent reads the complete stream of a run or, if live is set, only the large event.
func readEvent(t *testing.T, srv *httptest.Server, r spec.Request, live bool) {
	t.Helper()
	c := sendRequest(t, srv, r)
	defer c.Close()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", resp, err)
	}
	n, err := io.CopyN(io.Discard, resp.Body, eventSize+200)
	if err != nil {
		t.Fatalf("got %d bytes: %v", n, err)
	}
	if !live {
		_, _ = io.Copy(io.Discard, resp.Body)
	}
}

// waitSettled waits until all streams are open and the server no longer allocates memory. It
// returns the bytes in use on the heap then, and the greatest number at any time while it waited.
func waitSettled(t *testing.T, k *testClient) (after, peak int64) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for last, same := int64(-1), 0; same < 5; {
		select {
		case <-deadline:
			t.Fatal("the streams do not settle")
		case <-tick.C:
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		peak = max(peak, int64(m.HeapAlloc))
		k.s.registry.mu.Lock()
		open := k.s.registry.streamCounts["ada"]
		k.s.registry.mu.Unlock()
		if same++; open != slowClients || last != int64(m.Mallocs>>8) {
			last, same = int64(m.Mallocs>>8), 0
		}
	}
	return heap(), peak
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
