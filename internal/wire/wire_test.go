package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// serve starts a TCP server and returns its URL. The server calls handle for each connection, and
// closes the connection when handle returns.
func serve(t *testing.T, handle func(net.Conn)) *url.URL {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				handle(conn)
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		running.Wait()
	})
	return &url.URL{Scheme: "http", Host: ln.Addr().String()}
}

// hear reads a complete request and returns its bytes.
func hear(conn net.Conn) string {
	var raw bytes.Buffer
	r, err := http.ReadRequest(bufio.NewReader(io.TeeReader(conn, &raw)))
	if err != nil {
		return "unreadable: " + err.Error()
	}
	io.Copy(io.Discard, r.Body)
	return raw.String()
}

// answer starts a server that reads a request, sends the bytes in raw and closes the connection.
func answer(t *testing.T, raw string) *url.URL {
	return serve(t, func(conn net.Conn) {
		hear(conn)
		io.WriteString(conn, raw)
	})
}

// answerAndHang is like answer, but keeps the connection open until the client leaves.
func answerAndHang(t *testing.T, raw string) *url.URL {
	return serve(t, func(conn net.Conn) {
		hear(conn)
		io.WriteString(conn, raw)
		io.Copy(io.Discard, conn)
	})
}

// answerAndReset is like answer, but resets the connection. If heard is not nil, it first waits
// until heard is closed or receives a value.
func answerAndReset(t *testing.T, raw string, heard <-chan struct{}) *url.URL {
	return serve(t, func(conn net.Conn) {
		hear(conn)
		io.WriteString(conn, raw)
		if heard != nil {
			<-heard
		}
		conn.(*net.TCPConn).SetLinger(0)
	})
}

func dial(t *testing.T, cfg Config) *Client {
	t.Helper()
	if cfg.IdleTimeout == 0 {
		cfg.IdleTimeout = 10 * time.Second
	}
	c, err := NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var get = spec.Request{Method: "GET", Target: "/x"}

func do(t *testing.T, cfg Config, r spec.Request, limit StopWhen) spec.Exchange {
	t.Helper()
	x, err := dial(t, cfg).Do(t.Context(), r, limit)
	if err != nil {
		t.Fatalf("Do: %v", err)
	}
	return x
}

// TestEndings checks each way in which an HTTP/1 response can end.
func TestEndings(t *testing.T) {
	const short = 150 * time.Millisecond
	ok := "HTTP/1.1 200 OK\r\n"
	chunked := ok + "Transfer-Encoding: chunked\r\n\r\n"
	for name, tc := range map[string]struct {
		raw     string
		hang    bool // the server keeps the connection open
		method  string
		status  int
		framing spec.BodyFraming
		body    string
		end     error
		says    string // part of End's text
	}{
		"length":             {raw: ok + "Content-Length: 3\r\n\r\nabc", hang: true, status: 200, framing: spec.FramingLength, body: "abc"},
		"length, more":       {raw: ok + "Content-Length: 3\r\n\r\nabcdef", status: 200, framing: spec.FramingLength, body: "abc"},
		"length, twice":      {raw: ok + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", status: 200, framing: spec.FramingLength, body: "abc"},
		"length, cut":        {raw: ok + "Content-Length: 9\r\n\r\nabc", status: 200, framing: spec.FramingLength, body: "abc", end: spec.ErrTruncated},
		"length, zero":       {raw: ok + "Content-Length: 0\r\n\r\n", hang: true, status: 200, framing: spec.FramingLength},
		"length, two":        {raw: ok + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc", status: 200, framing: spec.FramingLength, end: spec.ErrNotHTTP, says: "Content-Length"},
		"length, negative":   {raw: ok + "Content-Length: -3\r\n\r\nabc", status: 200, framing: spec.FramingLength, end: spec.ErrNotHTTP, says: `"-3"`},
		"chunked":            {raw: chunked + "3\r\nabc\r\n0\r\n\r\n", hang: true, status: 200, framing: spec.FramingChunked, body: "abc"},
		"chunked, extension": {raw: chunked + "3;a=b\r\nabc\r\n0;z\r\n\r\n", hang: true, status: 200, framing: spec.FramingChunked, body: "abc"},
		"chunked and length": {raw: ok + "Content-Length: 1\r\nTransfer-Encoding: Chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", hang: true, status: 200, framing: spec.FramingChunked, body: "ab"},
		"chunked, no last":   {raw: chunked + "3\r\nabc\r\n", status: 200, framing: spec.FramingChunked, body: "abc", end: spec.ErrTruncated},
		"chunked, in chunk":  {raw: chunked + "9\r\nabc", status: 200, framing: spec.FramingChunked, body: "abc", end: spec.ErrTruncated},
		"chunked, in last":   {raw: chunked + "3\r\nabc\r\n0\r\n", status: 200, framing: spec.FramingChunked, body: "abc", end: spec.ErrTruncated},
		"chunked, bad size":  {raw: chunked + "3\r\nabc\r\nxyz\r\n", status: 200, framing: spec.FramingChunked, body: "abc", end: spec.ErrNotHTTP, says: `"xyz"`},
		"chunked, too long":  {raw: chunked + "3\r\nabcde\r\n0\r\n\r\n", status: 200, framing: spec.FramingChunked, body: "abc", end: spec.ErrNotHTTP, says: `"de"`},
		"chunked, huge line": {raw: chunked + "3;" + strings.Repeat("x", 5000) + "\r\nabc\r\n", hang: true, status: 200, framing: spec.FramingChunked, end: spec.ErrLimitExceeded, says: "before a chunk"},
		"other coding":       {raw: ok + "Transfer-Encoding: gzip\r\n\r\nabc", status: 200, framing: spec.FramingClose, body: "abc"},
		"close":              {raw: ok + "\r\nabc", status: 200, framing: spec.FramingClose, body: "abc"},
		"close, 1.0":         {raw: "HTTP/1.0 200 OK\r\n\r\nabc", status: 200, framing: spec.FramingClose, body: "abc"},
		"close, hang":        {raw: ok + "\r\nabc", hang: true, status: 200, framing: spec.FramingClose, body: "abc", end: spec.ErrIdleTimeout},
		"chunked, hang":      {raw: chunked + "3\r\nabc\r\n", hang: true, status: 200, framing: spec.FramingChunked, body: "abc", end: spec.ErrIdleTimeout},
		"HEAD":               {raw: ok + "Content-Length: 3\r\n\r\n", hang: true, method: "HEAD", status: 200, framing: spec.FramingNone},
		"204":                {raw: "HTTP/1.1 204 No Content\r\n\r\n", hang: true, status: 204, framing: spec.FramingNone},
		"304":                {raw: "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", hang: true, status: 304, framing: spec.FramingNone},
		"101":                {raw: "HTTP/1.1 101 Switching Protocols\r\n\r\n", hang: true, status: 101, framing: spec.FramingNone},
		"redirect":           {raw: "HTTP/1.1 307 Temporary Redirect\r\nLocation: /y\r\nContent-Length: 0\r\n\r\n", hang: true, status: 307, framing: spec.FramingLength},
		"interim":            {raw: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok + "Content-Length: 1\r\n\r\na", hang: true, status: 200, framing: spec.FramingLength, body: "a"},
		"interim only":       {raw: "HTTP/1.1 100 Continue\r\n\r\n", end: spec.ErrTruncated},
		"interim, endless":   {raw: strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 12000), hang: true, end: spec.ErrLimitExceeded, says: "head"},
		"nothing":            {raw: "", end: spec.ErrTruncated},
		"silence":            {raw: "", hang: true, end: spec.ErrIdleTimeout},
		"half a status line": {raw: "HTTP/1.1 20", end: spec.ErrTruncated},
		"half a header":      {raw: ok + "A: b\r\nC: d", status: 200, end: spec.ErrTruncated},
		"half, hang":         {raw: ok + "A: b\r\nC: d", hang: true, status: 200, end: spec.ErrIdleTimeout},
		"another protocol":   {raw: "SSH-2.0-OpenSSH_9.9\r\n", hang: true, end: spec.ErrNotHTTP, says: `"SSH-2.0-OpenSSH_9.9\r\n"`},
		"no line":            {raw: "\x00\x00\x12", hang: true, end: spec.ErrNotHTTP, says: `"\x00\x00\x12"`},
		"nearly":             {raw: "HTTX", hang: true, end: spec.ErrNotHTTP, says: `"HTTX"`},
		"long, quoted short": {raw: strings.Repeat("z", 1<<20), end: spec.ErrNotHTTP, says: strings.Repeat("z", 64) + `"…`},
		"HTTP/2 in HTTP/1":   {raw: "HTTP/2 200 OK\r\n\r\n", hang: true, end: spec.ErrNotHTTP, says: `"HTTP/2 200 OK"`},
		"odd status":         {raw: "HTTP/1.1 2000 OK\r\n\r\n", hang: true, end: spec.ErrNotHTTP, says: "status line"},
		"low status":         {raw: "HTTP/1.1 099 OK\r\n\r\n", hang: true, end: spec.ErrNotHTTP, says: "status line"},
		"no colon":           {raw: ok + "A b\r\n\r\n", hang: true, status: 200, end: spec.ErrNotHTTP, says: `"A b"`},
		"space before colon": {raw: ok + "A : b\r\n\r\n", hang: true, status: 200, end: spec.ErrNotHTTP, says: `"A : b"`},
		"fold first":         {raw: ok + " b\r\n\r\n", hang: true, status: 200, end: spec.ErrNotHTTP, says: `" b"`},
		"endless status":     {raw: "HTTP/1.1 200 " + strings.Repeat("x", 1<<20), end: spec.ErrLimitExceeded, says: "head"},
		"endless header":     {raw: ok + strings.Repeat("A: b\r\n", 100_000), status: 200, end: spec.ErrLimitExceeded, says: "head"},
		"endless trailer":    {raw: chunked + "0\r\n" + strings.Repeat("A: b\r\n", 100_000), status: 200, framing: spec.FramingChunked, end: spec.ErrLimitExceeded, says: "trailer"},
		"bare line feeds":    {raw: "HTTP/1.1 200 OK\nContent-Length: 1\n\na", hang: true, status: 200, framing: spec.FramingLength, body: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := answer(t, tc.raw)
			if tc.hang {
				base = answerAndHang(t, tc.raw)
			}
			cfg := Config{Base: base}
			if tc.end == spec.ErrIdleTimeout {
				cfg.IdleTimeout = short
			}
			method := tc.method
			if method == "" {
				method = "GET"
			}
			got := do(t, cfg, spec.Request{Method: method, Target: "/x"}, StopWhen{}).Response
			if got.Status != tc.status || got.Framing != tc.framing || string(got.Body) != tc.body {
				t.Errorf("got %d, %q, body %q; want %d, %q, %q", got.Status, got.Framing, got.Body, tc.status, tc.framing, tc.body)
			}
			if !errors.Is(got.End, tc.end) {
				t.Errorf("End = %v, want %v", got.End, tc.end)
			}
			if got.End != nil && (!strings.Contains(got.End.Error(), tc.says) || len(got.End.Error()) > 300) {
				t.Errorf("End = %.500v, want it to say %s", got.End, tc.says)
			}
			if n := len(got.Arrivals); n > 0 && got.Arrivals[n-1].End != len(got.Body) {
				t.Errorf("the last read ends at %d, the body at %d", got.Arrivals[n-1].End, len(got.Body))
			}
		})
	}
}

func TestResets(t *testing.T) {
	for name, raw := range map[string]string{
		"before the head": "",
		"in the head":     "HTTP/1.1 200 OK\r\nA: b\r\n",
		"in the body":     "HTTP/1.1 200 OK\r\n\r\nabc",
		"in a chunk":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc",
	} {
		t.Run(name, func(t *testing.T) {
			var heard chan struct{}
			limit := StopWhen{}
			if strings.Contains(raw, "abc") { // so that the reset does not overtake the body
				heard = make(chan struct{})
				limit.Until = func(so spec.Response) bool {
					if string(so.Body) == "abc" {
						close(heard)
					}
					return false
				}
			}
			got := do(t, Config{Base: answerAndReset(t, raw, heard)}, get, limit).Response
			if !errors.Is(got.End, spec.ErrReset) {
				t.Errorf("End = %v, want a reset", got.End)
			}
			if heard != nil && (string(got.Body) != "abc" || got.Status != 200) {
				t.Errorf("got %d, body %q", got.Status, got.Body)
			}
		})
	}
}

// TestHeadAsSent checks that header fields are recorded with their order, spelling and repetitions,
// and the status line with its reason phrase.
func TestHeadAsSent(t *testing.T) {
	got := do(t, Config{Base: answer(t, "HTTP/1.1 299 Odd  but fine\r\nx-b: 1\r\nX-A:two\r\nSET-cookie: a=1\r\n"+
		"set-Cookie:  b=2 \r\nX-Fold: one\r\n\t two\r\nX-Empty:\r\nX-B: 3\r\nTransfer-Encoding: chunked\r\n\r\n"+
		"1\r\na\r\n0\r\nx-Sum: 9\r\nX-also: y\r\n\r\n")}, get, StopWhen{}).Response
	wantHeader := spec.Header{{Name: "x-b", Value: "1"}, {Name: "X-A", Value: "two"}, {Name: "SET-cookie", Value: "a=1"},
		{Name: "set-Cookie", Value: "b=2"}, {Name: "X-Fold", Value: "one two"}, {Name: "X-Empty", Value: ""},
		{Name: "X-B", Value: "3"}, {Name: "Transfer-Encoding", Value: "chunked"}}
	same(t, "header", got.Header, wantHeader)
	same(t, "trailer", got.Trailer, spec.Header{{Name: "x-Sum", Value: "9"}, {Name: "X-also", Value: "y"}})
	if got.Proto != "HTTP/1.1" || got.Reason != "Odd  but fine" || got.End != nil {
		t.Errorf("got %q, %q, %v", got.Proto, got.Reason, got.End)
	}
	if got := do(t, Config{Base: answer(t, "HTTP/1.0 200\r\n\r\n")}, get, StopWhen{}).Response; got.Proto != "HTTP/1.0" || got.Reason != "" {
		t.Errorf("got %q, %q", got.Proto, got.Reason)
	}
}

func same(t *testing.T, what string, got, want spec.Header) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %q, want %q", what, got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s, field %d: got %q, want %q", what, i, got[i], want[i])
		}
	}
}

// TestCompressionIsLeftOn checks that a content coding is recorded as received.
func TestCompressionIsLeftOn(t *testing.T) {
	const packed = "\x1f\x8b\x08\x00not really"
	got := do(t, Config{Base: answer(t, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"+packed)}, get, StopWhen{}).Response
	if string(got.Body) != packed || got.Header.Get("Content-Encoding") != "gzip" || got.End != nil {
		t.Errorf("got %q, %v", got.Body, got.End)
	}
}

// TestChunkBoundaries checks that each chunk is recorded as an arrival of its own, even if several
// chunks arrive in one packet.
func TestChunkBoundaries(t *testing.T) {
	got := do(t, Config{Base: answer(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\nA\r\n0123456789\r\n0\r\n\r\n")}, get, StopWhen{}).Response
	var ends []int
	for i, r := range got.Arrivals {
		ends = append(ends, r.End)
		if r.At < 0 || i > 0 && r.At < got.Arrivals[i-1].At {
			t.Errorf("arrivals are not in order: %v", got.Arrivals)
		}
	}
	if len(ends) != 3 || ends[0] != 2 || ends[1] != 3 || ends[2] != 13 {
		t.Errorf("reads end at %v, want 2 3 13", ends)
	}
}

// TestArrivalTimes checks that a delayed piece has a later arrival time.
func TestArrivalTimes(t *testing.T) {
	first := make(chan time.Time, 1)
	base := serve(t, func(conn net.Conn) {
		hear(conn)
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na")
		<-first
		io.WriteString(conn, "b")
	})
	got := do(t, Config{Base: base}, get, StopWhen{Until: func(so spec.Response) bool {
		if len(so.Body) == 1 {
			first <- time.Now()
		}
		return false
	}}).Response
	if len(got.Arrivals) != 2 || got.Arrivals[0].End != 1 || got.Arrivals[1].End != 2 || got.Arrivals[1].At <= got.Arrivals[0].At {
		t.Errorf("reads = %v", got.Arrivals)
	}
}

func TestCancelledContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := dial(t, Config{Base: answerAndHang(t, "HTTP/1.1 200 OK\r\n\r\nabc")})
	x, err := c.Do(ctx, get, StopWhen{Until: func(so spec.Response) bool {
		if len(so.Body) > 0 {
			cancel()
		}
		return false
	}})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "cancelled: ") {
		t.Errorf("error = %v", err)
	}
	if string(x.Response.Body) != "abc" {
		t.Errorf("body = %q", x.Response.Body)
	}
	if _, err := c.Do(ctx, get, StopWhen{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
}
