package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/streamassay/streamassay/spec"
)

// A clock advances by a millisecond with each call of now.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(time.Millisecond)
	return c.at
}

func made(cfg Config) *Journal {
	if cfg.Now == nil {
		cfg.Now = (&clock{at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}).now
	}
	return New(cfg)
}

// runStart returns the start of an exchange that starts a run.
func runStart(test, body string) ExchangeStart {
	return ExchangeStart{
		Dialect: "runs@2026-04", Op: "run", Test: test, Seed: 7,
		Request: spec.Request{Method: "POST", Target: "/runs?x=1", Header: spec.Header{{Name: "Content-Type", Value: "application/json"}}, Body: []byte(body)},
	}
}

var streamHead = http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}, "Cache-Control": {"no-cache"}}

// recordExchange records a complete exchange.
func recordExchange(j *Journal, o ExchangeStart, ask *spec.Event, status int, frames ...string) *ExchangeRecorder {
	e := j.Open(o)
	if ask != nil {
		e.Parsed("POST /runs", ask)
	}
	e.HeadSent(status, streamHead)
	for i, f := range frames {
		e.BytesSent(time.Duration(i)*time.Millisecond, []byte(f))
	}
	e.Close(Complete)
	return e
}

func TestRecord(t *testing.T) {
	j := made(Config{})
	e := j.Open(runStart("one", `{"a":1}`))
	e.Parsed("POST /runs", &spec.Event{Thread: "t1", Run: "r1"})
	e.Matched("greet", []RuleMismatch{{"other", "the turn is 1"}})
	e.HeadSent(200, streamHead)
	e.BytesSent(0, []byte("data: 1\n\n: hi\n\ndata: 2\n"))
	e.FaultApplied("cut")
	e.BytesSent(5*time.Millisecond, []byte("\ndata: \xff"))
	e.Close(Torn)
	e.BytesSent(9*time.Millisecond, []byte("late")) // has no effect
	r, ok := j.Get(1)
	if !ok {
		t.Fatal("there is no exchange 1")
	}
	got, _ := json.Marshal(r)
	want := `{"id":1,"test":"one","seed":7,"dialect":"runs@2026-04","op":"run","operation":"POST /runs","time":"2026-01-01T00:00:00.001Z",` +
		`"request":{"method":"POST","target":"/runs?x=1","header":[{"name":"Content-Type","value":"application/json"}],"body":"{\"a\":1}","bytes":7},` +
		`"thread":"t1","run":"r1","rule":"greet","misses":[{"rule":"other","why":"the turn is 1"}],"missed":1,` +
		`"status":200,"header":[{"name":"Cache-Control","value":"no-cache"},{"name":"Content-Type","value":"text/event-stream; charset=utf-8"}],` +
		`"waited_ms":1,"bytes":31,"events":[{"n":0,"at_ms":0,"bytes":9,"raw":"data: 1\n\n"},{"n":-1,"at_ms":0,"bytes":6,"raw":": hi\n\n"},` +
		`{"n":1,"at_ms":0,"bytes":8,"raw":"data: 2\n"},{"n":1,"at_ms":5,"bytes":1,"raw":"\n"},{"n":2,"at_ms":5,"bytes":7,"raw":{"base64":"ZGF0YTog/w=="}}],` +
		`"events_dropped":0,"faults":[{"name":"cut","n":2,"byte":23,"at_ms":1}],"ended":{"how":"torn","at_ms":2},"findings":[]}`
	if string(got) != want {
		t.Errorf("the record is\n%s\nnot\n%s", got, want)
	}
}

func TestFrameScanner(t *testing.T) {
	for _, eol := range []string{"\n", "\r", "\r\n"} {
		stream := strings.ReplaceAll("event: a\ndata: 1\n\n: c\n\ndata: 2\n\n", "\n", eol)
		for size := 1; size <= len(stream); size++ {
			j := made(Config{})
			e := j.Open(runStart("", ""))
			e.HeadSent(200, streamHead)
			for rest := stream; rest != ""; {
				n := min(size, len(rest))
				e.BytesSent(0, []byte(rest[:n]))
				rest = rest[n:]
			}
			r, _ := j.Get(1)
			frames := map[int]string{}
			for _, s := range r.Events {
				frames[s.N] += string(s.Raw)
			}
			for n, f := range frames {
				frames[n] = strings.ReplaceAll(f, eol, "|")
			}
			if frames[0] != "event: a|data: 1||" || frames[-1] != ": c||" || frames[1] != "data: 2||" || len(frames) != 3 {
				t.Fatalf("%q in pieces of %d: %v", eol, size, frames)
			}
		}
	}
}

func TestFilters(t *testing.T) {
	j := made(Config{})
	one, none := "one", ""
	recordExchange(j, runStart("one", `{"say":"hello"}`), &spec.Event{Thread: "t1", Run: "r1"}, 200, "data: 1\n\n")
	e := j.Open(runStart("", `{}`))
	e.Parsed("POST /runs", &spec.Event{Thread: "t2", Violations: []spec.Violation{{Location: "body /x", Message: `the request body has no "x"`}}})
	e.Matched("hello", nil)
	e.HeadSent(422, nil)
	e.Close(ClientLeft)
	open := j.Open(ExchangeStart{
		Dialect: "agkit@0.0.10", Op: "listen", Path: "/base/threads/1/events",
		Request: spec.Request{Method: "GET", Target: "/threads/1/events"},
	})
	for _, c := range []struct {
		name string
		f    Filter
		want string
	}{
		{"all", Filter{}, "[1 2 3]"},
		{"dialect", Filter{Dialect: "agkit@0.0.10"}, "[3]"},
		{"family", Filter{Dialect: "runs"}, "[1 2]"},
		{"op", Filter{Op: "listen"}, "[3]"},
		{"name of the operation", Filter{Op: "POST /runs"}, "[]"}, // which Check refuses
		{"method", Filter{Method: "get"}, "[3]"},
		{"path", Filter{Path: "/runs"}, "[1 2]"},
		{"path pattern", Filter{Path: "/threads/*/events"}, "[3]"},
		{"path of the URL", Filter{Path: "/base/threads/1/events"}, "[3]"},
		{"status", Filter{Status: "422"}, "[2]"},
		{"class", Filter{Status: "2xx"}, "[1]"},
		{"test", Filter{Test: &one}, "[1]"},
		{"no test", Filter{Test: &none}, "[2 3]"},
		{"thread", Filter{Thread: "t2"}, "[2]"},
		{"run", Filter{Run: "r1"}, "[1]"},
		{"rule", Filter{Rule: "hello"}, "[2]"},
		{"no rule", Filter{Rule: "-"}, "[1 3]"},
		{"ended", Filter{Ended: "left"}, "[2]"},
		{"open", Filter{Ended: "open"}, "[3]"},
		{"any finding", Filter{Finding: "any"}, "[2]"},
		{"kind of finding", Filter{Finding: "client.document"}, "[2]"},
		{"no such finding", Filter{Finding: "client.cursor"}, "[]"},
		{"contains", Filter{Contains: "hello"}, "[1]"},
		{"after", Filter{After: 2}, "[3]"},
		{"since", Filter{Since: time.Date(2026, 1, 1, 0, 0, 0, int(2*time.Millisecond), time.UTC)}, "[2 3]"},
		{"page", Filter{Offset: 1, Limit: 1}, "[2]"},
		{"beyond", Filter{Offset: 9}, "[]"},
	} {
		page, total := j.List(c.f)
		ids := []uint64{}
		for _, r := range page {
			ids = append(ids, r.ID)
		}
		if got := fmt.Sprint(ids); got != c.want || c.f.Offset == 0 && total != len(ids) {
			t.Errorf("%s: %s of %d, not %s", c.name, got, total, c.want)
		}
		if err := c.f.Check(builtIn(t)); err != nil && total > 0 {
			t.Errorf("%s: an invalid filter selects %d exchanges: %v", c.name, total, err)
		}
	}
	if _, total := j.List(Filter{Offset: 1, Limit: 1}); total != 3 {
		t.Errorf("a page of one of 3 has the total %d", total)
	}
	open.Close(Complete)
	var b bytes.Buffer
	if err := j.Export(&b, Filter{Ended: "whole"}); err != nil || strings.Count(b.String(), "\n") != 2 {
		t.Errorf("%v: %s", err, b.String())
	}
}

func TestFilterCheck(t *testing.T) {
	for _, f := range []Filter{{Status: "4xy"}, {Status: "20"}, {Ended: "well"}, {Offset: -1}, {Limit: -1}, {Path: "["}, {Dialect: "foo"}} {
		if f.Check(builtIn(t)) == nil {
			t.Errorf("%+v is taken", f)
		}
	}
}

func TestResetForgetsOneTest(t *testing.T) {
	j := made(Config{})
	for _, test := range []string{"one", "two", "one"} {
		recordExchange(j, runStart(test, ""), nil, 200)
	}
	going := j.Open(runStart("one", ""))
	j.Reset("one")
	going.BytesSent(0, []byte("data: lost\n\n")) // the buffer may be reused
	next := j.Open(runStart("three", ""))
	going.Close(Complete)
	page, total := j.List(Filter{})
	if total != 2 || page[0].Test != "two" || page[1].ID != next.ID() || page[1].Ended != nil || page[1].Bytes != 0 {
		t.Errorf("%+v is left", page)
	}
	if j.Forgotten() != 0 {
		t.Errorf("what was reset counts as %d forgotten", j.Forgotten())
	}
	j.Clear()
	if _, total := j.List(Filter{}); total != 0 || j.Bytes() != 0 {
		t.Errorf("%d exchanges of %d bytes are left", total, j.Bytes())
	}
}

func TestBounds(t *testing.T) {
	j := made(Config{Entries: 100_000, Bytes: 1 << 20, Body: 1000})
	most := int64(0)
	for i := range 100_000 {
		e := j.Open(runStart("", `{"n":`+fmt.Sprint(i)+`}`))
		e.Parsed("POST /runs", &spec.Event{Thread: "t"})
		e.HeadSent(200, streamHead)
		for range 3 {
			e.BytesSent(0, bytes.Repeat([]byte("x"), 50*(i%20)))
		}
		e.Close(Complete)
		most = max(most, j.Bytes())
	}
	sum := int64(0)
	for _, r := range j.entryRefs() {
		sum += r.exchange.memorySize()
	}
	_, total := j.List(Filter{Limit: 1})
	if most > 1<<20 || total < 100 || sum != j.Bytes() || j.Forgotten() != uint64(100_000-total) {
		t.Errorf("%d exchanges take %d bytes (%d added up), %d at most; %d are forgotten", total, j.Bytes(), sum, most, j.Forgotten())
	}
	j = made(Config{Entries: 10})
	for range 25 {
		recordExchange(j, runStart("", ""), nil, 200)
	}
	if page, total := j.List(Filter{}); total != 10 || page[0].ID != 16 {
		t.Errorf("%d are kept", total)
	}
	if _, ok := j.Get(3); ok {
		t.Error("what was forgotten is found")
	}
}

func TestOneExchangeIsBounded(t *testing.T) {
	j := made(Config{Body: 100})
	e := j.Open(runStart("", strings.Repeat("a", 1000)))
	e.HeadSent(200, streamHead)
	for range maxPieces + 10 {
		e.BytesSent(0, []byte("data: 1\n\n"))
	}
	r, _ := j.Get(1)
	if len(r.Request.Body) != 100 || r.Request.Bytes != 1000 {
		t.Errorf("%d of %d bytes of the request", len(r.Request.Body), r.Request.Bytes)
	}
	if r.Bytes != 9*(maxPieces+10) || r.Dropped != 10 || r.Events[20].Raw != nil || r.Events[20].Bytes != 9 {
		t.Errorf("%d bytes, %d not kept, %+v", r.Bytes, r.Dropped, r.Events[20])
	}
}

// TestMatchedAgain checks that the reasons of an earlier call of Matched are neither kept nor
// counted.
func TestMatchedAgain(t *testing.T) {
	j := made(Config{})
	e := j.Open(runStart("", ""))
	var sizes []int64
	for range 3 {
		e.Matched("", []RuleMismatch{{"a", "the text is hi"}, {"b", "the op is run"}})
		sizes = append(sizes, j.Bytes())
	}
	if r, _ := j.Get(1); len(r.Misses) != 2 || sizes[1] != sizes[0] || sizes[2] != sizes[0] {
		t.Errorf("%d reasons, sizes %d", len(r.Misses), sizes)
	}
}

// TestTruncateCharacters checks that no text is cut within a character.
func TestTruncateCharacters(t *testing.T) {
	for before := range 4 {
		text := truncate(strings.Repeat("a", before) + strings.Repeat("𝄞", maxText))
		if !utf8.ValidString(text) || len(text) < maxText-utf8.UTFMax || len(text) > maxText+len("…") {
			t.Errorf("%d bytes: %q", len(text), text)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	j := New(Config{Entries: 50, Bytes: 100_000})
	ctx, stop := context.WithCancel(context.Background())
	events := j.Subscribe(ctx)
	var writers, readers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := range 200 {
				o := runStart(fmt.Sprint(w), `{}`)
				o.Request.Header = append(o.Request.Header, spec.HeaderField{Name: "Authorization", Value: "Bearer canary-canary"})
				e := j.Open(o)
				e.Parsed("POST /runs", &spec.Event{Thread: "t", Cursor: "9"})
				e.Matched("", []RuleMismatch{{"a", "no"}})
				e.HeadSent(200, streamHead)
				for n := range 12 {
					e.BytesSent(0, fmt.Appendf(nil, "id: %d\ndata: canary-canary %d\n\n", n, i))
				}
				e.SetTest("x")
				e.Close(Complete)
			}
		})
	}
	over := make(chan struct{})
	readers.Go(func() {
		for n := range events {
			_ = n
		}
	})
	for _, read := range []func(){
		func() { j.List(Filter{Finding: "any"}) }, func() { _ = j.Export(&bytes.Buffer{}, Filter{}) },
		func() { j.Reset("x") }, func() { j.evaluations() },
	} {
		readers.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					read()
				}
			}
		})
	}
	writers.Wait()
	close(over)
	stop()
	readers.Wait()
	if j.Bytes() > 100_000 {
		t.Errorf("%d bytes are kept", j.Bytes())
	}
}

func TestFeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := New(Config{})
		ctx, stop := context.WithCancel(context.Background())
		events := j.Subscribe(ctx)
		e := j.Open(runStart("one", ""))
		e.HeadSent(200, streamHead)
		e.BytesSent(time.Millisecond, []byte("data: 1\n\n"))
		e.FaultApplied("cut")
		e.Close(Abort)
		j.Reset("one")
		var got []string
		for range 6 {
			line, _ := json.Marshal(<-events)
			got = append(got, string(line))
		}
		want := []string{
			`{"note":"opened","id":1,"test":"one","dialect":"runs@2026-04","op":"run","text":"POST /runs?x=1","n":0,"at_ms":0,"bytes":0}`,
			`{"note":"head","id":1,"test":"one","status":200,"n":0,"at_ms":0,"bytes":0}`,
			`{"note":"sent","id":1,"test":"one","n":0,"at_ms":1,"bytes":9,"raw":"data: 1\n\n"}`,
			`{"note":"fault","id":1,"test":"one","text":"cut","n":0,"at_ms":0,"bytes":0}`,
			`{"note":"closed","id":1,"test":"one","text":"abort","status":200,"n":0,"at_ms":0,"bytes":9}`,
			`{"note":"reset","test":"one","n":0,"at_ms":0,"bytes":0}`,
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("event %d is\n%s\nnot\n%s", i, got[i], want[i])
			}
		}
		// Events beyond the queue are lost and counted.
		for range maxQueuedEvents + 5 {
			j.Reset("two")
		}
		<-events
		<-events
		j.Reset("two")
		var last FeedEvent
		for range maxQueuedEvents {
			last = <-events
			if last.Kind == EventDropped {
				break
			}
		}
		if last.Kind != EventDropped || last.N != 5 {
			t.Errorf("the slow subscriber received %+v", last)
		}
		stop()
		synctest.Wait()
		for range events { // it is closed
		}
		if j.feed.subscriberCount.Load() != 0 {
			t.Error("a subscriber is left")
		}
	})
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := New(Config{})
		done := make(chan error, 1)
		go func() { done <- j.Wait(t.Context(), Filter{Op: "run", Ended: "whole"}, 2) }()
		recordExchange(j, runStart("", ""), nil, 200)
		e := j.Open(runStart("", ""))
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("one whole exchange was enough: %v", err)
		default:
		}
		e.Close(Complete)
		if err := <-done; err != nil {
			t.Error(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		err := j.Wait(ctx, Filter{}, 3)
		if err == nil || !strings.Contains(err.Error(), "got 2 exchanges, want 3") {
			t.Errorf("the wait ends with %v", err)
		}

	})
}

func BenchmarkExchange(b *testing.B) {
	j := New(Config{})
	frame := bytes.Repeat([]byte("x"), 160)
	body := bytes.Repeat([]byte("y"), 300)
	request := spec.Request{Method: "POST", Target: "/runs", Body: body, Header: spec.Header{
		{Name: "Content-Type", Value: "application/json"}, {Name: "User-Agent", Value: "bench"}, {Name: "Accept", Value: "text/event-stream"}, {Name: "Content-Length", Value: "300"},
	}}
	head := http.Header{"Content-Type": {"text/event-stream"}, "Cache-Control": {"no-cache"}, "Access-Control-Allow-Origin": {"*"}, "X-Mock-Seed": {"1"}, "X-Accel-Buffering": {"no"}}
	ask := &spec.Event{Thread: "t", Run: "r", Parts: []spec.Event{{Kind: spec.InputUser, Text: "hi"}}}
	b.ReportAllocs()
	for b.Loop() {
		e := j.Open(ExchangeStart{Dialect: "runs@2026-04", Op: "run", Request: request, Seed: 1})
		e.Parsed("POST /runs", ask)
		e.Matched("", nil)
		e.HeadSent(200, head)
		for i := range 12 {
			e.BytesSent(time.Duration(i), frame)
		}
		e.Close(Complete)
	}
}
