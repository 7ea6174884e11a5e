package wire_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// connections serves handler and returns its base URL, and a function that returns for each request
// so far the remote address, which identifies its connection.
func connections(t *testing.T, handler http.HandlerFunc) (*url.URL, func() []string) {
	var mu sync.Mutex
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.RemoteAddr)
		mu.Unlock()
		handler(w, r)
	}))
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return base, func() []string { mu.Lock(); defer mu.Unlock(); return seen }
}

// echo responds with the body of the request.
func echo(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }

// post returns a request that posts a body to a path.
func post(body string) spec.Request {
	return spec.Request{Method: "POST", Target: "/", Body: []byte(body)}
}

func TestKeepAlive(t *testing.T) {
	for _, keep := range []bool{false, true} {
		base, seen := connections(t, echo)
		c, err := wire.NewClient(wire.Config{Base: base, KeepAlive: keep})
		if err != nil {
			t.Fatal(err)
		}
		for _, body := range []string{"one", "two", "three"} {
			x, err := c.Do(t.Context(), post(body), wire.StopWhen{})
			if err != nil || x.Response.End != nil || string(x.Response.Body) != body {
				t.Errorf("keep-alive %v: got %q, %v, %v; want %q", keep, x.Response.Body, x.Response.End, err, body)
			}
		}
		if s := seen(); (s[0] == s[1] && s[1] == s[2]) != keep {
			t.Errorf("keep-alive %v: the requests came from %v", keep, s)
		}
		c.CloseIdleConnection()
	}
}

// TestKeepAliveAfterLeaving checks that a connection is not used again if the client left the
// response before its end, if the server asked to close it, or if the exchange was cancelled.
func TestKeepAliveAfterLeaving(t *testing.T) {
	for name, first := range map[string]func(t *testing.T, c *wire.Client){
		"client left": func(t *testing.T, c *wire.Client) {
			stop := wire.StopWhen{Until: func(r spec.Response) bool { return true }}
			_, _ = c.Do(t.Context(), post("one"), stop)
		},
		"closed by the server": func(t *testing.T, c *wire.Client) {
			_, _ = c.Do(t.Context(), spec.Request{Method: "GET", Target: "/close"}, wire.StopWhen{})
		},
		"cancelled": func(t *testing.T, c *wire.Client) {
			ctx, cancel := context.WithCancel(t.Context())
			_, _ = c.Do(ctx, post("one"), wire.StopWhen{Until: func(spec.Response) bool { cancel(); return false }})
		},
	} {
		base, seen := connections(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/close" {
				w.Header().Set("Connection", "close")
			}
			echo(w, r)
		})
		c, err := wire.NewClient(wire.Config{Base: base, KeepAlive: true})
		if err != nil {
			t.Fatal(err)
		}
		first(t, c)
		x, err := c.Do(t.Context(), post("two"), wire.StopWhen{})
		if err != nil || string(x.Response.Body) != "two" {
			t.Errorf("%s: got %q, %v; want two", name, x.Response.Body, err)
		}
		if s := seen(); len(s) == 2 && s[0] == s[1] {
			t.Errorf("%s: both requests came over one connection", name)
		}
	}
}

// TestKeepAliveOfClosedConnection checks that a request is sent over a new connection if the server
// has closed the idle one, or closes it when the request arrives.
func TestKeepAliveOfClosedConnection(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() { // serves one request per connection, and closes it when a second one arrives
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				buffer := make([]byte, 4096)
				_, _ = conn.Read(buffer)
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
				_, _ = conn.Read(buffer)
			}()
		}
	}()
	c, err := wire.NewClient(wire.Config{Base: &url.URL{Scheme: "http", Host: listener.Addr().String()}, KeepAlive: true})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		x, err := c.Do(t.Context(), spec.Request{Method: "GET", Target: "/"}, wire.StopWhen{})
		if err != nil || x.Response.End != nil || string(x.Response.Body) != "ok" {
			t.Errorf("got %q, %v, %v; want ok", x.Response.Body, x.Response.End, err)
		}
	}
}
