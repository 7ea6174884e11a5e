package wire

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/streamassay/streamassay/spec"
)

// echo starts a server whose response body is the request, byte for byte, and returns the URL of
// the server.
func echo(t *testing.T) *url.URL {
	return serve(t, func(conn net.Conn) {
		raw := hear(conn)
		io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n"+raw)
	})
}

func TestRequestAsGiven(t *testing.T) {
	base := echo(t)
	for name, tc := range map[string]struct {
		cfg  spec.Header
		r    spec.Request
		want string
	}{
		"plain": {nil, spec.Request{Method: "GET", Target: "/x"},
			"GET /x HTTP/1.1\r\nHost: HOST\r\nUser-Agent: streamassay\r\n\r\n"},
		"order and spelling": {spec.Header{{Name: "authorization", Value: "Bearer s"}},
			spec.Request{Method: "POST", Target: "/x", Header: spec.Header{{Name: "x-b", Value: "1"}, {Name: "Content-TYPE", Value: "a/b"}, {Name: "X-A", Value: "2"}, {Name: "x-b", Value: "3"}}, Body: []byte("abc")},
			"POST /x HTTP/1.1\r\nHost: HOST\r\nx-b: 1\r\nContent-TYPE: a/b\r\nX-A: 2\r\nx-b: 3\r\nauthorization: Bearer s\r\nUser-Agent: streamassay\r\nContent-Length: 3\r\n\r\nabc"},
		"own framing": {nil, spec.Request{Method: "PUT", Target: "/x", Header: spec.Header{{Name: "content-length", Value: "7"}, {Name: "Transfer-encoding", Value: "chunked"}}},
			"PUT /x HTTP/1.1\r\nHost: HOST\r\nUser-Agent: streamassay\r\nContent-Length: 0\r\n\r\n"},
		"own names": {spec.Header{{Name: "user-agent", Value: "me/1"}, {Name: "Host", Value: "example.org"}, {Name: "Accept", Value: "*/*"}},
			spec.Request{Method: "DELETE", Target: "/x", Header: spec.Header{{Name: "accept", Value: "a/b"}}},
			"DELETE /x HTTP/1.1\r\nHost: example.org\r\naccept: a/b\r\nuser-agent: me/1\r\n\r\n"},
		"body with GET": {nil, spec.Request{Method: "GET", Target: "/x", Body: []byte("a")},
			"GET /x HTTP/1.1\r\nHost: HOST\r\nUser-Agent: streamassay\r\nContent-Length: 1\r\n\r\na"},
	} {
		t.Run(name, func(t *testing.T) {
			x := do(t, Config{Base: base, Header: tc.cfg}, tc.r, StopWhen{})
			want := strings.ReplaceAll(tc.want, "HOST", base.Host)
			if string(x.Response.Body) != want {
				t.Errorf("got\n%s\nwant\n%s", x.Response.Body, want)
			}
			same(t, "recorded header", x.Request.Header, tc.r.Header)
		})
	}
}

func TestTargetsAreNotRespelled(t *testing.T) {
	for _, tc := range []struct{ base, target, want string }{
		{"http://h", "", "/"},
		{"http://h/", "", "/"},
		{"http://h", "/x", "/x"},
		{"http://h/", "/x", "/x"},
		{"http://h/api/v1", "/x", "/api/v1/x"},
		{"http://h/api/v1/", "/x", "/api/v1/x"},
		{"http://h/api/v1/", "", "/api/v1/"},
		{"http://h/agent", "?a=1", "/agent?a=1"},
		{"http://h", "?a=1", "/?a=1"},
		{"http://h", "/a%2Fb/%41%zz/%e4?q=%20+a%2F&&x=?", "/a%2Fb/%41%zz/%e4?q=%20+a%2F&&x=?"},
		{"http://h/p%2Fq", "/x//y/../z", "/p%2Fq/x//y/../z"},
		{"http://h", "/x?", "/x?"},
		{"http://h/agent?key=1", "", "/agent?key=1"},
		{"http://h/agent?key=1", "/x?a=2", "/agent/x?key=1&a=2"},
		{"http://h", "//x", "//x"},
	} {
		base, err := url.Parse(tc.base)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := joinTarget(base, tc.target); got != tc.want || err != nil {
			t.Errorf("%s with %q: got %q, %v; want %q", tc.base, tc.target, got, err, tc.want)
		}
	}
}

func TestMalformedRequests(t *testing.T) {
	var asked atomic.Bool
	base := serve(t, func(net.Conn) { asked.Store(true) })
	base.User = url.UserPassword("ann", "hunter2")
	base.RawQuery = "key=hunter2"
	c := dial(t, Config{Base: base})
	for _, tc := range []struct {
		r    spec.Request
		says string
	}{
		{spec.Request{Target: "/"}, `invalid method ""`},
		{spec.Request{Method: "GE T", Target: "/"}, `invalid method "GE T"`},
		{spec.Request{Method: "CONNECT", Target: "/"}, `invalid method "CONNECT"`},
		{spec.Request{Method: "GET", Target: "x"}, `invalid target "x": want a leading slash`},
		{spec.Request{Method: "GET", Target: "http://other/"}, "want a leading slash"},
		{spec.Request{Method: "GET", Target: "/a b"}, `' ' must be percent-encoded`},
		{spec.Request{Method: "GET", Target: "/a\r\nX: y"}, `'\r' must be percent-encoded`},
		{spec.Request{Method: "GET", Target: "/#a"}, `'#' must be percent-encoded`},
		{spec.Request{Method: "GET", Target: "/", Header: spec.Header{{Name: "A b", Value: "c"}}}, `invalid header field name "A b"`},
		{spec.Request{Method: "GET", Target: "/", Header: spec.Header{{Name: "A", Value: "hunter2\r\nB: c"}}}, "header field A contains a line break"},
		{spec.Request{Method: "GET", Target: "/", Header: spec.Header{{Name: "Host", Value: "a b"}}}, `invalid Host "a b"`},
	} {
		_, err := c.Do(t.Context(), tc.r, StopWhen{})
		var own *ClientSideError
		if !errors.As(err, &own) || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%q: error = %v, want it to say %s", tc.r, err, tc.says)
			continue
		}
		if strings.Contains(err.Error(), "hunter2") || strings.ContainsAny(err.Error(), "\r\n") {
			t.Errorf("%q: error = %q", tc.r, err)
		}
		if !strings.HasPrefix(err.Error(), "http://"+base.Host) {
			t.Errorf("%q: error %q does not name the URL", tc.r, err)
		}
	}
	if asked.Load() {
		t.Error("a malformed request reached the server")
	}
}

func TestDialRefuses(t *testing.T) {
	for _, tc := range []struct {
		base string
		cfg  Config
		says string
	}{
		{"localhost:80", Config{}, "http:// or https://"},
		{"ftp://h/", Config{}, "http:// or https://"},
		{"http:///x", Config{}, "no host"},
		{"http://h/#x", Config{}, "#fragment"},
		{"http://ann:hunter2@h/?hunter2 x", Config{}, `' ' must be percent-encoded`},
		{"http://h", Config{Header: spec.Header{{Name: "X", Value: "hunter2\n"}}}, "header field X"},
		{"http://h", Config{MaxBodyBytes: -1}, "negative"},
	} {
		base, err := url.Parse(tc.base)
		if err != nil {
			t.Fatal(err)
		}
		tc.cfg.Base = base
		if _, err := NewClient(tc.cfg); err == nil || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: error = %v, want it to say %s", tc.base, err, tc.says)
		}
	}
	if _, err := NewClient(Config{}); err == nil {
		t.Error("got no error without a base URL")
	}
}

// TestUserinfo checks that the user and password of the base URL are sent as basic authentication
// but not recorded.
func TestUserinfo(t *testing.T) {
	base := echo(t)
	base.User = url.UserPassword("ann", "s3cret")
	x := do(t, Config{Base: base}, get, StopWhen{})
	if !strings.Contains(string(x.Response.Body), "\r\nAuthorization: Basic YW5uOnMzY3JldA==\r\n") {
		t.Errorf("sent %s", x.Response.Body)
	}
	if len(x.Request.Header) != 0 {
		t.Errorf("recorded %q", x.Request.Header)
	}
	x = do(t, Config{Base: base, Header: spec.Header{{Name: "authorization", Value: "Bearer t"}}}, get, StopWhen{})
	if strings.Contains(string(x.Response.Body), "Basic") {
		t.Errorf("sent both: %s", x.Response.Body)
	}
}

// TestWithHeader checks that a client from WithHeader uses the same clock but sends neither the
// header nor the password of the original client.
func TestWithHeader(t *testing.T) {
	base := *echo(t)
	base.User = url.UserPassword("ann", "s3cr3t")
	user, err := NewClient(Config{Base: &base, Header: spec.Header{{Name: "X-Tenant", Value: "t"}}})
	if err != nil {
		t.Fatal(err)
	}
	other, err := user.WithHeader(spec.Header{{Name: "Cookie", Value: "sid=bob"}})
	if err != nil {
		t.Fatal(err)
	}
	for client, want := range map[*Client]string{user: "X-Tenant: t Authorization: Basic YW5uOnMzY3IzdA==", other: "Cookie: sid=bob"} {
		x, err := client.Do(t.Context(), spec.Request{Method: "GET", Target: "/x", Principal: spec.Anonymous}, StopWhen{})
		if err != nil {
			t.Fatal(err)
		}
		body := strings.Join(strings.Split(string(x.Response.Body), "\r\n"), " ")
		if body != "GET /x HTTP/1.1 Host: "+base.Host+" "+want+" User-Agent: streamassay  " || x.Request.Principal != spec.Anonymous {
			t.Errorf("asked as %q: %q", x.Request.Principal, body)
		}
	}
	if other.started != user.started {
		t.Error("their clocks differ")
	}
	if _, err := user.WithHeader(spec.Header{{Name: "Cookie", Value: "a\nb"}}); err == nil || strings.Contains(err.Error(), "a\nb") {
		t.Errorf("a broken header: %v", err)
	}
}

func TestProxyIsIgnored(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	if x := do(t, Config{Base: echo(t)}, get, StopWhen{}); x.Response.Status != 200 {
		t.Errorf("got %d", x.Response.Status)
	}
}

// TestRecordIsACopy checks that changing the header of the request later does not change the
// record.
func TestRecordIsACopy(t *testing.T) {
	r := spec.Request{Method: "POST", Target: "/x", Header: spec.Header{{Name: "A", Value: "b"}}, Body: []byte("abc")}
	x := do(t, Config{Base: echo(t)}, r, StopWhen{})
	r.Header[0].Value = "changed"
	if x.Request.Header.Get("A") != "b" || string(x.Request.Body) != "abc" {
		t.Errorf("recorded %q, %q", x.Request.Header, x.Request.Body)
	}
}

func TestChunkedRequest(t *testing.T) {
	type received struct {
		body   string
		length int64
		err    error
	}
	var got received
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		got = received{string(body), r.ContentLength, err}
	}))
	defer srv.Close()
	base, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1, requestChunkSize, 3*requestChunkSize + 1} {
		want := strings.Repeat("é", size/2) + "x"
		r := spec.Request{Method: "POST", Target: "/", Header: spec.Header{{Name: "transfer-encoding", Value: "Chunked"}}, Body: []byte(want)}
		if x := do(t, Config{Base: base}, r, StopWhen{}); x.Response.Status != 200 {
			t.Fatalf("status %d, want 200", x.Response.Status)
		}
		if got != (received{body: want, length: -1}) {
			t.Errorf("the server received %d bytes with length %d and error %v, want %d bytes in chunks", len(got.body), got.length, got.err, len(want))
		}
	}
}
