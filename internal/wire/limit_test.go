package wire

import (
	"errors"
	"fmt"
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

// drip runs a server that sends raw and then one byte of filler every 5 ms forever.
func drip(t *testing.T, raw string) *url.URL {
	return serve(t, func(conn net.Conn) {
		hear(conn)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for _, err := io.WriteString(conn, raw); err == nil; _, err = io.WriteString(conn, "z") {
			<-tick.C
		}
	})
}

// flood runs a server that sends raw and then filler as fast as possible.
func flood(t *testing.T, raw, filler string) *url.URL {
	return serve(t, func(conn net.Conn) {
		hear(conn)
		for _, err := io.WriteString(conn, raw); err == nil; _, err = io.WriteString(conn, filler) {
		}
	})
}

func TestLimits(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	kilobyte := strings.Repeat("z", 1<<10)
	for name, tc := range map[string]struct {
		base *url.URL
		cfg  Config
		body int // its length; -1: any
		says string
	}{
		"infinite body":        {flood(t, ok+"\r\n", kilobyte), Config{MaxBodyBytes: 1000}, 1000, "1000 bytes"},
		"infinite chunks":      {flood(t, ok+"Transfer-Encoding: chunked\r\n\r\n", "400\r\n"+kilobyte+"\r\n"), Config{MaxBodyBytes: 1500}, 1500, "1500 bytes"},
		"one infinite chunk":   {flood(t, ok+"Transfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n", kilobyte), Config{MaxBodyBytes: 70000}, 70000, "70000 bytes"},
		"a promise too long":   {flood(t, ok+"Content-Length: 9223372036854775807\r\n\r\n", kilobyte), Config{MaxBodyBytes: 10}, 10, "10 bytes"},
		"infinite header":      {flood(t, ok+"A: ", kilobyte), Config{}, 0, "head"},
		"head drips":           {drip(t, ok+"A: "), Config{IdleTimeout: 100 * time.Millisecond}, 0, "had not sent the complete head after 100ms"},
		"interim answers drip": {drip(t, "HTTP/1.1 100 Continue\r\nA:"), Config{IdleTimeout: 100 * time.Millisecond}, 0, "had not sent the complete head after 100ms"},
		"events for ever":      {flood(t, ok+"Content-Type: text/event-stream\r\n\r\n", "data: 1\n\n"), Config{MaxEvents: 1000}, -1, "sent more than 1,000 events"},
		"comments for ever":    {flood(t, ok+"Content-Type: text/event-stream\r\n\r\n", ":\r\n"), Config{MaxEvents: 1000}, -1, "sent more than 1,000 events"},
		"body drips":           {drip(t, ok+"\r\n"), Config{TotalTimeout: 100 * time.Millisecond}, -1, "had not ended after 100ms"},
		"header drips":         {drip(t, ok+"A: "), Config{TotalTimeout: 100 * time.Millisecond}, 0, "had not ended after 100ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.cfg.Base = tc.base
			got := do(t, tc.cfg, get, StopWhen{}).Response
			if !errors.Is(got.End, spec.ErrLimitExceeded) || !strings.Contains(got.End.Error(), tc.says) {
				t.Errorf("End = %v, want one that says %s", got.End, tc.says)
			}
			if tc.body >= 0 && len(got.Body) != tc.body {
				t.Errorf("the body has %d bytes, want %d", len(got.Body), tc.body)
			}
		})
	}
	t.Run("just as long as allowed", func(t *testing.T) {
		got := do(t, Config{Base: answer(t, ok+"\r\nabc"), MaxBodyBytes: 3}, get, StopWhen{}).Response
		if got.End != nil || string(got.Body) != "abc" {
			t.Errorf("got %q, %v", got.Body, got.End)
		}
	})
}

// TestDripsAreNotIdle checks that the idle timeout does not expire while bytes arrive.
func TestDripsAreNotIdle(t *testing.T) {
	got := do(t, Config{Base: drip(t, "HTTP/1.1 200 OK\r\n\r\n"), IdleTimeout: 500 * time.Millisecond, MaxBodyBytes: 150}, get, StopWhen{}).Response
	if !errors.Is(got.End, spec.ErrLimitExceeded) || len(got.Body) != 150 {
		t.Errorf("got %d bytes, %v", len(got.Body), got.End)
	}
}

// TestRequestNeverRead checks the idle timeout for a server that does not read the request.
func TestRequestNeverRead(t *testing.T) {
	base := serve(t, func(conn net.Conn) { <-t.Context().Done() })
	upload := spec.Request{Method: "POST", Target: "/", Body: make([]byte, 16<<20)}
	got := do(t, Config{Base: base, IdleTimeout: 80 * time.Millisecond}, upload, StopWhen{}).Response
	if !errors.Is(got.End, spec.ErrIdleTimeout) || got.Status != 0 {
		t.Errorf("got %d, %v", got.Status, got.End)
	}
}

// TestUploadNeverRead checks the idle timeout for a server that does not read the request, over TLS
// with HTTP/1.1 and HTTP/2, where the connection is harder to close.
func TestUploadNeverRead(t *testing.T) {
	for _, protocol := range []string{"http/1.1", "h2"} {
		_, cfg := secure(t, protocol, func(w http.ResponseWriter, r *http.Request) { <-t.Context().Done() })
		cfg.IdleTimeout = 3 * time.Second // the TLS handshake has to be over in it
		upload := spec.Request{Method: "POST", Target: "/", Body: make([]byte, 16<<20)}
		got := do(t, cfg, upload, StopWhen{}).Response
		if !errors.Is(got.End, spec.ErrIdleTimeout) || got.Status != 0 {
			t.Errorf("%s: got %d, %v", protocol, got.Status, got.End)
		}
	}
}

// TestEarlyRefusal checks that a response is recorded if the server sends it without reading the
// request.
func TestEarlyRefusal(t *testing.T) {
	gone := make(chan struct{})
	base := serve(t, func(conn net.Conn) {
		io.WriteString(conn, "HTTP/1.1 413 Too Much\r\nContent-Length: 2\r\n\r\nno")
		<-gone
	})
	got := do(t, Config{Base: base}, spec.Request{Method: "POST", Target: "/", Body: make([]byte, 16<<20)}, StopWhen{}).Response
	close(gone)
	if got.Status != 413 || string(got.Body) != "no" || got.End != nil {
		t.Errorf("got %d, %q, %v", got.Status, got.Body, got.End)
	}
}

const events = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" +
	": hello\n\ndata: 1\n\ndata: 2\r\n\r\ndata: 3\n\n"

func TestLeaveAfterFrames(t *testing.T) {
	for frames, want := range map[int]string{
		1: ": hello\n\ndata: 1\n\n",
		2: ": hello\n\ndata: 1\n\ndata: 2\r\n\r\n",
		3: ": hello\n\ndata: 1\n\ndata: 2\r\n\r\ndata: 3\n\n",
	} {
		got := do(t, Config{Base: answerAndHang(t, events)}, get, StopWhen{Frames: frames}).Response
		if string(got.Body) != want || !errors.Is(got.End, spec.ErrClientLeft) {
			t.Errorf("after %d: got %q, %v", frames, got.Body, got.End)
		}
		if n := len(got.Arrivals); n == 0 || got.Arrivals[n-1].End != len(want) {
			t.Errorf("after %d: reads = %v, want the last to end at %d", frames, got.Arrivals, len(want))
		}
	}
	got := do(t, Config{Base: answer(t, events)}, get, StopWhen{Frames: 4}).Response
	if got.End != nil || !strings.HasSuffix(string(got.Body), "data: 3\n\n") {
		t.Errorf("a stream that ends before the client leaves: got %q, %v", got.Body, got.End)
	}
}

// TestFramesInPieces checks that an event which arrives in several pieces is counted, and that no
// events are counted after one that is too large.
func TestFramesInPieces(t *testing.T) {
	const pieces = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" +
		"2\r\nda\r\n7\r\nta: 12\n\r\n1\r\n\n\r\n9\r\ndata: 3\n\n\r\n0\r\n\r\n"
	got := do(t, Config{Base: answerAndHang(t, pieces)}, get, StopWhen{Frames: 1}).Response
	if string(got.Body) != "data: 12\n\n" || !errors.Is(got.End, spec.ErrClientLeft) || len(got.Arrivals) != 3 {
		t.Errorf("got %q, %v, %v", got.Body, got.End, got.Arrivals)
	}
	got = do(t, Config{Base: answerAndHang(t, pieces), MaxEventBytes: 7}, get, StopWhen{Frames: 1}).Response
	if string(got.Body) != "data: 12\n\ndata: 3\n\n" || got.End != nil {
		t.Errorf("too large: got %q, %v", got.Body, got.End)
	}
}

// TestLeavingHangsUp checks that the client closes the connection when it leaves, so that the
// server notices.
func TestLeavingHangsUp(t *testing.T) {
	noticed := make(chan struct{})
	base := serve(t, func(conn net.Conn) {
		hear(conn)
		io.WriteString(conn, events)
		io.Copy(io.Discard, conn)
		close(noticed)
	})
	do(t, Config{Base: base}, get, StopWhen{Frames: 1})
	<-noticed
}

func TestLeaveAfterATime(t *testing.T) {
	const long = 150 * time.Millisecond
	began := time.Now()
	got := do(t, Config{Base: answerAndHang(t, events)}, get, StopWhen{Elapsed: long}).Response
	if !errors.Is(got.End, spec.ErrClientLeft) || got.Status != 200 || len(got.Body) == 0 {
		t.Errorf("got %d, %d bytes, %v", got.Status, len(got.Body), got.End)
	}
	if time.Since(began) < long {
		t.Errorf("left after %v", time.Since(began))
	}
	if got := do(t, Config{Base: answerAndHang(t, "")}, get, StopWhen{Elapsed: long}).Response; !errors.Is(got.End, spec.ErrClientLeft) || got.Status != 0 {
		t.Errorf("before the head: got %d, %v", got.Status, got.End)
	}
}

// TestLeaveWithID checks that the client leaves after the first event with an SSE id if no earlier
// one that it was to read has one, or after 50 more events.
func TestLeaveWithID(t *testing.T) {
	head, _, _ := strings.Cut(events, ": hello")
	for body, want := range map[string]string{
		"data: 1\n\ndata: 2\n\nid: 3\ndata: 3\n\ndata: 4\n\n": "data: 1\n\ndata: 2\n\nid: 3\ndata: 3\n\n",
		"id: 1\ndata: 1\n\ndata: 2\n\ndata: 3\n\n":            "id: 1\ndata: 1\n\ndata: 2\n\n",
		strings.Repeat("data: 1\n\n", 60):                     strings.Repeat("data: 1\n\n", 52),
	} {
		got := do(t, Config{Base: answerAndHang(t, head+body)}, get, StopWhen{Frames: 2, WithID: true}).Response
		if !errors.Is(got.End, spec.ErrClientLeft) || string(got.Body) != want {
			t.Errorf("got %q, %v; expected %q", got.Body, got.End, want)
		}
	}
}

// TestLeaveWithoutEvents checks that the client leaves if no event arrives in time, and that it does
// not leave after the first event.
func TestLeaveWithoutEvents(t *testing.T) {
	const long = 150 * time.Millisecond
	head, _, _ := strings.Cut(events, "\r\n\r\n")
	for body, want := range map[string]error{events: spec.ErrIdleTimeout, head + "\r\n\r\n: still here\n\n": spec.ErrClientLeft} {
		got := do(t, Config{Base: answerAndHang(t, body), IdleTimeout: 2 * long}, get, StopWhen{FirstEvent: long}).Response
		if !errors.Is(got.End, want) || got.Status != 200 {
			t.Errorf("%q: got %d, %v; expected %v", body, got.Status, got.End, want)
		}
	}
}

func TestLeaveWhenToldTo(t *testing.T) {
	got := do(t, Config{Base: answerAndHang(t, events)}, get, StopWhen{Until: func(so spec.Response) bool { return so.Status == 200 }}).Response
	if !errors.Is(got.End, spec.ErrClientLeft) || len(got.Body) != 0 || got.Header.MediaType() != "text/event-stream" {
		t.Errorf("got %q, %v", got.Body, got.End)
	}
}

// TestSeveralAtOnce checks that a client can send a second request while it reads a stream.
func TestSeveralAtOnce(t *testing.T) {
	cancelled := make(chan struct{})
	base := serve(t, func(conn net.Conn) {
		if strings.HasPrefix(hear(conn), "POST /cancel") {
			io.WriteString(conn, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
			close(cancelled)
			return
		}
		io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\ndata: 1\n\n")
		<-cancelled
		io.WriteString(conn, "data: 2\n\n")
	})
	c := dial(t, Config{Base: base})
	var second spec.Exchange
	var both sync.WaitGroup
	var once sync.Once
	first, err := c.Do(t.Context(), get, StopWhen{Until: func(so spec.Response) bool {
		if len(so.Body) > 0 {
			once.Do(func() {
				both.Go(func() {
					second, _ = c.Do(t.Context(), spec.Request{Method: "POST", Target: "/cancel"}, StopWhen{})
				})
			})
		}
		return false
	}})
	both.Wait()
	if err != nil || string(first.Response.Body) != "data: 1\n\ndata: 2\n\n" || first.Response.End != nil {
		t.Errorf("first: %q, %v, %v", first.Response.Body, first.Response.End, err)
	}
	if second.Response.Status != 202 || second.At <= first.At {
		t.Errorf("second: %d at %v, the first was at %v", second.Response.Status, second.At, first.At)
	}
}

func TestManyAtOnce(t *testing.T) {
	base := serve(t, func(conn net.Conn) {
		path := strings.Fields(hear(conn))[1]
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(path), path)
	})
	c := dial(t, Config{Base: base})
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			path := fmt.Sprintf("/%d", i)
			x, err := c.Do(t.Context(), spec.Request{Method: "GET", Target: path}, StopWhen{})
			if err != nil || string(x.Response.Body) != path {
				t.Errorf("%s: %q, %v", path, x.Response.Body, err)
			}
		})
	}
	all.Wait()
}

// TestArrivalsAreBounded checks that merging keeps the number of arrivals within the limit, and
// that the merged arrivals are correct.
func TestArrivalsAreBounded(t *testing.T) {
	for _, most := range []int{4, 5} {
		var reads []spec.Arrival
		for i := 1; i <= 100; i++ {
			reads = append(mergeArrivals(reads, most), spec.Arrival{End: i, At: time.Duration(i)})
			if len(reads) > most {
				t.Fatalf("%d arrivals are kept, want %d at most", len(reads), most)
			}
			for j, r := range reads {
				if r.At != time.Duration(r.End) || j > 0 && r.End <= reads[j-1].End {
					t.Fatalf("wrong after %d: %v", i, reads)
				}
			}
			if reads[len(reads)-1].End != i {
				t.Fatalf("the last arrival is lost after %d: %v", i, reads)
			}
		}
	}
}
