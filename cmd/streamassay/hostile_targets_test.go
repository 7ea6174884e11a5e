package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A hostile is a target that wastes the time or the memory of its clients. Exactly one of the
// fields stream, conn and coded is set.
type hostile struct {
	name   string
	stream func(s *speaker)                         // what it streams
	conn   func(ctx context.Context, conn net.Conn) // what it does with a connection
	coded  func(k tongue) []byte                    // a stream that is compressed
	exit   int                                      // of the run
	says   string                                   // what the report has to say; "" is whatever
	short  bool                                     // it is among those that CI tries
}

// completeRun writes the events of a complete run with one message and flushes them.
func (s *speaker) completeRun() {
	s.say(s.start, "", "")
	s.say(s.open, "m1", "")
	s.say(s.text, "m1", "Hello, ")
	s.say(s.text, "m1", "world.")
	s.say(s.closed, "m1", "")
	s.say(s.end, "", "")
	s.flush()
}

// every calls do and flushes the stream at intervals of d, until do returns false or the client has
// left.
func (s *speaker) every(d time.Duration, do func() bool) {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for do() {
		s.flush()
		select {
		case <-s.gone:
			return
		case <-tick.C:
		}
	}
}

func (s *speaker) hang() {
	s.flush()
	<-s.gone
}

const second = time.Second

var hostileStreams = []hostile{
	{name: "endless fast events", short: true, exit: 1, says: "events, the limit of --max-events", stream: func(s *speaker) {
		s.say(s.start, "", "")
		for s.say(s.open, "m1", ""); s.say(s.text, "m1", "x"); {
		}
	}},
	{name: "endless slow events, ten a second", exit: 1, says: "had not ended after", stream: func(s *speaker) {
		s.say(s.start, "", "")
		s.say(s.open, "m1", "")
		s.every(second/10, func() bool { return s.say(s.text, "m1", "x") })
	}},
	{name: "endless comments, as fast as they are taken", exit: 1, says: "sent more than 200,000 events", stream: func(s *speaker) {
		for s.raw(": keep-alive\n\n") {
		}
	}},
	{name: "endless comments, ten a second", exit: 1, says: "had not ended after", stream: func(s *speaker) {
		s.every(second/10, func() bool { return s.raw(": keep-alive\n\n") })
	}},
	{name: "a million events", exit: 1, says: "sent more than 200,000 events", stream: func(s *speaker) {
		s.say(s.start, "", "")
		s.say(s.open, "m1", "")
		for n := 0; n < 1_000_000 && s.say(s.text, "m1", "x"); n++ {
		}
		s.say(s.closed, "m1", "")
		s.say(s.end, "", "")
	}},
	{name: "100,000 open messages or calls, and a piece of none of them", exit: 1, stream: func(s *speaker) {
		s.say(s.start, "", "")
		for n := 0; n < 100_000 && s.say(s.open, "m"+strconv.Itoa(n), ""); n++ {
		}
		for n := 0; n < 50_000 && s.say(s.text, "", "x"); n++ {
		}
		s.say(s.end, "", "")
	}},
	{name: "90,000 messages or calls, opened and then closed in their order", exit: 1, stream: func(s *speaker) {
		s.say(s.start, "", "")
		for n := 0; n < 90_000 && s.say(s.open, "m"+strconv.Itoa(n), ""); n++ {
		}
		for n := 0; n < 90_000 && s.say(s.closed, "m"+strconv.Itoa(n), ""); n++ {
		}
		s.say(s.end, "", "")
	}},
	{name: "ids of ten megabytes", short: true, exit: 1, stream: func(s *speaker) {
		id := strings.Repeat("i", 10<<20)
		s.say(s.start, "", "")
		s.say(s.open, id, "")
		s.say(s.text, id, "x")
		s.say(s.text, id+"j", "x")
		s.say(s.closed, id, "")
		s.say(s.end, "", "")
	}},
	{name: "sixty pieces of a megabyte", exit: 1, stream: func(s *speaker) {
		text := strings.Repeat("t", 1<<20)
		s.say(s.start, "", "")
		s.say(s.open, "m1", "")
		for range 60 {
			s.say(s.text, "m1", text)
		}
		s.say(s.closed, "m1", "")
		s.say(s.end, "", "")
	}},
	{name: "a stream that stays open after the end of its run", exit: 1, stream: func(s *speaker) { s.completeRun(); s.hang() }},
	{name: "likewise, with comments", exit: 1, stream: func(s *speaker) {
		s.completeRun()
		s.every(second/10, func() bool { return s.raw(": keep-alive\n\n") })
	}},
	{name: "a whole answer, again and again in one stream", exit: 1, stream: func(s *speaker) {
		for s.err == nil {
			s.completeRun()
		}
	}},
	{name: "silence after the head", exit: 1, says: "sent nothing for", stream: func(s *speaker) { s.hang() }},
	{name: "silence in the middle of an event", exit: 1, says: "sent nothing for", stream: func(s *speaker) {
		s.say(s.start, "", "")
		s.raw("data: {")
		s.hang()
	}},
	{name: "an event without end", exit: 1, stream: func(s *speaker) {
		for s.raw("data: "); s.raw(strings.Repeat("x", 1<<16)); {
		}
	}},
	{name: "an event of endless lines", exit: 1, stream: func(s *speaker) {
		for lines := strings.Repeat("d\n", 1<<15); s.raw(lines); {
		}
	}},
	{name: "an event of five million lines of data", exit: 1, stream: func(s *speaker) {
		s.raw(strings.Repeat("data\n", 2<<20))
		s.raw("\n")
		s.completeRun()
	}},
	{name: "JSON five million levels deep", exit: 1, stream: func(s *speaker) {
		s.raw("data: " + strings.Repeat("[", 5<<20) + strings.Repeat("]", 5<<20) + "\n\n")
		s.completeRun()
	}},
	{name: "JSON nine thousand levels deep, five hundred times", exit: 1, stream: func(s *speaker) {
		deep := `data: {"type":` + strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000) + "}\n\n"
		for range 500 {
			s.raw(deep)
		}
		s.completeRun()
	}},
	{name: "an object of a million members", exit: 1, stream: func(s *speaker) {
		var b strings.Builder
		for n := range 1_000_000 {
			b.WriteString(`,"` + strconv.Itoa(n) + `":[]`)
		}
		s.raw("data: {" + b.String()[1:] + "}\n\n")
		s.completeRun()
	}},
	{name: "random bytes", exit: 1, stream: func(s *speaker) {
		junk := make([]byte, 1<<16)
		for x, i := uint32(1), 0; i < len(junk); i++ {
			x = x*1664525 + 1013904223
			junk[i] = byte(x >> 24)
		}
		for s.raw(string(junk)) {
		}
	}},
	{name: "a gzip bomb: a line of zeros", short: true, exit: 1, coded: func(tongue) []byte {
		return zipped([]byte("data: "), []byte(strings.Repeat("0", 1<<20)), 4<<10)
	}},
	{name: "a gzip bomb: events", exit: 1, coded: func(k tongue) []byte {
		frame := strings.NewReplacer("%X", "x", "%M", "m1", "%N", "1").Replace(k.text) + "\n\n"
		return zipped(nil, []byte(strings.Repeat(frame, 1<<13)), 1<<10)
	}},
}

// zipped returns head followed by the given number of copies of text, compressed with gzip.
func zipped(head, text []byte, times int) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	w.Write(head)
	for range times {
		w.Write(text)
	}
	w.Close()
	return b.Bytes()
}

const (
	okHead     = "HTTP/1.1 200 OK\r\n"
	streamHead = okHead + "Content-Type: text/event-stream\r\n"
	jsonHead   = okHead + "Content-Type: application/json\r\n"
)

// flood returns a function that writes first to a connection, and then writes more again and again
// until writing fails.
func flood(first, more string) func(context.Context, net.Conn) {
	return func(_ context.Context, conn net.Conn) {
		for _, err := io.WriteString(conn, first); err == nil; _, err = io.WriteString(conn, more) {
		}
	}
}

// drip returns a function that writes first to a connection, and then endless copies of more in
// pieces of size bytes, with a pause after each piece. It ends when writing fails or its context is
// done.
func drip(first, more string, size int, pause time.Duration) func(context.Context, net.Conn) {
	return func(ctx context.Context, conn net.Conn) {
		_, err := io.WriteString(conn, first)
		for rest := more; err == nil; {
			if len(rest) < size {
				rest += more
			}
			_, err = io.WriteString(conn, rest[:size])
			rest = rest[size:]
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
		}
	}
}

// saying returns a function that writes text to a connection and waits until the client closes the
// connection.
func saying(text string) func(context.Context, net.Conn) {
	return func(ctx context.Context, conn net.Conn) {
		_, _ = io.WriteString(conn, text)
		_, _ = io.Copy(io.Discard, conn)
	}
}

func reset(_ context.Context, conn net.Conn) {
	_ = conn.(*net.TCPConn).SetLinger(0)
}

var kilobyte = strings.Repeat("x", 1<<10)

var hostileConns = []hostile{
	{name: "accepts, and says nothing", exit: 1, says: "sent nothing for", conn: saying("")},
	{name: "a head of three bytes a second", exit: 1, says: "had not sent the complete head after", conn: drip(okHead, "X-Slow: yes\r\n", 3, second)},
	{name: "a header without end", short: true, exit: 1, says: "sent a head of more than", conn: flood(okHead, "X-More: "+kilobyte+"\r\n")},
	{name: "a header line without end", exit: 1, conn: flood(okHead+"X-More: ", kilobyte)},
	{name: "100 Continue, again and again", short: true, exit: 1, says: "sent a head of more than", conn: flood("", "HTTP/1.1 100 Continue\r\n\r\n")},
	{name: "100 Continue, one byte a second", exit: 1, conn: drip("", "HTTP/1.1 100 Continue\r\n\r\n", 1, second)},
	{name: "resets the connection", short: true, exit: 1, conn: reset},
	{name: "hangs up", exit: 1, conn: func(context.Context, net.Conn) {}},
	{name: "not HTTP", short: true, exit: 3, conn: saying("SSH-2.0-OpenSSH_9.2\r\n")},
	{name: "not HTTP, without end", exit: 3, conn: flood("", "HTTQ"+kilobyte)},
	{name: "a body shorter than it was announced, on an open connection", exit: 1, conn: saying(streamHead + "Content-Length: 1000000\r\n\r\ndata: {}\n\n")},
	{name: "a reply shorter than it was announced, on an open connection", exit: 1, conn: saying(jsonHead + "Content-Length: 1000000\r\n\r\n{}")},
	{name: "a chunk of 2^63 bytes", exit: 1, conn: flood(streamHead+"Transfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n", kilobyte)},
	{name: "a chunk of 2^64 bytes", exit: 1, conn: flood(streamHead+"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", kilobyte)},
	{name: "chunks of one byte without end", exit: 1, conn: flood(streamHead+"Transfer-Encoding: chunked\r\n\r\n", strings.Repeat("1\r\nx\r\n", 1000))},
	{name: "a trailer without end", exit: 1, conn: flood(streamHead+"Transfer-Encoding: chunked\r\n\r\n0\r\n", "X-More: "+kilobyte+"\r\n")},
	{name: "one JSON body without end", short: true, exit: 1, says: "sent more than 64 MiB", conn: flood(jsonHead+"\r\n[", strings.Repeat("1,", 1<<15))},
	{name: "a JSON body of three bytes a second", exit: 1, says: "had not ended after", conn: drip(jsonHead+"\r\n", "[1,1,", 3, second)},
	{name: "a JSON body ten million levels deep", exit: 1, conn: func(_ context.Context, conn net.Conn) {
		_, _ = io.WriteString(conn, jsonHead+"\r\n"+strings.Repeat("[", 10<<20))
	}},
	{name: "1,000 header fields", exit: 1, conn: func(_ context.Context, conn net.Conn) {
		_, _ = io.WriteString(conn, jsonHead+strings.Repeat("X-More: "+kilobyte[:200]+"\r\n", 1000)+"\r\n{}")
	}},
}

// start serves the target in the dialect of k until the end of the test, and returns its URL.
func (h hostile) start(t *testing.T, k tongue) string {
	if h.conn != nil {
		return "http://" + h.listen(t)
	}
	var bomb []byte
	if h.coded != nil {
		bomb = h.coded(k)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := bufio.NewWriterSize(w, 32<<10)
		s := &speaker{tongue: k, w: out, gone: r.Context().Done(), bound: map[string]string{}, thread: "t", run: "r"}
		s.flush = func() {
			_ = out.Flush()
			_ = http.NewResponseController(w).Flush()
		}
		s.asked(r)
		defer out.Flush()
		if k.accept != "" && r.Method == http.MethodPost {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusAccepted)
			s.say(k.accept, "", "")
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		if h.coded != nil {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb)
			return
		}
		h.stream(s)
	}))
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return srv.URL
}

// listen accepts connections and calls h.conn for each, after reading the beginning of its first
// request. It returns the address, as HOST:PORT.
func (h hostile) listen(t *testing.T) (address string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var conns sync.WaitGroup
	t.Cleanup(func() { stop(); ln.Close(); conns.Wait() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				defer conn.Close()
				unlink := context.AfterFunc(ctx, func() { conn.Close() })
				defer unlink()
				_, _ = conn.Read(make([]byte, 64<<10))
				h.conn(ctx, conn)
			})
		}
	}()
	return ln.Addr().String()
}
