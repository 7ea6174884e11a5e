package wire

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// TestRoom checks that, with one slot, a second large conversation waits until the first releases
// its memory, and that the wait counts toward no timeout.
func TestRoom(t *testing.T) {
	const size = 3 << 20
	base := serve(t, func(conn net.Conn) {
		hear(conn)
		conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 3145728\r\n\r\n"))
		conn.Write(make([]byte, size))
	})
	room := NewMemoryLimiter(1, 64<<20)
	first, second := dial(t, Config{Base: base, Memory: room}), dial(t, Config{Base: base, Memory: room, TotalTimeout: time.Second, IdleTimeout: time.Second})
	x, err := first.Do(t.Context(), get, StopWhen{})
	if err != nil || len(x.Response.Body) != size {
		t.Fatalf("%d bytes, %v", len(x.Response.Body), err)
	}
	done := make(chan spec.Exchange, 1)
	go func() {
		x, _ := second.Do(t.Context(), get, StopWhen{})
		done <- x
	}()
	const wait = 1200 * time.Millisecond // longer than the timeouts
	select {
	case x := <-done:
		t.Fatalf("the second did not wait: %d bytes, %v", len(x.Response.Body), x.Response.End)
	case <-time.After(wait):
	}
	first.ReleaseMemory()
	x = <-done
	if len(x.Response.Body) != size || x.Response.End != nil {
		t.Errorf("second: %d bytes, %v", len(x.Response.Body), x.Response.End)
	}
	// What was read after the wait must not seem to have arrived before. The request may have been sent
	// a little after the wait began.
	if last := x.Response.Arrivals[len(x.Response.Arrivals)-1]; last.At < wait/2 {
		t.Errorf("the body was whole after %v; it was read after a wait of %v", last.At, wait)
	}
}

// TestTouchWhilePaused checks that no timeout expires while a client waits for memory, although the
// goroutine that writes the request reports that it sent bytes.
func TestTouchWhilePaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		local, remote := net.Pipe()
		defer remote.Close()
		base := &url.URL{Scheme: "http", Host: "127.0.0.1:1"}
		w := dial(t, Config{Base: base, IdleTimeout: 20 * time.Millisecond}).newWatchdog(t.Context(), local, StopWhen{})
		defer w.stop()
		err := w.runPaused(func() error {
			w.touch()
			<-time.After(100 * time.Millisecond)
			return context.Cause(w.ctx)
		})
		if err != nil {
			t.Error(err)
		}
		if <-w.ctx.Done(); !errors.Is(context.Cause(w.ctx), spec.ErrIdleTimeout) {
			t.Errorf("after the pause: %v, want the idle timeout", context.Cause(w.ctx))
		}
	})
}

// TestFull checks that the client leaves when a conversation exceeds its memory limit.
func TestFull(t *testing.T) {
	base := serve(t, func(conn net.Conn) {
		hear(conn)
		conn.Write([]byte("HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", 2<<20)))
	})
	c := dial(t, Config{Base: base, Memory: NewMemoryLimiter(1, 2<<20)})
	for _, want := range []error{nil, spec.ErrClientLeft} {
		x, err := c.Do(t.Context(), get, StopWhen{})
		if err != nil || !errors.Is(x.Response.End, want) || IsMemoryExceeded(x.Response.End) != (want != nil) {
			t.Errorf("%v, %v; want %v", x.Response.End, err, want)
		}
	}
}

// TestUseWaitsForNoSecondPlace checks that Use does not wait for a conversation that already has a
// slot, and that it waits for any other conversation.
func TestUseWaitsForNoSecondPlace(t *testing.T) {
	base := serve(t, func(conn net.Conn) {
		hear(conn)
		conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 3145728\r\n\r\n"))
		conn.Write(make([]byte, 3<<20))
	})
	room := NewMemoryLimiter(1, 64<<20)
	large, small := dial(t, Config{Base: base, Memory: room}), dial(t, Config{Base: base, Memory: room})
	if _, err := large.Do(t.Context(), get, StopWhen{}); err != nil {
		t.Fatal(err)
	}
	used := func(c *Client) (done bool) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		return c.Use(ctx, func() { done = true }) && done
	}
	if !used(large) {
		t.Error("the large conversation waits for a place, and holds the only one")
	}
	if used(small) {
		t.Error("another conversation did not wait for the place")
	}
	large.ReleaseMemory()
	if !used(small) { // and it can be used again at once
		t.Error("the place was not given back")
	}
	if !used(small) {
		t.Error("the place was not given back")
	}
}
