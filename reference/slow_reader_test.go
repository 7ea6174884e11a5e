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
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/streamassay/streamassay/reference/state"
	"github.com/streamassay/streamassay/spec"
)

// What the clients of these tests do not read.
const (
	hoarders  = 200
	hoardSize = 8 << 20
)

// Clients that ask for one large event and never read it hold it in memory once, not
// each of them its own: whether the run is played here, or was, or is told by a store.
func TestReadersThatDoNotRead(t *testing.T) {
	for _, c := range []struct {
		name string
		open func(t testing.TB) string
	}{
		{"memory", func(testing.TB) string { return "memory" }},
		{"sqlite", func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "state.db") }},
		{"redis", redisServer},
	} {
		t.Run(c.name, func(t *testing.T) {
			store, err := state.Open(t.Context(), c.open(t), state.Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			for _, live := range []bool{true, false} {
				t.Run(fmt.Sprint("live ", live), func(t *testing.T) { hoard(t, store, live) })
			}
		})
	}
}

func hoard(t *testing.T, store state.Store, live bool) {
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
	k := newDesk(t, named(t, "runs@2026-04"), agent, Config{Store: store})
	srv := httptest.NewServer(k.s)
	listen := k.prompt("prompt", spec.Event{Run: fmt.Sprint("run-", live), Text: fmt.Sprint("conformance:large ", hoardSize)})
	hear(t, srv, listen, live)

	before := heap()
	var conns []net.Conn
	for range hoarders {
		c := ask(t, srv, listen)
		_ = c.(*net.TCPConn).SetReadBuffer(4096)
		conns = append(conns, c)
	}
	after, peak := settled(t, k)
	if grown := after - before; grown > 2*hoardSize {
		t.Errorf("%d readers hold %d MiB: one event of %d MiB is enough", hoarders, grown>>20, hoardSize>>20)
	}
	if grown := peak - before; grown > 8*hoardSize {
		t.Errorf("%d readers took %d MiB for a while", hoarders, grown>>20)
	}
	t.Logf("%d readers hold %d MiB more, at most %d MiB for a while", hoarders, (after-before)>>20, (peak-before)>>20)
	for _, c := range conns {
		_ = c.Close()
	}
	close(release)
	srv.Close()
	k.close()
}

// ask sends a request on a connection of its own, and reads nothing.
func ask(t *testing.T, srv *httptest.Server, r spec.Request) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ada\r\n", r.Method, named(t, "runs@2026-04").Base+r.Target)
	for _, f := range r.Header {
		fmt.Fprintf(&b, "%s: %s\r\n", f.Name, f.Value)
	}
	if _, err := c.Write(append(b.Bytes(), "\r\n"...)); err != nil {
		t.Fatal(err)
	}
	return c
}

// hear reads the whole of a stream, or of one that goes on, the large event.
func hear(t *testing.T, srv *httptest.Server, r spec.Request, live bool) {
	t.Helper()
	c := ask(t, srv, r)
	defer c.Close()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", resp, err)
	}
	n, err := io.CopyN(io.Discard, resp.Body, hoardSize+200)
	if err != nil {
		t.Fatalf("%d bytes came: %v", n, err)
	}
	if !live {
		_, _ = io.Copy(io.Discard, resp.Body)
	}
}

// settled waits until all readers are being sent to and nothing changes any more. It
// returns how much of the heap is in use then, and the most that was.
func settled(t *testing.T, k *desk) (after, peak int64) {
	t.Helper()
	for begun, last, same := time.Now(), int64(-1), 0; same < 5; {
		if time.Since(begun) > time.Minute {
			t.Fatal("the readers do not settle")
		}
		time.Sleep(50 * time.Millisecond)
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		peak = max(peak, int64(m.HeapAlloc))
		k.s.registry.mu.Lock()
		open := k.s.registry.streamCounts["ada"]
		k.s.registry.mu.Unlock()
		if same++; open != hoarders || last != int64(m.Mallocs>>8) {
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
