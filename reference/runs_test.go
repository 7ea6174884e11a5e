package reference

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// resumable are the dialects whose streams can be resumed.
var resumable = []string{"runs@2026-03", "runs@2026-04"}

func eachResumable(t *testing.T, f func(t *testing.T, d *dialect.Dialect)) {
	t.Helper()
	for _, name := range resumable {
		t.Run(name, func(t *testing.T) { f(t, mustDialect(t, name)) })
	}
}

// TestResume checks that a stream that is resumed after any event is identical to the rest of the
// original stream.
func TestResume(t *testing.T) {
	eachResumable(t, func(t *testing.T, d *dialect.Dialect) {
		k := newTestClient(t, d, Scripted, Config{})
		defer k.close()
		listen := k.sendPrompt("prompt", spec.Event{Text: `conformance:tool {"a":1}`, Run: "run-1"})
		whole := k.do(listen).bytes()
		events := k.events(listen, k.do(listen))
		if len(events) != 13 {
			t.Fatalf("%d events: %s", len(events), kinds(events))
		}
		offset := 0
		for i, e := range events {
			offset += len(e.Raw) + 1 // and its empty line
			rest := k.do(k.messageRequest("listen", spec.Event{Run: "run-1", Cursor: e.Cursor}))
			if rest.status != 200 || !bytes.Equal(rest.bytes(), whole[offset:]) {
				t.Errorf("taken up at %q, after event %d: %d %s", e.Cursor, i, rest.status, rest.bytes())
			}
		}
		if offset != len(whole) {
			t.Errorf("the events end at %d of %d bytes", offset, len(whole))
		}
	})
}

func TestCursors(t *testing.T) {
	eachResumable(t, func(t *testing.T, d *dialect.Dialect) {
		k := newTestClient(t, d, Scripted, Config{})
		defer k.close()
		first := k.runEvents("prompt", spec.Event{Text: "conformance:text one", Run: "run-1"})
		at, tag, _ := strings.Cut(first[0].Cursor, "-")
		if at != "1" || first[1].Cursor != "2-"+tag {
			t.Errorf("the first cursors are %q and %q", first[0].Cursor, first[1].Cursor)
		}
		// The cursor belongs to the thread: all of another run comes after it.
		listen := k.sendPrompt("prompt", spec.Event{Text: "conformance:text two", Run: "run-2"})
		whole := k.do(listen)
		again := k.do(k.messageRequest("listen", spec.Event{Run: "run-2", Cursor: last(first, spec.RunEnd).Cursor}))
		if again.status != 200 || !bytes.Equal(again.bytes(), whole.bytes()) {
			t.Errorf("with the last cursor of run 1, run 2 is %d %s", again.status, again.bytes())
		}
		// A cursor of another thread, or an unknown one, is refused.
		there := "550e8400-e29b-41d4-a716-446655440001"
		third := k.runEvents("prompt", spec.Event{Text: "conformance:text three", Run: "run-3", Thread: there})
		_, own, _ := strings.Cut(third[0].Cursor, "-")
		for _, cursor := range []string{"1-" + tag, "999-" + own, "0-" + own, "01-" + own, "-1-" + own, "-" + own, "1", "x", "1-1-" + own, " ", "9223372036854775808-" + own} {
			refused := k.do(k.messageRequest("listen", spec.Event{Run: "run-3", Thread: there, Cursor: cursor}))
			if cursor == " " && refused.status == 200 { // no header has such a value
				continue
			}
			if refused.status != 422 || !strings.Contains(string(refused.bytes()), `"code":"AGENT_INVALID_LAST_EVENT_ID"`) {
				t.Errorf("cursor %q: %d %s", cursor, refused.status, refused.bytes())
			}
		}
		if ok := k.do(k.messageRequest("listen", spec.Event{Run: "run-3", Thread: there, Cursor: "1-" + own})); ok.status != 200 {
			t.Errorf("a cursor of the thread: %d %s", ok.status, ok.bytes())
		}
	})
}

// TestParallelReaders checks that clients that connect at any time, fast or slow, receive the same
// events, and that a client that reads nothing does not delay the others.
func TestParallelReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newTestClient(t, mustDialect(t, "runs@2026-04"), Scripted, Config{})
		defer k.close()
		listen := k.sendPrompt("prompt", spec.Event{Text: "conformance:slow 20 100"})
		full := make(chan struct{})
		stuck := k.start(listen, full)
		var readers []*recordedResponse
		for i := range 10 {
			readers = append(readers, k.start(listen, nil))
			wait(time.Duration(i) * 50 * time.Millisecond)
		}
		began := time.Now()
		for _, p := range readers {
			<-p.done
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the readers were held up for %v", took)
		}
		close(full)
		<-stuck.done
		whole := k.do(listen).bytes()
		for i, p := range append(readers, stuck) {
			if !bytes.Equal(p.bytes(), whole) {
				t.Errorf("reader %d got %s", i, p.bytes())
			}
		}
		if n := bytes.Count(whole, []byte("TEXT_MESSAGE_CONTENT\"")); n != 20 {
			t.Errorf("%d deltas", n)
		}
	})
}

func TestAcceptedAgain(t *testing.T) {
	for name, wants := range map[string][2]string{
		"runs@2026-04": {"true", "false"},
		"runs@2026-03": {"2026-11-21T02:25:57.5Z", "2026-11-21T02:25:57.5Z"},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			played := 0
			agent := func(ctx context.Context, turn Turn) iter.Seq[spec.Event] {
				mu.Lock()
				defer mu.Unlock()
				played++
				return Scripted(ctx, turn)
			}
			now := func() time.Time { return time.UnixMilli(1795227957_500) }
			k := newTestClient(t, mustDialect(t, name), agent, Config{Now: now})
			defer k.close()
			req := k.messageRequest("prompt", spec.Event{Text: "hi", Run: "run-1"})
			first, again := k.do(req), k.do(req)
			if first.status != 202 || again.status != 202 || !bytes.Equal(first.bytes(), again.bytes()) {
				t.Errorf("first %d %s, then %d %s", first.status, first.bytes(), again.status, again.bytes())
			}
			other := k.do(k.messageRequest("prompt", spec.Event{Text: "hi", Run: "run-2"}))
			for i, p := range []*recordedResponse{first, other} {
				var reply struct {
					ThreadID, RunID, TaskID string
					Created                 any
				}
				if err := json.Unmarshal(p.bytes(), &reply); err != nil {
					t.Fatal(err)
				}
				if reply.ThreadID != firstThread || reply.RunID != fmt.Sprint("run-", i+1) || reply.TaskID == "" || fmt.Sprint(reply.Created) != wants[i] {
					t.Errorf("accepted as %s", p.bytes())
				}
			}
			k.close()
			if played != 2 {
				t.Errorf("%d runs were played", played)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newTestClient(t, mustDialect(t, "runs@2026-04"), Scripted, Config{})
		defer k.close()
		canceled := k.sendPrompt("prompt", spec.Event{Text: "conformance:slow 100 100", Run: "run-1"})
		other := k.sendPrompt("prompt", spec.Event{Text: "conformance:slow 5 100", Run: "run-2"})
		a, b := k.start(canceled, nil), k.start(other, nil)
		wait(250 * time.Millisecond)
		began := time.Now()
		p := k.do(k.messageRequest("cancel", spec.Event{Run: "run-1"}))
		<-a.done
		if p.status != 202 || !strings.Contains(string(p.bytes()), `"accepted":true`) || !strings.Contains(string(p.bytes()), `"runId":"run-1"`) {
			t.Errorf("canceled: %d %s", p.status, p.bytes())
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("it took %v to cancel", took)
		}
		events := k.events(canceled, a)
		if end := last(events, spec.RunError); end.Code != "RUN_CANCELED" || strings.Count(kinds(events), "message.delta") != 3 || !strings.HasSuffix(kinds(events), "run.error") {
			t.Errorf("code %q: %s", end.Code, kinds(events))
		}
		<-b.done
		if got := k.events(other, b); last(got, spec.RunEnd).Err != nil {
			t.Errorf("the other run: %s", kinds(got))
		}
		whole := k.do(other).bytes()
		for _, run := range []string{"run-2", "run-1", "run-unknown"} { // over, canceled, unknown
			if p := k.do(k.messageRequest("cancel", spec.Event{Run: run})); p.status != 202 {
				t.Errorf("cancel of %s: %d %s", run, p.status, p.bytes())
			}
		}
		if !bytes.Equal(k.do(other).bytes(), whole) {
			t.Error("a cancel that came too late changed the run")
		}
		nowhere := k.messageRequest("cancel", spec.Event{Run: "run-1", Thread: "nowhere"})
		if p := k.do(nowhere); p.status != 404 {
			t.Errorf("cancel in an unknown thread: %d", p.status)
		}
	})
}

// TestCancelConversation checks that a cancel request that names no run cancels all runs of the
// conversation.
func TestCancelConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newTestClient(t, mustDialect(t, "agentscope@1.1"), Scripted, Config{})
		defer k.close()
		req := k.messageRequest("prompt", spec.Event{Text: "conformance:slow 100 100"})
		p := k.start(req, nil)
		wait(150 * time.Millisecond)
		if stop := k.do(k.messageRequest("cancel", spec.Event{})); stop.status != 200 {
			t.Errorf("stopped: %d %s", stop.status, stop.bytes())
		}
		<-p.done
		if end := last(k.events(req, p), spec.RunError); end.Status != "canceled" {
			t.Errorf("it ended %q: %s", end.Status, p.bytes())
		}
		if stop := k.do(k.messageRequest("cancel", spec.Event{Thread: "nowhere"})); stop.status != 200 {
			t.Errorf("where nothing runs: %d %s", stop.status, stop.bytes())
		}
	})
}

func TestIdle(t *testing.T) {
	const alive = ": keep-alive\n\n"
	synctest.Test(t, func(t *testing.T) {
		k := newTestClient(t, mustDialect(t, "runs@2026-04"), Scripted, Config{})
		defer k.close()
		k.sendPrompt("prompt", spec.Event{Text: "conformance:idle 3500", Run: "run-1"})
		k.sendPrompt("prompt", spec.Event{Text: "conformance:text x", Run: "run-0"})
		hear := func(run, limit string) (string, time.Duration) {
			began := time.Now()
			p := k.do(k.messageRequest("listen", spec.Event{Run: run, PollLimit: limit}))
			return string(p.bytes()), time.Since(began)
		}
		opened, took := hear("run-1", "1")
		if !strings.HasSuffix(opened, "\n\n"+alive) || strings.Count(opened, "data:") != 1 || took != time.Second {
			t.Errorf("after %v: %s", took, opened)
		}
		if body, took := hear("run-unknown", "2"); body != alive+alive || took != 2*time.Second {
			t.Errorf("an unknown run, after %v: %q", took, body)
		}
		// Now the run goes on in half a second: no poll is silent.
		if body, took := hear("run-1", ""); strings.Contains(body, alive) || !strings.Contains(body, "RUN_FINISHED") || took != 500*time.Millisecond {
			t.Errorf("after %v: %s", took, body)
		}
		if body, took := hear("run-1", "1"); !strings.Contains(body, "RUN_FINISHED") || took != 0 {
			t.Errorf("once it is over, after %v: %s", took, body)
		}
		if body, took := hear("run-unknown", ""); strings.Count(body, alive) != 300 || took != 300*time.Second {
			t.Errorf("the limit that the document sets was reached after %v", took)
		}
	})
}

// TestSilenceIsBroken checks that the limit of idle polls applies to consecutive ones: each event
// starts the count again.
func TestSilenceIsBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newTestClient(t, mustDialect(t, "runs@2026-04"), Scripted, Config{})
		defer k.close()
		k.sendPrompt("prompt", spec.Event{Text: "conformance:slow 4 1500", Run: "run-1"})
		req := k.messageRequest("listen", spec.Event{Run: "run-1", PollLimit: "2"})
		events := k.events(req, k.do(req))
		if got := strings.Count(kinds(events), "comment"); got != 3 || last(events, spec.RunEnd).Err != nil {
			t.Errorf("%d comments: %s", got, kinds(events))
		}
	})
}

// TestListenBefore checks that a client that requests the stream of a run before the run is started
// receives the stream.
func TestListenBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newTestClient(t, mustDialect(t, "runs@2026-04"), Scripted, Config{})
		defer k.close()
		if p := k.do(k.messageRequest("listen", spec.Event{Run: "run-2"})); p.status != 404 {
			t.Errorf("in an unknown thread: %d %s", p.status, p.bytes())
		}
		k.sendPrompt("prompt", spec.Event{Text: "hi", Run: "run-1"})
		listen := k.messageRequest("listen", spec.Event{Run: "run-2"})
		p := k.start(listen, nil)
		wait(1500 * time.Millisecond)
		k.sendPrompt("prompt", spec.Event{Text: "hi", Run: "run-2"})
		<-p.done
		if got := kinds(k.events(listen, p)); !strings.HasPrefix(got, "comment run.start message.start") || !strings.HasSuffix(got, "run.end") {
			t.Errorf("got %s", got)
		}
	})
}

// TestRetain checks that the oldest runs beyond the limit are dropped, and that a conversation is
// dropped together with its last run.
func TestRetain(t *testing.T) {
	k := newTestClient(t, mustDialect(t, "runs@2026-04"), Scripted, Config{Limits: Limits{FinishedRuns: 3}})
	defer k.close()
	thread := func(i int) string { return fmt.Sprintf("550e8400-e29b-41d4-a716-%012d", i) }
	for i := range 10 {
		k.runEvents("prompt", spec.Event{Text: "conformance:text x", Thread: thread(i), Run: "run-1"})
	}
	for i := range 10 {
		want := 200
		if i < 7 {
			want = 404
		}
		if p := k.do(k.messageRequest("listen", spec.Event{Thread: thread(i), Run: "run-1"})); p.status != want {
			t.Errorf("thread %d of 10: %d, want %d", i, p.status, want)
		}
	}
}

// TestForgottenWhileHeard checks that a run that is dropped while a client reads its stream is sent
// completely.
func TestForgottenWhileHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newTestClient(t, mustDialect(t, "runs@2026-04"), Scripted, Config{Limits: Limits{FinishedRuns: 1}})
		defer k.close()
		listen := k.sendPrompt("prompt", spec.Event{Text: "conformance:slow 3 100", Run: "run-1"})
		full := make(chan struct{})
		p := k.start(listen, full)
		wait(time.Second) // the client has taken nothing yet, and the run is over
		for i := range 3 {
			k.runEvents("prompt", spec.Event{Text: "hi", Run: fmt.Sprint("other-", i)})
		}
		close(full)
		<-p.done
		if got := kinds(k.events(listen, p)); strings.Contains(got, "comment") || !strings.HasSuffix(got, "run.end") {
			t.Errorf("got %s", got)
		}
	})
}

// TestSameNameTwice checks that two requests with the same run id start two runs, in dialects in
// which the response to a prompt is the stream of the run.
func TestSameNameTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newTestClient(t, mustDialect(t, "agentscope@1.1"), Scripted, Config{})
		defer k.close()
		first := k.messageRequest("prompt", spec.Event{Text: "conformance:slow 3 100", Run: "run-1"})
		p := k.start(first, nil)
		wait(50 * time.Millisecond)
		if got := says(k.runEvents("prompt", spec.Event{Text: "conformance:text x", Run: "run-1"})); got != "x" {
			t.Errorf("the second: got text %q", got)
		}
		<-p.done
		if got := says(k.events(first, p)); got != "1 2 3 " {
			t.Errorf("the first: got text %q", got)
		}
	})
}
