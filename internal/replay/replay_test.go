package replay_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamassay/streamassay/internal/replay"
	"github.com/streamassay/streamassay/internal/transcript"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

const recordings = "../../internal/rules/testdata"

func all(t *testing.T) []*dialect.Dialect {
	t.Helper()
	list, err := dialect.All()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// openDialect returns the dialect with the given name. It fails the test if there is none.
func openDialect(t *testing.T, name string) *dialect.Dialect {
	t.Helper()
	d, err := dialect.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// parsed returns the transcript in text. It fails the test if the text is invalid.
func parsed(t *testing.T, name, text string) *transcript.Transcript {
	t.Helper()
	tr, err := transcript.Parse(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// library returns a library of transcripts, which must load without problems.
func library(t *testing.T, list ...*transcript.Transcript) *replay.Library {
	t.Helper()
	l, problems := replay.NewLibrary(list, all(t))
	for _, p := range problems {
		t.Errorf("problem: %v", p)
	}
	if l == nil {
		t.FailNow()
	}
	return l
}

// playAll returns the body of a response and the times at which its chunks are due. The parameter
// times is the speed.
func playAll(a *replay.Response, times float64) (body []byte, due []time.Duration) {
	for at, piece := range a.TimedChunks(times) {
		body, due = append(body, piece...), append(due, at)
	}
	return body, due
}

// playable reports whether an exchange can be replayed to the client that sent its request.
func playable(d *dialect.Dialect, x spec.Exchange) bool {
	return d.Operation(x.Request) != nil && (x.Request.Principal == spec.PrimaryUser || x.Request.Principal == spec.Anonymous) && x.Response.Status != 0
}

// TestSameRequests checks that repeating the recorded requests yields the recorded responses, byte
// for byte.
func TestSameRequests(t *testing.T) {
	files, err := filepath.Glob(recordings + "/*.txtar")
	if err != nil || len(files) < 100 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	played := 0
	for _, file := range files {
		tr, err := transcript.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		d := openDialect(t, tr.Dialect)
		tr.StripBasePath(d.Base)
		l, problems := replay.NewLibrary([]*transcript.Transcript{tr}, []*dialect.Dialect{d})
		if l == nil {
			if slices.ContainsFunc(tr.Trace.Exchanges, func(x spec.Exchange) bool { return playable(d, x) }) {
				t.Errorf("%s: %v", file, problems)
			}
			continue
		}
		seen := &replay.PlaybackState{}
		for i, x := range tr.Trace.Exchanges {
			if !playable(d, x) {
				continue
			}
			a, why := l.Find(d, x.Request, nil, seen)
			if a == nil {
				t.Errorf("%s, exchange %d: nothing fits: %v", file, i+1, why)
				continue
			}
			played++
			if body, _ := playAll(a, 1); !bytes.Equal(body, x.Response.Body) || a.Status != x.Response.Status {
				t.Errorf("%s, exchange %d: %d with %d bytes (%s), recorded %d with %d", file, i+1, a.Status, len(body), a.Source, x.Response.Status, len(x.Response.Body))
			}
		}
	}
	if played < 200 {
		t.Errorf("only %d exchanges were played", played)
	}
}

const conversationText = `dialect: runs@2026-04
-- 1.request --
POST /runs HTTP/1.1
Content-Type: application/json

{"threadId":"3d6a9f0e-5c1b-4e7a-9a52-0f1d2c3b4a59","runId":"r1","messages":[{"id":"u1","role":"user","content":"hello"}],"forwardedProps":{"runtime_mode":"chat"}}
-- 1.response --
HTTP/1.1 202 Accepted
Content-Type: application/json
Content-Length: 94
Access-Control-Allow-Origin: https://app.example.com

{"taskId":"task-r1","threadId":"3d6a9f0e-5c1b-4e7a-9a52-0f1d2c3b4a59","runId":"r1","created":true}
-- 2.request --
GET /runs/3d6a9f0e-5c1b-4e7a-9a52-0f1d2c3b4a59/events?runId=r1 HTTP/1.1
Accept: text/event-stream
-- 2.response --
HTTP/1.1 200 OK
Content-Type: text/event-stream
Transfer-Encoding: chunked
Connection: keep-alive, x-hop
X-Hop: 1
X-Of: r1

:@ wait 100ms
id: 1-0
data: {"type":"RUN_STARTED","threadId":"3d6a9f0e-5c1b-4e7a-9a52-0f1d2c3b4a59","runId":"r1"}

:@ wait 200ms
id: 2-0
data: {"type":"TEXT_MESSAGE_CONTENT","threadId":"3d6a9f0e-5c1b-4e7a-9a52-0f1d2c3b4a59","runId":"r1","messageId":"m1","delta":"this is not r1, but \"r1\" is"}

:@ wait 300ms
id: 3-0
data: {"type":"RUN_FINISHED","threadId":"3d6a9f0e-5c1b-4e7a-9a52-0f1d2c3b4a59","runId":"r1"}

:@ cut
-- 3.request --
POST /runs HTTP/1.1
Content-Type: application/json

{"threadId":"3d6a9f0e-5c1b-4e7a-9a52-0f1d2c3b4a59","runId":"r2","messages":[{"id":"u1","role":"user","content":"hello"}],"forwardedProps":{"runtime_mode":"chat"}}
-- 3.response --
HTTP/1.1 202 Accepted
Content-Type: application/json

{"taskId":"task-r2","threadId":"3d6a9f0e-5c1b-4e7a-9a52-0f1d2c3b4a59","runId":"r2","created":false}
`

const otherThread = "11111111-2222-4333-8444-555555555555"

func createRequest(thread, run, text string) spec.Request {
	return spec.Request{Method: "POST", Target: "/runs", Header: spec.Header{{Name: "Content-Type", Value: "application/json"}},
		Body: fmt.Appendf(nil, `{"threadId":%q,"runId":%q,"messages":[{"id":"mine","role":"user","content":%q}],"forwardedProps":{"runtime_mode":"chat"}}`, thread, run, text)}
}

func streamRequest(thread, run, cursor string) spec.Request {
	r := spec.Request{Method: "GET", Target: "/runs/" + thread + "/events?runId=" + run, Header: spec.Header{{Name: "Accept", Value: "text/event-stream"}}}
	if cursor != "" {
		r.Header = r.Header.With("Last-Event-ID", cursor)
	}
	return r
}

// mustFind returns the recorded response to a request in the dialect runs. It fails the test if no
// recording matches.
func mustFind(t *testing.T, l *replay.Library, r spec.Request, seen *replay.PlaybackState) *replay.Response {
	t.Helper()
	a, why := l.Find(openDialect(t, "runs"), r, nil, seen)
	if a == nil {
		t.Fatalf("nothing fits %s %s: %v", r.Method, r.Target, why)
	}
	return a
}

func TestOwnIDs(t *testing.T) {
	l, seen := library(t, parsed(t, "talk.txtar", conversationText)), &replay.PlaybackState{}
	a := mustFind(t, l, createRequest(otherThread, "mine-1", "hello"), seen)
	if body, want := string(a.Body), `{"taskId":"task-r1","threadId":"`+otherThread+`","runId":"mine-1","created":true}`; body != want {
		t.Errorf("accepted with %s, want %s", body, want)
	}
	if len(a.Header) != 1 || a.Header.MediaType() != "application/json" || a.HasTiming || a.End != replay.Clean {
		t.Errorf("header %v, timed %v, end %s", a.Header, a.HasTiming, a.End)
	}
	a = mustFind(t, l, streamRequest(otherThread, "mine-1", ""), seen)
	want := strings.NewReplacer("3d6a9f0e-5c1b-4e7a-9a52-0f1d2c3b4a59", otherThread, `"r1"`, `"mine-1"`, `\"r1\"`, `\"mine-1\"`)
	recorded := parsed(t, "talk.txtar", conversationText).Trace.Exchanges[1].Response
	body, due := playAll(a, 1)
	if string(body) != want.Replace(string(recorded.Body)) {
		t.Errorf("told:\n%s", body)
	}
	if ms := time.Millisecond; !slices.Equal(due, []time.Duration{100 * ms, 300 * ms, 600 * ms}) {
		t.Errorf("due at %v", due)
	}
	for i, piece := range split(a, 1) {
		if !strings.HasPrefix(piece, fmt.Sprintf("id: %d-0\n", i+1)) || !strings.HasSuffix(piece, "\n\n") {
			t.Errorf("piece %d is %q", i, piece)
		}
	}
	if a.End != replay.Truncated || a.Header.Get("X-Of") != "mine-1" || a.Header.Has("X-Hop") || a.Header.Has("Connection") || a.Header.Has("Transfer-Encoding") {
		t.Errorf("end %s, header %v", a.End, a.Header)
	}
	if !strings.HasSuffix(a.Source, "talk.txtar, exchange 2") {
		t.Errorf("source %s", a.Source)
	}
}

func split(a *replay.Response, times float64) (all []string) {
	for _, piece := range a.TimedChunks(times) {
		all = append(all, string(piece))
	}
	return all
}

func TestSpeed(t *testing.T) {
	l := library(t, parsed(t, "talk.txtar", conversationText))
	a := mustFind(t, l, streamRequest("3d6a9f0e-5c1b-4e7a-9a52-0f1d2c3b4a59", "r1", ""), nil)
	for times, want := range map[float64][]time.Duration{
		0: {0, 0, 0}, 1: {100e6, 300e6, 600e6}, 2: {50e6, 150e6, 300e6}, 0.5: {200e6, 600e6, 1200e6}, -1: {0, 0, 0},
	} {
		if _, due := playAll(a, times); !slices.Equal(due, want) {
			t.Errorf("at speed %v due at %v, want %v", times, due, want)
		}
	}
}

// TestOrder checks that exchanges are replayed in order and then from the start again, and that
// each thread has its own position in the recording.
func TestOrder(t *testing.T) {
	l, seen := library(t, parsed(t, "talk.txtar", conversationText)), &replay.PlaybackState{}
	third := "99999999-2222-4333-8444-555555555555"
	for i, step := range []struct{ thread, run, want string }{
		{otherThread, "a", "task-r1"}, {third, "x", "task-r1"}, {otherThread, "b", "task-r2"},
		{third, "y", "task-r2"}, {otherThread, "c", "task-r1"}, {otherThread, "d", "task-r2"},
	} {
		if a := mustFind(t, l, createRequest(step.thread, step.run, "hello"), seen); !strings.Contains(string(a.Body), step.want) {
			t.Errorf("step %d: %s, want %s", i, a.Body, step.want)
		}
	}
	seen.Reset()
	if a := mustFind(t, l, createRequest(otherThread, "e", "hello"), seen); !strings.Contains(string(a.Body), "task-r1") {
		t.Errorf("after a reset: %s", a.Body)
	}
}

func TestCursor(t *testing.T) {
	l, seen := library(t, parsed(t, "talk.txtar", conversationText)), &replay.PlaybackState{}
	mustFind(t, l, createRequest(otherThread, "mine-1", "hello"), seen)
	a := mustFind(t, l, streamRequest(otherThread, "mine-1", "1-0"), seen)
	body, due := playAll(a, 1)
	if !bytes.HasPrefix(body, []byte("id: 2-0\n")) || bytes.Count(body, []byte("data:")) != 2 || !bytes.Contains(body, []byte(otherThread)) {
		t.Errorf("after 1-0 came\n%s", body)
	}
	if !slices.Equal(due, []time.Duration{200e6, 500e6}) {
		t.Errorf("due at %v", due)
	}
	if a = mustFind(t, l, streamRequest(otherThread, "mine-1", "3-0"), seen); len(a.Body) != 0 || a.End != replay.Truncated {
		t.Errorf("after the last came %q, end %s", a.Body, a.End)
	}
	if a, why := l.Find(openDialect(t, "runs"), streamRequest(otherThread, "mine-1", "9-0"), nil, seen); a != nil || !strings.Contains(fmt.Sprint(why), `no event with the cursor "9-0"`) {
		t.Errorf("an unknown cursor: %v, %v", a, why)
	}
}

func TestNearMisses(t *testing.T) {
	l := library(t, parsed(t, "talk.txtar", conversationText))
	runs := openDialect(t, "runs")
	for _, tt := range []struct {
		r    spec.Request
		want string
	}{
		{createRequest(otherThread, "r", "hallo"), `talk.txtar, exchange 1: its input is "user: hello", the request's is "user: hallo"`},
		{streamRequest(otherThread, "r1", ""), `has not been replayed as "` + otherThread},
		{streamRequest("3d6a9f0e-5c1b-4e7a-9a52-0f1d2c3b4a59", "other", ""), `its run "r1" has not been replayed as "other"`},
		{spec.Request{Method: "GET", Target: "/history?thread_id=" + otherThread}, ""},
	} {
		a, why := l.Find(runs, tt.r, nil, &replay.PlaybackState{})
		if a != nil || !strings.Contains(strings.Join(why, "\n"), tt.want) {
			t.Errorf("%s: %v, %q, want %q", tt.r.Target, a, why, tt.want)
		}
	}
	if a, _ := l.Find(openDialect(t, "agkit"), createRequest(otherThread, "r", "hello"), nil, nil); a != nil {
		t.Errorf("another dialect was answered")
	}
}

// TestBareStream checks that a recorded stream without a request matches every request for a
// stream.
func TestBareStream(t *testing.T) {
	for _, name := range []string{"agkit", "agentscope"} {
		d := openDialect(t, name)
		body := []byte("data: {\"x\":1}\n\n: comment\n\ndata: [DONE]\n\n")
		tr := &transcript.Transcript{Name: "bare.sse", Trace: spec.Trace{Exchanges: []spec.Exchange{{
			Response: spec.Response{Status: 200, Header: spec.Header{{Name: "Content-Type", Value: "text/event-stream"}}, Body: body},
		}}}}
		l, problems := replay.NewLibrary([]*transcript.Transcript{tr}, []*dialect.Dialect{d})
		if l == nil {
			t.Fatal(problems)
		}
		r, err := d.BuildRequest("prompt", spec.Event{Text: "hi", Thread: "t", Run: "r", Message: "m"})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			a, why := l.Find(d, r, nil, nil)
			if a == nil || !bytes.Equal(a.Body, body) {
				t.Errorf("%s: %v, %v", name, a, why)
			}
		}
	}
}
