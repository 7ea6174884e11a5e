package wire

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/streamassay/streamassay/spec"
)

func TestHTTP2(t *testing.T) {
	var got *http.Request
	var uri, sent string
	_, cfg := secure(t, "h2", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got, uri, sent = r, r.RequestURI, string(body)
		w.Header().Set("Trailer", "X-Sum")
		w.WriteHeader(http.StatusEarlyHints)
		io.WriteString(w, "abc")
		w.Header().Set("X-Sum", "9")
	})
	cfg.Header = spec.Header{{Name: "Authorization", Value: "Bearer s"}}
	r := spec.Request{Method: "POST", Target: "/a%2Fb//c?q=%20+%zz", Header: spec.Header{{Name: "X-A", Value: "1"}, {Name: "x-a", Value: "2"},
		{Name: "Connection", Value: "keep-alive"}, {Name: "Content-Length", Value: "99"}}, Body: []byte("hello")}
	x := do(t, cfg, r, StopWhen{})
	resp := x.Response
	if resp.Proto != "HTTP/2.0" || resp.Status != 200 || resp.Framing != spec.FramingHTTP2 || string(resp.Body) != "abc" || resp.End != nil {
		t.Errorf("got %+v", resp)
	}
	same(t, "trailer", resp.Trailer, spec.Header{{Name: "x-sum", Value: "9"}})
	if uri != r.Target || sent != "hello" || got.Method != "POST" || got.Host != cfg.Base.Host {
		t.Errorf("the server got %s %s of %s with %q", got.Method, uri, got.Host, sent)
	}
	want := map[string]string{"X-A": "1 2", "Authorization": "Bearer s", "User-Agent": "streamassay", "Content-Length": "5"}
	for name, values := range got.Header {
		if strings.Join(values, " ") != want[name] {
			t.Errorf("the server got %s: %q, want %q", name, values, want[name])
		}
	}
	if len(got.Header) != len(want) {
		t.Errorf("the server got %v", got.Header)
	}
	same(t, "recorded header", x.Request.Header, r.Header)
}

func TestHTTP2WithoutBody(t *testing.T) {
	_, cfg := secure(t, "h2", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "/y")
		w.WriteHeader(map[string]int{"/204": 204, "/304": 304, "/307": 307}[r.URL.Path])
	})
	for target, want := range map[string]spec.BodyFraming{"/204": spec.FramingNone, "/304": spec.FramingNone, "/307": spec.FramingHTTP2} {
		x := do(t, cfg, spec.Request{Method: "GET", Target: target}, StopWhen{})
		if fmt.Sprint("/", x.Response.Status) != target || x.Response.Framing != want || x.Response.End != nil {
			t.Errorf("%s: got %+v", target, x.Response)
		}
	}
}

func TestHTTP2Leaving(t *testing.T) {
	_, cfg := secure(t, "h2", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "data: 1\n\ndata: 2\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	got := do(t, cfg, get, StopWhen{Frames: 1}).Response
	if string(got.Body) != "data: 1\n\n" || !errors.Is(got.End, spec.ErrClientLeft) || got.Proto != "HTTP/2.0" {
		t.Errorf("frames: got %q, %v", got.Body, got.End)
	}
	got = do(t, cfg, get, StopWhen{Elapsed: 2 * time.Second}).Response
	if string(got.Body) != "data: 1\n\ndata: 2\n\n" || !errors.Is(got.End, spec.ErrClientLeft) {
		t.Errorf("time: got %q, %v", got.Body, got.End)
	}
	cfg.IdleTimeout = 2 * time.Second // the TLS handshake has to be over in it
	got = do(t, cfg, get, StopWhen{}).Response
	if string(got.Body) != "data: 1\n\ndata: 2\n\n" || !errors.Is(got.End, spec.ErrIdleTimeout) {
		t.Errorf("idle: got %q, %v", got.Body, got.End)
	}
}

func TestHTTP2Limits(t *testing.T) {
	_, cfg := secure(t, "h2", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/header" {
			for i := range 300 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("z", 1000))
			}
			return
		}
		for err := error(nil); err == nil; _, err = w.Write(make([]byte, 1000)) {
		}
	})
	cfg.MaxBodyBytes = 5000
	if got := do(t, cfg, get, StopWhen{}).Response; len(got.Body) != 5000 || !errors.Is(got.End, spec.ErrLimitExceeded) {
		t.Errorf("body: got %d bytes, %v", len(got.Body), got.End)
	}
	if got := do(t, cfg, spec.Request{Method: "GET", Target: "/header"}, StopWhen{}).Response; !errors.Is(got.End, spec.ErrLimitExceeded) || got.Status != 0 {
		t.Errorf("head: got %d, %v", got.Status, got.End)
	}
}

func TestHTTP2Abort(t *testing.T) {
	_, cfg := secure(t, "h2", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/later" {
			io.WriteString(w, "abc")
			w.(http.Flusher).Flush()
		}
		panic(http.ErrAbortHandler)
	})
	for target, body := range map[string]string{"/at-once": "", "/later": "abc"} {
		got := do(t, cfg, spec.Request{Method: "GET", Target: target}, StopWhen{}).Response
		if string(got.Body) != body || (got.Status == 200) != (body != "") || !errors.Is(got.End, spec.ErrReset) || !strings.Contains(got.End.Error(), "RST_STREAM") {
			t.Errorf("%s: got %d, %q, %v", target, got.Status, got.Body, got.End)
		}
	}
}

// rawHTTP2 starts an HTTP/2 server that reads the header of a request and then calls handle with
// the connection. The function head encodes a header block from names and values. rawHTTP2 returns
// a Config for clients of the server.
func rawHTTP2(t *testing.T, handle func(conn net.Conn, frames *http2.Framer, head func(...string) []byte)) Config {
	t.Helper()
	s, _ := secure(t, "http/1.1", http.NotFound) // for its certificate
	certificates := s.TLS.Certificates
	base := serve(t, func(raw net.Conn) {
		conn := tls.Server(raw, &tls.Config{Certificates: certificates, NextProtos: []string{"h2"}})
		if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
			return
		}
		frames := http2.NewFramer(conn, conn)
		frames.WriteSettings()
		for {
			frame, err := frames.ReadFrame()
			if err != nil {
				return
			}
			if _, ok := frame.(*http2.HeadersFrame); ok {
				break
			}
		}
		handle(conn, frames, func(pairs ...string) []byte {
			var block bytes.Buffer
			encoder := hpack.NewEncoder(&block)
			for i := 0; i < len(pairs); i += 2 {
				encoder.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
			}
			return block.Bytes()
		})
	})
	base.Scheme = "https"
	return Config{Base: base, Insecure: true}
}

func TestHTTP2HeadAsSent(t *testing.T) {
	cfg := rawHTTP2(t, func(conn net.Conn, frames *http2.Framer, head func(...string) []byte) {
		frames.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndHeaders: true, BlockFragment: head(":status", "103", "link", "x")})
		frames.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndHeaders: true, BlockFragment: head(":status", "200", "x-b", "1", "x-a", "2", "trailer", "x-t", "x-b", "3")})
		frames.WriteData(1, false, []byte("abc"))
		frames.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndHeaders: true, EndStream: true, BlockFragment: head("x-t", "4")})
		io.Copy(io.Discard, conn)
	})
	got := do(t, cfg, get, StopWhen{}).Response
	same(t, "header", got.Header, spec.Header{{Name: "x-b", Value: "1"}, {Name: "x-a", Value: "2"}, {Name: "trailer", Value: "x-t"}, {Name: "x-b", Value: "3"}})
	same(t, "trailer", got.Trailer, spec.Header{{Name: "x-t", Value: "4"}})
	if got.Status != 200 || string(got.Body) != "abc" || got.End != nil {
		t.Errorf("got %d, %q, %v", got.Status, got.Body, got.End)
	}
}

func TestHTTP2Endings(t *testing.T) {
	// hangUp closes without a reset, which a close with unread frames would be.
	hangUp := func(conn net.Conn) {
		conn.(*tls.Conn).CloseWrite()
		conn.(*tls.Conn).NetConn().(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, conn)
	}
	type scene func(conn net.Conn, frames *http2.Framer, head func(...string) []byte)
	begin := func(frames *http2.Framer, head func(...string) []byte) {
		frames.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndHeaders: true, BlockFragment: head(":status", "200")})
		frames.WriteData(1, false, []byte("abc"))
	}
	for name, tc := range map[string]struct {
		scene  scene
		status int
		end    error
	}{
		"closed at once": {func(conn net.Conn, _ *http2.Framer, _ func(...string) []byte) { hangUp(conn) }, 0, spec.ErrTruncated},
		"cut": {func(conn net.Conn, frames *http2.Framer, head func(...string) []byte) {
			begin(frames, head)
			hangUp(conn)
		}, 200, spec.ErrTruncated},
		"reset stream": {func(conn net.Conn, frames *http2.Framer, head func(...string) []byte) {
			begin(frames, head)
			frames.WriteRSTStream(1, http2.ErrCodeInternal)
			io.Copy(io.Discard, conn)
		}, 200, spec.ErrReset},
		"refused stream, no second try": {func(conn net.Conn, frames *http2.Framer, head func(...string) []byte) {
			frames.WriteRSTStream(1, http2.ErrCodeRefusedStream)
			io.Copy(io.Discard, conn)
		}, 0, spec.ErrReset},
		"goaway": {func(conn net.Conn, frames *http2.Framer, head func(...string) []byte) {
			frames.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, nil)
			hangUp(conn)
		}, 0, spec.ErrTruncated},
		"no status": {func(conn net.Conn, frames *http2.Framer, head func(...string) []byte) {
			frames.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndHeaders: true, BlockFragment: head("x-a", "1")})
			io.Copy(io.Discard, conn)
		}, 0, spec.ErrNotHTTP},
		"not frames": {func(conn net.Conn, frames *http2.Framer, head func(...string) []byte) {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}, 0, spec.ErrNotHTTP},
		"silence": {func(conn net.Conn, frames *http2.Framer, head func(...string) []byte) {
			io.Copy(io.Discard, conn)
		}, 0, spec.ErrIdleTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := rawHTTP2(t, tc.scene)
			if tc.end == spec.ErrIdleTimeout {
				cfg.IdleTimeout = 2 * time.Second
			}
			got := do(t, cfg, get, StopWhen{}).Response
			if got.Status != tc.status || !errors.Is(got.End, tc.end) {
				t.Errorf("got %d, %v; want %d, %v", got.Status, got.End, tc.status, tc.end)
			}
			if got.Status == 200 && string(got.Body) != "abc" {
				t.Errorf("body = %q", got.Body)
			}
		})
	}
}
